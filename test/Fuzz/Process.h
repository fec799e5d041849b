//===- Process.h - Work that may crash -------------------------------------===//
#ifndef LATHE_TEST_FUZZ_PROCESS_H
#define LATHE_TEST_FUZZ_PROCESS_H

#include "Check.h"

namespace lathe::fuzz {

/// Says what is being done, for the message when it crashes.
void enter(const std::string &what);

/// The seeds from `first` up to `end`, without it.
struct Seeds {
  uint64_t first = 0, end = 1;
};

/// A function that runs in a process of its own, for one seed after another. What fails may have broken the process (the
/// state of a device most of all): it is the process's last seed.
class Child {
public:
  Child() = default;
  static Child start(Seeds seeds, llvm::function_ref<Verdict(uint64_t seed)> work);
  bool isRunning() const { return pid > 0; }
  /// Those that it has not told about; of one that runs no more, what another process must do.
  Seeds left() const { return seeds; }
  /// The verdicts since the last time, in order; a crash, or no answer within the seconds for one seed, is one too.
  std::vector<Verdict> poll(double seconds);

private:
  Verdict finish(bool timedOut);
  std::optional<Verdict> nextReceived();
  Seeds seeds;
  int pid = 0, pipe = -1;
  char *where = nullptr;
  double begin = 0; ///< of the current seed
  bool failed = false;
  std::string received;
};

/// Waits for it.
Verdict isolated(llvm::function_ref<Verdict()> work, double seconds);
double now();

} // namespace lathe::fuzz

#endif // LATHE_TEST_FUZZ_PROCESS_H
