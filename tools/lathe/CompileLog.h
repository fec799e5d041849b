//===- CompileLog.h - What lathe compile says while it works ----------------===//
#ifndef LATHE_TOOLS_COMPILELOG_H
#define LATHE_TOOLS_COMPILELOG_H

#include "lathe/Pipeline/Observer.h"
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

namespace spdlog {
class logger;
}

namespace lathe::tool {

/// With `-v` a line for each stage (time, size), with `-vv` for each pass and each kernel's code, too. Without, on a
/// terminal, one line that tells how far a compilation is that takes more than two seconds, and goes away at the end.
class CompileLog : public Observer {
public:
  explicit CompileLog(unsigned verbosity);
  ~CompileLog() override;

  void began(llvm::StringRef stage) override;
  void finished(llvm::StringRef stage, double seconds, llvm::StringRef size) override;
  void finishedPass(llvm::StringRef pass, double seconds) override;
  void finishedKernel(llvm::StringRef kernel, double seconds, unsigned total) override;
  void advised(llvm::StringRef text) override;

private:
  void showProgress(const std::string &text);

  std::shared_ptr<spdlog::logger> log;
  std::mutex mutex; ///< of the progress line
  std::chrono::steady_clock::time_point start, shown;
  bool progress, visible = false;
  unsigned kernels = 0;
};

} // namespace lathe::tool

#endif // LATHE_TOOLS_COMPILELOG_H
