//===- Resampler.h - Values between the elements of a dimension ------------===//
#ifndef LATHE_DIALECT_LATHE_RESAMPLER_H
#define LATHE_DIALECT_LATHE_RESAMPLER_H

#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include <string>

namespace lathe::ir {

struct Resampling {
  std::string mode = "nearest", coordinates = "half_pixel", rounding = "round_prefer_floor";
  double cubic = -0.75, outsideValue = 0;
  bool dropsOutside = false; ///< weights outside of the operand do not count
  bool antialias = false;    ///< a smaller result reads as many more neighbours
};

/// One dimension that is resized.
struct ResizedAxis {
  int64_t dim;
  shape::Expr in, out;
  std::optional<double> scale; ///< none: out / in
  double start = 0, end = 1;   ///< the region, for tf_crop_and_resize
  /// f64, rank 0: what is known only when the model runs.
  mlir::Value givenScale = {}, givenStart = {}, givenEnd = {};
};

/// x, resized along one axis. Null, and why not, where a word in `how` is not known or a kernel would be too large. That a dimension
/// which shrinks with `antialias` has elements is the caller's to see to.
mlir::Value resample(GraphBuilder &g, const Resampling &how, mlir::Value x, const ResizedAxis &axis, std::string &why);

/// The weights of the four neighbours at -1, 0, 1, 2 of a place that lies a fraction behind 0 (Keys' cubic convolution).
llvm::SmallVector<mlir::Value> cubicWeights(GraphBuilder &g, mlir::Value fraction, double a);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_RESAMPLER_H
