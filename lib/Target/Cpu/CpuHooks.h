//===- CpuHooks.h - Accesses and half types on a CPU -----------------------===//
#ifndef LATHE_TARGET_CPU_CPUHOOKS_H
#define LATHE_TARGET_CPU_CPUHOOKS_H

#include "Isa.h"
#include "lathe/Lower/EmitHooks.h"

namespace lathe::cpu {

/// Accesses are the defaults. Half types move as i16 and are converted in integer arithmetic where the instruction set has no
/// conversion: LLVM would call a library that the artifact does not have.
class CpuHooks : public lower::EmitHooks {
public:
  explicit CpuHooks(const Isa &isa) : isa(isa) {}
  mlir::Value load(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value fill) override;
  void store(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value value) override;
  mlir::Value gather(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value offsets,
                     mlir::Value fill) override;
  void scatter(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value offsets,
               mlir::Value value) override;
  mlir::Value loadStrided(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, int64_t stride, mlir::Value fill) override;
  mlir::Value loadRepeated(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, int64_t repeats, mlir::Value fill) override;
  mlir::Value loadAlternating(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, llvm::ArrayRef<mlir::Value> pointers, bool moves,
                              mlir::Value fill) override;
  int64_t nearElements(mlir::VectorType type) const override;
  mlir::Value loadNear(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value places, mlir::Value last) override;
  bool asksAllLanes() const override { return true; }
  mlir::Value compute(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange operands,
                      mlir::Type type) override;
  mlir::Value convertFloat(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type to) override;

private:
  mlir::Value loadBackwards(mlir::OpBuilder &b, mlir::Location loc, const lower::Access &a, mlir::Value fill);

  const Isa &isa;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_CPUHOOKS_H
