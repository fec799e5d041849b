//===- Float8Products.cpp - Products of floats of 8 bits -------------------===//
//
// Models write a product of such numbers in a wider type, with scales in front: Dequantize, or a cast. Machines multiply them as they lie and
// sum in f32; scales go behind the sum. See docs/Rationale/Integers.md.
//
//===----------------------------------------------------------------------===//

#include "QuantisedOperand.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Optimize/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::opt {
#define GEN_PASS_DEF_FLOAT8PRODUCTS
#include "lathe/Optimize/Passes.h.inc"
} // namespace lathe::opt

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using namespace lathe::opt;

namespace {
class Rewriter {
public:
  Rewriter(OpBuilder &b, Operation *op, const shape::Facts &facts) : g(b, op->getLoc(), facts) {}
  void rewrite(ContractOp op);
  void rewrite(ConvOp op);

private:
  std::optional<std::pair<Quantised, Quantised>> operandsOf(Operation *op);
  Value scaled(Value sum, Value scale);
  void replace(Operation *op, Value sum);
  Type f32() { return g.b.getF32Type(); }
  GraphBuilder g;
};
} // namespace

/// Both operands, where both are of 8 bits and what is summed has no more digits than f32.
std::optional<std::pair<Quantised, Quantised>> Rewriter::operandsOf(Operation *op) {
  auto element = dyn_cast<FloatType>(elementOf(op->getResult(0)));
  if (!element || element.getWidth() > 32)
    return std::nullopt;
  std::optional<Quantised> x = matchQuantised(g, op->getOperand(0), CodesOf::Floats);
  std::optional<Quantised> y = x ? matchQuantised(g, op->getOperand(1), CodesOf::Floats) : std::nullopt;
  return y ? std::optional(std::pair(*x, *y)) : std::nullopt;
}

/// `scale`: of the sum's dimensions; null for none.
Value Rewriter::scaled(Value sum, Value scale) { return scale ? g.mul(sum, g.cast(scale, f32())) : sum; }

void Rewriter::replace(Operation *op, Value sum) {
  op->getResult(0).replaceAllUsesWith(g.cast(sum, elementOf(op->getResult(0))));
  op->erase();
}

/// What two computed operands are along several batches is for attention's matching to see, which takes floats.
void Rewriter::rewrite(ContractOp op) {
  std::optional<std::pair<Quantised, Quantised>> operands = operandsOf(op);
  if (!operands)
    return;
  auto [x, y] = *operands;
  ArrayRef<int64_t> xGone = op.getLhsContract(), yGone = op.getRhsContract();
  bool mayAttend = !op.getLhsBatch().empty() && !isConstant(x.bytes) && !isConstant(y.bytes);
  if (mayAttend || !isOneAlong(x.scale, xGone) || !isOneAlong(y.scale, yGone))
    return;
  Value sum = g.b.create<ContractOp>(g.loc, tensorType(dimsOf(op.getResult()), f32()), x.bytes, y.bytes, op.getLhsBatch(),
                                     op.getRhsBatch(), xGone, yGone);
  auto placed = [&](Value scale, bool lhs) { return scale ? placedAmongResults(g, scale, op, lhs) : Value(); };
  replace(op, scaled(scaled(sum, placed(x.scale, true)), placed(y.scale, false)));
}

void Rewriter::rewrite(ConvOp op) {
  std::optional<std::pair<Quantised, Quantised>> operands = operandsOf(op);
  if (!operands)
    return;
  auto [x, w] = *operands;
  SmallVector<int64_t> inner = llvm::to_vector(llvm::seq<int64_t>(1, typeOf(w.bytes).getRank()));
  // A channel by itself is no product of matrices.
  if ((x.scale && !isScalar(x.scale)) || !isOneAlong(w.scale, inner) || (op.getGroups() != 1 && dimsOf(w.bytes)[1].isOne()))
    return;
  Dims dims = dimsOf(op.getResult());
  Value sum = g.b.create<ConvOp>(g.loc, tensorType(dims, f32()), x.bytes, w.bytes, op.getStrides(), op.getDilations(), op.getPads(), op.getGroups());
  Value ofImage = x.scale ? g.broadcastTo(g.reshape(x.scale, {}), dims) : Value();
  Value ofFilter = !w.scale ? Value() : isScalar(w.scale) ? g.broadcastTo(g.reshape(w.scale, {}), dims) : spreadOverChannels(g, w.scale, dims);
  replace(op, scaled(scaled(sum, ofImage), ofFilter));
}

namespace {
struct Float8ProductsPass : opt::impl::Float8ProductsBase<Float8ProductsPass> {
  void runOnOperation() override {
    shape::Facts facts = factsOf(getOperation());
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<Operation *> products;
      func.walk([&](Operation *op) {
        if (isa<ContractOp, ConvOp>(op) && !isFloat8(elementOf(op->getOperand(0))))
          products.push_back(op);
      });
      for (Operation *op : products) {
        OpBuilder b(op);
        Rewriter r(b, op, facts);
        if (auto c = dyn_cast<ContractOp>(op))
          r.rewrite(c);
        else
          r.rewrite(cast<ConvOp>(op));
      }
    }
  }
};
} // namespace
