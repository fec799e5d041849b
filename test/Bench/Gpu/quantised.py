"""Products of bytes that sum in i32, and of floats of 8 bits, and what quantised layers do around them."""
import torch

from .case import add, b16, both, e4m3, e5m2, f32, i8, t

integers = lambda *shape: t(*shape, kind=i8)
by_rows = lambda a, b: torch._int_mm(a, b.t())


def requantised(a, b, scale):
    return (torch._int_mm(a, b.t()).float() * scale).round().clamp(-128, 127).to(i8)


def dynamic(x, b, scale):
    """Rows are quantised by their largest element as the product runs."""
    largest = x.abs().amax(-1, keepdim=True).float() / 127
    codes = (x / largest).round().clamp(-128, 127).to(i8)
    return (torch._int_mm(codes, b.t()).float() * largest * scale).bfloat16()


weights = ((0, 1), (1, 0), (1, 1))
# The right operand as [columns][depth], as weights lie, and as [depth][columns], which has to be turned.
both('int8_4096_by_rows', by_rows, integers(4096, 4096), integers(4096, 4096), fixed=weights)
both('int8_4096', torch._int_mm, integers(4096, 4096), integers(4096, 4096), fixed=weights)
add('int8_left_turned', lambda a, b: torch._int_mm(a.t(), b.t()), integers(4096, 4096), integers(4096, 4096))
for rows in (32, 128, 1024, 8192):
    add(f'int8_{rows}x3072x768', by_rows, integers(rows, 768), integers(3072, 768))
add('int8_2048', torch._int_mm, integers(2048, 2048), integers(2048, 2048))
add('int8_1024', torch._int_mm, integers(1024, 1024), integers(1024, 1024))
# Lines that begin at no multiple of 16 bytes.
add('int8_1000', torch._int_mm, integers(1000, 1000), integers(1000, 1000))
add('int8_4088_by_rows', by_rows, integers(4088, 4088), integers(4088, 4088))
add('int8_deep', by_rows, integers(128, 65536), integers(128, 65536))
both('int8_requantised', requantised, integers(8192, 1024), integers(4096, 1024), t(4096, kind=f32), fixed=weights + ((2, 0),))
add('int8_dynamic', dynamic, t(8192, 1024), integers(4096, 1024), t(4096, kind=f32))

# Floats of 8 bits, with a scale of each operand, or of each row and each column.
float8 = lambda *shape: t(*shape, kind=e4m3)
scaled = lambda a, b, s, c: torch._scaled_mm(a, b.t(), s, c, out_dtype=b16)
one = (t(kind=f32), t(kind=f32))
both('float8_4096', scaled, float8(4096, 4096), float8(4096, 4096), *one, fixed=weights)
add('float8_1024x3072x768', scaled, float8(1024, 768), float8(3072, 768), *one)
add('float8_8192x4096x1024', scaled, float8(8192, 1024), float8(4096, 1024), *one)
add('float8_mixed', scaled, float8(2048, 2048), t(2048, 2048, kind=e5m2), *one)
add('float8_by_rows', scaled, float8(4096, 4096), float8(4096, 4096), t(4096, 1, kind=f32), t(1, 4096, kind=f32))
for rows in (1, 8, 16, 64):
    add(f'float8_{rows}x4096x4096', scaled, float8(rows, 4096), float8(4096, 4096), *one)
add('to_float8', lambda x: x.to(e4m3), t(8192, 4096, kind=f32))
add('to_float8_b16', lambda x: (x.float() / 0.37).clamp(-448, 448).to(e4m3), t(8192, 4096))
