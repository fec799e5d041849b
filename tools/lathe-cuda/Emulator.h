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

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <array>
#include <csetjmp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::emulator {

/// A tensor map: what cuTensorMapEncodeTiled would get.
struct TensorMap {
  char *base;
  int64_t elementBytes, rank, swizzle;
  int64_t dims[5], strides[5], box[5];
  int64_t pixels, lower[3], upper[3], steps[3]; ///< of a map for windows
};

/// A coroutine. It is entered through a context of its own once, and then left and resumed by jumps, which, unlike exchanges of
/// contexts, ask nothing of the system.
struct Thread {
  std::unique_ptr<char[]> stack;
  jmp_buf place; ///< where it stands, once it has begun
  unsigned id;
  bool begun = false, done = false;
  llvm::function_ref<bool()> waiting;           ///< runnable when it gives true; on the coroutine's stack, as what follows
  llvm::function_ref<std::string()> waitingFor; ///< for people
};

/// State that a group of threads meets at: words come in, everybody leaves once all are there.
struct Meeting {
  using Words = std::vector<std::vector<uint64_t>>; ///< by the threads' places in the group
  Words words, last;                                ///< of this round, and of the one before
  unsigned round = 0;
  /// With the `count`th thread the next round begins.
  void arrive(unsigned place, unsigned count, llvm::ArrayRef<uint64_t> own);

private:
  std::vector<bool> here;
  unsigned arrived = 0;
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
  jmp_buf scheduler;
  std::map<std::pair<std::string_view, unsigned>, Meeting> meetings; ///< by what it is, and which of several
  std::map<uint64_t, MBarrier> barriers;
  std::string failure;
  ~Block();
  void wait(llvm::function_ref<std::string()> what, llvm::function_ref<bool()> ready);
  /// Deposits the caller's words and waits for `count` threads; gives everybody's.
  const Meeting::Words &meet(std::string_view what, unsigned which, unsigned place, unsigned count, llvm::ArrayRef<uint64_t> own);
  /// The same for the first `lanes` threads of the caller's warp; gives lane -> words, none of those that are not there.
  const Meeting::Words &meetWarp(std::string_view what, llvm::ArrayRef<uint64_t> own, unsigned lanes = 32);
  /// Back from the running thread to who resumed it.
  [[noreturn]] void leave();
  /// Lets every thread go as far as it can, once; false when none could.
  bool round();
  bool isDone() const;
  bool canGoOn() const; ///< whether a round would come further
  void run();

private:
  void resume(Thread &t);
};
extern Block *block;

struct Launch {
  std::string entry;
  unsigned grid[3], threads, shared, cluster = 1;
  std::vector<uint64_t> arguments; ///< pointers and sizes
  std::vector<TensorMap> maps;
  uint64_t scratch = 0; ///< the address of memory that launches share
  bool together = false; ///< blocks wait for one another; they have no shared memory then
};

/// The arrays in shared memory, of which each block has its own.
using SharedArrays = std::vector<std::pair<char *, size_t>>;

/// Blocks that run by turns, the next ones in x from the first one's place on. What they have in shared memory is kept while others run:
/// it is exchanged when another one's turn has come.
struct Company {
  std::vector<std::unique_ptr<Block>> blocks;
  Company(const Launch &launch, const SharedArrays &arrays, unsigned first, unsigned y, unsigned z, unsigned count);
  llvm::Error run();
  /// The running block is a member of a cluster: waits for all threads of all its blocks.
  void meet();
  /// What its block `rank` has at an address in shared memory.
  uint64_t read(uint64_t address, unsigned rank);
  /// Gives its block `rank` what the running one has there, so many bytes.
  void send(uint64_t address, size_t bytes, unsigned rank);
  /// A word for the address in its block `rank`.
  void write(uint64_t address, uint64_t word, unsigned rank);
  /// Its barrier in shared memory.
  MBarrier &barrierOf(uint64_t address, unsigned rank) { return blocks.at(rank)->barriers[address & 0xffffffff]; }

private:
  bool runOnce(Block &b);
  char *placeOf(uint64_t address, unsigned rank);
  char *keptOf(const Block &b) { return kept[rankOf(b)].data(); }
  unsigned rankOf(const Block &b) const { return b.index[0] - blocks[0]->index[0]; }
  const SharedArrays &arrays;
  Block *present = nullptr; ///< whose contents shared memory has
  std::vector<std::vector<char>> kept;
  unsigned arrived = 0, phase = 0;
};
extern Company *company;

using Semantics = std::function<void(const uint64_t *args, uint64_t *results)>;
/// What an intrinsic or a piece of inline assembly does; null when unknown.
Semantics instructionFor(const std::string &text);
/// Matrix products and matrix loads, by the text of their assembly.
Semantics tensorCoreInstructionFor(const std::string &text);
/// Conversions from and to floats of 8 bits.
Semantics float8InstructionFor(const std::string &text);
enum class Float8 { E4M3, E5M2 };
/// By their codes.
const std::array<float, 256> &numbersOf(Float8 format);

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
