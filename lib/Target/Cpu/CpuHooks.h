//===- CpuHooks.h - Accesses and half types on a CPU -----------------------===//
#ifndef LATHE_TARGET_CPU_CPUHOOKS_H
#define LATHE_TARGET_CPU_CPUHOOKS_H

#include "Isa.h"
#include "lathe/Lower/EmitHooks.h"

namespace lathe::cpu {

/// Accesses are the defaults. Half types are converted in integer arithmetic where the instruction set has no conversion:
/// LLVM would call a library that the artifact does not have.
class CpuHooks : public lower::EmitHooks {
public:
  explicit CpuHooks(const Isa &isa) : isa(isa) {}
  mlir::Value convertFloat(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type to) override;

private:
  const Isa &isa;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_CPUHOOKS_H
