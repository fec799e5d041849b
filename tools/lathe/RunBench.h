//===- RunBench.h - Timing and profiling a run -----------------------------===//
#ifndef LATHE_TOOLS_RUNBENCH_H
#define LATHE_TOOLS_RUNBENCH_H

#include "LoadedModel.h"

namespace lathe::tool {

struct BenchOptions {
  unsigned warmup = 3;
  double seconds = 1;
  bool json = false;
};

/// Runs for a while and prints the distribution of the times.
llvm::Error bench(LoadedModel &model, llvm::ArrayRef<DLTensor *> inputs, llvm::ArrayRef<DLTensor *> outputs, const BenchOptions &options);

/// Collects the steps of runs and writes them in Chrome's trace format.
class Profile {
public:
  static void record(void *self, uint32_t step, const char *kernel, int64_t startNs, int64_t endNs);
  /// `artifact` tells which model nodes the kernels of the entry point's program for the device cover.
  llvm::Error write(const std::string &path, const std::string &artifact, llvm::StringRef entry, int32_t deviceType) const;

private:
  struct Event {
    uint32_t step;
    std::string kernel;
    int64_t start, end;
  };
  std::vector<Event> events;
};

} // namespace lathe::tool

#endif // LATHE_TOOLS_RUNBENCH_H
