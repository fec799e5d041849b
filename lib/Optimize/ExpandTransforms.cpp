//===- ExpandTransforms.cpp - Fourier transforms as what a target runs -----===//
//
// lathe/Dialect/Lathe/Fourier.h has what a transform is made of. Here stands which of them are left whole, and how a transform along
// any dimension becomes one along the last.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Kernel/Transform.h"
#include "lathe/Dialect/Lathe/Fourier.h"
#include "lathe/Optimize/Passes.h"

namespace lathe::opt {
#define GEN_PASS_DEF_EXPANDTRANSFORMS
#include "lathe/Optimize/Passes.h.inc"
} // namespace lathe::opt

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

static bool isReal(Value v, FftOp op) { return dimsOf(v)[op.getParts()].isOne(); }

static kernel::TransformKind kindOf(FftOp op) {
  using Kind = kernel::TransformKind;
  return isReal(op.getX(), op) ? Kind::R2C : isReal(op.getResult(), op) ? Kind::C2R : Kind::C2C;
}

/// What follows from constants alone is computed by the compiler, which knows no transform.
static bool isConstant(Value v, unsigned depth = 0) {
  Operation *op = v.getDefiningOp();
  if (!op || depth > 16)
    return false;
  return isa<ConstantOp>(op) || (op->getNumOperands() && llvm::all_of(op->getOperands(), [&](Value o) { return isConstant(o, depth + 1); }));
}

/// Whether one kernel holds it, and is worth it.
static bool staysWhole(FftOp op) {
  bool bothReal = isReal(op.getX(), op) && isReal(op.getResult(), op);
  return op.getLength() > 1 && !bothReal && kernel::isTransformLength(kindOf(op), op.getLength(), elementOf(op.getX())) && !isConstant(op.getX());
}

namespace {
struct ExpandTransformsPass : opt::impl::ExpandTransformsBase<ExpandTransformsPass> {
  using ExpandTransformsBase::ExpandTransformsBase;
  void runOnOperation() override {
    shape::Facts facts = factsOf(getOperation());
    SmallVector<FftOp> found;
    getOperation()->walk([&](FftOp op) {
      if (!whole || !staysWhole(op))
        found.push_back(op);
    });
    for (FftOp op : found) {
      if (op.getTurnDim()) { // this pass makes them, of lengths that are whole
        op.emitError("a turned transform that no kernel holds");
        return signalPassFailure();
      }
      expand(op, facts);
    }
  }

private:
  void expand(FftOp op, const shape::Facts &facts);
};
} // namespace

/// The numbers of frequencies that ir::fourier gives, and those that are wanted of them.
static FourierResult resultOf(FftOp op) {
  int64_t n = op.getLength(), wanted = *dimsOf(op.getResult())[op.getAxis()].constant();
  return isReal(op.getResult(), op) ? FourierResult::Real : wanted <= n / 2 + 1 && n > 1 ? FourierResult::Half : FourierResult::All;
}

/// Along the last dimension, of [others, parts, places].
void ExpandTransformsPass::expand(FftOp op, const shape::Facts &facts) {
  OpBuilder b(op);
  GraphBuilder g(b, op.getLoc(), facts);
  int64_t rank = typeOf(op.getX()).getRank(), axis = op.getAxis(), parts = op.getParts();
  SmallVector<int64_t> perm, back(rank);
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis && d != parts)
      perm.push_back(d);
  perm.append({parts, axis});
  for (int64_t d = 0; d < rank; ++d)
    back[perm[d]] = d;
  Value x = g.transpose(op.getX(), perm);
  Dims outer = dimsOf(x), dims = outer;
  outer.truncate(rank - 2);
  FourierTransform t{Expr(int64_t(op.getLength())), op.getInverse(), resultOf(op)};
  t.whole = whole;
  // Of what another transform reads, places of its own axis are to lie side by side.
  t.partsLast = parts == rank - 1 && axis == rank - 2 && llvm::none_of(op->getUsers(), llvm::IsaPred<FftOp>);
  if (op.getScale())
    t.scale = op.getScale()->convertToDouble();
  Value y = fourier(g, g.reshape(x, {facts.simplify(shape::product(outer)), dims[rank - 2], dims[rank - 1]}), t);
  Expr wanted = dimsOf(op.getResult())[axis];
  if (dimsOf(y)[2] != wanted)
    y = g.slice(y, 2, Expr(0), wanted);
  outer.append({dimsOf(y)[1], dimsOf(y)[2]});
  op.replaceAllUsesWith(g.transpose(g.reshape(y, outer), back));
  op.erase();
}
