//===- RunInputs.cpp - Where a run's inputs and expectations come from -----===//
#include "RunInputs.h"
#include "NpyFile.h"
#include "TensorProto.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

/// The position that a key means among tensors: by name, or PREFIX and a number.
static std::optional<uint32_t> positionOf(ArrayRef<LatheTensorInfo> tensors, StringRef key, StringRef prefix) {
  for (auto [i, tensor] : enumerate(tensors))
    if (key == tensor.name)
      return i;
  uint32_t index;
  if (key.consume_front(prefix) && !key.getAsInteger(10, index) && index < tensors.size())
    return index;
  return std::nullopt;
}

static std::string nameList(ArrayRef<LatheTensorInfo> tensors) {
  std::vector<std::string> names;
  for (const LatheTensorInfo &tensor : tensors)
    names.push_back(("'" + StringRef(tensor.name) + "'").str());
  return names.empty() ? "none" : join(names, ", ");
}

/// Puts tensors into the inputs' order; all must be there.
static Expected<std::vector<HostTensor>> arrange(const LoadedModel &model, std::map<uint32_t, HostTensor> found, StringRef source) {
  std::vector<HostTensor> inputs;
  for (auto [i, info] : enumerate(model.inputs())) {
    auto it = found.find(i);
    if (it == found.end())
      return userError("{0} has no value for input '{1}' (number {2}); the inputs are {3}", source, info.name, i,
                       nameList(model.inputs()));
    inputs.push_back(std::move(it->second));
    HostTensor &tensor = inputs.back();
    // numpy has no bfloat16 and the like: its raw two-byte elements, and uint16 or uint8, stand for their bits.
    DLDataType want = info.dtype;
    bool rawBits = tensor.dtype.code == kDLUInt || tensor.dtype.code == kDLBfloat;
    if (rawBits && tensor.dtype.bits == want.bits && isFloating(want) && want.code != kDLFloat)
      tensor.dtype = want;
  }
  return inputs;
}

/// The output that a key means, and of how many of its elements one is there (NAME.everyK).
static std::optional<std::pair<uint32_t, uint64_t>> outputOf(const LoadedModel &model, StringRef key) {
  if (auto position = positionOf(model.outputs(), key, "out"))
    return std::pair(*position, uint64_t(1));
  auto [base, every] = key.rsplit(".every");
  uint64_t stride;
  if (every.empty() || every.getAsInteger(10, stride) || stride == 0)
    return std::nullopt;
  auto position = positionOf(model.outputs(), base, "out");
  return position ? std::optional(std::pair(*position, stride)) : std::nullopt;
}

Expected<std::vector<HostTensor>> lathe::tool::inputsFromNpz(const LoadedModel &model, const std::string &path) {
  auto arrays = readNpz(path);
  if (!arrays)
    return arrays.takeError();
  std::map<uint32_t, HostTensor> found;
  for (auto &[key, tensor] : *arrays)
    if (auto position = positionOf(model.inputs(), key, "in"))
      found[*position] = std::move(tensor);
    else if (!outputOf(model, key)) // one file may hold both
      return userError("'{0}' has a value '{1}', which is no input; the inputs are {2}", path, key, nameList(model.inputs()));
  return arrange(model, std::move(found), "'" + path + "'");
}

Expected<std::vector<HostTensor>> lathe::tool::inputsFromFiles(const LoadedModel &model, const std::vector<std::string> &arguments) {
  std::map<uint32_t, HostTensor> found;
  for (StringRef argument : arguments) {
    auto [name, path] = argument.split('=');
    auto position = positionOf(model.inputs(), name, "in");
    if (path.empty())
      return userError("--input {0}: expected NAME=FILE.npy", argument);
    if (!position)
      return userError("--input {0}: no such input; the inputs are {1}", argument, nameList(model.inputs()));
    Expected<HostTensor> tensor = readNpy(path);
    if (!tensor)
      return tensor.takeError();
    found[*position] = std::move(*tensor);
  }
  return arrange(model, std::move(found), "the command line");
}

Expected<std::vector<HostTensor>> lathe::tool::inputsFromTestData(const LoadedModel &model, const std::string &directory) {
  std::map<uint32_t, HostTensor> found;
  for (uint32_t i = 0; i < model.inputs().size(); ++i) {
    std::string path = directory + "/input_" + std::to_string(i) + ".pb";
    if (!sys::fs::exists(path))
      return userError("'{0}' does not exist; the inputs are {1}", path, nameList(model.inputs()));
    Expected<HostTensor> tensor = readTensorProto(path);
    if (!tensor)
      return tensor.takeError();
    found[i] = std::move(*tensor);
  }
  return arrange(model, std::move(found), "'" + directory + "'");
}

//===----------------------------------------------------------------------===//
// Expectations
//===----------------------------------------------------------------------===//

Expected<std::vector<Expectation>> lathe::tool::expectationsFromNpz(const LoadedModel &model, const std::string &path) {
  auto arrays = readNpz(path);
  if (!arrays)
    return arrays.takeError();
  std::vector<Expectation> result;
  for (auto &[key, tensor] : *arrays)
    if (auto output = outputOf(model, key))
      result.push_back({output->first, output->second, std::move(tensor)});
  if (result.empty())
    return userError("'{0}' expects nothing of the outputs, which are {1}", path, nameList(model.outputs()));
  return result;
}

Expected<std::vector<Expectation>> lathe::tool::expectationsFromTestData(const LoadedModel &model, const std::string &directory) {
  std::vector<Expectation> result;
  for (uint32_t i = 0; i < model.outputs().size(); ++i) {
    std::string path = directory + "/output_" + std::to_string(i) + ".pb";
    if (!sys::fs::exists(path))
      return userError("'{0}' does not exist; the outputs are {1}", path, nameList(model.outputs()));
    Expected<HostTensor> tensor = readTensorProto(path);
    if (!tensor)
      return tensor.takeError();
    result.push_back({i, 1, std::move(*tensor)});
  }
  return result;
}
