//===- Emulator.h - Runs device code on the CPU ----------------------------===//
//
// Executes the LLVM IR of a device module, as it goes into PTX, with one coroutine per thread of a block, block after block.
// Instructions of the GPU alone (special registers, shuffles, barriers, bulk copies, matrix products) are calls into this
// file's tables. It shows that kernels compute what they should where there is no GPU; it models neither time nor the
// asynchrony of copies and matrix products, so it finds wrong indices and missing barriers' deadlocks, not every race.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TOOLS_LATHE_CUDA_EMULATOR_H
#define LATHE_TOOLS_LATHE_CUDA_EMULATOR_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <ucontext.h>
#include <vector>

namespace lathe::emulator {

/// A tensor map: what cuTensorMapEncodeTiled would get.
struct TensorMap {
  char *base;
  int64_t elementBytes, rank, swizzle;
  int64_t dims[5], strides[5], box[5];
};

struct Thread {
  ucontext_t context;
  std::vector<char> stack;
  unsigned id;
  bool done = false;
  std::function<bool()> waiting; ///< runnable when it gives true
  std::string waitingFor;
};

/// State that a group of threads meets at: values come in, everybody leaves once all are there.
struct Meeting {
  std::map<unsigned, std::vector<uint64_t>> values; ///< by thread
  std::map<unsigned, std::vector<uint64_t>> last;   ///< of the round before
  unsigned round = 0;
};

struct MBarrier {
  int64_t expected = 0, pending = 0, bytes = 0;
  unsigned phase = 0;
  void settle() {
    if (pending == 0 && bytes == 0) {
      ++phase;
      pending = expected;
    }
  }
};

/// The block that is running.
struct Block {
  unsigned threads, index[3], grid[3], cluster = 1;
  std::vector<Thread> all;
  Thread *current = nullptr;
  ucontext_t scheduler;
  std::map<std::string, Meeting> meetings;
  std::map<uint64_t, MBarrier> barriers;
  std::string failure;
  void wait(std::string what, std::function<bool()> ready);
  /// Deposits the caller's values and waits for `count` threads; gives everybody's.
  const std::map<unsigned, std::vector<uint64_t>> &meet(const std::string &where, unsigned count,
                                                       std::vector<uint64_t> values);
  /// Lets every thread go as far as it can, once; false when none could.
  bool round();
  bool isDone() const;
  void run();
};
extern Block *block;

using Semantics = std::function<void(const uint64_t *args, uint64_t *results)>;
/// What an intrinsic or a piece of inline assembly does; null when unknown.
Semantics instructionFor(const std::string &text);
/// Matrix products and matrix loads, by the text of their assembly.
Semantics tensorCoreInstructionFor(const std::string &text);

struct Launch {
  std::string entry;
  unsigned grid[3], threads, shared, cluster = 1;
  std::vector<uint64_t> arguments; ///< pointers and sizes
  std::vector<TensorMap> maps;
  uint64_t scratch = 0; ///< the address of memory that launches share
  bool together = false; ///< blocks wait for one another; they have no shared memory then
};

/// Rewrites the module for this CPU and runs its entry points one after the other.
llvm::Error emulate(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context,
                    llvm::ArrayRef<Launch> launches);

/// Runs a planning function. `words`: what it is told, and then what it says.
llvm::Error runPlan(std::unique_ptr<llvm::Module> module, std::unique_ptr<llvm::LLVMContext> context,
                    const std::vector<int64_t> &sizes, std::vector<int64_t> &words);

inline float asFloat(uint64_t v) {
  uint32_t bits = uint32_t(v);
  float f;
  __builtin_memcpy(&f, &bits, 4);
  return f;
}
inline uint64_t fromFloat(float f) {
  uint32_t bits;
  __builtin_memcpy(&bits, &f, 4);
  return bits;
}
inline double asDouble(uint64_t v) {
  double f;
  __builtin_memcpy(&f, &v, 8);
  return f;
}
inline uint64_t fromDouble(double f) {
  uint64_t bits;
  __builtin_memcpy(&bits, &f, 8);
  return bits;
}

} // namespace lathe::emulator

#endif // LATHE_TOOLS_LATHE_CUDA_EMULATOR_H
