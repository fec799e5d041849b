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

static std::string encode(const Verdict &v) {
  return std::to_string(unsigned(v.outcome)) + "\n" + v.stage + "\n" + v.message;
}

static Verdict decode(llvm::StringRef text) {
  auto [outcome, rest] = text.split('\n');
  auto [stage, message] = rest.split('\n');
  unsigned n = 0;
  outcome.getAsInteger(10, n);
  return {Outcome(n), stage.str(), message.str()};
}

Child Child::start(llvm::function_ref<Verdict()> work) {
  Child child;
  int ends[2];
  if (::pipe(ends))
    return child;
  child.where = static_cast<char *>(mmap(nullptr, kWhere, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  child.begin = now();
  child.pid = fork();
  if (child.pid == 0) {
    close(ends[0]);
    current = child.where;
    if (int null = open("/dev/null", O_WRONLY); null >= 0)
      dup2(null, 2); // what a crash prints
    std::string text = encode(work());
    for (size_t at = 0; at < text.size();)
      if (ssize_t n = write(ends[1], text.data() + at, text.size() - at); n > 0)
        at += n;
      else
        break;
    _exit(0);
  }
  close(ends[1]);
  child.pipe = ends[0];
  fcntl(child.pipe, F_SETFL, O_NONBLOCK);
  return child;
}

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
  return received.empty() ? Verdict{Outcome::Crash, at, "ended without a verdict"} : decode(received);
}

std::optional<Verdict> Child::poll(double seconds) {
  char piece[4096];
  ssize_t n;
  while ((n = read(pipe, piece, sizeof piece)) > 0)
    received.append(piece, n);
  if (n == 0)
    return finish(false);
  if (now() - begin > seconds)
    return finish(true);
  return std::nullopt;
}

Verdict fuzz::isolated(llvm::function_ref<Verdict()> work, double seconds) {
  Child child = Child::start(work);
  while (true) {
    if (std::optional<Verdict> v = child.poll(seconds))
      return *v;
    usleep(1000);
  }
}
