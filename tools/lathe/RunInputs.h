//===- RunInputs.h - Where a run's inputs and expectations come from -------===//
#ifndef LATHE_TOOLS_RUNINPUTS_H
#define LATHE_TOOLS_RUNINPUTS_H

#include "Compare.h"
#include "LoadedModel.h"
#include <map>

namespace lathe::tool {

/// One expectation: compare every `stride`-th element of output `output` with `want`.
struct Expectation {
  uint32_t output;
  uint64_t stride;
  HostTensor want;
};

/// From an .npz: keys are inputs' names, or in0, in1, ... by position; those of outputs are ignored, others refused.
llvm::Expected<std::vector<HostTensor>> inputsFromNpz(const LoadedModel &model, const std::string &path);
/// From NAME=x.npy arguments.
llvm::Expected<std::vector<HostTensor>> inputsFromFiles(const LoadedModel &model, const std::vector<std::string> &arguments);
/// Made up, the same ones each time: floats around zero, integers 0 or 1. NAME=2x128 arguments give shapes; sizes that they
/// leave open are the smallest allowed that are not zero.
llvm::Expected<std::vector<HostTensor>> inputsAtRandom(const LoadedModel &model, const std::vector<std::string> &arguments);
/// From ONNX's convention: DIR/input_0.pb, ...
llvm::Expected<std::vector<HostTensor>> inputsFromTestData(const LoadedModel &model, const std::string &directory);

/// From an .npz: keys are outputs' names, or out0, out1, ... by position, each perhaps followed by ".everyK".
llvm::Expected<std::vector<Expectation>> expectationsFromNpz(const LoadedModel &model, const std::string &path);
/// From ONNX's convention: DIR/output_0.pb, ...
llvm::Expected<std::vector<Expectation>> expectationsFromTestData(const LoadedModel &model, const std::string &directory);

} // namespace lathe::tool

#endif // LATHE_TOOLS_RUNINPUTS_H
