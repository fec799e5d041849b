//===- DeviceJobs.cpp - Machine code of several kernels at once ------------===//

#include "DeviceJobs.h"
#include "PtxEmitter.h"
#include "lathe/Support/CodeCache.h"
#include "lathe/Support/Diagnostics.h"
#include <chrono>

using namespace lathe;
using namespace lathe::cuda;
using llvm::StringRef;

/// PTX and cubin as one entry of the cache: the length of the one, then both.
bool cuda::takeCached(DeviceJob &job, CodeCache &cache) {
  std::optional<std::string> code = cache.find(job.key);
  if (!code)
    return false;
  auto [length, rest] = StringRef(*code).split('\n');
  size_t ptx;
  if (length.getAsInteger(10, ptx) || ptx > rest.size())
    return false;
  job.ptx = rest.take_front(ptx).str();
  job.cubin = rest.drop_front(ptx).str();
  return true;
}

static llvm::Error makeCode(DeviceJob &job, const CudaOptions &options, const Toolchain &toolchain) {
  if (!job.module) // its code was there
    return llvm::Error::success();
  if (llvm::Error e = optimiseForDevice(*job.module, job.sm, toolchain.libdevice))
    return e;
  auto ptx = toPtx(*job.module, job.sm);
  if (!ptx)
    return ptx.takeError();
  job.ptx = std::move(*ptx);
  if (options.stage != Stage::Cubin)
    return llvm::Error::success();
  auto cubin = assemble(job.ptx, job.sm, toolchain);
  if (!cubin)
    return cubin.takeError();
  job.cubin = std::move(*cubin);
  if (!job.key.empty())
    options.cache->add(job.key, std::to_string(job.ptx.size()) + "\n" + job.ptx + job.cubin);
  return llvm::Error::success();
}

DeviceJobs::DeviceJobs(const CudaOptions &options, const Toolchain &toolchain, size_t total)
    : options(options), toolchain(toolchain), total(total) {
  for (size_t i = 1, n = std::min<size_t>(options.jobs, total); i < n; ++i)
    threads.emplace_back([this] { work(/*wait=*/true); });
}

DeviceJobs::~DeviceJobs() {
  {
    std::lock_guard<std::mutex> guard(lock);
    begun = jobs.size(); // what has not begun is not wanted any more
  }
  join();
  for (auto &[i, e] : failures)
    llvm::consumeError(std::move(e));
}

void DeviceJobs::join() {
  {
    std::lock_guard<std::mutex> guard(lock);
    closed = true;
  }
  changed.notify_all();
  for (std::thread &t : threads)
    t.join();
  threads.clear();
}

void DeviceJobs::add(DeviceJob job) {
  std::lock_guard<std::mutex> guard(lock);
  job.number = jobs.size();
  jobs.push_back(std::move(job));
  changed.notify_one();
}

/// The next job that nobody has begun, or null where there is none and none will come.
DeviceJob *DeviceJobs::next(bool wait) {
  std::unique_lock<std::mutex> guard(lock);
  changed.wait(guard, [&] { return begun < jobs.size() || closed || !wait; });
  return begun < jobs.size() ? &jobs[begun++] : nullptr;
}

void DeviceJobs::work(bool wait) {
  while (DeviceJob *job = next(wait)) {
    auto start = std::chrono::steady_clock::now();
    llvm::Error e = makeCode(*job, options, toolchain);
    job->module.reset(); // LLVM's form is many times the size of the code
    job->context.reset();
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    if (e) {
      std::lock_guard<std::mutex> guard(lock);
      failures.emplace(job->number, withForm(std::move(e), [&] { return job->form; }));
    }
    if (options.finished)
      options.finished(job->name, taken.count(), total);
  }
}

llvm::Error DeviceJobs::finish() {
  work(/*wait=*/false);
  join();
  llvm::Error first = llvm::Error::success();
  for (auto &[i, e] : failures) {
    if (first)
      llvm::consumeError(std::move(e));
    else
      first = std::move(e);
  }
  failures.clear();
  return first;
}
