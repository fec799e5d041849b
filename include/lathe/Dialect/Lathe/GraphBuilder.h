//===- GraphBuilder.h - Building model graphs ------------------------------===//
//
// What importers and rewrites build graphs with: numpy broadcasting, shape arithmetic on symbols, and the compositions
// (softmax, layer norm, ...) in the one form that the later stages know. Every method takes and returns values of the lathe
// dialect; sizes are expressions. Preconditions (equal element types, valid axes) are the caller's to check: importers
// report violations with the node's name before they build.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_LATHE_GRAPHBUILDER_H
#define LATHE_DIALECT_LATHE_GRAPHBUILDER_H

#include "lathe/Dialect/Lathe/Lathe.h"

namespace lathe::ir {

class GraphBuilder {
public:
  GraphBuilder(mlir::OpBuilder &b, mlir::Location loc, const shape::Facts &facts) : b(b), loc(loc), facts(facts) {}

  mlir::OpBuilder &b;
  mlir::Location loc;
  const shape::Facts &facts;

  /// What is wrong with the first reshape that cannot be, since the sizes hold another number of elements: of an importer's the
  /// model is to blame, where its sizes do not fit together.
  std::string misfit;

  // Constants.
  mlir::Value scalar(double value, mlir::Type element); ///< rank 0
  mlir::Value splat(double value, llvm::ArrayRef<shape::Expr> dims, mlir::Type element);
  mlir::Value splatLike(double value, mlir::Value like) { return splat(value, dimsOf(like), elementOf(like)); }
  mlir::Value integers(llvm::ArrayRef<int64_t> values); ///< tensor<Nxi64>
  mlir::Value sizes(llvm::ArrayRef<shape::Expr> exprs); ///< tensor<Nxi64>
  mlir::Value size(const shape::Expr &expr);            ///< rank 0, i64

  // Broadcasting. Nothing when two sizes are neither provably equal nor is one of them 1.
  std::optional<Dims> broadcastDims(llvm::ArrayRef<shape::Expr> a, llvm::ArrayRef<shape::Expr> b);
  mlir::Value broadcastTo(mlir::Value x, llvm::ArrayRef<shape::Expr> dims); ///< a no-op where the dims are the same
  /// Brings all to their common dims; false (and `why`) when they do not broadcast.
  bool broadcastAll(llvm::MutableArrayRef<mlir::Value> values, std::string *why = nullptr);

  // Elementwise, operands of one type (see broadcastAll).
  template <typename OpT> mlir::Value unary(mlir::Value x) { return b.createOrFold<OpT>(loc, x.getType(), x); }
  template <typename OpT> mlir::Value binary(mlir::Value x, mlir::Value y) { return b.createOrFold<OpT>(loc, x.getType(), x, y); }
  /// With a scalar constant of x's type on the right.
  template <typename OpT> mlir::Value binary(mlir::Value x, double y) { return binary<OpT>(x, splatLike(y, x)); }
  mlir::Value add(mlir::Value x, mlir::Value y) { return binary<AddOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return binary<SubOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary<MulOp>(x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return binary<DivOp>(x, y); }
  mlir::Value compare(CompareKind kind, mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);
  mlir::Value cast(mlir::Value x, mlir::Type element);    ///< a no-op where it is the same
  mlir::Value bitcast(mlir::Value x, mlir::Type element); ///< of the same width; a no-op where it is the same

  // Views.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<shape::Expr> dims);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm);
  mlir::Value unsqueeze(mlir::Value x, llvm::ArrayRef<int64_t> axes); ///< axes of the result, sorted
  mlir::Value squeeze(mlir::Value x, llvm::ArrayRef<int64_t> axes);
  mlir::Value slice(mlir::Value x, int64_t axis, const shape::Expr &start, const shape::Expr &size, int64_t step = 1);
  mlir::Value concat(mlir::ValueRange inputs, int64_t axis);
  mlir::Value gather(mlir::Value x, mlir::Value indices, int64_t axis);
  mlir::Value iota(llvm::ArrayRef<shape::Expr> dims, int64_t axis, mlir::Type element);

  // Reductions; axes non-negative. keepDims leaves size-1 dimensions.
  mlir::Value reduce(ReduceKind kind, mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepDims);
  mlir::Value mean(mlir::Value x, llvm::ArrayRef<int64_t> axes, bool keepDims); ///< sum * (1 / size)

  // Orders along an axis.
  mlir::Value scan(ScanKind kind, mlir::Value x, int64_t axis, bool exclusive = false, bool reverse = false);
  /// The `count` elements of a list at which a mask is true.
  mlir::Value compact(mlir::Value x, mlir::Value mask, const shape::Expr &count);
  /// The indices of the first `count` elements of the order (see lathe.sort).
  mlir::Value sort(mlir::Value x, int64_t axis, bool descending, const shape::Expr &count);
  mlir::Value takeAlong(mlir::Value x, mlir::Value indices, int64_t axis); ///< numpy.take_along_axis

  // Contractions.
  /// numpy.matmul: 1-D operands, batch broadcasting. Nothing (and `why`) when the shapes do not fit.
  mlir::Value matmul(mlir::Value x, mlir::Value y, std::string *why = nullptr);
  mlir::Value contract(mlir::Value x, mlir::Value y, llvm::ArrayRef<int64_t> xBatch, llvm::ArrayRef<int64_t> yBatch,
                       llvm::ArrayRef<int64_t> xContract, llvm::ArrayRef<int64_t> yContract);
  /// x [.., K] times w [N, K] transposed, plus bias [N] where given.
  mlir::Value linear(mlir::Value x, mlir::Value w, mlir::Value bias);

  // Compositions.
  mlir::Value sigmoid(mlir::Value x); ///< 1 / (1 + exp(-x))
  mlir::Value silu(mlir::Value x);    ///< x * sigmoid(x)
  mlir::Value gelu(mlir::Value x);    ///< 0.5 * x * (1 + erf(x / sqrt 2))
  mlir::Value geluTanh(mlir::Value x);
  mlir::Value relu(mlir::Value x);
  mlir::Value softmax(mlir::Value x, int64_t axis); ///< exp(x - max) / sum
  /// (x - mean) * rsqrt(mean((x - mean)^2) + eps) * scale + bias over the dims from `axis`; scale and bias may be null.
  mlir::Value layerNorm(mlir::Value x, int64_t axis, mlir::Value scale, mlir::Value bias, double eps);
  mlir::Value rmsNorm(mlir::Value x, int64_t axis, mlir::Value scale, double eps);
  /// Attention with an additive or boolean mask (or null) broadcasting to [B, H, Q, K], optionally causal (top-left aligned).
  mlir::Value attention(mlir::Value q, mlir::Value k, mlir::Value v, mlir::Value mask, bool causal, double scale, bool zeroMasked);
};

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_GRAPHBUILDER_H
