//===- TransformEmitter.h - A block that transforms rows -------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_TRANSFORMEMITTER_H
#define LATHE_LIB_TARGET_CUDA_TRANSFORMEMITTER_H

#include "../Generator.h"
#include "RootTable.h"
#include "TransformSteps.h"

namespace lathe::cuda {

/// A kernel's transform: its axes, and how a block makes it.
struct TransformProblem {
  kernel::FftOp op;
  TransformShape shape;
  TransformPlan plan;
  llvm::SmallVector<unsigned> rowAxes; ///< that along which accesses run across, last
  shape::Expr rows;
};

class TransformEmitter : public EntryEmitter {
public:
  TransformEmitter(KernelFrame &frame, const TransformProblem &p);
  void emit();

private:
  using Numbers = llvm::SmallVector<Complex>;
  using Places = llvm::SmallVector<Place>;
  /// What a thread does in one of its turns. `inside`: whether there is such a unit (i1; null: there is).
  struct Unit {
    Place row, number;
    Value inside;
  };

  // Units and places
  std::vector<Unit> unitsOf(size_t step);
  Places taken(const TransformStep &step, const Unit &unit);
  Places made(const TransformStep &step, const Unit &unit);
  Value sharedIndex(const Unit &unit, const Place &place);
  Place remainder(const Place &x, int64_t by);
  Place quotient(const Place &x, int64_t by);

  // Operands and results
  lower::BodyEmitter atRow(const Unit &unit);
  Value isRow(const Unit &unit);
  Complex load(const lower::BodyEmitter &row, const Place &place);
  Complex loadMirrored(lower::BodyEmitter point, const Place &place);
  Complex loadPair(lower::BodyEmitter &point);
  void store(const lower::BodyEmitter &row, const Place &place, Complex y);
  void planTurns();
  Complex turned(const lower::BodyEmitter &row, const Place &place, const Complex &y);
  Numbers loadUnit(const TransformStep &step, const Unit &unit);
  void storeUnit(const TransformStep &step, const Unit &unit, const Numbers &y);
  void storeWhere(Value ok, const lower::BodyEmitter &row, const Place &place, const Complex &y);
  void storeFolded(const lower::BodyEmitter &row, const Unit &unit, const Numbers &y);

  // Steps
  std::vector<Numbers> exchange(size_t step, const std::vector<Numbers> &numbers);
  void writeParts(size_t step, bool imaginary, Value array, const std::vector<Numbers> &numbers);
  void readParts(size_t step, bool imaginary, Value array, std::vector<Numbers> &out);
  void wait(bool inWarp);
  Numbers compute(size_t step, const Unit &unit, Numbers x);
  Numbers fold(const Unit &unit, const Numbers &x);
  Numbers unfold(const Unit &unit, const Numbers &x);

  Place mirrored(const Place &at) { return {d.sub(d.i32(p.plan.length), at.base), -at.more}; }
  Value wide(const Place &p) { return d.add(d.wide(p.base), p.more); }
  Value narrow(const Place &p) { return d.add(p.base, p.more); }

  const TransformProblem &p;
  kernel::FftOp op;
  Type element;
  ComplexBuilder c;
  RootTable table;
  std::vector<std::optional<Twiddles>> twiddles; ///< of each step
  std::optional<RootsOf> foldRoots, turnRoots;
  int64_t turnStep = 1, turnPowers = 1;
  Value tid, firstRow, rows, arrays[2];
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_TRANSFORMEMITTER_H
