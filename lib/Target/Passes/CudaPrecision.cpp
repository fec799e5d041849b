//===- CudaPrecision.cpp - Operands in the type that tensor cores take -----===//

#include "ConstantMatrix.h"
#include "CopyKernel.h"
#include "Filters.h"
#include "lathe/Dialect/Kernel/Precision.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Lower/CodedProduct.h"
#include "lathe/Target/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe::target {
#define GEN_PASS_DEF_CUDAPRECISION
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using shape::Expr;

namespace {

struct CudaPrecisionPass : target::impl::CudaPrecisionBase<CudaPrecisionPass> {
  using CudaPrecisionBase::CudaPrecisionBase;

  void runOnOperation() override;

private:
  void narrowOperands(kernel::GenericOp kernel);
  Value half(Value v);
  Value halfConstant(ir::ConstantOp constant);
  Value halfResult(OpResult v);
  bool onlyHalfReaders(Value v);
  std::set<unsigned> narrowed(kernel::GenericOp kernel);
  RankedTensorType halfType(Value v) {
    auto t = mlir::cast<RankedTensorType>(v.getType());
    return RankedTensorType::get(t.getShape(), element, t.getEncoding());
  }

  Type element;
  llvm::DenseMap<Value, Value> halves;
};

} // namespace

//===----------------------------------------------------------------------===//
// Which operands
//===----------------------------------------------------------------------===//

static SmallVector<Value> productOperands(Operation *op) {
  if (auto c = dyn_cast<kernel::ContractOp>(op))
    return {c.getLhs(), c.getRhs()};
  if (auto a = dyn_cast<kernel::AttentionOp>(op))
    return {a.getQ(), a.getK(), a.getV()};
  auto sum = dyn_cast<kernel::ReduceOp>(op);
  if (std::optional<lower::CodedProduct> p = sum ? lower::codedProduct(sum) : std::nullopt)
    return {p->lhs.getRef()}; // codes are no floats until they are multiplied
  return {};
}

/// A product, or what it reads of its rows.
static bool isOfProduct(Operation *op) {
  auto ofCodes = [&](Operation *sum) { return isa<kernel::ReduceOp>(sum) && !productOperands(sum).empty(); };
  auto multiplies = [&](Operation *mul) { return isa<arith::MulFOp>(mul) && llvm::all_of(mul->getUsers(), ofCodes); };
  return isa<kernel::LoadOp>(op) ? llvm::all_of(op->getUsers(), multiplies) : !productOperands(op).empty();
}

/// A convolution's image, as it is read, and its filter, where both are f32 that nothing else in the kernel reads.
static std::set<unsigned> operandsOfWindow(kernel::GenericOp kernel) {
  std::optional<target::Filter> f = target::Filter::of(lower::BodyInfo(kernel));
  auto image = f ? f->image.getDefiningOp<kernel::LoadOp>() : kernel::LoadOp();
  auto arg = image ? mlir::cast<BlockArgument>(image.getRef()) : BlockArgument();
  if (!arg || !image.getType().isF32() || !f->load.getType().isF32() || !arg.hasOneUse() || arg.getArgNumber() >= kernel.getInputs().size())
    return {};
  unsigned filter = mlir::cast<BlockArgument>(f->load.getRef()).getArgNumber();
  return target::sourceOf(kernel, *f).getDefiningOp<ir::ConstantOp>() ? std::set<unsigned>{arg.getArgNumber(), filter} : std::set<unsigned>();
}

/// The kernel's inputs that only products read, all of them f32: half a product in each type serves nobody.
std::set<unsigned> CudaPrecisionPass::narrowed(kernel::GenericOp kernel) {
  if (windows)
    return operandsOfWindow(kernel);
  std::set<unsigned> out;
  bool possible = true;
  kernel.getBody().walk([&](Operation *op) {
    for (Value ref : productOperands(op)) {
      auto arg = mlir::cast<BlockArgument>(ref);
      bool f32 = mlir::cast<kernel::RefType>(arg.getType()).getElementType().isF32();
      bool alone = llvm::all_of(arg.getUsers(), isOfProduct);
      possible &= f32 && alone && arg.getArgNumber() < kernel.getInputs().size() && op->getResult(0).getType().isF32();
      out.insert(arg.getArgNumber());
    }
  });
  return possible ? out : std::set<unsigned>();
}

/// Every reader of the tensor reads it as an operand that becomes a half type.
bool CudaPrecisionPass::onlyHalfReaders(Value v) {
  SmallVector<Value> work{v};
  while (!work.empty())
    for (OpOperand &use : work.pop_back_val().getUses()) {
      if (isa<ir::ReshapeOp>(use.getOwner())) {
        work.push_back(use.getOwner()->getResult(0));
        continue;
      }
      auto reader = dyn_cast<kernel::GenericOp>(use.getOwner());
      if (!reader || !narrowed(reader).count(use.getOperandNumber()))
        return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Tensors in the half type
//===----------------------------------------------------------------------===//

static int64_t elementsOf(Value v) { return mlir::cast<RankedTensorType>(v.getType()).getNumElements(); }

/// The kernel stores its result rounded, instead of or beside the f32 one.
Value CudaPrecisionPass::halfResult(OpResult v) {
  auto kernel = mlir::cast<kernel::GenericOp>(v.getOwner());
  bool instead = onlyHalfReaders(v);
  BlockArgument ref = kernel.getOutputRef(v.getResultNumber());
  SmallVector<kernel::StoreOp> stores;
  for (Operation *user : ref.getUsers())
    stores.push_back(mlir::cast<kernel::StoreOp>(user));
  BlockArgument target = ref;
  Type refType = kernel::RefType::get(v.getContext(), element);
  if (instead)
    ref.setType(refType);
  else
    target = kernel.getBody().addArgument(refType, v.getLoc());
  for (kernel::StoreOp store : stores) {
    OpBuilder b(store);
    Value rounded = b.create<arith::TruncFOp>(store.getLoc(), element, store.getValue());
    auto copy = instead ? store : mlir::cast<kernel::StoreOp>(b.clone(*store));
    copy.getValueMutable().set(rounded);
    copy.getRefMutable().set(target);
  }
  if (instead) {
    v.setType(halfType(v));
    return v;
  }
  SmallVector<Type> types(kernel->getResultTypes());
  types.push_back(halfType(v));
  OpBuilder b(kernel);
  OperationState state(kernel.getLoc(), kernel->getName(), kernel->getOperands(), types, kernel->getAttrs());
  state.addRegion()->takeBody(kernel.getBody());
  Operation *wider = b.create(state);
  for (auto [was, is] : llvm::zip(kernel->getResults(), wider->getResults())) {
    was.replaceAllUsesWith(is);
    // What was made of the old results is now made of the new ones.
    if (auto known = halves.find(was); known != halves.end()) {
      Value h = known->second;
      halves.erase(known);
      halves[is] = h;
    }
  }
  for (auto &[from, to] : halves)
    if (to.getDefiningOp() == kernel.getOperation())
      to = wider->getResult(mlir::cast<OpResult>(to).getResultNumber());
  unsigned number = v.getResultNumber();
  kernel.erase();
  return halves[wider->getResult(number)] = wider->getResults().back();
}

/// Its elements rounded to `precision`, as a constant of `type`. Nothing where they are unknown, as in a test.
static Value roundedConstant(ir::ConstantOp constant, Type precision, RankedTensorType type) {
  std::optional<ir::ConstantTensor> t = ir::readConstant(constant.getValue());
  if (!t)
    return {};
  t->type = type;
  for (double &x : t->floats)
    x = ir::roundTo(x, precision);
  OpBuilder b(constant);
  return b.create<ir::ConstantOp>(constant.getLoc(), ir::writeConstant(*t, "rounded"));
}

Value CudaPrecisionPass::halfConstant(ir::ConstantOp constant) {
  if (Value rounded = roundedConstant(constant, element, halfType(constant.getResult())))
    return rounded;
  OpBuilder b(constant);
  auto none = DenseElementsAttr::get(halfType(constant.getResult()), b.getFloatAttr(element, 0.0));
  return b.create<ir::ConstantOp>(constant.getLoc(), none);
}

Value CudaPrecisionPass::half(Value v) {
  if (ir::elementOf(v) == element)
    return v;
  if (Value known = halves.lookup(v))
    return known;
  Value out;
  OpBuilder b(v.getContext());
  b.setInsertionPointAfterValue(v);
  Operation *op = v.getDefiningOp();
  if (isa_and_nonnull<ir::ConstantOp>(op) && windows) { // its layout is still to be chosen
    out = halfConstant(mlir::cast<ir::ConstantOp>(op));
  } else if (isa_and_nonnull<ir::ConstantOp>(op)) {
    int64_t n = elementsOf(v);
    out = b.create<kernel::PackOp>(v.getLoc(), halfType(v), v, 1, n, n, 1, 0);
  } else if (auto reshape = dyn_cast_or_null<ir::ReshapeOp>(op)) {
    // The value itself stays: somebody else may read it.
    Value x = half(reshape.getX());
    if (x == reshape.getX()) { // unless nobody else did
      v.setType(halfType(v));
      return v;
    }
    OpBuilder after(reshape);
    after.setInsertionPointAfter(reshape);
    out = after.create<ir::ReshapeOp>(v.getLoc(), halfType(v), x);
  } else if (isa_and_nonnull<kernel::GenericOp>(op)) {
    return halfResult(mlir::cast<OpResult>(v));
  } else {
    out = target::copyOf(v, "convert", element, shape::product(ir::dimsOf(v.getType())));
  }
  halves[v] = out;
  return out;
}

void CudaPrecisionPass::narrowOperands(kernel::GenericOp kernel) {
  for (unsigned i : narrowed(kernel)) {
    Value h = half(kernel.getInputs()[i]);
    kernel.getInputsMutable()[i].set(h);
    kernel.getInputRef(i).setType(kernel::RefType::get(kernel.getContext(), element));
    for (Operation *user : kernel.getInputRef(i).getUsers())
      if (auto load = dyn_cast<kernel::LoadOp>(user))
        target::loadNarrow(load, element);
  }
}

//===----------------------------------------------------------------------===//
// tf32
//===----------------------------------------------------------------------===//

/// Tensor cores take f32 whose depth lies side by side: a constant [k][n] becomes [n][k].
static void layByDepth(kernel::GenericOp kernel, kernel::ContractOp product) {
  auto ref = mlir::cast<BlockArgument>(product.getRhs());
  unsigned number = ref.getArgNumber();
  Value source = number < kernel.getInputs().size() ? kernel.getInputs()[number] : Value();
  std::optional<target::ConstantMatrix> m = target::ConstantMatrix::of(kernel, product);
  if (!source || !source.getDefiningOp<ir::ConstantOp>() || !ref.hasOneUse() || !m || m->kStride == 1)
    return;
  OpBuilder b(kernel);
  auto type = RankedTensorType::get({m->n, m->k}, b.getF32Type());
  kernel.getInputsMutable()[number].set(b.create<kernel::PackOp>(source.getLoc(), type, source, m->k, m->n, m->kStride, m->nStride, 0));
  product.setRhsOffset((Expr::symbol(m->nAxis) * Expr(m->k) + Expr::symbol(m->kAxis)).str());
}

/// Tensor cores drop the bits that tf32 has not, which draws all products towards zero: the filter's are rounded before.
static void useTf32InWindow(kernel::GenericOp kernel) {
  std::optional<target::Filter> filter = target::Filter::of(lower::BodyInfo(kernel));
  if (!filter || !filter->isDense())
    return;
  kernel::multiplyAsTf32(kernel);
  auto constant = target::sourceOf(kernel, *filter).getDefiningOp<ir::ConstantOp>();
  if (Value rounded = constant ? roundedConstant(constant, FloatTF32Type::get(kernel.getContext()), ir::typeOf(constant.getResult())) : Value())
    kernel.getInputsMutable()[mlir::cast<BlockArgument>(filter->load.getRef()).getArgNumber()].set(rounded);
}

static void useTf32InProducts(kernel::GenericOp kernel) {
  kernel.getBody().walk([&](kernel::ContractOp op) {
    if (!op.getType().isF32())
      return;
    layByDepth(kernel, op);
    kernel::multiplyAsTf32(kernel);
  });
}

void CudaPrecisionPass::runOnOperation() {
  Builder b(&getContext());
  constexpr kernel::KernelClass multiplying[] = {kernel::KernelClass::Contraction, kernel::KernelClass::Attention, kernel::KernelClass::Reduction};
  // Narrowing an operand may replace the kernel that produces it: always look for the first that is not done.
  auto each = [&](llvm::function_ref<void(kernel::GenericOp)> f) {
    llvm::DenseSet<Operation *> done;
    for (bool more = true; more;) {
      more = false;
      kernel::GenericOp next;
      getOperation().walk([&](kernel::GenericOp op) {
        if (next || done.contains(op) || !llvm::is_contained(multiplying, op.getKernelClass()))
          return;
        next = op;
      });
      if (next) {
        done.insert(next);
        more = true;
        f(next);
      }
    }
  };
  if (precision == "tf32")
    return each(windows ? useTf32InWindow : useTf32InProducts);
  if (precision != "bf16" && precision != "f16") {
    getOperation().emitError("precision is '") << precision << "', expected bf16, f16 or tf32";
    return signalPassFailure();
  }
  element = precision == "bf16" ? Type(b.getBF16Type()) : Type(b.getF16Type());
  each([&](kernel::GenericOp kernel) { narrowOperands(kernel); });
}
