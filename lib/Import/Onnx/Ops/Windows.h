//===- Windows.h - The geometry of sliding windows -------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_OPS_WINDOWS_H
#define LATHE_LIB_IMPORT_ONNX_OPS_WINDOWS_H

#include "Node.h"

namespace lathe::onnx {

/// Per spatial dimension. `room`: the padded elements beside one window; for auto_pad SAME_UPPER and SAME_LOWER, which make it, there is none.
struct Windows {
  llvm::SmallVector<int64_t> kernel, strides, dilations;
  Dims low, high, out, room;
};

/// From strides, dilations, pads, auto_pad and ceil_mode.
Windows windowsOf(Node &n, const Dims &spatial, llvm::ArrayRef<int64_t> kernel);
/// Of a kernel whose sizes are known only when the model runs.
struct OpenWindows {
  std::string mode; ///< of padding; with NOTSET it is low and high
  llvm::SmallVector<int64_t> strides, dilations;
  Dims low, high;
};
Value convolveOpen(Node &n, Value x, Value weights, const OpenWindows &windows, int64_t groups);
/// The constant sizes of a kernel [O, I, spatial...].
llvm::SmallVector<int64_t> kernelOf(Node &n, Value weights);
Value convolve(Node &n, Value x, Value weights, const Windows &windows, int64_t groups);
/// What Conv computes of the node's operands and attributes.
Value convolution(Node &n);
/// Adds the operand [C], where it is there, to y [N, C, spatial...].
Value addBias(Node &n, Value y, unsigned input);
/// An image [N, spatial..., C] as [N, C, spatial...], and back.
Value channelsSecond(Node &n, Value x);
Value channelsLast(Node &n, Value x);
/// x surrounded with the rank-0 value.
Value padWith(Node &n, Value x, Value value, const Dims &low, const Dims &high);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_OPS_WINDOWS_H
