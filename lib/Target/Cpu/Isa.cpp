//===- Isa.cpp - CPU instruction set variants ------------------------------===//

#include "Isa.h"

using namespace lathe::cpu;

// clang-format off
static const Isa table[] = {
    {"baseline", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse2", 16, 16, false, false, false, false, ""},
    {"avx2", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe", 32, 16, true, true, false, true, ""},
    {"avx2vnni", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,+avxvnni",
     32, 16, true, true, false, true, "avx2"},
    {"avx512", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,"
     "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+evex512", 64, 32, true, true, true, true, ""},
    {"avx512vnni", "x86_64", "x86_64-unknown-linux-gnu", "x86-64",
     "+sse3,+ssse3,+sse4.1,+sse4.2,+popcnt,+cx16,+avx,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,"
     "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+evex512,+avx512vnni", 64, 32, true, true, true, true, "avx512"},
    {"neon", "aarch64", "aarch64-unknown-linux-gnu", "generic",
     "+neon,+fp-armv8", 16, 32, true, false, false, true, ""},
};
// clang-format on

const Isa *lathe::cpu::findIsa(llvm::StringRef arch, llvm::StringRef name) {
  for (const Isa &isa : table)
    if (isa.arch == arch && isa.name == name)
      return &isa;
  return nullptr;
}

const Isa *lathe::cpu::refinementOf(const Isa &isa) {
  for (const Isa &other : table)
    if (other.arch == isa.arch && other.refines == isa.name)
      return &other;
  return nullptr;
}
