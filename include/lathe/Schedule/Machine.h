//===- Machine.h - What machines can do ------------------------------------===//
//
// One table of the machines that code is generated for: the variants of CPU architectures and the compute capabilities of
// GPUs. Whoever generates code, or chooses between ways to run a kernel, asks for a capability, never for a name.
//
// How many cores or processors there are and how large the caches are is known when a model runs: what is decided by them is
// decided then, by a kernel's plan. The costs below are those that the compiler compares ways with.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SCHEDULE_MACHINE_H
#define LATHE_SCHEDULE_MACHINE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace lathe::schedule {

/// What the compiler reckons with where nothing better is known: of one core, or of one processor of a GPU.
struct Costs {
  unsigned firstCache = 32 << 10;  ///< bytes
  unsigned secondCache = 1 << 20;  ///< bytes; of a GPU, its share of the L2 cache
  unsigned multiplyAdds = 2;       ///< vectors of them begun in a cycle; of a GPU, f32 in a cycle
  unsigned memoryBytes = 8;        ///< from memory in a cycle
};

/// A product of matrices that one instruction of a warp (or of a group of four) does: m rows, n columns, depth k.
struct TensorShape {
  llvm::StringRef type; ///< of the operands: "f16", "bf16", "tf32", "i8", "f64", "f8"
  unsigned m, n, k;
  bool warpGroup; ///< of four warps, operands in shared memory; n is the most, any multiple of 8 is there
};

/// What GPUs have and CPUs have not; all zero for a CPU.
struct GpuLimits {
  unsigned capability = 0;         ///< 10 * major + minor
  const char *suffix = "";         ///< of the architecture's name, where it has instructions of its own
  unsigned ptx = 0;                ///< 10 * major + minor: the version of PTX text, which knows all that is made for it
  unsigned warp = 0;               ///< threads
  unsigned threads = 0;            ///< resident on one processor
  unsigned registers = 0;          ///< of 32 bits, on one processor
  unsigned registersPerThread = 0;
  unsigned halfProducts = 0;       ///< multiply-adds of 16 bits in a cycle, by tensor cores
  unsigned shared = 0;             ///< bytes of shared memory of one processor
  unsigned sharedPerBlock = 0;     ///< bytes that a block may ask for on every GPU which runs the code
  bool asyncCopies = false;        ///< from global to shared memory, past the registers
  bool bulkCopies = false;         ///< whole tiles by descriptor
  bool clusters = false;           ///< of blocks that read one another's shared memory
  bool dependentLaunch = false;    ///< a kernel may begin before the one ahead of it has ended
  bool nanMaxima = false;          ///< the larger of two numbers, or NaN where one is, is an instruction
  llvm::ArrayRef<TensorShape> tensorShapes = {};
  std::string name() const { return "sm_" + std::to_string(capability) + suffix; }
  /// Whether one instruction multiplies such operands to this depth; by a group of four warps, or by one.
  bool multiplies(llvm::StringRef type, unsigned depth, bool byGroups = false) const;
};

/// A row of the table in Machine.cpp.
struct Machine {
  llvm::StringRef name;     ///< "baseline", "avx2", "avx2vnni", "avx512", "avx512vnni", "avx512bf16", "avx512amx", "neon", "sm_75", ...
  llvm::StringRef arch;     ///< "x86_64", "aarch64", "cuda"
  llvm::StringRef triple;
  llvm::StringRef cpu;      ///< LLVM's target-cpu
  llvm::StringRef features; ///< LLVM's target-features
  unsigned vectorBytes;     ///< of one register
  unsigned registers;       ///< vector registers
  bool fma;
  bool maskedMemory;        ///< masked loads and stores of 4 and 8 byte elements are single instructions
  bool maskedBytes;         ///< also of 1 and 2 byte elements
  bool half;                ///< f16 <-> f32 conversion instructions
  llvm::StringRef refines;  ///< the variant beside which this one, with dot products, is made for kernels that use them
  Costs costs = {};
  GpuLimits gpu = {};

  /// Four products of bytes, or two of bf16, and their sum in one instruction.
  bool dotsBytes() const { return features.contains("vnni"); }
  bool dotsHalves() const { return features.contains("+avx512bf16"); }
  /// Products of matrices of bytes, or of bf16, in tile registers.
  bool multipliesByteTiles() const { return features.contains("+amx-int8"); }
  bool multipliesHalfTiles() const { return features.contains("+amx-bf16"); }
  /// Products of unsigned bytes and signed ones, of which neighbours are added in 16 bits, saturating.
  bool addsBytePairs() const { return features.contains("+ssse3"); }
  bool isGpu() const { return gpu.capability != 0; }
  /// Lanes of f32 in one register: the usual vector width W.
  unsigned lanes() const { return vectorBytes / 4; }
  /// Multiply-adds of f32 in a cycle, of one core or processor.
  unsigned peak() const { return isGpu() ? costs.multiplyAdds : costs.multiplyAdds * lanes(); }
};

/// All rows.
llvm::ArrayRef<Machine> machines();
/// The row of this architecture and name; null when there is none.
const Machine *findMachine(llvm::StringRef arch, llvm::StringRef name);
/// Of GPUs, the row of this capability or of the last one before it: code for one runs on what the row says, its PTX on all later ones, its
/// machine code on later ones of the same generation.
const Machine &gpuOf(unsigned capability);
/// The first row with something more than this one, such as its dot products; null where there is none.
const Machine *refinementOf(const Machine &machine, llvm::function_ref<bool(const Machine &)> has);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_MACHINE_H
