//===- Resampler.h - Values between the elements of a dimension ------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_RESAMPLER_H
#define LATHE_LIB_IMPORT_ONNX_OPS_RESAMPLER_H

#include "Node.h"

namespace lathe::onnx {

struct Resampling {
  std::string mode = "nearest", coordinates = "half_pixel", rounding = "round_prefer_floor";
  double cubic = -0.75, outsideValue = 0;
  bool dropsOutside = false; ///< weights outside of the operand do not count
  bool antialias = false;    ///< a smaller result reads as many more neighbours
};

/// One dimension that is resized.
struct ResizedAxis {
  int64_t dim;
  Expr in, out;
  std::optional<double> scale; ///< none: out / in
  double start = 0, end = 1;   ///< the region, for tf_crop_and_resize
  /// f64, rank 0: what is known only when the model runs.
  Value givenScale = {}, givenStart = {}, givenEnd = {};
};

/// x, resized along one axis.
Value resample(Node &n, const Resampling &how, Value x, const ResizedAxis &axis);

/// The weights of the four neighbours at -1, 0, 1, 2 of a place that lies a fraction behind 0 (Keys' cubic convolution).
llvm::SmallVector<Value> cubicWeights(ir::GraphBuilder &g, Value fraction, double a);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_RESAMPLER_H
