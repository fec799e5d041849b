"""Products of matrices, attention, recurrences, complex numbers."""
import torch

from .generate import operator


@operator("products")
def matmul(g):
    x = g.float(1, 4)
    y = g.pick(lambda v: v.dtype == x.dtype and v.ndim > 1 and v.shape[-2] == x.shape[-1] and (v.ndim == 2 or x.ndim == 2 or g.broadcasts(v.t[..., 0, 0], x.t[..., 0, 0]) if x.ndim > 1 else v.ndim == 2))
    y = y or g.input([x.shape[-1], g.of(*g.sizes)], x.dtype)
    return g.of(f"{x} @ {y}", f"torch.matmul({x}, {y})", f"torch.einsum('...i,...ij->...j', {x}, {y})" if y.ndim == 2 else f"{x} @ {y}", f"torch.tensordot({x}, {y}, 1)" if y.ndim == 2 else None)


@operator("products")
def with_itself(g):
    x = g.float(2, 4)
    return g.of(f"{x} @ {x}.mT", f"{x}.mT @ {x}", f"torch.einsum('...ij,...kj->...ik', {x}, {x} * 2)", f"{x} @ {x}[..., 0, :]" if x.ndim == 2 else f"{x} @ {x}.transpose(-1, -2)", f"torch.outer({x}.flatten(), {x}.flatten()[:3])",
                f"torch.inner({x}, {x})", f"({x} * {x}.flip(-1)).sum(-1)", f"torch.linalg.vecdot({x}, {x})", f"torch.mv({x}, {x}[0])" if x.ndim == 2 else None, f"torch.dot({x}.flatten(), {x}.flatten())", f"torch.chain_matmul({x}, {x}.mT, {x})" if x.ndim == 2 else None,
                f"torch.bmm({x}, {x}.mT)" if x.ndim == 3 else None, f"torch.baddbmm({x} @ {x}.mT, {x}, {x}.mT, beta=0.5, alpha=2)" if x.ndim == 3 else None, f"torch.addmm({x}[:, :1], {x}, {x}.t())" if x.ndim == 2 else None)


@operator("products")
def linear(g):
    x = g.float(1, 4)
    n, m = x.shape[-1], g.of(*g.sizes)
    if g.program.is_open and g.chance(0.5):
        w = g.pick(lambda v: v.ndim == 2 and v.shape[1] == n and v.dtype == x.dtype) or g.input([m, n], x.dtype)
        return f"F.linear({x}, {w})"
    bias = f", {g.weight([m], x.dtype)}" if g.chance(0.6) else ""
    return f"F.{g.of('relu', 'gelu', 'silu', 'hardtanh')}(F.linear({x}, {g.weight([m, n], x.dtype)}{bias}))" if g.chance(0.4) else f"F.linear({x}, {g.weight([m, n], x.dtype)}{bias})"


@operator("products")
def einsum(g):
    x = g.float(2, 3)
    if x.ndim == 3:
        return g.of(f"torch.einsum('bij,bkj->bik', {x}, {x})", f"torch.einsum('bij->bji', {x})", f"torch.einsum('bij,bij->b', {x}, {x})", f"torch.einsum('bij,cij->bc', {x}, {x} + 1)", f"torch.einsum('bij,bij->ij', {x}, {x})", f"torch.einsum('bij,i->bj', {x}, {x}[0, :, 0])")
    return g.of(f"torch.einsum('ij,kj->ik', {x}, {x})", f"torch.einsum('ij->j', {x})", f"torch.einsum('ij,ij->', {x}, {x})", f"torch.einsum('ij,j,i->ij', {x}, {x}[0], {x}[:, 0])", f"torch.einsum('ij,ik->ijk', {x}, {x})")


@operator("products")
def integer_product(g):
    x = g.integer(2, 3)
    return g.of(f"{x} @ {x}.mT", f"{x}.float() @ {x}.mT.float()", f"torch.einsum('...ij->...ji', {x})", f"{x}.long() @ {x}.mT.long()")


@operator("attention")
def attention(g):
    x = g.float(3, 4)
    y = g.pick(lambda v: v.shape == x.shape and v.dtype == x.dtype) or x
    s = "F.scaled_dot_product_attention"
    heads = f"{x}.unsqueeze(1)" if x.ndim == 3 else x
    mask = f"torch.ones({x}.shape[-2], {y}.shape[-2]).tril().bool()"
    return g.of(f"{s}({x}, {y}, {y})", f"{s}({x}, {y}, {x}, is_causal=True)", f"{s}({x}, {y}, {y}, attn_mask={mask})", f"{s}({x}, {y}, {y}, scale=0.7)", f"{s}({heads}, {heads}, {heads} * 2)",
                f"torch.softmax({x} @ {y}.mT * 0.5, -1) @ {y}", f"torch.softmax(({x} @ {y}.mT).masked_fill(~{mask}, -1e4), -1) @ {x}", f"{s}({x}, {y}[..., :1, :], {y}[..., :1, :])",
                f"{s}({x}.repeat_interleave(2, 0), {y}.repeat_interleave(2, 0), {y}.repeat_interleave(2, 0), attn_mask=({x} @ {y}.mT).repeat_interleave(2, 0).tanh())")


@operator("attention")
def recurrence(g):
    x = g.float(3, 3)
    if x.dtype != torch.float32:
        return None
    n, h = x.shape[2], g.of(2, 3, 4)
    if g.program.is_open:
        n = 3
        x = f"F.linear({x}, {x}[0, :1].expand(3, -1))"
    both = g.chance(0.3)
    kind, gates = g.of(("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1))
    weights = [w for _ in range(1 + both) for w in (g.weight([gates * h, n], torch.float32), g.weight([gates * h, h], torch.float32), g.weight([gates * h], torch.float32), g.weight([gates * h], torch.float32))]
    first = g.chance(0.5)
    state = f"torch.zeros({1 + both}, ({x}).shape[{0 if first else 1}], {h})"
    state = f"[{state}, {state}]" if kind == "lstm" else state
    return f"torch.{kind}({x}, {state}, [{', '.join(weights)}], True, 1, 0.0, False, {both}, {first})"


@operator("attention")
def rotary(g):
    """What decoders do with positions."""
    x = g.float(2, 4)
    if x.shape[-1] % 2:
        return None
    half = f"({g.size(x, -1)} // 2)"
    angles = f"torch.arange({g.size(x, -2)}).float()[:, None] * torch.exp(-torch.arange({half}).float() * 0.3)"
    return g.of(f"torch.cat([-{x}[..., {half}:], {x}[..., :{half}]], -1)", f"{x} * torch.cat([torch.cos({angles})] * 2, -1)", f"torch.stack([{x}[..., ::2], -{x}[..., 1::2]], -1).flatten(-2)",
                f"{x}[..., :{half}] * torch.cos({angles}) - {x}[..., {half}:] * torch.sin({angles})", f"torch.view_as_real(torch.view_as_complex({x}.float().reshape(*{x}.shape[:-1], -1, 2)) * torch.polar(torch.ones(()), torch.tensor(0.7))).flatten(-2)")


@operator("complex")
def complexes(g):
    z = g.pick(lambda v: v.is_complex())
    if z is None or g.chance(0.2):
        x = g.float(1)
        return f"torch.complex({x}.float(), {x}.float().flip(0))"
    return g.of(f"{z} * {z}", f"{z}.conj()", f"{z}.real", f"{z}.imag", f"{z}.abs()", f"{z} + 1j", f"torch.view_as_real({z})", f"{z}.sum({g.axis(z) if z.ndim else '()'})", f"{z} * 2", f"{z}.angle()", f"{z} / ({z} * {z}.conj() + 1)", f"torch.exp({z} * 0.3)", f"{z}.real * {z}.imag", f"{z}.mean()",
                f"{z}.conj() * {z}", f"{z}.flatten()", f"{z}.unsqueeze(0)", f"-{z}", f"{z}[:1]" if z.ndim else f"{z}")


@operator("complex")
def transforms(g):
    x = g.float(1)
    return g.of(f"torch.fft.rfft({x}.float())", f"torch.fft.fft({x}.float(), dim={g.axis(x)})", f"torch.fft.irfft(torch.fft.rfft({x}.float()), n={g.size(x, -1)})", f"torch.fft.ifft(torch.fft.fft({x}.float())).real", f"torch.fft.fftshift({x})", f"torch.fft.rfft({x}.float(), norm='ortho').abs()")
