//===- Families.h - The operator tables, one per file -----------------------===//
#ifndef LATHE_LIB_IMPORT_FX_OPS_FAMILIES_H
#define LATHE_LIB_IMPORT_FX_OPS_FAMILIES_H

#include "../OpContext.h"

namespace lathe::fx {

llvm::ArrayRef<OpEntry> unaryOps();
llvm::ArrayRef<OpEntry> functionOps();
llvm::ArrayRef<OpEntry> activationOps();
llvm::ArrayRef<OpEntry> binaryOps();
llvm::ArrayRef<OpEntry> compareOps();
llvm::ArrayRef<OpEntry> convertOps();
llvm::ArrayRef<OpEntry> reduceOps();
llvm::ArrayRef<OpEntry> scanOps();
llvm::ArrayRef<OpEntry> sortOps();
llvm::ArrayRef<OpEntry> shapeOps();
llvm::ArrayRef<OpEntry> sliceOps();
llvm::ArrayRef<OpEntry> splitOps();
llvm::ArrayRef<OpEntry> diagonalOps();
llvm::ArrayRef<OpEntry> stridedOps();
llvm::ArrayRef<OpEntry> joinOps();
llvm::ArrayRef<OpEntry> stackOps();
llvm::ArrayRef<OpEntry> indexOps();
llvm::ArrayRef<OpEntry> scatterOps();
llvm::ArrayRef<OpEntry> createOps();
llvm::ArrayRef<OpEntry> matmulOps();
llvm::ArrayRef<OpEntry> normOps();
llvm::ArrayRef<OpEntry> numberOps();
llvm::ArrayRef<OpEntry> attentionOps();
llvm::ArrayRef<OpEntry> convOps();
llvm::ArrayRef<OpEntry> poolOps();
llvm::ArrayRef<OpEntry> adaptivePoolOps();
llvm::ArrayRef<OpEntry> blockOps();
llvm::ArrayRef<OpEntry> padOps();
llvm::ArrayRef<OpEntry> resizeOps();
llvm::ArrayRef<OpEntry> recurrentOps();
llvm::ArrayRef<OpEntry> gridOps();
llvm::ArrayRef<OpEntry> lossOps();
llvm::ArrayRef<OpEntry> randomOps();
llvm::ArrayRef<OpEntry> dataOps();
llvm::ArrayRef<OpEntry> distanceOps();
llvm::ArrayRef<OpEntry> bagOps();
llvm::ArrayRef<OpEntry> searchOps();
llvm::ArrayRef<OpEntry> quantizeOps();
llvm::ArrayRef<OpEntry> backwardOps();
llvm::ArrayRef<OpEntry> fourierOps();
llvm::ArrayRef<OpEntry> complexOps();
llvm::ArrayRef<OpEntry> miscOps();
llvm::ArrayRef<OpEntry> assertOps();
llvm::ArrayRef<OpEntry> specialOps();
llvm::ArrayRef<OpEntry> polynomialOps();
llvm::ArrayRef<OpEntry> productOps();
llvm::ArrayRef<OpEntry> quantileOps();
llvm::ArrayRef<OpEntry> sampleQuantileOps();
llvm::ArrayRef<OpEntry> integralOps();
llvm::ArrayRef<OpEntry> marginOps();
llvm::ArrayRef<OpEntry> bitOps();
llvm::ArrayRef<OpEntry> segmentOps();
llvm::ArrayRef<OpEntry> linalgOps();
llvm::ArrayRef<OpEntry> matrixNormOps();
llvm::ArrayRef<OpEntry> histogramOps();
llvm::ArrayRef<OpEntry> detectionOps();

/// Runs a composition in float32 where x is of a half type, as torch does, and brings the result back.
template <typename Fn> Value inFloat(OpContext &c, Value x, Fn compose) {
  Type element = ir::elementOf(x);
  bool half = element.isF16() || element.isBF16();
  return c.g.cast(compose(half ? c.g.cast(x, c.g.b.getF32Type()) : x), element);
}

/// The logarithm of the sum of exponentials along the axes.
Value logSumExp(OpContext &c, Value v, llvm::ArrayRef<int64_t> axes, bool keep);

/// Elements of x go to the places of `at` in planes of zeros: the dimensions of `out` from `lead` on, flat.
llvm::Error giveInPlanes(OpContext &c, ir::ScatterKind kind, Value x, Value at, const ir::Dims &out, size_t lead);

/// Whether its elements can be positions.
inline bool isIndex(Value v) {
  Type t = ir::elementOf(v);
  return llvm::isa<mlir::IntegerType>(t) && !t.isInteger(1);
}

/// torch takes a scalar for a tensor of one element in many places.
inline Value atLeastOneDim(OpContext &c, Value v) { return ir::typeOf(v).getRank() == 0 ? c.g.unsqueeze(v, {0}) : v; }

/// All elements, in one dimension.
inline Value flattened(OpContext &c, Value x) { return c.g.reshape(x, {c.g.facts.simplify(shape::product(ir::dimsOf(x)))}); }

inline Value isNan(OpContext &c, Value x) { return c.g.compare(ir::CompareKind::NE, x, x); }

/// Relies on the axis being long enough for `count`, and on its elements having numbers of 32 bits, as those that are sorted have.
llvm::Error needElements(OpContext &c, const Expr &count, const Expr &size);

/// Concatenates what is not empty.
inline Value joinParts(OpContext &c, llvm::ArrayRef<Value> parts, int64_t axis) {
  SmallVector<Value> kept;
  for (Value v : parts)
    if (!ir::dimsOf(v)[axis].isZero())
      kept.push_back(v);
  return kept.empty() ? parts[0] : c.g.concat(kept, axis);
}

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_OPS_FAMILIES_H
