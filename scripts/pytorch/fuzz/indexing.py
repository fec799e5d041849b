"""Elements by indices: gathers, scatters, masks, embeddings."""
import torch

from .generate import operator


def indices(g, bound, shape):
    """The text of indices below a bound's text."""
    i = g.pick(lambda v: v.dtype == torch.int64 and list(v.shape) == list(shape)) or g.input(shape, torch.int64)
    return f"({i} % {bound})"


@operator("indexing")
def gathered(g):
    x = g.any(1)
    k = g.rng.randrange(x.ndim)
    n = g.of(*g.sizes)
    i = indices(g, g.size(x, k), [n])
    shape = list(x.shape)
    shape[k] = n
    deep = indices(g, g.size(x, k), shape)
    return g.of(f"{x}.index_select({k}, {i})", f"torch.gather({x}, {k}, {deep})", f"torch.take_along_dim({x}, {deep}, {k})", f"{x}.take({indices(g, f'{x}.numel()', [2, 3])})", f"{x}[{i}]" if k == 0 else f"{x}[:, {i}]" if k == 1 else f"{x}[..., {i}]" if k == x.ndim - 1 else None,
                f"torch.gather({x}, {k}, {x}.argsort({k}, stable=True))", f"torch.gather({x}, {k}, {x}.argmax({k}, keepdim=True))")


@operator("indexing")
def advanced(g):
    x = g.any(2)
    n = g.of(*g.sizes)
    i, j = indices(g, g.size(x, 0), [n]), indices(g, g.size(x, 1), [n])
    return g.of(f"{x}[{i}, {j}]", f"{x}[{i}[:, None], {j}]", f"{x}[{i}, 1:]", f"{x}[:, {j}, None]", f"{x}[{i}, ..., 0]", f"{x}[..., torch.tensor([0, -1])]", f"{x}[[0, 1], [1, 0]]", f"{x}[{i}][:, {j}]", f"{x}[{i} - {g.size(x, 0)}]", f"{x}[None, {i}]",
                f"{x}[torch.arange({g.size(x, 0)}), {x}.sum(tuple(range(1, {x.ndim}))).long() % {g.size(x, 1)}]", f"{x}[{i}, :, None]", f"{x}[0, {j}]", f"{x}[{i}, 0]", f"{x}[-1, ..., {indices(g, g.size(x, x.ndim - 1), [n])}]")


@operator("indexing")
def scattered(g):
    x = g.number(1)
    k = g.rng.randrange(x.ndim)
    shape = list(x.shape)
    i = indices(g, g.size(x, k), shape)
    y = g.other(x, x.dtype)
    src = f"{y}.expand_as({x})"
    reduce = g.of("sum", "amax", "amin", "mean", "prod")
    return g.of(f"{x}.scatter_add({k}, {i}, {src})", f"{x}.scatter_reduce({k}, {i}, {src}, {reduce!r})", f"{x}.scatter_reduce({k}, {i}, {src}, {reduce!r}, include_self=False)", f"{x}.scatter({k}, {x}.argsort({k}, stable=True), {src})",
                f"{x}.scatter({k}, {i}, 2)", f"torch.zeros_like({x}).scatter_add_({k}, {i}, {src})", f"{x}.scatter({k}, {x}.argmax({k}, keepdim=True), 1)")


@operator("indexing")
def put(g):
    x = g.any(1)
    n = g.of(*g.sizes)
    i = indices(g, g.size(x, 0), [n])
    row = f"{x}[:1].expand({n}, {', '.join(['-1'] * (x.ndim - 1))})" if x.ndim > 1 else f"{x}[:1].expand({n})"
    return g.of(f"{x}.index_add(0, {i}, {row})", f"{x}.index_fill(0, {i}, 1)", f"{x}.index_put(({i},), {row}, accumulate=True)", f"{x}.index_put(({i},), {x}[0])", f"{x}.clone().index_put_(({i},), {row} * 2)", f"{x}.index_reduce(0, {i}, {row}, 'amax')",
                f"{x}.masked_scatter({x} > 0, {x}.flip(0))", f"torch.bincount({i}, minlength=4)", f"{x}.index_copy(0, torch.tensor([1]) % {g.size(x, 0)}, {x}[:1] * 2)", f"{x}.put(torch.tensor([0, 1]), torch.tensor([1, 2], dtype={x.dtype}))")


@operator("indexing")
def embedded(g):
    n, d = g.of(*g.sizes), g.of(*g.sizes)
    w = g.weight([n, d]) if g.chance(0.6) else g.float(2, 2)
    i = indices(g, str(w.shape[0]) if w.startswith("self") else g.size(w, 0), [g.of(*g.sizes) for _ in range(g.of(1, 2))])
    return f"F.embedding({i}, {w})"


@operator("data")
def counted(g):
    """Sizes that depend on numbers."""
    x = g.any(1)
    return g.of(f"{x}[{x} > 0]", f"{x}.nonzero()", f"torch.masked_select({x}, {x} > 0).sum()", f"({x} > 0).nonzero().float().sum(0)", f"{x}[{x} > 0].sort()[0]", f"torch.where({x} > 0)[0]", f"torch.unique({x})", f"{x}[{x}.reshape({x}.shape[0], -1).sum(1) > 0]",
                f"torch.argwhere({x})", f"{x}[{x} > 0].mean() + 1", f"torch.cat([{x}[{x} > 0], {x}[{x} <= 0]])", f"{x}.nonzero()[:, 0]", f"{x}[{x} > 100]")
