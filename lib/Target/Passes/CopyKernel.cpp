//===- CopyKernel.cpp - Kernels that copy or convert a tensor --------------===//

#include "CopyKernel.h"
#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using shape::Expr;

static Value converted(OpBuilder &b, Location loc, Value x, Type element) {
  if (x.getType() == element)
    return x;
  if (x.getType().getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return b.create<arith::ExtFOp>(loc, element, x);
  return b.create<arith::TruncFOp>(loc, element, x);
}

Value target::copyOf(Value source, StringRef name, Type element, ArrayRef<Expr> extents) {
  OpBuilder b(source.getContext());
  b.setInsertionPointAfterValue(source);
  Location loc = source.getLoc();
  SmallVector<std::string> axes, sizes;
  Expr offset(0);
  for (auto [i, extent] : llvm::enumerate(extents)) {
    axes.push_back(extents.size() == 1 ? "i" : "i" + std::to_string(i));
    sizes.push_back(extent.str());
    offset = offset * extent + Expr::symbol(axes.back());
  }
  Type from = ir::signless(ir::elementOf(source)), to = ir::signless(element); // of the numbers in the kernel
  OperationState state(loc, kernel::GenericOp::getOperationName(), source, ir::tensorType(ir::dimsOf(source.getType()), element));
  state.addAttribute("kernelClass", kernel::KernelClassAttr::get(b.getContext(), kernel::KernelClass::Loop));
  state.addAttribute("name", b.getStringAttr(name));
  state.addAttribute("axisNames", b.getStrArrayAttr(SmallVector<StringRef>(axes.begin(), axes.end())));
  state.addAttribute("axisExtents", b.getStrArrayAttr(SmallVector<StringRef>(sizes.begin(), sizes.end())));
  Block &body = state.addRegion()->emplaceBlock();
  Value in = body.addArgument(kernel::RefType::get(b.getContext(), from), loc);
  Value out = body.addArgument(kernel::RefType::get(b.getContext(), to), loc);
  OpBuilder inside(b.getContext()); // the region is not attached yet: its context cannot be asked for
  inside.setInsertionPointToEnd(&body);
  StringAttr at = inside.getStringAttr(offset.str());
  Value x = inside.create<kernel::LoadOp>(loc, from, in, at, ValueRange{}, Value(), Value());
  inside.create<kernel::StoreOp>(loc, converted(inside, loc, x, to), out, at, ValueRange{}, Value());
  return b.create(state)->getResult(0);
}
