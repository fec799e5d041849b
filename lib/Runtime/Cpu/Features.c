/*===- Features.c - cpuid, once per context ---------------------------------===*/
#define _GNU_SOURCE /* syscall */
#include "Features.h"
#include "lathe/Artifact/Format.h"

const char *latheLevelName(uint32_t level) {
  static const char *const names[] = {"the baseline instructions", "AVX2, FMA and F16C", "AVX-512 F, BW, DQ and VL"};
  const uint32_t base = level & 0xff;
  if (level > 0xff)
    return base == LATHE_LEVEL_AVX2            ? "AVX2 and AVX-VNNI"
           : level == LATHE_LEVEL_AVX512_AMX  ? "AVX-512 with AMX, and a system that permits it"
           : level == LATHE_LEVEL_AVX512_BF16 ? "AVX-512 with VNNI and BF16"
                                              : "AVX-512 with VNNI";
  return base < sizeof names / sizeof *names ? names[base] : "instructions that this runtime does not know";
}

#if defined(__x86_64__)
#include <cpuid.h>

/* Registers whose state the operating system saves: bits 1 and 2 for YMM, 5 to 7 for ZMM, 17 and 18 for tiles. */
static uint64_t savedState(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}

uint32_t latheMachineLevel(void) {
  enum { Fma = 1 << 12, OsXsave = 1 << 27, Avx = 1 << 28, F16c = 1 << 29 };
  enum { Avx2 = 1 << 5, Avx512F = 1 << 16, Avx512DQ = 1 << 17, Avx512BW = 1 << 30, Avx512Vnni = 1 << 11, AvxVnni = 1 << 4, Avx512Bf16 = 1 << 5 };
  enum { AmxBf16 = 1 << 22, AmxTile = 1 << 24, AmxInt8 = 1 << 25, Amx = AmxBf16 | AmxTile | AmxInt8, TileState = 3 << 17 };
  const uint32_t avx512VL = 1u << 31;
  uint32_t a, b, c, d;
  const uint32_t level1 = Fma | OsXsave | Avx | F16c;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & level1) != level1)
    return LATHE_LEVEL_BASELINE;
  uint64_t saved = savedState();
  if ((saved & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & Avx2))
    return LATHE_LEVEL_BASELINE;
  const uint32_t level2 = Avx512F | Avx512DQ | Avx512BW | avx512VL;
  uint32_t wide = c & Avx512Vnni ? LATHE_LEVEL_AVX512_VNNI & ~0xffu : 0;
  const int has512 = (saved & 0xe6) == 0xe6 && (b & level2) == level2;
  const int hasTiles = (saved & TileState) == TileState && (d & Amx) == Amx;
  uint32_t narrow = 0;
  if (!__get_cpuid_count(7, 1, &a, &b, &c, &d))
    a = 0;
  if (a & AvxVnni)
    narrow = LATHE_LEVEL_AVX2_VNNI & ~0xffu;
  if (wide && (a & Avx512Bf16))
    wide = (hasTiles ? LATHE_LEVEL_AVX512_AMX : LATHE_LEVEL_AVX512_BF16) & ~0xffu;
  return has512 ? LATHE_LEVEL_AVX512 | wide | narrow : LATHE_LEVEL_AVX2 | narrow;
}

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

/* The permission is the process's, and that of all its threads. Asked for again it is given again. */
int latheMayUseTiles(void) {
  enum { RequestPermission = 0x1023, TileData = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
  return syscall(SYS_arch_prctl, RequestPermission, TileData) == 0;
}
#else
int latheMayUseTiles(void) { return 0; }
#endif
#else
uint32_t latheMachineLevel(void) { return LATHE_LEVEL_BASELINE; }
int latheMayUseTiles(void) { return 0; }
#endif
