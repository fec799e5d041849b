//===- EmitHooks.h - What a target decides when a body is emitted ----------===//
#ifndef LATHE_LOWER_EMITHOOKS_H
#define LATHE_LOWER_EMITHOOKS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"

namespace lathe::lower {

/// One access as the body emitter asks for it. `type` is what moves: an element type or a vector of lanes; booleans move as
/// i8. `mask` (i1, or a vector of i1) may be null: every lane is in range.
struct Access {
  mlir::Operation *op; ///< the kernel.load or kernel.store
  mlir::Value pointer; ///< of the first lane, or what the offsets of gather and scatter count from
  mlir::Type type;
  mlir::Value mask;
};

/// The mask under which all lanes of a vector are.
mlir::Value allLanes(mlir::OpBuilder &b, mlir::Location loc, int64_t lanes);

/// The defaults emit LLVM dialect ops with element alignment, masked intrinsics for vectors, scf.if for masked scalars, and
/// keep math ops as they are (a target expands them later).
class EmitHooks {
public:
  virtual ~EmitHooks() = default;
  /// Lanes that the mask excludes hold `fill`, or anything when it is null.
  virtual mlir::Value load(mlir::OpBuilder &b, mlir::Location loc, const Access &a, mlir::Value fill);
  virtual void store(mlir::OpBuilder &b, mlir::Location loc, const Access &a, mlir::Value value);
  /// What a load reads at the point that is being emitted, where it was read already or is read together with what other points want. Where the
  /// predicate (or null) does not hold it is `fill`, or anything when that is null. Null: it is read as any other.
  virtual mlir::Value loadTogether(mlir::Operation *load, mlir::Value predicate, mlir::Value fill) { return {}; }
  /// `offsets`: a vector of i64 element offsets, one per lane.
  virtual mlir::Value gather(mlir::OpBuilder &b, mlir::Location loc, const Access &a, mlir::Value offsets, mlir::Value fill);
  virtual void scatter(mlir::OpBuilder &b, mlir::Location loc, const Access &a, mlir::Value offsets, mlir::Value value);
  /// Lanes that lie `stride` elements apart (-1: backwards), the first one at the pointer; null: they are gathered.
  virtual mlir::Value loadStrided(mlir::OpBuilder &b, mlir::Location loc, const Access &a, int64_t stride, mlir::Value fill) { return {}; }
  /// Elements side by side of which each is that of so many lanes in turn, the first one at the pointer; null: they are gathered. A mask is that of the
  /// first lanes.
  virtual mlir::Value loadRepeated(mlir::OpBuilder &b, mlir::Location loc, const Access &a, int64_t repeats, mlir::Value fill) { return {}; }
  /// Lanes that take turns among the places that the pointers say, each the first of its elements side by side, or (`moves` is false) the one that all its
  /// lanes have; null: they are gathered. A mask is that of the first lanes.
  virtual mlir::Value loadAlternating(mlir::OpBuilder &b, mlir::Location loc, const Access &a, llvm::ArrayRef<mlir::Value> pointers, bool moves,
                                      mlir::Value fill) {
    return {};
  }
  /// How many elements side by side `loadNear` takes lanes of this type from; 0: the target has no instruction for it.
  virtual int64_t nearElements(mlir::VectorType type) const { return 0; }
  /// Lanes that lie so far (i32) behind the pointer; `last`: the furthest, below `nearElements`. No element behind it is read.
  virtual mlir::Value loadNear(mlir::OpBuilder &b, mlir::Location loc, const Access &a, mlir::Value places, mlir::Value last) { return {}; }
  /// One scalar op of the body on operands of `type` (element or vector); null: the op is emitted as it is.
  virtual mlir::Value compute(mlir::OpBuilder &b, mlir::Location loc, mlir::Operation *op, mlir::ValueRange operands,
                              mlir::Type type) {
    return {};
  }
  /// Whether a branch that all lanes take together costs less than lanes that gather.
  virtual bool asksAllLanes() const { return false; }
  /// Whether the expression is a multiple of so many lanes wherever a vector of them begins: an index that is this far below a bound is on the same
  /// side of it in all lanes.
  virtual bool isMultiple(const shape::Expr &e, unsigned lanes) { return false; }
  /// Conversion between float types (extension or rounding to nearest even).
  virtual mlir::Value convertFloat(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type to);
};

} // namespace lathe::lower

#endif // LATHE_LOWER_EMITHOOKS_H
