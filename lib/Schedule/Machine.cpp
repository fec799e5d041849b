//===- Machine.cpp - What machines can do ----------------------------------===//
//
// The facts of GPUs are those of the CUDA C++ Programming Guide (technical specifications per compute capability) and
// of the PTX ISA (mma and wgmma shapes). 8.0's machine code runs on 8.6 and 8.9 too, whose blocks have less shared memory than
// those of an A100.
//
//===----------------------------------------------------------------------===//

#include "lathe/Schedule/Machine.h"
#include "llvm/ADT/STLExtras.h"

using namespace lathe::schedule;

static const TensorShape turing[] = {{"f16", 16, 8, 8, false}, {"i8", 8, 8, 16, false}};
static const TensorShape ampere[] = {{"f16", 16, 8, 16, false},
                                     {"bf16", 16, 8, 16, false},
                                     {"tf32", 16, 8, 8, false},
                                     {"i8", 16, 8, 32, false},
                                     {"f64", 8, 8, 4, false}};
static const TensorShape hopper[] = {
    {"f16", 16, 8, 16, false}, {"bf16", 16, 8, 16, false}, {"tf32", 16, 8, 8, false},   {"i8", 16, 8, 32, false},  {"f8", 16, 8, 32, false},
    {"f64", 16, 8, 16, false}, {"f16", 64, 256, 16, true}, {"bf16", 64, 256, 16, true}, {"tf32", 64, 256, 8, true},
    {"i8", 64, 256, 32, true}, {"f8", 64, 256, 32, true}};

// clang-format off
static const Machine table[] = {
    {"baseline", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse2", 16, 16, false, false, false, false, "", {32 << 10, 256 << 10, 1, 8}},
    {"avx2", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe", 32, 16, true, true, false, true, "",
     {32 << 10, 256 << 10, 2, 8}},
    {"avx2vnni", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,+avxvnni",
     32, 16, true, true, false, true, "avx2", {32 << 10, 1 << 20, 2, 8}},
    {"avx512", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,"
     "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+evex512", 64, 32, true, true, true, true, "", {32 << 10, 1 << 20, 2, 8}},
    {"avx512vnni", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,"
     "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+evex512,+avx512vnni", 64, 32, true, true, true, true, "avx512",
     {48 << 10, 1 << 20, 2, 8}},
    {"avx512bf16", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,"
     "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+evex512,+avx512vnni,+avx512bf16", 64, 32, true, true, true, true, "avx512",
     {48 << 10, 1 << 20, 2, 8}},
    {"avx512amx", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,"
     "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+evex512,+avx512vnni,+avx512bf16,+amx-tile,+amx-int8,+amx-bf16", 64, 32, true, true, true, true,
     "avx512", {48 << 10, 2 << 20, 2, 8}},
    {"neon", "aarch64", "aarch64-unknown-linux-gnu", "generic",
     "+neon,+fp-armv8", 16, 32, true, false, false, true, "", {64 << 10, 1 << 20, 2, 8}},
    {"rvv", "riscv64", "riscv64-unknown-linux-gnu", "generic-rv64",
     "+m,+a,+f,+d,+c,+v,+zvl128b", 16, 32, true, true, false, true, "", {32 << 10, 512 << 10, 1, 8}},
    {"sm_75", "cuda", "nvptx64-nvidia-cuda", "sm_75", "", 16, 255, true, false, false, true, "",
     {32 << 10, 128 << 10, 64, 8},
     {75, "", 65, 32, 1024, 65536, 255, 512, 64 << 10, 64 << 10, false, false, false, false, false, turing}},
    {"sm_80", "cuda", "nvptx64-nvidia-cuda", "sm_80", "", 16, 255, true, false, false, true, "",
     {28 << 10, 384 << 10, 64, 10},
     {80, "", 74, 32, 2048, 65536, 255, 1024, 164 << 10, 99 << 10, true, false, false, false, true, ampere}},
    {"sm_90", "cuda", "nvptx64-nvidia-cuda", "sm_90", "", 16, 255, true, false, false, true, "",
     {28 << 10, 384 << 10, 128, 16},
     {90, "a", 84, 32, 2048, 65536, 255, 2048, 228 << 10, 227 << 10, true, true, true, true, true, hopper}},
};
// clang-format on

llvm::ArrayRef<Machine> lathe::schedule::machines() { return table; }

const Machine *lathe::schedule::findMachine(llvm::StringRef arch, llvm::StringRef name) {
  for (const Machine &m : table)
    if (m.arch == arch && m.name == name)
      return &m;
  return nullptr;
}

const Machine &lathe::schedule::gpuOf(unsigned capability) {
  const Machine *found = nullptr; // rows are in the order of their capabilities
  for (const Machine &m : table)
    if (m.isGpu() && (!found || m.gpu.capability <= capability))
      found = &m;
  return *found;
}

bool GpuLimits::multiplies(llvm::StringRef type, unsigned depth, bool byGroups) const {
  return llvm::any_of(tensorShapes, [&](const TensorShape &s) { return s.type == type && s.k == depth && s.warpGroup == byGroups; });
}

const Machine *lathe::schedule::refinementOf(const Machine &machine, llvm::function_ref<bool(const Machine &)> has) {
  for (const Machine &other : table)
    if (other.arch == machine.arch && other.refines == machine.name && has(other))
      return &other;
  return nullptr;
}
