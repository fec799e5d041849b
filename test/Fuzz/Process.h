//===- Process.h - Work that may crash -------------------------------------===//
#ifndef LATHE_TEST_FUZZ_PROCESS_H
#define LATHE_TEST_FUZZ_PROCESS_H

#include "Check.h"

namespace lathe::fuzz {

/// Says what is being done, for the message when it crashes.
void enter(const std::string &what);

/// A function that runs in a process of its own.
class Child {
public:
  Child() = default;
  static Child start(llvm::function_ref<Verdict()> work);
  bool isRunning() const { return pid > 0; }
  /// Its verdict; a crash, or no answer within the seconds, is one too. Nothing while it goes on and there is time
  /// left.
  std::optional<Verdict> poll(double seconds);

private:
  Verdict finish(bool timedOut);
  int pid = 0, pipe = -1;
  char *where = nullptr;
  double begin = 0;
  std::string received;
};

/// Waits for it.
Verdict isolated(llvm::function_ref<Verdict()> work, double seconds);
double now();

} // namespace lathe::fuzz

#endif // LATHE_TEST_FUZZ_PROCESS_H
