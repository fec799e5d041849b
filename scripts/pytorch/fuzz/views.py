"""Views, views of views, writes through them, pieces and their like."""
from .generate import operator


def bounds(g, n):
    a = g.rng.randrange(n)
    b = g.rng.randint(a + 1, n)
    return a, b


@operator("views")
def permuted(g):
    x = g.any(2)
    order = list(range(x.ndim))
    g.rng.shuffle(order)
    a, b = g.axis(x), g.axis(x)
    return g.of(f"{x}.permute({', '.join(map(str, order))})", f"{x}.transpose({a}, {b})", f"torch.movedim({x}, {a}, {b})", f"{x}.mT", f"torch.swapaxes({x}, {a}, {b})")


@operator("views")
def reshaped(g):
    x = g.any(1)
    sizes, method = g.sizes_of(x), g.of("reshape", "reshape", "view", "contiguous().view")
    k = g.rng.randrange(x.ndim)
    way = g.of("merge", "split", "flatten", "unflatten", "rest", "shape")
    if way == "merge" and k + 1 < x.ndim:
        sizes[k:k + 2] = [f"{sizes[k]} * {sizes[k + 1]}" if g.chance(0.6) else "-1"]
    elif way == "split" and x.shape[k] % 2 == 0:
        sizes[k:k + 1] = g.of(["2", f"{sizes[k]} // 2"], [f"{sizes[k]} // 2", "2"], ["-1", "2"], ["2", "-1"])
    elif way == "flatten":
        return g.of(f"{x}.flatten()", f"{x}.flatten({k})", f"{x}.flatten(0, {k})", f"{x}.ravel()", f"{x}.reshape(-1)")
    elif way == "unflatten" and x.shape[k] % 3 == 0:
        return f"{x}.unflatten({k}, ({g.of('3, -1', '-1, 3')}))"
    elif way == "rest":
        sizes = g.of([sizes[0], "-1"], ["-1", sizes[-1]], ["-1", "1", sizes[-1]])
    elif way == "shape":
        return f"{x}.{method}({x}.shape[:{k}] + (-1,))"
    return f"{x}.{method}({', '.join(sizes)})"


def index_text(g, x):
    """A list of indices as between brackets."""
    parts = []
    for n in x.shape:
        a, b = bounds(g, n)
        parts.append(g.of(":", ":", f"{a}:", f":{b}", f"{a}:{b}", f"::{g.of(2, 3)}", f"{a}::2", f"-{n - a}:", f":-{n - b}" if b < n else ":", str(a), str(a - n), "None, :"))
    while parts and parts[-1] == ":" and g.chance(0.5):
        parts.pop()
    if g.chance(0.2):
        parts = ["..."] + parts[-g.rng.randint(1, max(1, len(parts))):] if parts else ["..."]
    return ", ".join(parts) or "..."


@operator("views")
def sliced(g):
    x = g.any(1)
    return f"{x}[{index_text(g, x)}]"


@operator("views")
def narrowed(g):
    x = g.any(1)
    k = g.rng.randrange(x.ndim)
    a, b = bounds(g, x.shape[k])
    return g.of(f"{x}.narrow({k}, {a}, {b - a})", f"{x}.select({k}, {a - x.shape[k]})", f"{x}.unsqueeze({k - x.ndim - 1})", f"{x}[..., None]", f"{x}.squeeze()",
                f"{x}.unsqueeze({k}).squeeze({k})", f"{x}[None].expand(2, {', '.join(['-1'] * x.ndim)})", f"{x}.diagonal()" if x.ndim > 1 else f"{x}.diag()",
                f"{x}.diagonal({g.of(-1, 1)}, -2, -1)" if x.ndim > 1 else f"{x}[:-1]", f"{x}.unfold({k}, {max(1, x.shape[k] // 2)}, {g.of(1, 2)})", f"{x}[1:] - {x}[:-1]",
                f"{x}.split(1, {k})[{a}]", f"{x}[:0]", f"{x}.narrow({k}, {a}, 0)", f"{x}.sum({k}, keepdim=True).expand_as({x})",
                f"{x}.view_as({x})", f"{x}.squeeze({k})", f"{x}.unfold({k}, 2, 1).transpose(-1, {k})" if x.shape[k] > 1 else f"{x}.unsqueeze(0)")


@operator("views")
def turned(g):
    x = g.any(1)
    k = g.axis(x)
    axes = g.axes(x)
    return g.of(f"{x}.flip({k})", f"{x}.flip({axes})", f"{x}.roll({g.of(1, -1, 2)}, {k})", f"{x}.roll({g.of(1, -2, 9)})", f"torch.roll({x}, {[g.rng.randint(-3, 3) for _ in axes]}, {axes})",
                f"torch.rot90({x}, {g.of(1, 2, -1)}, [-1, -2])", f"{x}.fliplr()", f"torch.tril({x}, {g.rng.randint(-2, 2)})", f"torch.triu({x}, {g.rng.randint(-2, 2)})")


@operator("views")
def repeated(g):
    x = g.any(0, 3)
    k = g.axis(x) if x.ndim else 0
    return g.of(f"{x}.repeat({', '.join(str(g.of(1, 2, 3)) for _ in range(x.ndim + g.of(0, 1)))})", f"{x}.unsqueeze(0).expand(3, {', '.join(['-1'] * x.ndim)})" if x.ndim else f"{x}.expand(2, 3)",
                f"torch.repeat_interleave({x}, 2, {k})", f"torch.tile({x}, (2, {g.of(1, 3)}))", f"{x}.expand_as({g.other(x, 'any')})", f"torch.broadcast_to({x}, ({', '.join(['2'] + g.sizes_of(x))}))",
                f"torch.kron({x}, {g.other(x)})")


@operator("views")
def strided(g):
    x = g.any(1, 3)
    n = x.numel()
    rows, columns = g.rng.randint(1, 3), g.rng.randint(1, 3)
    step = g.rng.randint(1, 3)
    if g.program.is_open or (rows - 1) * step + columns - 1 >= n:
        return None
    return f"{x}.contiguous().as_strided(({rows}, {columns}), ({step}, 1), {g.rng.randint(0, n - ((rows - 1) * step + columns))})"


@operator("pieces")
def pieces(g):
    x = g.any(1)
    k = g.rng.randrange(x.ndim)
    n = x.shape[k]
    return g.of(f"{x}.chunk({g.of(2, 3)}, {k})", f"{x}.split({g.rng.randint(1, n)}, {k})", f"{x}.split([1, {g.size(x, k)} - 1], {k})", f"torch.tensor_split({x}, {g.of(2, 3)}, {k})",
                f"{x}.unbind({k})" if n < 5 and not g.program.is_open else f"{x}.chunk(2, {k})", f"torch.meshgrid({x}.flatten()[:3], {x}.flatten()[-2:], indexing='ij')", f"torch.tensor_split({x}, (1, 2), {k})")


@operator("pieces")
def joined(g):
    x = g.any(1)
    k = g.axis(x)
    y = g.pick(lambda v: v.ndim == x.ndim and not v.is_complex() and all(a == b for d, (a, b) in enumerate(zip(v.shape, x.shape)) if d != k % x.ndim)) or x
    z = g.other(x, "any")
    return g.of(f"torch.cat([{x}, {y}], {k})", f"torch.cat([{y}, {x}, {y}], {k})", f"torch.stack([{x}, {x}], {k})", f"torch.cat([{x}, {x}.flip({k}) * 2], {k})", f"torch.stack([{x}, {z}.expand_as({x})], {k})",
                f"torch.hstack([{x}, {x}])", f"torch.vstack([{x}, {y}])", f"torch.cat([{x}[:1], {y}], 0)" if x.ndim else None, f"torch.stack(torch.broadcast_tensors({x}, {z}), {k})", f"torch.block_diag({x}, {x})" if x.ndim < 3 else None)


@operator("pieces")
def padded(g):
    x = g.any(1)
    k = g.rng.randint(1, min(x.ndim, 2))
    pads = [g.of(0, 1, 1, 2) for _ in range(2 * k)]
    if x.ndim >= k + 1 and g.chance(0.6) and x.is_floating_point():
        return f"F.pad({x}, {pads}, mode={g.of('reflect', 'replicate', 'circular')!r})"
    if g.chance(0.3):
        pads[0] = -1
    return f"F.pad({x}, {pads}, value={g.of(0, 1, -2)})"


@operator("writes")
def write_part(g):
    """Into a copy, or into what others see too."""
    x = g.any(1)
    part = f"{x}[{index_text(g, x)}]"
    y = g.scalar(integral=not x.is_floating_point())
    return g.of(f"{part}.mul_({y})", f"{part}.add_({y})", f"{part}.zero_()", f"{part}.fill_({y})", f"{part} = {y}", f"{part} = {part} * 2", f"{part}.copy_({part}.flip(0))", f"{part} += 1", f"{part}.neg_()", f"{part}.clamp_(-1, 1)",
                f"{part}.copy_({g.other(x, 'any')}.sum())", f"{part}.relu_()", f"{part} = {x}.sum().to({x}.dtype)")


@operator("writes")
def copy_then_write(g):
    x = g.any(1)
    return g.of(f"{x}.clone()", f"{x} * 1", f"{x} + 0", f"{x}.contiguous()", f"{x}.clone().t()" if x.ndim < 3 else f"{x}.clone().transpose(0, 1)", f"{x}.detach().clone()[:, 1:]" if x.ndim > 1 else f"{x}.clone()[1:]",
                f"torch.zeros_like({x})", f"{x}.new_zeros({', '.join(g.sizes_of(x))})", f"torch.empty_like({x}).copy_({x})", f"{x}.clone().view(-1)", f"{x}.clone().unsqueeze(0)")


@operator("writes")
def write_whole(g):
    x = g.any()
    y = g.other(x, "any")
    return g.of(f"{x}.add_({y})", f"{x}.mul_({y})", f"{x}.copy_({y})", f"{x}.sub_({y}, alpha=2)", f"{x}.sigmoid_()", f"{x}.masked_fill_({g.other(x, 'any')} > 0, 1)", f"{x}.transpose(0, -1).add_(1)", f"{x}.diagonal().fill_(2)",
                f"{x}.view(-1)[1:].mul_(2)", f"{x}.unsqueeze(0)[0].add_(1)", f"{x}.T.mul_(2)", f"{x}[..., 0].copy_({x}[..., -1])", f"{x}.tril_()", f"{x}.flatten()[0] = 1", f"{x}.fill_diagonal_(3)", f"{x}.chunk(2)[0].mul_(3)",
                f"{x}.select(0, 0).add_({x}.select(0, -1))", f"{x}[1:] = {x}[:-1].clone()")


@operator("writes")
def scattered_write(g):
    x = g.any(1)
    n = g.size(x, 0)
    return g.of(f"{x}[{x} > 0] = 1", f"{x}[torch.tensor([0, -1])] = 2", f"{x}[torch.tensor([0, 1, 0]) % {n}] += 1", f"{x}.index_put_((torch.tensor([0, 1, 0]) % {n},), torch.ones((), dtype={x.dtype}), accumulate=True)",
                f"{x}.index_fill_(0, torch.tensor([0]), 3)", f"{x}.index_add_(0, torch.tensor([1, 1]) % {n}, {x}[:1].repeat(2, {', '.join(['1'] * (x.ndim - 1))}))" if x.ndim > 1 else None,
                f"{x}.index_copy_(0, torch.tensor([0]), {x}[-1:])", f"{x}.slice_scatter({x}[:1], 0, 0, 1)", f"{x}.select_scatter({x}[-1], 0, 0)", f"{x}.diagonal_scatter({x}.diagonal() * 2)" if x.ndim > 1 else None,
                f"{x}[..., ::2] = {x}[..., :1]")
