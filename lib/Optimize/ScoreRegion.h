//===- ScoreRegion.h - Tensor expressions as the region of an attention ----===//
//
// Private to lib/Optimize. Turns what is computed on tensors of [B, H, Q, K] into scalar code at one b, h, q, k. Index
// arithmetic and cheap work on whole matrices move inside; what has fewer elements than the matrix becomes an extra operand.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_OPTIMIZE_SCOREREGION_H
#define LATHE_LIB_OPTIMIZE_SCOREREGION_H

#include "ViewIndex.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::opt {

/// What an extra operand holds: the element of a tensor at these indices, or (without a tensor) a size.
struct ExtraOrigin {
  mlir::Value tensor;
  Indices at;
  shape::Expr size;
};

class ScoreRegion {
public:
  enum Axis : unsigned { B, H, Q, K };

  /// `outside` builds extra operands, before the attention.
  ScoreRegion(ir::GraphBuilder &outside, llvm::ArrayRef<shape::Expr> base);
  ~ScoreRegion();

  /// The tensor that the region's first argument holds an element of, times `factor`.
  void setSource(mlir::Value tensor) { source = tensor; }
  void setFactor(double factor);
  /// At which indices the source was read.
  const std::optional<Indices> &sourceIndices() const { return sourceAt; }

  /// The scalar at these indices of the tensor; null when that cannot be built.
  mlir::Value emit(mlir::Value tensor, const Indices &at) { return emit(tensor, at, 0); }
  /// Copies an existing region, whose extra operands are these.
  mlir::Value emitRegion(mlir::Region &region, mlir::ValueRange extraOperands);

  /// Hands over the finished block, which yields the score, and its extra operands, of which unused ones are dropped.
  std::unique_ptr<mlir::Block> finish(mlir::Value score);
  llvm::ArrayRef<mlir::Value> extras() const { return extraOperands; }
  AxisSpace &space() { return axes; }

private:
  mlir::Value emit(mlir::Value tensor, const Indices &at, unsigned depth);
  mlir::Value emitInline(mlir::Operation *op, const Indices &at, unsigned depth);
  mlir::Value emitElementwise(mlir::Operation *op, const Indices &at, unsigned depth);
  mlir::Value emitCast(mlir::Operation *op, mlir::Value x);
  mlir::Value emitIota(ir::IotaOp op, const Indices &at);
  mlir::Value emitGather(mlir::Operation *op, const Indices &at, unsigned depth);
  mlir::Value emitTable(ir::ConstantOp op, const Indices &at);
  mlir::Value emitExtra(mlir::Value tensor, const Indices &at);
  mlir::Value emitConstant(double value, mlir::Type element);
  mlir::Value emitIntegerCompare(mlir::Operation *op, mlir::ValueRange scalars);
  mlir::Value addExtra(mlir::Value operand, const ExtraOrigin &origin);
  mlir::Value indexValue(const Index &i);
  mlir::Value sizeValue(const shape::Expr &e);
  mlir::Value promote(mlir::Value x);
  /// The index that an integer tensor holds at these indices, when that is an axis counted from 0.
  std::optional<Index> tracedIndex(mlir::Value tensor, Indices at, unsigned depth);
  bool dependsOnSource(mlir::Value v, unsigned depth = 0);
  bool isIndexOnly(mlir::Value v, unsigned depth = 0);
  bool spansMatrix(const Indices &at) const;
  mlir::Value axisArgument(unsigned axis) const { return body->getArgument(1 + extraOperands.size() + axis); }

  ir::GraphBuilder &outside;
  AxisSpace axes;
  ir::Dims base;
  std::unique_ptr<mlir::Block> body;
  mlir::OpBuilder inside;
  mlir::Value source, score;
  std::optional<Indices> sourceAt;
  llvm::SmallVector<mlir::Value> extraOperands;
  std::vector<ExtraOrigin> origins; ///< of the extra operands
  std::map<std::string, mlir::Value> extraByKey;
  std::map<std::pair<const void *, std::string>, mlir::Value> emitted;
  llvm::DenseMap<mlir::Value, bool> dependent, indexOnly;
};

/// Masks of a finished region that add or choose a very small finite number become -inf, where each query provably sees the key
/// at its own place: then the masked keys weigh exactly 0 either way, and a target can skip them.
void strengthenMasks(mlir::Block &body, llvm::ArrayRef<ExtraOrigin> origins, llvm::ArrayRef<shape::Expr> base,
                     const shape::Facts &facts);

} // namespace lathe::opt

#endif // LATHE_LIB_OPTIMIZE_SCOREREGION_H
