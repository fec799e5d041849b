//===- MutationLimits.h - What one mutation may take ------------------------===//
//
// A damaged model that takes long or much memory fails with its number, and so does one that crashes: the process ends, but says
// which mutation it was. Without this, the kernel would end the process that it holds to be guilty.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TEST_IMPORT_MUTATION_LIMITS_H
#define LATHE_TEST_IMPORT_MUTATION_LIMITS_H

#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LATHE_MUTATION_ASAN 1
#include <sanitizer/common_interface_defs.h>
#endif
#endif

namespace lathe::test {

#ifdef LATHE_MUTATION_ASAN
constexpr unsigned mutationSeconds = 100; // and no limit on addresses, of which the sanitizer's shadow takes terabytes
#else
constexpr unsigned mutationSeconds = 20;
#endif
constexpr uint64_t mutationBytes = uint64_t(4) << 30; ///< of the process; the seeds and LLVM's libraries take a small part

class MutationLimits {
public:
  MutationLimits() {
    handle(SIGALRM, [](int) { fail("takes too long"); });
#ifdef LATHE_MUTATION_ASAN
    __sanitizer_set_death_callback([] { say("was the last one"); });
#else
    for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
      handle(number, [](int) { fail("crashed"); });
    std::set_new_handler([] { fail("takes too much memory"); });
    llvm::install_bad_alloc_error_handler([](void *, const char *, bool) { fail("takes too much memory"); });
    rlimit limit{mutationBytes, mutationBytes};
    setrlimit(RLIMIT_AS, &limit);
#endif
  }

  /// The clock runs while this lives: it is declared before all that a mutation makes.
  class Watch {
  public:
    Watch(MutationLimits &limits, unsigned mutation) : limits(limits) { limits.begin(mutation); }
    Watch(const Watch &) = delete;
    ~Watch() { limits.done(); }

  private:
    MutationLimits &limits;
  };

  void report(unsigned imported) const {
    llvm::errs() << count << " mutations, of which " << imported << " could be imported; " << slowest << " took longest, "
                 << llvm::format("%.2f", slowestSeconds) << " s; memory reached " << (peak >> 10)
                 << " MiB, last raised by more than 16 MiB by " << largest << "\n";
  }

private:
  using Clock = std::chrono::steady_clock;

  void begin(unsigned mutation) {
    current() = mutation;
    started = Clock::now();
    alarm(mutationSeconds);
  }
  void done() {
    alarm(0);
    double seconds = std::chrono::duration<double>(Clock::now() - started).count();
    if (seconds > slowestSeconds)
      slowestSeconds = seconds, slowest = current();
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    // Only steps: the allocator's own growth is not a mutation's fault.
    if (usage.ru_maxrss > peak + (16 << 10))
      largest = current();
    peak = std::max(peak, usage.ru_maxrss);
    ++count;
  }

  static volatile unsigned &current() {
    static volatile unsigned mutation = 0;
    return mutation;
  }
  /// For signal handlers: no allocation.
  static void say(const char *what) {
    char text[80];
    int length = snprintf(text, sizeof(text), "\nmutation %u %s\n", current(), what);
    (void)!write(STDERR_FILENO, text, length);
  }
  [[noreturn]] static void fail(const char *what) {
    say(what);
    _exit(1);
  }
  /// On a stack of its own: a crash may be the end of the usual one.
  static void handle(int number, void (*handler)(int)) {
    static char memory[64 << 10];
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = sizeof(memory);
    sigaltstack(&stack, nullptr);
    struct sigaction action {};
    action.sa_handler = handler;
    action.sa_flags = SA_ONSTACK;
    sigaction(number, &action, nullptr);
  }

  Clock::time_point started;
  double slowestSeconds = 0;
  unsigned slowest = 0, largest = 0, count = 0;
  long peak = 0; ///< KiB
};

} // namespace lathe::test

#endif // LATHE_TEST_IMPORT_MUTATION_LIMITS_H
