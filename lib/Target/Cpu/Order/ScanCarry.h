//===- ScanCarry.h - What a scan hands on along its axis --------------------===//
#ifndef LATHE_TARGET_CPU_SCANCARRY_H
#define LATHE_TARGET_CPU_SCANCARRY_H

#include "../VectorBuilder.h"
#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::cpu {

/// Long running sums of f32 are kept in f64 from one chunk of steps to the next; within a chunk they are f32 (`local`), begin anew, and
/// lie on top of the f64 one rounded (`base`). An f32 takes up a rounding of the whole sum in each step, which adds up along the axis: the last of a
/// million numbers' sums was off by hundreds of units of its last place. In a chunk there are as many additions one behind the other as without, and
/// what converts waits for none of them. All else is one local value from the beginning to the end, without a base: of a product each rounding counts
/// as much, whichever chunk it is made in.
class ScanCarry {
public:
  /// Steps of a chunk: what converts behind them costs as much as a dozen additions.
  static constexpr int64_t chunk = 32;
  /// Whether what is handed on may be wider than what the scan computes.
  static bool widens(kernel::ScanOp op);

  ScanCarry(VectorBuilder &v, kernel::ScanOp op) : v(v), kind(op.getKind()), local(op.getType()), wide(local), canWiden(widens(op)) {}
  /// Whether it is, from here on: not where all steps are one chunk.
  void widen(bool on) { wide = on && canWiden ? mlir::Type(v.b.getF64Type()) : local; }

  using Values = VectorBuilder::Values;

  bool isWide() const { return wide != local; }
  mlir::Type localType() const { return local; }
  mlir::Type wideType() const { return wide; }
  /// What changes nothing, as a local value or one that is handed on.
  mlir::Value localIdentity(unsigned width) { return identity(local, width); }
  mlir::Value wideIdentity(unsigned width) { return identity(wide, width); }
  /// A value that is handed on, as the base of `width` lanes: its own, or of one value for all of them.
  mlir::Value baseOf(mlir::Value handedOn, unsigned width);
  /// What is handed on behind the local values that lie on top of it.
  mlir::Value combined(mlir::Value handedOn, mlir::Value inChunk);
  /// The result: a local value on top of its base, if there is one.
  mlir::Value onTop(mlir::Value base, mlir::Value inChunk);
  mlir::Value both(mlir::Value x, mlir::Value y);

  /// From `from` to `to` by `step` elements: body(i, bases, locals) gives the next locals. `handedOn`: from before; gives what comes behind.
  Values loop(mlir::Value from, mlir::Value to, int64_t step, unsigned width, Values handedOn,
              llvm::function_ref<Values(mlir::Value, Values, Values)> body);

private:
  mlir::Value identity(mlir::Type element, unsigned width);

  VectorBuilder &v;
  kernel::Combiner kind;
  mlir::Type local, wide;
  bool canWiden;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_SCANCARRY_H
