//===- WidenHalf.cpp - Half-precision operands of products as f32 ----------===//
//
// Products of half types sum in f32. Where an element is multiplied many times it is converted once: the first operand of a
// contraction by a kernel of its own, the constant filter of a convolution here. The second operand of a contraction is converted
// panel by panel, by who multiplies with it.
//
//===----------------------------------------------------------------------===//

#include "CopyKernel.h"
#include "lathe/Dialect/Kernel/HalfPairs.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Lower/CodedProduct.h"
#include "lathe/Target/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe::target {
#define GEN_PASS_DEF_WIDENHALF
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;

namespace {

class Widener {
public:
  void contraction(kernel::GenericOp kernel, kernel::ContractOp product);
  void filter(kernel::GenericOp kernel, kernel::LoadOp load);
  void coded(kernel::GenericOp kernel, kernel::ReduceOp sum);

private:
  void readWidened(kernel::GenericOp kernel, kernel::LoadOp load, arith::ExtFOp extend);
  Value widened(Value v);
  Value constant(ir::ConstantOp c);

  llvm::DenseMap<Value, Value> known;
};

} // namespace

static bool isHalf(Type t) { return t.isF16() || t.isBF16(); }

/// The f32 of 16 bits. A half's exponent is rebased by a multiplication, which makes subnormal numbers right, too.
static float widen(uint16_t bits, bool isBF16) {
  uint32_t wide = uint32_t(bits) << 16;
  if (!isBF16) {
    uint32_t sign = wide & 0x80000000u, magnitude = uint32_t(bits & 0x7fff) << 13;
    float scaled = llvm::bit_cast<float>(magnitude) * 0x1p112f;
    bool isFinite = magnitude < 0x0f800000u;
    wide = sign | (isFinite ? llvm::bit_cast<uint32_t>(scaled) : magnitude | 0x7f800000u);
  }
  return llvm::bit_cast<float>(wide);
}

Value Widener::constant(ir::ConstantOp c) {
  auto type = cast<RankedTensorType>(c.getResult().getType());
  OpBuilder b(c);
  RankedTensorType wide = RankedTensorType::get(type.getShape(), b.getF32Type());
  if (std::optional<ArrayRef<char>> raw = ir::rawBytes(c.getValue())) {
    std::vector<float> numbers(type.getNumElements());
    for (size_t i = 0; i < numbers.size(); ++i) {
      uint16_t bits;
      std::memcpy(&bits, raw->data() + 2 * i, 2);
      numbers[i] = widen(bits, type.getElementType().isBF16());
    }
    ArrayRef<char> bytes(reinterpret_cast<const char *>(numbers.data()), numbers.size() * sizeof(float));
    return b.create<ir::ConstantOp>(c.getLoc(), ir::constantFromBytes(wide, bytes, "widened"));
  }
  std::optional<ir::ConstantTensor> t = ir::readConstant(c.getValue());
  if (!t)
    return {};
  t->type = wide;
  return b.create<ir::ConstantOp>(c.getLoc(), ir::writeConstant(*t, "widened"));
}

Value Widener::widened(Value v) {
  Value &w = known[v];
  if (!w) {
    auto c = v.getDefiningOp<ir::ConstantOp>();
    w = c ? constant(c) : copyOf(v, "widen", Float32Type::get(v.getContext()), shape::product(ir::dimsOf(v.getType())));
  }
  return w;
}

void Widener::contraction(kernel::GenericOp kernel, kernel::ContractOp product) {
  auto ref = cast<BlockArgument>(product.getLhs());
  if (!isHalf(product.getLhs().getType().getElementType()) || !product.getType().isF32() || !ref.hasOneUse())
    return;
  if (Value wide = widened(kernel.getInputs()[ref.getArgNumber()])) {
    kernel.getInputsMutable()[ref.getArgNumber()].set(wide);
    if (ref.getType() == product.getRhs().getType())
      product->setAttr(kernel::mayRoundName, UnitAttr::get(kernel.getContext()));
    ref.setType(kernel::RefType::get(kernel.getContext(), product.getType()));
  }
}

void Widener::filter(kernel::GenericOp kernel, kernel::LoadOp load) {
  auto ref = cast<BlockArgument>(load.getRef());
  auto extend = load->hasOneUse() ? dyn_cast<arith::ExtFOp>(*load->user_begin()) : arith::ExtFOp();
  Value source = ref.getArgNumber() < kernel.getInputs().size() ? kernel.getInputs()[ref.getArgNumber()] : Value();
  if (!extend || !extend.getType().isF32() || !isHalf(load.getType()) || !ref.hasOneUse() || load.getPredicate() || !source ||
      !source.getDefiningOp<ir::ConstantOp>())
    return;
  auto mul = extend->hasOneUse() ? dyn_cast<arith::MulFOp>(*extend->user_begin()) : arith::MulFOp();
  if (!mul || llvm::none_of(mul->getUsers(), [](Operation *user) { return isa<kernel::ReduceOp>(user); }))
    return;
  readWidened(kernel, load, extend);
}

/// The rows that something unpacked is multiplied with are a contraction's first operand.
void Widener::coded(kernel::GenericOp kernel, kernel::ReduceOp sum) {
  std::optional<lower::CodedProduct> p = lower::codedProduct(sum);
  auto ref = p ? cast<BlockArgument>(p->lhs.getRef()) : BlockArgument();
  auto extend = p && p->lhs->hasOneUse() ? dyn_cast<arith::ExtFOp>(*p->lhs->user_begin()) : arith::ExtFOp();
  if (extend && extend.getType().isF32() && isHalf(p->lhs.getType()) && ref.hasOneUse() && ref.getArgNumber() < kernel.getInputs().size())
    readWidened(kernel, p->lhs, extend);
}

/// The kernel reads the f32 that its input is when it is widened.
void Widener::readWidened(kernel::GenericOp kernel, kernel::LoadOp load, arith::ExtFOp extend) {
  auto ref = cast<BlockArgument>(load.getRef());
  Value wide = widened(kernel.getInputs()[ref.getArgNumber()]);
  if (!wide)
    return;
  kernel.getInputsMutable()[ref.getArgNumber()].set(wide);
  ref.setType(kernel::RefType::get(kernel.getContext(), extend.getType()));
  load.getResult().setType(extend.getType());
  extend.getResult().replaceAllUsesWith(load.getResult());
  extend.erase();
}

namespace {
struct WidenHalfPass : target::impl::WidenHalfBase<WidenHalfPass> {
  void runOnOperation() override {
    Widener widener;
    SmallVector<kernel::GenericOp> kernels;
    getOperation().walk([&](kernel::GenericOp kernel) { kernels.push_back(kernel); });
    for (kernel::GenericOp kernel : kernels) {
      SmallVector<Operation *> reads; // a filter's extension, which goes, is the next op
      for (Operation &op : kernel.getBody().front())
        if (isa<kernel::ContractOp, kernel::LoadOp, kernel::ReduceOp>(op))
          reads.push_back(&op);
      for (Operation *op : reads) {
        if (auto c = dyn_cast<kernel::ContractOp>(op))
          widener.contraction(kernel, c);
        else if (auto sum = dyn_cast<kernel::ReduceOp>(op))
          widener.coded(kernel, sum);
        else if (kernel.getKernelClass() == kernel::KernelClass::Reduction)
          widener.filter(kernel, cast<kernel::LoadOp>(op));
      }
    }
  }
};
} // namespace
