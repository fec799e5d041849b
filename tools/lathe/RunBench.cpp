//===- RunBench.cpp - Timing and profiling a run ---------------------------===//
#include "RunBench.h"
#include "lathe/Artifact/ArtifactFile.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <sys/resource.h>

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

static double peakMegabytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024;
}

Error lathe::tool::bench(LoadedModel &model, ArrayRef<DLTensor *> inputs, ArrayRef<DLTensor *> outputs, const BenchOptions &options) {
  using Clock = std::chrono::steady_clock;
  SmallVector<DLTensor *> provided; // by the library, in memory that it keeps
  copy_if(outputs, std::back_inserter(provided), [](DLTensor *output) { return !output->data; });
  auto once = [&]() -> Error {
    for (DLTensor *output : provided)
      output->data = nullptr;
    return model.run(inputs, outputs);
  };
  for (unsigned i = 0; i < std::max(options.warmup, 1u); ++i)
    if (Error error = once())
      return error;
  std::vector<double> times;
  auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  for (auto now = Clock::now(); now < end || times.size() < 3;) {
    if (Error error = once())
      return error;
    auto after = Clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(after - now).count());
    now = after;
  }
  llvm::sort(times);
  double p50 = times[times.size() / 2], p90 = times[times.size() * 9 / 10], min = times.front();
  if (!options.json) {
    outs() << formatv("p50 {0:f1} us, p90 {1:f1} us, min {2:f1} us; {3} runs on {4} threads, peak memory {5:f1} MB\n", p50, p90, min,
                      times.size(), model.signature().threads, peakMegabytes());
    return Error::success();
  }
  json::OStream out(outs(), 2);
  out.object([&] {
    out.attribute("p50_us", p50);
    out.attribute("p90_us", p90);
    out.attribute("min_us", min);
    out.attribute("iterations", int64_t(times.size()));
    out.attribute("threads", int64_t(model.signature().threads));
    out.attribute("peak_rss_mb", peakMegabytes());
  });
  outs() << "\n";
  return Error::success();
}

void Profile::record(void *self, uint32_t step, const char *kernel, int64_t startNs, int64_t endNs) {
  static_cast<Profile *>(self)->events.push_back({step, kernel, startNs, endNs});
}

/// The model nodes behind a step of the device's program.
static std::vector<StringRef> nodesOf(const artifact::ArtifactFile &file, const LatheHeader &tables, int32_t device, uint32_t step) {
  for (const LatheProgram &program : file.array<LatheProgram>(tables.programs)) {
    auto steps = file.array<LatheStep>(program.steps);
    auto kernels = file.array<LatheKernel>(file.header().kernels);
    if (int32_t(program.deviceType) == device && step < steps.size() && steps[step].kind == LATHE_STEP_KERNEL &&
        steps[step].target < kernels.size())
      return file.texts(kernels[steps[step].target].nodes);
  }
  return {};
}

Error Profile::write(const std::string &path, const std::string &artifactPath, StringRef entryName, int32_t deviceType) const {
  Expected<artifact::ArtifactFile> file = artifact::ArtifactFile::open(artifactPath);
  if (!file)
    return file.takeError();
  std::vector<artifact::ArtifactFile::Entry> entries = file->entries();
  auto entry = find_if(entries, [&](const auto &e) { return e.name == entryName; });
  const LatheHeader &tables = entry == entries.end() ? file->header() : *entry->tables;
  std::error_code code;
  raw_fd_ostream stream(path, code);
  if (code)
    return userError("cannot write '{0}': {1}", path, code.message());
  int64_t origin = events.empty() ? 0 : events.front().start;
  json::OStream out(stream, 1);
  auto writeEvent = [&](const Event &event) {
    out.attribute("name", event.kernel);
    out.attribute("ph", "X");
    out.attribute("pid", 0);
    out.attribute("tid", 0);
    out.attribute("ts", double(event.start - origin) / 1000);
    out.attribute("dur", double(event.end - event.start) / 1000);
    out.attributeObject("args", [&] {
      out.attribute("step", int64_t(event.step));
      out.attributeArray("nodes", [&] {
        for (StringRef node : nodesOf(*file, tables, deviceType, event.step))
          out.value(json::fixUTF8(node));
      });
    });
  };
  out.object([&] {
    out.attribute("displayTimeUnit", "ns");
    out.attributeArray("traceEvents", [&] {
      for (const Event &event : events)
        out.object([&] { writeEvent(event); });
    });
  });
  stream << "\n";
  return Error::success();
}
