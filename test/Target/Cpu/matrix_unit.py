"""Kernels of avx512amx on machines without AMX, or without AVX-512: their LLVM IR with functions in the place of the instructions, for the
processor at hand. The functions refuse what the instructions refuse: registers that are not configured, or whose sizes do not fit."""
import ctypes, os, re, subprocess

UNIT = r'''
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static struct { uint8_t palette, start, reserved[14]; uint16_t bytes[16]; uint8_t rows[16]; } cfg;
static uint8_t tile[8][16][64];
#define REFUSE(what) (fprintf(stderr, "the matrix unit refuses: %s\n", what), abort())
static void configured(int t) { if (cfg.palette != 1 || !cfg.rows[t] || !cfg.bytes[t]) REFUSE("a register without a size"); }
void unit_ldtilecfg(const void *from) {
  memcpy(&cfg, from, 64);
  memset(tile, 0, sizeof tile);
  for (int i = 0; i < 14; ++i) if (cfg.reserved[i]) REFUSE("reserved bytes");
  for (int t = 0; t < 16; ++t)
    if (cfg.bytes[t] > 64 || cfg.rows[t] > 16 || (t > 7 && (cfg.bytes[t] || cfg.rows[t])) || !cfg.bytes[t] != !cfg.rows[t]) REFUSE("a configuration");
  if (cfg.palette != 1 || cfg.start) REFUSE("a palette");
}
void unit_tilerelease(void) { memset(&cfg, 0, sizeof cfg); memset(tile, 0xaa, sizeof tile); }
void unit_tilezero(uint8_t t) { configured(t); memset(tile[t], 0, sizeof tile[t]); }
void unit_tileloadd64(uint8_t t, const char *from, int64_t pitch) {
  configured(t);
  memset(tile[t], 0, sizeof tile[t]);
  for (int r = 0; r < cfg.rows[t]; ++r) memcpy(tile[t][r], from + r * pitch, cfg.bytes[t]);
}
void unit_tilestored64(uint8_t t, char *to, int64_t pitch) {
  configured(t);
  for (int r = 0; r < cfg.rows[t]; ++r) memcpy(to + r * pitch, tile[t][r], cfg.bytes[t]);
}
#define MULTIPLY(name, X, Y)                                                                              \
  void unit_##name(uint8_t sum, uint8_t a, uint8_t b) {                                                   \
    configured(sum), configured(a), configured(b);                                                        \
    if (cfg.rows[sum] != cfg.rows[a] || cfg.bytes[sum] != cfg.bytes[b] || cfg.bytes[a] != 4 * cfg.rows[b]) \
      REFUSE("sizes that do not fit");                                                                    \
    for (int m = 0; m < cfg.rows[a]; ++m)                                                                 \
      for (int k = 0; k < cfg.bytes[a]; ++k)                                                              \
        for (int n = 0; n < cfg.bytes[b] / 4; ++n)                                                        \
          ((uint32_t *)tile[sum][m])[n] += (X)tile[a][m][k] * (Y)tile[b][k / 4][4 * n + k % 4];           \
  }
MULTIPLY(tdpbssd, int8_t, int8_t)
MULTIPLY(tdpbsud, int8_t, uint8_t)
MULTIPLY(tdpbusd, uint8_t, int8_t)
MULTIPLY(tdpbuud, uint8_t, uint8_t)
static float widened(const uint8_t *half) { uint32_t bits = (uint32_t)half[1] << 24 | (uint32_t)half[0] << 16; float x; memcpy(&x, &bits, 4); return x; }
void unit_tdpbf16ps(uint8_t sum, uint8_t a, uint8_t b) {
  configured(sum), configured(a), configured(b);
  if (cfg.rows[sum] != cfg.rows[a] || cfg.bytes[sum] != cfg.bytes[b] || cfg.bytes[a] != 4 * cfg.rows[b]) REFUSE("sizes that do not fit");
  for (int m = 0; m < cfg.rows[a]; ++m)
    for (int k = 0; k < cfg.rows[b]; ++k)
      for (int n = 0; n < cfg.bytes[b] / 4; ++n)
        for (int i = 0; i < 4; i += 2)
          ((float *)tile[sum][m])[n] += widened(&tile[a][m][4 * k + i]) * widened(&tile[b][k][4 * n + i]);
}
'''

DOTS = '''
define internal <16 x i32> @unit_vpdpbusd(<16 x i32> %s, <16 x i32> %u, <16 x i32> %w) noinline {
  %ub = bitcast <16 x i32> %u to <64 x i8>
  %wb = bitcast <16 x i32> %w to <64 x i8>
  %uw = zext <64 x i8> %ub to <64 x i32>
  %ww = sext <64 x i8> %wb to <64 x i32>
  %p = mul <64 x i32> %uw, %ww
''' + ''.join(f'''  %q{i} = shufflevector <64 x i32> %p, <64 x i32> poison, <16 x i32> <{', '.join(f'i32 {4 * l + i}' for l in range(16))}>
''' for i in range(4)) + '''  %a = add <16 x i32> %q0, %q1
  %b = add <16 x i32> %q2, %q3
  %c = add <16 x i32> %a, %b
  %d = add <16 x i32> %s, %c
  ret <16 x i32> %d
}
'''


ROUND = '''
define internal <32 x bfloat> @unit_cvtne2ps2bf16(<16 x float> %high, <16 x float> %low) alwaysinline {
  %first = call <16 x bfloat> @unit_cvtneps2bf16(<16 x float> %low)
  %second = call <16 x bfloat> @unit_cvtneps2bf16(<16 x float> %high)
  %r = shufflevector <16 x bfloat> %first, <16 x bfloat> %second, <32 x i32> <''' + ', '.join(f'i32 {i}' for i in range(32)) + '''>
  ret <32 x bfloat> %r
}
define internal <16 x bfloat> @unit_cvtneps2bf16(<16 x float> %x) alwaysinline {
  %bits = bitcast <16 x float> %x to <16 x i32>
  %even = lshr <16 x i32> %bits, splat (i32 16)
  %odd = and <16 x i32> %even, splat (i32 1)
  %half = add <16 x i32> %odd, splat (i32 32767)
  %up = add <16 x i32> %bits, %half
  %top = lshr <16 x i32> %up, splat (i32 16)
  %short = trunc <16 x i32> %top to <16 x i16>
  %r = bitcast <16 x i16> %short to <16 x bfloat>
  ret <16 x bfloat> %r
}
'''

# Sums of two products of bf16, each of which is a number of f32.
PAIRS = '''
define internal <16 x float> @unit_dpbf16ps(<16 x float> %sum, <32 x bfloat> %a, <32 x bfloat> %b) alwaysinline {
  %x = bitcast <32 x bfloat> %a to <16 x i32>
  %y = bitcast <32 x bfloat> %b to <16 x i32>
  %xl = shl <16 x i32> %x, splat (i32 16)
  %yl = shl <16 x i32> %y, splat (i32 16)
  %xh = and <16 x i32> %x, splat (i32 -65536)
  %yh = and <16 x i32> %y, splat (i32 -65536)
  %xlf = bitcast <16 x i32> %xl to <16 x float>
  %ylf = bitcast <16 x i32> %yl to <16 x float>
  %xhf = bitcast <16 x i32> %xh to <16 x float>
  %yhf = bitcast <16 x i32> %yh to <16 x float>
  %low = fmul <16 x float> %xlf, %ylf
  %high = fmul <16 x float> %xhf, %yhf
  %some = fadd <16 x float> %sum, %high
  %all = fadd <16 x float> %some, %low
  ret <16 x float> %all
}
'''


def has_unit():
    """Whether this process may use one: Linux saves its registers only for those that asked, as an artifact's runtime does."""
    flags, request, tile_data, system_call = open('/proc/cpuinfo').read(), 0x1023, 18, 158  # arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)
    return ' amx_int8 ' in flags and ' amx_bf16 ' in flags and ctypes.CDLL(None).syscall(system_call, request, tile_data) == 0


def emulated(ir):
    """The module with calls of functions; for whatever processor it is compiled for."""
    ir = re.sub(r'^declare .*@llvm\.x86\.avx512\.vpdpbusd\.512.*$', '', ir, flags=re.M)
    ir = ir.replace('@llvm.x86.avx512.vpdpbusd.512', '@unit_vpdpbusd')
    ir = re.sub(r'@llvm\.x86\.(ldtilecfg|tile\w+|tdpb\w+)\(', r'@unit_\1(', ir).replace(' immarg', '')
    ir = re.sub(r'"(target-cpu|target-features|prefer-vector-width|min-legal-vector-width)"="[^"]*"', '', ir)
    ir = re.sub(r'^declare .*@llvm\.x86\.avx512bf16\..*$', '', ir, flags=re.M)
    ir = re.sub(r'@llvm\.x86\.avx512bf16\.(cvtne2?ps2bf16|dpbf16ps)\.512', r'@unit_\1', ir)
    return ir + (DOTS if '@unit_vpdpbusd' in ir else '') + (ROUND if '@unit_cvtne' in ir else '') + (PAIRS if '@unit_dpbf16ps' in ir else '')


def objects(sources, folder):
    """Compiles modules of one kernel each; gives the objects and, for each kernel, the names of its functions."""
    files, names = [os.path.join(folder, 'unit.o')], []
    subprocess.run(['clang-19', '-O2', '-c', '-fPIC', '-xc', '-', '-o', files[0]], input=UNIT, text=True, check=True)
    for i, source in enumerate(sources):
        run = subprocess.run(['lathe-kernel', '-', '--emit=llvm', '--variant=avx512amx'], input=source, text=True, capture_output=True)
        if run.returncode:
            raise SystemExit(f'{source}\n{run.stderr}')
        ir = emulated(run.stdout)
        name = re.search(r'@(lathe_k0_\w+)_plan\(', ir).group(1)
        ir = ir.replace(f'@{name}', f'@k{i}_{name}')
        files.append(os.path.join(folder, f'{i}.o'))
        subprocess.run(['clang-19', '-O1', '-Wno-override-module', '-march=native', '-c', '-fPIC', '-xir', '-', '-o', files[-1]], input=ir, text=True,
                       check=True)
        names.append((f'k{i}_{name}', f'k{i}_{name}_plan'))
    return files, names
