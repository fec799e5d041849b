"""Products with weights that are codes in words, with numpy references."""
import numpy as np
from case import Case, from_bf16, load, rng, store, to_bf16


def rounded(a, t):
    return from_bf16(to_bf16(a)) if t == "bf16" else a.astype({"f16": np.float16}.get(t, np.float32)).astype(np.float32)


def per_block(name, at, numbers):
    """A load of what a block has, as f32, or a constant."""
    if isinstance(numbers, float):
        return f"    %{name} = arith.constant {numbers:e} : f32\n", None
    kind = {np.dtype(np.uint8): "i8", np.dtype(np.float16): "f16"}.get(numbers.dtype, "f32")
    text = load(name if kind == "f32" else name + "_narrow", at, "OFFSET", kind)
    if kind == "i8":
        text += f"    %{name} = arith.uitofp %{name}_narrow : i8 to f32\n"
    if kind == "f16":
        text += f"    %{name} = arith.extf %{name}_narrow : f16 to f32\n"
    return text, (kind, numbers)


def coded(m, k, panels=2, block=32, bits=4, t="bf16", zero="middle", scale="f16", out=None, bias=False, open_rows=True, rounds=False):
    """`zero`: "middle", "bytes" or "floats"; `scale`: "f16", "f32" or "one" for all. `rounds`: weights may be rounded to the half type."""
    r = rng(f"coded {m} {k} {panels} {block} {bits} {t} {zero} {scale}")
    n, per_word, out = 32 * panels, 32 // bits, out or t
    blocks, words = k // block, block // per_word
    codes = r.integers(0, 1 << bits, (k, n))
    x = rounded(r.standard_normal((m, k)), t)
    kind = np.float16 if scale == "f16" else np.float32
    scales = ((r.random((blocks, n)) + 0.5) / np.sqrt(k) / (1 << bits)).astype(kind) if scale != "one" else 0.0625
    zeros = {"middle": float(1 << (bits - 1)), "bytes": r.integers(0, 1 << bits, (blocks, n)).astype(np.uint8),
             "floats": (r.random((blocks, n)) * (1 << bits)).astype(np.float32)}[zero]
    spread = lambda a: np.repeat(np.asarray(a, np.float64), block, axis=0) if np.ndim(a) else float(a)
    want = x.astype(np.float64) @ ((codes - spread(zeros)) * spread(scales))
    packed = np.zeros((panels, k // per_word, 32), np.uint32)
    for i in range(per_word):
        packed |= codes[i::per_word].reshape(k // per_word, panels, 32).transpose(1, 0, 2).astype(np.uint32) << np.uint32(bits * i)
    laid = lambda a: np.ascontiguousarray(a.reshape(blocks, panels, 32).transpose(1, 0, 2)) if np.ndim(a) else a
    inputs = [(t, x), ("i32", packed.view(np.int32))]
    body = load("x_own", "i0", f"{k}*m + {block}*b + {per_word}*w + c", t)
    body += "" if t == "f32" else f"    %x = arith.extf %x_own : {t} to f32\n"
    body += load("words", "i1", f"{k // per_word * 32}*p + {words * 32}*b + 32*w + j", "i32")
    body += (f'    %place = kernel.index "c"\n    %place32 = arith.trunci %place : i64 to i32\n    %bits = arith.constant {bits} : i32\n'
             f"    %by = arith.muli %place32, %bits : i32\n    %shifted = arith.shrsi %words, %by : i32\n"
             f"    %mask = arith.constant {(1 << bits) - 1} : i32\n    %code = arith.andi %shifted, %mask : i32\n    %float = arith.sitofp %code : i32 to f32\n")
    for name, numbers in (("zero", laid(zeros)), ("scale", laid(scales))):
        text, operand = per_block(name, f"i{len(inputs)}", numbers)
        body += text.replace("OFFSET", f"{blocks * 32}*p + 32*b + j")
        inputs += [operand] if operand else []
    body += (f"    %less = arith.subf %float, %zero : f32\n    %weight = arith.mulf %less, %scale : f32\n    %product = arith.mulf %{'x' if t != 'f32' else 'x_own'}, %weight : f32\n"
             f'    %y = kernel.reduce add %product over ["b", "w", "c"] : f32\n')
    v = "y"
    if bias:
        added = rounded(r.standard_normal(n), "f32")
        body += load("bias", f"i{len(inputs)}", "32*p + j") + "    %with = arith.addf %y, %bias : f32\n"
        inputs.append(("f32", added))
        want, v = want + added, "with"
    if out != "f32":
        body += f"    %rounded = arith.truncf %{v} : f32 to {out}\n"
        v = "rounded"
    body += store(v, "o0", f"{n}*m + 32*p + j", out)
    tolerance = 1e-5 if out == "f32" and not rounds else 1e-2 if out == "bf16" else 2e-3
    axes = [("m", "M" if open_rows else str(m)), ("p", str(panels)), ("j", "32"), ("b", str(blocks)), ("w", str(words)), ("c", str(per_word))]
    case = Case("coded", "reduction", axes, body, {"M": m} if open_rows else {}, inputs, [(out, want)], tolerance, tolerance)
    return case.with_constants(*range(1, len(inputs)))


GROUPS = {
    # Blocks of half a group, of one, of several and of all; two that do not fill the last step.
    "coded": [lambda: coded(1, 256), lambda: coded(5, 96, block=16, zero="bytes"), lambda: coded(3, 512, block=256, t="f16", zero="floats", bias=True),
              lambda: coded(8, 320, block=64, t="f16", out="f32"), lambda: coded(2, 1088, block=32, out="f32", panels=1, zero="bytes"),
              lambda: coded(4, 608, block=608, scale="one", out="f32")],
    "coded_bytes": [lambda: coded(3, 256, bits=8, block=16), lambda: coded(2, 512, bits=8, block=128, t="f16", zero="bytes"),
                    lambda: coded(6, 304, bits=8, block=16, zero="floats", out="f32", scale="f32")],
    "coded_rows": [lambda: coded(16, 128), lambda: coded(27, 128, zero="bytes"), lambda: coded(70, 128, panels=3, bias=True, t="f16").on(2),
                   lambda: coded(0, 64), lambda: coded(64, 64, open_rows=False, bits=8, block=32)],
    # Groups of warps multiply what a launch in front unpacks: whole tiles and not, blocks of a part of a group, a depth that is cut.
    "coded_groups": [lambda: coded(256, 192, panels=8).on(1).launching("gemm_unpack", "gemm_wgmma_128x128"),
                     lambda: coded(200, 96, panels=5, block=16, zero="bytes", bias=True).on(1),
                     lambda: coded(130, 128, panels=2, bits=8, block=64, t="f16", zero="floats", out="f32", rounds=True).on(1),
                     lambda: coded(384, 160, panels=6, block=32, t="f16", scale="f32").on(1),
                     lambda: coded(128, 8192, panels=2, block=256, t="f16").on(32).launching("gemm_unpack", "gemm_wgmma_64x64_parts", "gemm_sum_parts")],
    # Floats are the sum of three halves.
    "coded_floats": [lambda: coded(1, 256, t="f32", scale="f32"), lambda: coded(9, 160, t="f32", zero="bytes", bias=True),
                     lambda: coded(4, 128, t="f32", bits=8, zero="floats")],
}
