//===- ScatterEmitter.h - Code of updates at computed places -------------===//
#ifndef LATHE_LIB_TARGET_CUDA_SCATTEREMITTER_H
#define LATHE_LIB_TARGET_CUDA_SCATTEREMITTER_H

#include "ScatterHooks.h"
#include "lathe/Lower/ScatterUpdates.h"

namespace lathe::cuda {

/// Updates of a thread of a launch that fills the device that are in flight together.
constexpr int64_t scatterAhead = 8;

/// The number of a thread in its launch.
Value scatterThread(DeviceBuilder &d);

/// What the threads of a launch do with the updates.
class ScatterEmitter {
public:
  ScatterEmitter(KernelFrame &frame, lower::ScatterUpdates updates, const lower::ScatterAxes &axes,
                 lower::EmitHooks &hooks)
      : frame(frame), d(frame.d), info(frame.info), updates(updates), axes(axes),
        base(info, d.b, d.loc, frame.sizes, frame.refs, hooks) {}
  /// A thread for each update; its number, in the order of the updates, goes to `started`.
  void emitEach(llvm::function_ref<void(Value)> started = [](Value) {});
  void emitInOrder(const std::optional<lower::SharedIndex> &shared, const shape::Expr &parts);
  /// As many threads as there are, each of which takes some updates; the largest of `count` numbers that `find` makes
  /// of an update's value, where it counts.
  Values emitRange(unsigned count, llvm::function_ref<Values(Value, Value)> find);
  /// The same threads; what a block's words hold behind the last of them goes to `flush`, by element.
  void emitPrivate(const PrivateWords &words, llvm::function_ref<void(Value, Value)> flush);
  const std::string &error() const { return base.error(); }

private:
  void storeOne(lower::BodyEmitter &point, Value only = {});

  KernelFrame &frame;
  DeviceBuilder &d;
  const lower::BodyInfo &info;
  lower::ScatterUpdates updates;
  lower::ScatterAxes axes;
  lower::BodyEmitter base;
  Value part, first, last; ///< of the body: the index of which this thread has [first, last)
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_SCATTEREMITTER_H
