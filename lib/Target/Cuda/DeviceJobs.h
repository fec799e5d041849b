//===- DeviceJobs.h - Machine code of several kernels at once --------------===//
#ifndef LATHE_LIB_TARGET_CUDA_DEVICEJOBS_H
#define LATHE_LIB_TARGET_CUDA_DEVICEJOBS_H

#include "Toolchain.h"
#include "lathe/Target/CudaTarget.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <condition_variable>
#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace lathe::cuda {

/// One kernel on one architecture, on its way to machine code.
struct DeviceJob {
  std::string name, form;                     ///< the kernel's, and the kernel as text for reports of bugs
  unsigned sm;
  std::string key;                            ///< of the cache; empty: none
  std::unique_ptr<llvm::LLVMContext> context; ///< of its own: LLVM's passes run beside others
  std::unique_ptr<llvm::Module> module;       ///< null: its code is there
  std::string ptx, cubin;
  size_t number = 0; ///< in the order in which jobs came
};

/// The code from the cache, where it is there.
bool takeCached(DeviceJob &job, CodeCache &cache);

/// LLVM's and ptxas's part of the work, on threads of their own while kernels that come later are generated.
class DeviceJobs {
public:
  /// `total`: how many jobs there will be at most, for reports of progress.
  DeviceJobs(const CudaOptions &options, const Toolchain &toolchain, size_t total);
  ~DeviceJobs();
  void add(DeviceJob job);
  /// So many of them are like others, and will not come.
  void expectLess(size_t n) { total -= n; }
  size_t size() const { return jobs.size(); }
  /// Works along until all are done. The first failure in the order in which jobs came, whatever the threads' order was.
  llvm::Error finish();
  /// After `finish`.
  const DeviceJob &operator[](size_t i) const { return jobs[i]; }

private:
  DeviceJob *next(bool wait);
  void work(bool wait);
  void join();

  const CudaOptions &options;
  const Toolchain &toolchain;
  std::atomic<size_t> total;
  std::deque<DeviceJob> jobs; ///< references stay valid as it grows
  size_t begun = 0;
  bool closed = false;
  std::map<size_t, llvm::Error> failures;
  std::mutex lock;
  std::condition_variable changed;
  std::vector<std::thread> threads;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_DEVICEJOBS_H
