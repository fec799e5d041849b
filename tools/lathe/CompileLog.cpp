//===- CompileLog.cpp - What lathe compile says while it works --------------===//
#include "CompileLog.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

using namespace llvm;
using namespace lathe::tool;
using Clock = std::chrono::steady_clock;

static constexpr std::chrono::milliseconds patience(2000), interval(100);

CompileLog::CompileLog(unsigned verbosity)
    : log(std::make_shared<spdlog::logger>("compile", std::make_shared<spdlog::sinks::stderr_sink_mt>())),
      start(Clock::now()), shown(start), progress(!verbosity && sys::Process::StandardErrIsDisplayed()) {
  log->set_pattern("%v");
  log->set_level(verbosity == 0 ? spdlog::level::warn : verbosity == 1 ? spdlog::level::info : spdlog::level::debug);
}

CompileLog::~CompileLog() {
  if (visible)
    errs() << "\r\x1b[K";
}

void CompileLog::showProgress(const std::string &text) {
  if (!progress)
    return;
  std::lock_guard<std::mutex> guard(mutex);
  Clock::time_point now = Clock::now();
  if (now - start < patience || now - shown < interval)
    return;
  shown = now;
  visible = true;
  errs() << "\r\x1b[K" << formatv("{0,4:F1} s  {1}", std::chrono::duration<double>(now - start).count(), text).str();
}

void CompileLog::began(StringRef stage) {
  kernels = 0;
  showProgress(stage.str());
}

void CompileLog::finished(StringRef stage, double seconds, StringRef size) {
  log->info("{:<12} {:8.3f} s  {}", stage.str(), seconds, size.str());
}

void CompileLog::finishedPass(StringRef pass, double seconds) {
  log->debug("  {:8.3f} s  pass {}", seconds, pass.str());
}

void CompileLog::finishedKernel(StringRef kernel, double seconds, unsigned total) {
  log->debug("  {:8.3f} s  {}", seconds, kernel.str());
  unsigned done;
  {
    std::lock_guard<std::mutex> guard(mutex);
    done = ++kernels;
  }
  showProgress("code of kernel " + std::to_string(done) + " of " + std::to_string(total));
}

void CompileLog::advised(StringRef text) { log->warn("note: {}", text.str()); }
