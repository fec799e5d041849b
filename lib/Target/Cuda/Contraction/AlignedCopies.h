//===- AlignedCopies.h - Operands copied to where bulk copies fetch them ----===//
//
// Bulk copies want every stride to be a multiple of 16 bytes. An operand whose lines begin anywhere (4095 halves each) is copied in front
// of the product, each line to such a multiple, where reading it element by element, once for each tile that it meets, would take
// longer. Bytes whose lines lie side by side, which no instruction for groups of warps takes, are turned on the way. Of open sizes the plan decides: the product's
// code is the same, its tensor maps say where an operand lies.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_ALIGNEDCOPIES_H
#define LATHE_LIB_TARGET_CUDA_ALIGNEDCOPIES_H

#include "BulkProblem.h"

namespace lathe::cuda {

class AlignedCopies {
public:
  using Sizes = llvm::function_ref<Value(const shape::Expr &)>;
  explicit AlignedCopies(const BulkProblem &bulk) : bulk(bulk) {}

  /// For some sizes, or for all that there are.
  bool mayBe() const { return mayCopy(bulk.a) || mayCopy(bulk.b); }
  static bool mayCopy(const OperandMap &map) { return !map.needs || !map.needs->conditions().empty(); }
  /// What is known without the sizes of a call: that copies pay, or that they do not.
  std::optional<bool> alwaysPay() const;

  /// In a plan: whether operands lie as bulk copies want them (i1), and whether copying those that do not pays.
  Value lie(PlanFunction &plan) const;
  Value pay(PlanFunction &plan) const;
  /// Bytes at the start of the scratch memory (i64), in a plan or on the device.
  Value bytes(DeviceBuilder &d, Sizes size) const;
  /// The rest of the scratch memory is what the entry point sees.
  void skipIn(KernelFrame &frame) const;
  /// The tensor maps 0 and 1 are at the copies where there are some.
  void setMaps(PlanFunction &plan) const;

  /// Adds the entry point that copies.
  llvm::Error addEntry(Generator &g) const;
  /// Where `copied` (i1), the launch at `entry` comes first, and the product's follows.
  void launchAhead(PlanFunction &plan, unsigned entry, Value copied, const GemmLaunch &product) const;

private:
  shape::Expr bytesOf(const OperandMap &map) const;
  Value bytesBefore(DeviceBuilder &d, Sizes size, const OperandMap &map) const;
  shape::Expr saved() const;
  const BulkProblem &bulk;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ALIGNEDCOPIES_H
