//===- Process.cpp - Work that may crash -----------------------------------===//

#include "Process.h"
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace lathe;
using namespace lathe::fuzz;

static constexpr size_t kWhere = 256;
static char *current = nullptr; ///< memory that the parent sees

double fuzz::now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void fuzz::enter(const std::string &what) {
  if (current)
    strncpy(current, what.c_str(), kWhere - 1);
}

/// Verdicts follow each other, each with a zero behind it.
static std::string encode(const Verdict &v) {
  std::string text = std::to_string(unsigned(v.outcome)) + "\n" + v.stage + "\n" + v.message;
  llvm::erase(text, '\0');
  return text + '\0';
}

static Verdict decode(llvm::StringRef text) {
  auto [outcome, rest] = text.split('\n');
  auto [stage, message] = rest.split('\n');
  unsigned n = 0;
  outcome.getAsInteger(10, n);
  return {Outcome(n), stage.str(), message.str()};
}

/// Whether all of it could be written.
static bool writeAll(int file, llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t n = write(file, text.data(), text.size());
    if (n <= 0)
      return false;
    text = text.drop_front(n);
  }
  return true;
}

Child Child::start(Seeds seeds, llvm::function_ref<Verdict(uint64_t)> work) {
  Child child;
  int ends[2];
  if (::pipe(ends))
    return child;
  child.seeds = seeds;
  child.where = static_cast<char *>(mmap(nullptr, kWhere, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  child.begin = now();
  child.pid = fork();
  if (child.pid == 0) {
    close(ends[0]);
    current = child.where;
    if (int null = open("/dev/null", O_WRONLY); null >= 0)
      dup2(null, 2); // what a crash prints
    for (uint64_t seed = seeds.first; seed < seeds.end; ++seed)
      if (Verdict v = work(seed); !writeAll(ends[1], encode(v)) || v.isFailure())
        break;
    _exit(0);
  }
  close(ends[1]);
  child.pipe = ends[0];
  fcntl(child.pipe, F_SETFL, O_NONBLOCK);
  return child;
}

/// Ends the process. The verdict is that of the seed that it was busy with.
Verdict Child::finish(bool timedOut) {
  int status = 0;
  if (timedOut)
    kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
  close(pipe);
  std::string at = where;
  munmap(where, kWhere);
  pid = 0;
  if (timedOut)
    return {Outcome::Crash, at, "no answer in time"};
  if (WIFSIGNALED(status))
    return {Outcome::Crash, at, std::string("ended by ") + strsignal(WTERMSIG(status))};
  return {Outcome::Crash, at, "ended without a verdict"};
}

std::optional<Verdict> Child::nextReceived() {
  size_t end = received.find('\0');
  if (end == std::string::npos)
    return std::nullopt;
  Verdict v = decode(llvm::StringRef(received).take_front(end));
  received.erase(0, end + 1);
  ++seeds.first;
  begin = now();
  failed = v.isFailure();
  return v;
}

std::vector<Verdict> Child::poll(double seconds) {
  char piece[4096];
  ssize_t n;
  while ((n = read(pipe, piece, sizeof piece)) > 0)
    received.append(piece, n);
  std::vector<Verdict> out;
  while (std::optional<Verdict> v = nextReceived())
    out.push_back(*v);
  bool ended = n == 0, late = now() - begin > seconds;
  if (!ended && !late)
    return out;
  Verdict last = finish(!ended);
  if (seeds.first < seeds.end && !failed) {
    ++seeds.first;
    out.push_back(last);
  }
  return out;
}

Verdict fuzz::isolated(llvm::function_ref<Verdict()> work, double seconds) {
  Child child = Child::start({}, [&](uint64_t) { return work(); });
  std::vector<Verdict> verdicts;
  while (child.isRunning()) {
    llvm::append_range(verdicts, child.poll(seconds));
    usleep(1000);
  }
  return verdicts.empty() ? Verdict{Outcome::Crash, "start", "no process"} : verdicts.front();
}
