"""Reductions, scans, orders, norms and their like."""
from .generate import operator


@operator("reductions")
def reduced(g):
    x = g.float(1)
    axes, keep = g.of(g.axis(x), g.axes(x)), g.of("", "", ", keepdim=True")
    name = g.of("sum", "mean", "amax", "amin", "logsumexp", "std", "var", "norm", "nansum", "nanmean")
    if name == "norm":
        return f"torch.linalg.vector_norm({x}, {g.of(1, 2, 3, 'torch.inf', 0)}, {axes}{keep})"
    extra = f", correction={g.of(0, 1)}" if name in ("std", "var") else ""
    return f"{x}.{name}({axes}{extra}{keep})" if name not in ("sum", "mean") or g.chance(0.7) else f"{x}.{name}()"


@operator("reductions")
def reduced_in_order(g):
    x = g.number(1)
    k = g.axis(x)
    return g.of(f"{x}.max({k})", f"{x}.min({k}, keepdim=True)", f"{x}.median({k})[0]", f"{x}.argmax({k})", f"{x}.argmin({k}, keepdim=True)", f"{x}.argmax()", f"torch.aminmax({x}, dim={k})", f"{x}.max()", f"{x}.kthvalue(1, {k})[0]",
                f"torch.std_mean({x}, {k})", f"torch.var_mean({x}, {k}, keepdim=True)", f"{x}.prod({k})", f"{x}.any({k})", f"{x}.all({k}, keepdim=True)", f"{x}.sum({k})", f"torch.count_nonzero({x}, {k})", f"{x}.mode({k})[0]",
                f"torch.quantile({x}.float(), 0.3, {k})", f"torch.dist({x}, {g.other(x)})")


@operator("reductions")
def scanned(g):
    x = g.number(1)
    k = g.axis(x)
    return g.of(f"{x}.cumsum({k})", f"{x}.cumsum({k}, dtype=torch.float64)", f"{x}.clamp(-1, 1).cumprod({k})", f"torch.cummax({x}, {k})", f"torch.cummin({x}, {k})[0]", f"torch.logcumsumexp({x}.float(), {k})", f"torch.diff({x}, dim={k})",
                f"torch.trapezoid({x}, dim={k})", f"{x}.flip({k}).cumsum({k}).flip({k})", f"({x} > 0).cumsum({k})")


@operator("reductions")
def ordered(g):
    x = g.number(1)
    k = g.axis(x)
    most = g.rng.randint(1, x.shape[k]) if not g.program.is_open else g.of(1, 2)
    down = g.of("", ", descending=True")
    if x.t.unique().numel() < x.numel():  # which of equal elements comes first is PyTorch's choice
        return g.of(f"{x}.sort({k}{down})[0]", f"torch.sort({x}, stable=True, dim={k}{down})", f"{x}.topk({most}, {k})[0]", f"torch.msort({x})")
    return g.of(f"{x}.sort({k}{down})", f"{x}.sort({k}{down})[0]", f"torch.sort({x}, stable=True, dim={k}{down})", f"{x}.argsort({k}{down})", f"{x}.topk({most}, {k})", f"{x}.topk({most}, {k}, largest=False)[0]", f"{x}.topk(min(2, {g.size(x, k)}), {k})",
                f"torch.searchsorted({x}.flatten().sort()[0], {x}.flatten()[:4])", f"torch.bucketize({x}, torch.tensor([-1., 0., 1.]))", f"torch.msort({x})")


@operator("reductions")
def soft(g):
    x = g.float(1)
    k = g.axis(x)
    return g.of(f"torch.softmax({x}, {k})", f"torch.log_softmax({x}, {k})", f"F.softmin({x}, {k})", f"torch.softmax({x}, {k}, dtype=torch.float32)", f"F.normalize({x}, dim={k})", f"F.glu({x}, {k})", f"{x} / {x}.abs().sum({k}, keepdim=True)",
                f"({x} - {x}.mean({k}, keepdim=True)) * torch.rsqrt({x}.var({k}, keepdim=True) + 1e-2)", f"F.cosine_similarity({x}, {g.other(x)}, dim={k})", f"torch.softmax({x}.masked_fill({x} < 0, float('-inf')), {k}).nan_to_num()")


@operator("norms")
def normed(g):
    x = g.float(2)
    n = x.shape[-1]
    if g.program.is_open and n != 1:
        return f"F.layer_norm({x}, ({g.size(x, -1)},), eps=1e-2)" if g.chance(0.5) else f"F.rms_norm({x}, ({x}.shape[-1],), eps=1e-2)"
    w, b = g.weight([n], x.dtype), g.weight([n], x.dtype)
    return g.of(f"F.layer_norm({x}, ({n},), {w}, {b}, 1e-2)", f"F.layer_norm({x}, ({n},), {w})", f"F.rms_norm({x}, ({n},), {w}, 1e-2)", f"F.layer_norm({x}, {tuple(x.shape[-2:])}, eps=1e-2)")


@operator("norms")
def normed_channels(g):
    x = g.float(3, 4)
    c = x.shape[1]
    w, b = g.weight([c], x.dtype), g.weight([c], x.dtype)
    groups = next(k for k in (g.of(2, 3), 1) if c % k == 0)
    return g.of(f"F.batch_norm({x}, {w}, {b}.abs() + 0.5, {b}, {w})", f"F.group_norm({x}, {groups}, {w}, {b}, 1e-2)", f"F.instance_norm({x}, eps=1e-2)", f"F.local_response_norm({x}, 3)", f"F.batch_norm({x}, None, None, {w}, {b}, True, 0.1, 1e-2)")


@operator("norms")
def losses(g):
    x = g.float(2, 2)
    y = g.other(x)
    t = g.integer(1, 1)
    return g.of(f"F.mse_loss({x}, {y}.expand_as({x}))", f"F.l1_loss({x}, {y}.expand_as({x}), reduction='none')", f"F.smooth_l1_loss({x}, {y}.expand_as({x}))", f"F.cross_entropy({x}, torch.arange({x}.shape[0]) % {x}.shape[1])",
                f"F.binary_cross_entropy_with_logits({x}, {y}.expand_as({x}).sigmoid())", f"F.kl_div(torch.log_softmax({x}, 1), torch.softmax({y}.expand_as({x}), 1), reduction='batchmean')", f"F.huber_loss({x}, {y}.expand_as({x}), reduction='sum')",
                f"F.nll_loss(torch.log_softmax({x}, 1), {t}.abs().long()[:1].expand({x}.shape[0]) % {x}.shape[1])", f"torch.cdist({x}, {x} + 1)", f"F.pairwise_distance({x}, {x} + {y})", f"F.one_hot({t}.long().abs() % 5, 5)")
