"""Sizes as numbers, branches on them, branches and loops on data, what a module keeps."""
import torch

from .generate import Value, operator


@operator("sizes")
def made_of_sizes(g):
    x = g.any(1)
    n = f"{x}.shape[{g.rng.randrange(x.ndim)}]"
    m = f"{x}.shape[{g.rng.randrange(x.ndim)}]"
    return g.of(f"torch.arange({n})", f"torch.arange(0, 2 * {n}, 2)", f"torch.full(({n}, {m}), {g.scalar()})", f"torch.ones({n} + 1, {m})", f"torch.eye({n}, {m})", f"torch.linspace(0, 1, {n})", f"torch.zeros({n} * {m}) + {m}", f"torch.arange({n}).float() / {m}",
                f"torch.full((), {n})", f"torch.arange({n})[:, None] >= torch.arange({m})", f"torch.arange({n} - 1, -1, -1)", f"torch.tril_indices(3, 4)", f"torch.full(({n} // 2 + 1,), 3, dtype=torch.int32)", f"torch.zeros({n}, dtype=torch.bool)",
                f"torch.arange(1, {n} + 1, dtype=torch.float32)", f"torch.ones({n}).cumsum(0)", f"torch.arange({n} * {m}).reshape({n}, {m})", f"torch.randn(({n}, {m})) * 0", f"torch.empty({n}, {m}).fill_(1.5)")


@operator("sizes")
def scaled_by_sizes(g):
    x = g.float(1)
    k = g.rng.randrange(x.ndim)
    n = f"{x}.shape[{k}]"
    return g.of(f"{x} * {n}", f"{x} / {n}", f"{x} / {n} ** 0.5", f"{x} + ({n} % 3)", f"{x} * ({n} // 2)", f"{x}.sum({k}) / max({n}, 3)", f"{x}.narrow({k}, 0, {n} - 1)", f"{x}.narrow({k}, {n} // 2, {n} - {n} // 2)", f"{x}.flatten()[:{n}]", f"{x}[:({n} + 1) // 2]" if k == 0 else None, f"{x} * {x}.numel()",
                f"F.pad({x}, (0, {x}.shape[-1] % 2))", f"{x}.flatten()[{n} - 1]", f"{x}.repeat({', '.join([n] + ['1'] * (x.ndim - 1))})" if x.numel() < 100 else None, f"torch.cat([{x}, {x}[:{n} // 2]])" if k == 0 else None, f"{x} - min({n}, 4)", f"F.pad({x}, ({n}, 0))", f"{x}[-({n} // 2):]" if k == 0 else None,
                f"torch.split({x}, [{n} // 2, {n} - {n} // 2], {k})")


@operator("sizes")
def branch_on_size(g):
    """Leaves a guard in the exported program."""
    x = g.float(1)
    k = g.rng.randrange(x.ndim)
    n, m = f"{x}.shape[{k}]", f"{x}.shape[0]"
    condition = g.of(f"{n} > {x.shape[k] - g.of(-1, 0, 1)}", f"{n} % 2 == 0", f"{n} == {m}", f"{n} <= {m} + 1", f"{n} * {m} > {g.rng.randint(4, 40)}", f"{x}.numel() < 50", f"{n} // 2 > 1")
    return f"{x} * 2 if {condition} else {x} + 1"


@operator("control")
def conditional(g):
    x = g.float(1)
    y = g.other(x)
    condition = g.of(f"{x}.sum() > 0", f"({x} > 0).any()", f"{y}.mean() < {x}.max()", f"({y} > 0).all()")
    bodies = g.of(("a * 2", "a - 1"), ("a.sin() + b", "a * b"), ("torch.softmax(a, -1)", "a / 3"), ("a.flip(0).contiguous()", "a.clone()"), ("a + b.sum()", "a.exp().clamp(max=3)"), ("a.cumsum(0)", "torch.where(a > 0, a, b.expand_as(a))"))
    return f"torch.cond({condition}, lambda a, b: {bodies[0]}, lambda a, b: {bodies[1]}, ({x}, {y}))"


@operator("control")
def loop(g):
    x = g.float(1)
    body, most = g.of("a * 0.5 + 1", "a.sin() + 1", "a - a.mean()", "a.roll(1, 0)", "torch.softmax(a, -1) + a"), g.of(1, 3, 5)
    condition = g.of(f"i < {most}", f"(i < {most}) & (a.sum() < 50)")
    return f"torch._higher_order_ops.while_loop(lambda i, a: {condition}, lambda i, a: (i + 1, {body}), (torch.tensor(0), {x}))"


@operator("control")
def scan(g):
    x = g.float(2, 3)
    body = g.of("(c * 0.5 + r, c + r)", "(c + r.sin(), c * r)", "(torch.maximum(c, r), c - r)")
    return f"torch._higher_order_ops.scan(lambda c, r: {body}, {x}[0] * 0, {x})[{g.of(0, 1)}]"


@operator("control")
def unrolled(g):
    x = g.float(2, 3)
    if g.program.is_open:
        return None
    return g.of(f"torch.stack([r * i for i, r in enumerate({x})])", f"sum({x}.unbind(0))", f"torch.cat([{x}[i:i + 1] * {x}[:i + 1].mean() for i in range({x}.shape[0])])")


@operator("states")
def state_written(g):
    """A buffer that the module changes: what the next run finds."""
    old = [state_of(g, n) for n in sorted(g.written)]
    x = g.float(1)
    s = g.of(*old) if old and g.chance(0.5) else None
    if g.program.is_open:  # a size of its own, that nothing opens
        s = s or g.state(torch.zeros(4, 3))
        text = g.of(f"{s}.add_({x}.mean().float())", f"{s}[1:].mul_(0.5)", f"{s}[0].copy_({s}[1] + 1)", f"{s}[:, 1] += {x}.flatten()[:4].sum().float()")
    else:
        s = s if s is not None and s.shape == x.shape and s.dtype == x.dtype else g.state(g.numbers(x.shape, x.dtype))
        text = g.of(f"{s}.add_({x})", f"{s}.copy_({x} * 2)", f"{s}[1:] = {x}[:-1]", f"{s}.mul_(0.5).add_({x}, alpha=0.1)", f"{s}[..., 0].sub_({x}[..., 0])", f"{s}.index_copy_(0, torch.tensor([0]), {x}[-1:])", f"{s}.copy_({s}.roll(1, 0))",
                    f"{s}.index_put_((torch.tensor([0, 1]),), {x}[:2])")
    return text


def state_of(g, name):
    return Value(f"self.{name}", g.program.states[name])


@operator("states")
def state_read(g):
    if not g.written:
        return state_written(g)
    s = state_of(g, g.of(*sorted(g.written)))
    return g.of(f"{s}.clone()", f"{s}.sum()", f"{s} * 2", f"{s} @ {s}.t()" if s.ndim == 2 else f"{s} + 1", f"{s}[:1]")
