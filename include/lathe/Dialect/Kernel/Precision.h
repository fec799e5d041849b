//===- Precision.h - What tensor cores take operands of f32 for -------------===//
//
// Products of f32 are made by plain threads. Where it was asked for, tensor cores make them of the 19 bits of each operand that tf32 has; a kernel that
// may do so says `precision = "tf32"` in its schedule.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_KERNEL_PRECISION_H
#define LATHE_DIALECT_KERNEL_PRECISION_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "mlir/IR/Builders.h"

namespace lathe::kernel {

inline bool multipliesAsTf32(GenericOp kernel) {
  auto precision = kernel.getScheduleAttr() ? kernel.getScheduleAttr().getAs<mlir::StringAttr>("precision") : mlir::StringAttr();
  return precision && precision.getValue() == "tf32";
}

inline void multiplyAsTf32(GenericOp kernel) {
  mlir::Builder b(kernel.getContext());
  mlir::NamedAttrList schedule(kernel.getScheduleAttr() ? kernel.getScheduleAttr().getValue() : llvm::ArrayRef<mlir::NamedAttribute>());
  schedule.set("precision", b.getStringAttr("tf32"));
  kernel.setScheduleAttr(schedule.getDictionary(kernel.getContext()));
}

} // namespace lathe::kernel

#endif // LATHE_DIALECT_KERNEL_PRECISION_H
