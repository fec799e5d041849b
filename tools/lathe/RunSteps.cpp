//===- RunSteps.cpp - Several runs of one context --------------------------===//
#include "RunSteps.h"
#include "lathe/Support/Diagnostics.h"
#include <cstring>

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

/// How many steps the inputs are for.
static Expected<int64_t> stepsOf(ArrayRef<HostTensor> inputs, ArrayRef<LatheTensorInfo> infos) {
  std::optional<int64_t> steps;
  for (auto [tensor, info] : zip(inputs, infos)) {
    if (tensor.shape.empty())
      return userError("--steps: input '{0}' is a scalar; it needs a dimension of steps in front", info.name);
    if (steps && *steps != tensor.shape[0])
      return userError("--steps: input '{0}' has {1} steps, '{2}' has {3}", info.name, tensor.shape[0], infos[0].name,
                       *steps);
    steps = tensor.shape[0];
  }
  if (!steps || *steps == 0)
    return userError("--steps: there are no steps: each input has a dimension of steps in front of its own");
  return *steps;
}

/// Takes a step's output into the tensor that has all of them.
static Error keep(HostTensor &all, const DLTensor &output, int64_t step, int64_t steps, const char *name) {
  std::vector<int64_t> shape(output.shape, output.shape + output.ndim);
  shape.insert(shape.begin(), steps);
  if (step == 0) {
    Expected<HostTensor> made = HostTensor::create(output.dtype, shape);
    if (!made)
      return made.takeError();
    all = std::move(*made);
  }
  if (all.shape != shape)
    return userError("--steps: output '{0}' is {1} at step {2} and {3} before", name,
                     shapeText(ArrayRef<int64_t>(shape).drop_front()), step,
                     shapeText(ArrayRef<int64_t>(all.shape).drop_front()));
  uint64_t bytes = all.bytes() / uint64_t(steps);
  if (bytes)
    std::memcpy(all.data() + uint64_t(step) * bytes, static_cast<const char *>(output.data) + output.byte_offset,
                bytes);
  return Error::success();
}

Expected<std::vector<HostTensor>> lathe::tool::runSteps(LoadedModel &model, MutableArrayRef<HostTensor> inputs) {
  Expected<int64_t> steps = stepsOf(inputs, model.inputs());
  if (!steps)
    return steps.takeError();
  std::vector<HostTensor> all(model.outputs().size());
  for (int64_t step = 0; step < *steps; ++step) {
    std::vector<DLTensor> views, results(all.size());
    for (HostTensor &input : inputs) {
      DLTensor view = input.view();
      view.data = input.data() + input.bytes() / uint64_t(*steps) * uint64_t(step);
      ++view.shape;
      --view.ndim;
      views.push_back(view);
    }
    std::vector<DLTensor *> from, to;
    for (DLTensor &view : views)
      from.push_back(&view);
    for (DLTensor &result : results)
      to.push_back(&result);
    if (Error error = model.run(from, to))
      return error;
    for (auto [i, result] : enumerate(results))
      if (Error error = keep(all[i], result, step, *steps, model.outputs()[i].name))
        return error;
  }
  return all;
}
