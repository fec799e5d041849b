"""Programs for torch.export, by family: each a function or module, and the inputs to run it with."""
from dataclasses import dataclass, field

import torch
from torch.export import Dim


@dataclass
class Case:
    name: str
    body: object
    runs: list                   # of tuples of inputs; the first one is what the program is exported with
    sizes: object = None         # dynamic_shapes
    decomposed: bool = False
    tolerance: float = 1e-5
    flags: list = field(default_factory=list)
    steps: bool = False          # the runs follow one another on one module
    edited: object = None        # brings the exported graph into the form that another version of PyTorch writes


def dyadic(*shape):
    """Numbers whose decimals are short."""
    return torch.randint(-64, 65, shape).float() / 16


def views():
    """Writes through views, and views read after a write."""
    def part_of_rows(x):
        z = x.clone()
        z[:, 1:] = x[:, 1:] * 2
        return z

    def view_before_write(x):
        z = x + 1
        v = z.view(24)
        z[1] = 0
        v[3:5] += 7
        return z, v

    def through_transpose(x):
        z = x * 1
        t = z.t()
        t[2:5].add_(x.t()[0:3])
        t.reshape(24).mul_(2)  # a copy
        return z, t

    def pieces(x):
        z = x * 1
        a, b = z.chunk(2, 1)
        a.relu_()
        b[1::2] = 5
        z[::3, ::2] = -1
        return z, a, b

    def in_place_views(x):
        z = x * 1
        u = z.unsqueeze(0)
        u[:, 0] = 9
        p = u.permute(2, 0, 1)[1]
        p.zero_()
        z.unsqueeze_(1)
        z.squeeze_(1)
        return z, u, p

    def expanded(x):
        z = x * 1
        e = z[0:1].expand(4, 6)
        z += 1
        return z, e

    def same_or_copy(x):
        z = x * 1
        c, d = z.contiguous(), z.t().contiguous()
        z.add_(1)
        k, h = z.float(), z.double()
        k.mul_(2)
        return z, c, d, k, h

    def masks_and_indices(x):
        z = x * 1
        z[z > 0] = -5
        z[torch.tensor([0, 2])] = 3
        z[..., 0].copy_(x[:, 1])
        return z

    def nested(x):
        z = torch.zeros(4, 12)
        z[:, :6] = x
        z[:, 6:].copy_(x * 2)
        w = z.unflatten(1, (2, 6))
        w[:, 1] -= 1
        f = w.flatten(1)
        f += 1
        return z, w, f

    def many(x):
        z = x * 1
        u = z.unbind(0)
        u[1].add_(1)
        s = torch.split(z, 2, 1)
        s[2].sub_(3)
        z.narrow(0, 1, 2).clamp_(min=0)
        z.detach().exp_()
        return [z, *u, *s]

    fixed = (part_of_rows, view_before_write, through_transpose, pieces, in_place_views, expanded, same_or_copy, masks_and_indices,
             nested, many)
    x = dyadic(4, 6)
    for body in fixed:
        yield Case(body.__name__, body, [(x,)])
    for body in (part_of_rows, pieces, in_place_views, same_or_copy, masks_and_indices):
        yield Case(body.__name__ + "_open", body, [(x,), (dyadic(7, 6),)], ({0: Dim("n", min=4, max=64)},))


def each(x, **bodies):
    for name, body in bodies.items():
        yield Case(name, body, [x if isinstance(x, tuple) else (x,)])


def strided():
    """Tensors by their strides, diagonals, pieces and stacks."""
    yield from each(
        dyadic(4, 6),
        as_strided=lambda x: (x.as_strided((3, 2), (6, 2), 1), x.as_strided((6, 4), (1, 6)), x.as_strided((2, 3), (1, 1), 4)),
        as_strided_write=lambda x: (z := x * 1, s := z.as_strided((3, 2), (6, 2), 1), s.mul_(3)),
        as_strided_scatter=lambda x: x.as_strided_scatter(x[:2, :3], (2, 3), (7, 2), 1),
        diagonal=lambda x: (x.diagonal(), x.diagonal(2), x.diagonal(-1), x.view(2, 2, 6).diagonal(0, -1, 0), x.trace()),
        diagonal_write=lambda x: (z := x * 1, z.diagonal(1).add_(10)),
        diagonal_scatter=lambda x: x.diagonal_scatter(x[0, :4], 1),
        diag_embed=lambda x: (x.diag_embed(), x.diag_embed(-2, 0, 2), x[0].diag(1), x.diag(), x[0, :3].diagflat(-1)),
        unfold=lambda x: (x.unfold(1, 3, 2), x.unfold(0, 2, 1)),
        slice_scatter=lambda x: (x.slice_scatter(x[:, :2], 1, 1, 6, 3), x.select_scatter(x[0], 0, -1)),
        pieces=lambda x: (*x.tensor_split(4, 1), *x.tensor_split((1, 3), 0), *x.hsplit(3), *x.vsplit((2,)), *x.chunk(4, 1)),
        stacks=lambda x: (torch.hstack((x, x)), torch.vstack((x[0], x[1])), torch.dstack((x, x)), torch.column_stack((x[:, 0], x)),
                          *torch.atleast_3d(x, x[0]), torch.block_diag(x, x[:2, :1])),
        grids=lambda x: (*torch.meshgrid(x[0], x[1, :2], indexing="ij"), *torch.meshgrid(x[0], x[1, :2], indexing="xy"),
                         torch.cartesian_prod(x[0], x[1, :2]), *torch.broadcast_tensors(x[:1], x[:, :1])),
        turns=lambda x: (x.rot90(1), x.rot90(-1), x.rot90(2), x.fliplr(), x.flipud(), x.roll(7)),
        triangles=lambda x: torch.tril_indices(3, 4, 1).float() @ x[:, :2].new_ones(torch.tril_indices(3, 4, 1).shape[1], 1) + x[0, 0])
    n = Dim("n", min=3, max=64)
    open_sizes = {"diagonal": lambda x: (x.diagonal(), x.diagonal(1), x.trace(), x.diag_embed()), "unfold": lambda x: x.unfold(0, 3, 2)}
    for name, body in open_sizes.items():
        yield Case(name + "_open", body, [(dyadic(4, 6),), (dyadic(9, 6),)], ({0: n},))

    def as_nodes(graph):
        """torch.export writes strides and offsets as sizes; here as the nodes that its core operators have for them."""
        x, row = (node for node in graph.nodes if node.op == "placeholder" or node.target == torch.ops.aten.slice.Tensor)
        width = next(node for node in graph.nodes if node.target == torch.ops.aten.sym_size.int and node.args[1] == 1)
        for target, args, user in ((torch.ops.aten.sym_stride.int, (x, 0), "mul"), (torch.ops.aten.sym_storage_offset.default, (row,), "add")):
            user = next(node for node in graph.nodes if node.name == user)
            with graph.inserting_before(user):
                number = graph.call_function(target, args)
            number.meta.update(width.meta)
            user.replace_input_with(width, number)
    yield Case("strides_as_nodes", lambda x: (x * x.stride(0), (r := x[1:]) + r.storage_offset(), x - x.numel()), [(dyadic(4, 5),), (dyadic(3, 7),)],
               ({0: Dim.AUTO, 1: Dim.AUTO},), edited=as_nodes)


def functions():
    """Elementwise functions."""
    x = torch.tensor([-3.5, -1, -0.5, -0.25, 0, 0.125, 0.5, 0.75, 1, 2.5, 30])
    y = torch.tensor([0.5, -1, 2, 0, 0, 0, 3, -2, float("inf"), float("nan"), -4])
    yield from each(
        (x,), logit=lambda x: (x.logit(), x.logit(1e-3)), sinc=torch.sinc, angles=lambda x: (x.deg2rad(), x.rad2deg()),
        entropy=torch.special.entr, ndtr=torch.special.ndtr, erfinv=torch.erfinv, lgamma=torch.lgamma, digamma=torch.digamma,
        shrink=lambda x: (torch.nn.functional.hardshrink(x, 0.3), torch.nn.functional.softshrink(x, 0.3)),
        rrelu=torch.nn.functional.rrelu, decimals=lambda x: (torch.round(x, decimals=1), torch.round(x, decimals=-1)),
        lgamma_half=lambda x: (x.half().lgamma(), x.half().erfinv().float()))
    yield from each(
        (x, y), infinities=lambda x, y: (y.isposinf(), y.isneginf(), y.signbit(), x.signbit()),
        logs=lambda x, y: (torch.xlogy(x, y), torch.special.xlog1py(x, y), torch.logaddexp(x, y), torch.logaddexp2(x, y)),
        extremes=lambda x, y: (torch.fmax(x, y), torch.fmin(x, y), torch.hypot(x, y), torch.copysign(x, y), torch.heaviside(x, y)),
        powers=lambda x, y: (torch.float_power(x.abs(), 2), torch.ldexp(x, y.clamp(-3, 3).nan_to_num())),
        close=lambda x, y: (torch.isclose(x, y, 0.5, 0.5), torch.isclose(y, y), torch.isclose(y, y, equal_nan=True)),
        outer=lambda x, y: torch.addr(x[:3].expand(4, 3), x[:4], x[3:6], beta=0.5, alpha=2),
        other_names=lambda x, y: (torch.subtract(x, y), torch.divide(x, 2), torch.multiply(x, y), torch.arctan(x), torch.less(x, y)))


def images():
    """Pools, blocks, resizes, samples."""
    f = torch.nn.functional
    x, cube = dyadic(1, 2, 7, 9), dyadic(1, 2, 4, 5, 6)
    yield from each(
        x, max_indices=lambda x: f.max_pool2d(x, 3, 2, 1, return_indices=True),
        max_ceil=lambda x: f.max_pool2d(x, 3, 2, 1, 2, ceil_mode=True, return_indices=True),
        average=lambda x: (f.avg_pool2d(x, 3, 2, 1), f.avg_pool2d(x, 3, 2, 1, count_include_pad=False), f.avg_pool2d(x, 2, divisor_override=3)),
        average_ceil=lambda x: (f.avg_pool2d(x, 3, 2, 1, ceil_mode=True), f.avg_pool2d(x, 2, 2, ceil_mode=True, count_include_pad=False)),
        one_dimension=lambda x: (f.max_pool1d(x[0], 2), f.avg_pool1d(x[0], 3, 1, 1), f.max_pool2d((x * 8).long(), 2)),
        adaptive=lambda x: (f.adaptive_avg_pool2d(x, (3, 4)), f.adaptive_avg_pool2d(x, (7, 3)), f.adaptive_avg_pool1d(x[0], 1)),
        adaptive_maximum=lambda x: (*f.adaptive_max_pool2d(x, (3, 4), return_indices=True), f.adaptive_max_pool1d(x[0], 3)),
        unpool=lambda x: f.max_unpool2d(*f.max_pool2d(x, 2, 2, return_indices=True), 2, 2, output_size=(7, 9)),
        blocks=lambda x: (u := f.unfold(x, (2, 3), 1, 1, 2), f.fold(u, (7, 9), (2, 3), 1, 1, 2)),
        shuffles=lambda x: (f.pixel_unshuffle(x[..., :6, :8], 2), f.channel_shuffle(x, 2)),
        nearest=lambda x: (f.interpolate(x, (5, 13)), f.interpolate(x, scale_factor=1.5), f.interpolate(x, (5, 4), mode="nearest-exact")),
        linear=lambda x: (f.interpolate(x, (5, 13), mode="bilinear"), f.interpolate(x, (14, 3), mode="bilinear", align_corners=True),
                          f.interpolate(x, scale_factor=(1.3, 0.7), mode="bilinear"), f.interpolate(x[0], 5, mode="linear")),
        cubic=lambda x: (f.interpolate(x, (5, 13), mode="bicubic"), f.interpolate(x, (14, 3), mode="bicubic", align_corners=True)),
        smooth=lambda x: (f.interpolate(x, (3, 4), mode="bilinear", antialias=True), f.interpolate(x, (3, 20), mode="bicubic", antialias=True)))
    yield from each(
        cube, cubes=lambda x: (*f.max_pool3d(x, 2, return_indices=True), f.avg_pool3d(x, 2, 2, 1), f.adaptive_avg_pool3d(x, (2, 2, 3)),
                               f.interpolate(x, (3, 3, 9), mode="trilinear"), f.interpolate(x, (3, 3, 9))))
    grid = dyadic(1, 3, 4, 2) / 3
    modes = [(m, p, a) for m in ("bilinear", "nearest", "bicubic") for p in ("zeros", "border", "reflection") for a in (False, True)]
    yield Case("grids", lambda x, g: [f.grid_sample(x, g, m, p, a) for m, p, a in modes if m != "nearest"], [(x, grid)], tolerance=1e-4)
    yield Case("grids_nearest", lambda x, g: [f.grid_sample(x, g, m, p, a) for m, p, a in modes if m == "nearest"], [(x, grid)])
    yield Case("grids_3d", lambda x, g: f.grid_sample(x, g, align_corners=False), [(cube, dyadic(1, 2, 3, 2, 3) / 3)], tolerance=1e-4)
    h, w = Dim("h", min=4, max=64), Dim("w", min=4, max=64)
    open_sizes = {
        "pools": lambda x: (*f.max_pool2d(x, 3, 1, 1, return_indices=True), f.avg_pool2d(x, 3, 1, 1, count_include_pad=False)),
        "adaptive": lambda x: (f.adaptive_avg_pool2d(x, (3, 2)), f.adaptive_max_pool2d(x, 3)),
        "resizes": lambda x: (f.interpolate(x, scale_factor=2, mode="bilinear"), f.interpolate(x, (5, 6), mode="bicubic"), f.interpolate(x, (5, 6)))}
    for name, body in open_sizes.items():
        yield Case(name + "_open", body, [(x,), (dyadic(1, 2, 12, 5),)], ({2: h, 3: w},), tolerance=1e-4)
    yield Case("smoothing_open", lambda x: (f.interpolate(x, (5, 6), mode="bilinear", antialias=True), f.interpolate(x, (3, 20), mode="bicubic", antialias=True)),
               [(x,), (dyadic(1, 2, 12, 5),), (dyadic(1, 2, 50, 41),)], ({2: h, 3: w},), tolerance=1e-4)
    yield Case("unshuffle_open", lambda x: f.pixel_unshuffle(x, 2), [(dyadic(1, 2, 4, 6),), (dyadic(1, 2, 12, 8),)], ({2: 2 * Dim("half", min=2, max=32), 3: 2 * Dim("half_w", min=2, max=32)},))


def data():
    """Sizes and places that depend on data."""
    def number(x, n):
        k = n.item()
        torch._check(k >= 0)
        torch._check(k < 3)
        return x[:, k], x * k, x.narrow(1, k, 2)

    x = dyadic(4, 6)
    runs = [(x,), (dyadic(4, 6),), (torch.zeros(4, 6),)]
    bodies = {
        "nonzero": torch.nonzero, "argwhere": lambda x: torch.argwhere(x[0]), "masked_select": lambda x: x.masked_select(x > 0),
        "mask": lambda x: (x[x > 0], x[x[:, 0] > 0], x[:, x[0] > 0] * 2), "masked_scatter": lambda x: x.masked_scatter(x > 0, x.t() * 2),
        "static": lambda x: torch.nonzero_static(x, size=5), "unique": lambda x: torch.unique(x.round(), return_inverse=True, return_counts=True),
        "consecutive": lambda x: torch.unique_consecutive((x > 0).long(), return_inverse=True, return_counts=True),
        "float_number": lambda x: x * x[0, 0].item()}
    for name, body in bodies.items():
        yield Case(name, body, runs)
    for at in (0, 2):
        yield Case(f"number_{at}", number, [(x, torch.tensor(at)), (x, torch.tensor(1))])
    counts = (torch.tensor([1, 0, 4, 2, 4]),)
    yield Case("bincount", lambda n: torch.bincount(n, minlength=3), [counts, (torch.tensor([0, 0, 0, 1, 1]),)])
    yield Case("repeats", lambda n: (n.repeat_interleave(n), torch.arange(10).view(5, 2).repeat_interleave(n, 0)), [counts])
    thirds = torch.arange(24).view(4, 6)
    yield Case("put_mask", lambda x, v: x.index_put((x % 3 == 0,), v), [(thirds, torch.arange(8) * 100)])
    # Equal updates of one place count each for itself.
    yield Case("uniform", lambda x, i: (x[0].index_put((i.expand(5),), torch.ones(5), accumulate=True),
                                        x.index_put((torch.tensor([1, 1]), torch.tensor([2, 2])), torch.tensor([1., 1.]), accumulate=True)),
               [(x, torch.tensor(2))])
    bits = torch.tensor([True, True, False, True])
    picked = torch.tensor([True, False, True, True])
    yield Case("put_row", lambda x, m, v: (x.index_put((m,), v), x.index_put((m,), v, accumulate=True), x.index_put((m,), v[:1]),
                                           torch.stack([x, x * 2], 1).index_put((torch.stack([m, ~m], 1),), v)),
               [(x, picked, dyadic(6)), (x, ~picked, dyadic(6)), (x, picked & ~picked, dyadic(6))])
    yield Case("booleans", lambda b: b.scatter_add(0, torch.tensor([0, 0, 1, 2]), b), [(bits,)])

    def cut(x, places):
        a, b, c = torch.tensor_split(x, places, 1)
        return a * 2, b, c + 1, b.shape[1] * x
    yield Case("cut_at_data", cut, [(dyadic(2, 7), torch.tensor(at)) for at in ([2, 5], [0, 9], [5, 2], [-3, -1])])


def losses():
    """Losses, distances, lookups, sums by group."""
    f = torch.nn.functional
    x, y, p = dyadic(4, 6), dyadic(4, 6), torch.arange(1, 25).view(4, 6) / 32
    classes = torch.tensor([1, 5, -100, 0])
    yield from each(
        (x, y), pointwise=lambda x, y: (f.mse_loss(x, y), f.l1_loss(x, y, reduction="sum"), f.smooth_l1_loss(x, y, beta=2), f.huber_loss(x, y),
                                        f.soft_margin_loss(x, y.sign(), reduction="none"), f.kl_div(x, y.abs()), f.hinge_embedding_loss(x, y.sign())),
        logits=lambda x, y: (f.binary_cross_entropy_with_logits(x, y.sigmoid()),
                             f.binary_cross_entropy_with_logits(x, y.sigmoid(), y.abs(), pos_weight=x[0].abs())),
        ranking=lambda x, y: f.margin_ranking_loss(x[0], y[0], y[1].sign(), margin=0.5),
        distances=lambda x, y: (torch.cdist(x, y), torch.cdist(x, y, p=1.0), torch.cdist(x, y, p=3.0), f.pdist(x), f.pairwise_distance(x, y),
                                f.cosine_similarity(x, y), torch.dist(x, y)),
        crossed=lambda x, y: torch.linalg.cross(x[:, :3], y[:, 3:]))
    yield from each((p, y.sigmoid()), probabilities=lambda p, y: f.binary_cross_entropy(p, y))
    yield from each(
        (x, classes), picked=lambda x, t: (f.cross_entropy(x, t), f.cross_entropy(x, t, x[0].abs(), reduction="none"),
                                           f.cross_entropy(x, t, label_smoothing=0.1), f.nll_loss(x, t, reduction="sum")),
        planes=lambda x, t: f.cross_entropy(x.view(1, 6, 2, 2), t.abs().clamp(max=5).view(1, 2, 2)))
    yield from each(
        x, sorted=lambda x: (torch.searchsorted(x[0].sort()[0], x), torch.bucketize(x, x[1].sort()[0], right=True),
                             torch.searchsorted(x.sort()[0], x[:, :2].contiguous())),
        counted=lambda x: (torch.histc(x, 4, -2, 2), torch.histc(x, 3), torch.count_nonzero(x), torch.count_nonzero(x > 0, 1), *x.aminmax(dim=1),
                           torch.isin(x, x[0])),
        without_nans=lambda x: (torch.log(x).nansum(1), torch.log(x).nanmean()),
        taken=lambda x: (torch.take(x, torch.tensor([5, -1])), torch.take_along_dim(x, x.argsort(1), 1)),
        spaced=lambda x: (torch.linspace(-1, 2, 7), torch.linspace(0, 10, 5, dtype=torch.int64), torch.logspace(0, 2, 4), x.sum()))
    table, ids = dyadic(7, 3), torch.tensor([1, 2, 4, 5, 4, 3, 2, 6])
    yield from each(
        (table, ids, torch.tensor([0, 4, 4])), bags=lambda t, i, o: [f.embedding_bag(i, t, o, mode=m) for m in ("sum", "mean", "max")],
        bag_options=lambda t, i, o: (f.embedding_bag(i, t, o, padding_idx=2), f.embedding_bag(i, t, o, mode="sum", per_sample_weights=i / 4),
                                     f.embedding_bag(i.view(2, 4), t), f.embedding_bag(i.view(2, 4), t, mode="max", padding_idx=2),
                                     f.embedding_bag(i.view(4, 2), t, mode="sum", per_sample_weights=i.view(4, 2) / 4),
                                     f.embedding_bag(i.view(8, 1), t, mode="mean", padding_idx=4)))
    yield from each((dyadic(5, 3), dyadic(5, 1)), weight_norm=lambda v, g: torch._weight_norm(v, g, 0))
    yield from each(
        (x, y), backward=lambda x, y: (torch.ops.aten._softmax_backward_data(x, y.softmax(1), 1, torch.float32),
                                       torch.ops.aten._log_softmax_backward_data(x, y.log_softmax(1), 1, torch.float32),
                                       torch.ops.aten.sigmoid_backward(x, y), torch.ops.aten.tanh_backward(x, y),
                                       torch.ops.aten.threshold_backward(x, y, 0.0)))
    yield from each(
        (dyadic(2, 3), dyadic(2, 4), dyadic(2, 4), dyadic(16, 3), dyadic(16, 4), dyadic(16)),
        cells=lambda x, h, c, w, u, b: (*torch.lstm_cell(x, (h, c), w, u, b, b), torch.gru_cell(x, h, w[:12], u[:12]),
                                        torch.rnn_tanh_cell(x, h, w[:4], u[:4], b[:4], b[4:8]), torch.rnn_relu_cell(x, h, w[:4], u[:4])))
    image, window = dyadic(1, 2, 6, 5), dyadic(1, 2, 3, 3)
    yield Case("average_backward", lambda g, x: torch.ops.aten.avg_pool2d_backward(g, x, [3, 2], [2, 2], [1, 1], False, True, None), [(window, image)])
    n = Dim("n", min=2, max=64)
    yield Case("distances_open", lambda x, y: torch.cdist(x, y, p=1.0), [(x, y), (dyadic(9, 6), y)], ({0: n}, None))
    yield Case("loss_open", lambda x, t: f.cross_entropy(x, t), [(x, classes), (dyadic(7, 6), torch.arange(7) % 6)], ({0: n}, {0: n}))
    # Lists that are halved until the place is found, with equal elements, values beyond both ends and NaN.
    values = torch.cat([dyadic(30), torch.tensor([-9.0, 9.0, float("inf"), float("nan")])])
    lists = lambda count: dyadic(count).sort()[0]
    yield from each(
        (lists(40), values), places=lambda s, v: (torch.searchsorted(s, v), torch.bucketize(v, s, right=True), torch.searchsorted(s, v, out_int32=True)),
        members=lambda s, v: (torch.isin(v, s), torch.isin(v, s, invert=True)))
    yield from each((dyadic(3, 25).sort()[0], dyadic(3, 8)), places_in_rows=lambda s, v: torch.searchsorted(s, v, right=True))
    yield Case("places_open", lambda s, v: torch.searchsorted(s, v), [(lists(40), values), (lists(17), values[:5]), (lists(2), values)], ({0: n}, {0: Dim("m", min=1, max=64)}))
    many = Dim("many", min=2, max=1 << 24)
    yield Case("places_far", lambda s, v: torch.searchsorted(s, v), [(lists(c), values) for c in (40, 4095, 4096, 5000)], ({0: many}, None))
    in_rows = lambda count: (dyadic(2, 3, count).sort()[0], dyadic(2, 3, 8))
    yield Case("places_in_rows_open", lambda s, v: torch.searchsorted(s, v), [in_rows(40), in_rows(2), in_rows(61)], ({2: n}, None))


def regions():
    """Graphs that nodes run, and random numbers as far as they are the same for everybody."""
    from torch._higher_order_ops.map import map as each_row
    from torch._higher_order_ops.scan import scan

    def no_grad(x):
        with torch.no_grad():
            y = x + 1
            y.relu_()
        return y * 2, y

    def autocast(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x.t()
        return y.float()

    def powers(x, n):
        def more(i, v):
            return i < n

        def step(i, v):
            return i + 1, v * 2 - x
        return torch._higher_order_ops.while_loop(more, step, (torch.zeros((), dtype=torch.int64), x))

    def chance(x):
        u = torch.rand(3, 4)
        inside = torch.logical_and(u >= 0, u < 1).all()
        return inside, torch.randperm(9).sort()[0], torch.randn(2, 3).isfinite().all(), torch.randint(3, 5, (4,)) // 5, x

    def chance_open(x):
        """What holds for whatever numbers are drawn."""
        n, k = x.shape[0], 4000
        u, v = torch.rand(n, k), torch.randn(n, k)
        shares = torch.stack([(u < q / 8).float().mean() for q in range(9)])
        moments = torch.stack([v.mean(), v.square().mean() - 1, v.pow(3).mean(), v.pow(4).mean() / 3 - 1, (v[:, 1:] * v[:, :-1]).mean()])
        return ((shares - torch.arange(9) / 8).abs() < 0.02, moments.abs() < 0.15, torch.randperm(n).sort()[0], (u[:, :50].sort(1)[0].diff(dim=1) > 0).all(),
                torch.randint(3, 5, (n,)) // 5, torch.bernoulli(torch.ones(n, 2)), torch.multinomial(x.abs() + 1, 4).sort(1)[0], x)

    x = dyadic(3, 4)
    n = Dim("n", min=2, max=64)
    yield Case("no_grad", no_grad, [(x,)])
    yield Case("while", powers, [(x, torch.tensor(k)) for k in (3, 0, 1)])
    yield Case("while_open", powers, [(x, torch.tensor(3)), (dyadic(7, 4), torch.tensor(2))], ({0: n}, None))
    yield Case("autocast", autocast, [(x,)], tolerance=0.02)
    yield Case("branches", lambda x: torch.cond(x.sum() > 0, lambda a: (a * 2, a.sum()), lambda a: (a - 1, a.max()), (x,)), [(x.abs(),), (-x.abs(),)])
    yield Case("branch_on_size", lambda x: torch.cond(x.shape[0] > 4, lambda a: a * 2, lambda a: a - 1, (x,)), [(x,), (dyadic(7, 4),)], ({0: n},))
    yield Case("rows", lambda x, y: each_row(lambda a, b: a * 2 + b, x, y), [(x, dyadic(4))])
    yield Case("scan", lambda x: scan(lambda c, a: (c + a, c * a), torch.zeros(4), x), [(x,)])
    yield Case("chance", chance, [(x,)], flags=["--seed", "5"])
    yield Case("chance_open", chance_open, [(x,), (dyadic(7, 4),), (dyadic(2, 4),)], ({0: n},), flags=["--seed", "5"])
    from fx_loops import loops
    yield from loops()


class Cache(torch.nn.Module):
    """Attention over a cache of fixed length, written at a position."""

    def __init__(self, write, length=12, heads=2, width=4):
        super().__init__()
        self.write, self.heads, self.width = write, heads, width
        self.project = torch.nn.Linear(heads * width, 3 * heads * width)
        self.out = torch.nn.Linear(heads * width, heads * width, bias=False)
        self.register_buffer("keys", torch.zeros(1, heads, length, width))
        self.register_buffer("values", torch.zeros(1, heads, length, width), persistent=False)

    def forward(self, x, position):
        batch, count, size = x.shape
        q, k, v = self.project(x).view(batch, count, 3, self.heads, self.width).permute(2, 0, 3, 1, 4)
        self.write(self.keys, position, k)
        self.write(self.values, position, v)
        seen = torch.arange(self.keys.shape[2])[None, :] <= position[:, None]
        y = torch.nn.functional.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen)
        return self.out(y.transpose(1, 2).reshape(batch, count, size))


class Decoder(torch.nn.Module):
    def __init__(self, layers, write):
        super().__init__()
        self.embed, self.layers = torch.nn.Embedding(20, 8), torch.nn.ModuleList(Cache(write) for _ in range(layers))
        self.norm, self.head = torch.nn.LayerNorm(8), torch.nn.Linear(8, 20)

    def forward(self, token, position):
        x = self.embed(token)
        for layer in self.layers:
            x = x + layer(self.norm(x), position)
        return self.head(x)


class Kept(torch.nn.Module):
    """A module of buffers and what a step does with them."""

    def __init__(self, step, **buffers):
        super().__init__()
        self.step = step
        for name, value in buffers.items():
            self.register_buffer(name, value)

    def forward(self, *args):
        return self.step(self, *args)


def states():
    """Buffers that a program writes, from step to step."""
    def index_copy(cache, position, new):
        cache.index_copy_(2, position, new)

    def index_put(cache, position, new):
        cache[:, :, position] = new

    def swap(m, x):
        a = m.a.clone()
        m.a.copy_(m.b)
        m.b.copy_(a + x)
        return m.a * 2

    def count(m, x):
        m.count += 1
        m.total.add_(x.sum())
        return m.total / m.count, m.count

    def old_value(m, x):
        before = m.a * 1
        m.a.mul_(0.5).add_(x)
        return before, m.a

    def window(m, x):
        m.last.copy_(torch.cat([m.last[1:], x]))
        return m.last.mean(0)

    def part(m, x):
        m.a[1:3, ::2] = x[1:3, ::2]
        m.a[0].add_(1)
        return m.a.sum(0)

    def overwritten(m, x):
        m.a.copy_(x.relu())
        return m.a + 1

    def read_only_when_kept(m, x):
        y = x @ m.a
        m.a.sub_(y)
        return y

    tokens = [torch.tensor([[t]]) for t in (3, 17, 0, 5, 5, 9, 1, 19)]
    steps = [(t, torch.tensor([i])) for i, t in enumerate(tokens)]
    x = [(dyadic(3, 4),) for _ in range(4)]
    square = [(dyadic(4, 4) / 8,) for _ in range(4)]
    for name, write in (("index_copy", index_copy), ("index_put", index_put)):
        yield Case(f"decoder_{name}", Decoder(2, write), steps, steps=True)
        yield Case(f"decoder_{name}_core", Decoder(1, write), steps, steps=True, decomposed=True)
    yield Case("swap", Kept(swap, a=dyadic(3, 4), b=dyadic(3, 4)), x, steps=True)
    yield Case("swap_core", Kept(swap, a=dyadic(3, 4), b=dyadic(3, 4)), x, steps=True, decomposed=True)
    yield Case("count", Kept(count, count=torch.tensor(2), total=torch.zeros(())), x, steps=True)
    yield Case("old_value", Kept(old_value, a=dyadic(3, 4)), x, steps=True)
    yield Case("window", Kept(window, last=torch.zeros(5, 4)), [(dyadic(1, 4),) for _ in range(7)], steps=True)
    yield Case("part", Kept(part, a=dyadic(3, 4)), x, steps=True)
    yield Case("overwritten", Kept(overwritten, a=dyadic(3, 4)), x, steps=True)
    yield Case("matrix", Kept(read_only_when_kept, a=dyadic(4, 4) / 8), square, steps=True)


def recurrences():
    """Recurrent layers: written out when they are short, loops when they are long or of open length."""
    class Layer(torch.nn.Module):
        def __init__(self, kind, *args, **kwargs):
            super().__init__()
            self.layer = getattr(torch.nn, kind)(*args, **kwargs)

        def forward(self, *args):
            return self.layer(*args)

    steps = Dim("steps", min=2, max=600)
    x = dyadic(40, 2, 3)
    for kind, extra in (("LSTM", {}), ("GRU", {}), ("RNN", {}), ("RNN", {"nonlinearity": "relu"})):
        name = kind.lower() + ("_relu" if extra else "")
        yield Case(f"{name}_short", Layer(kind, 3, 4, **extra), [(x[:5],)])
        yield Case(f"{name}_long", Layer(kind, 3, 4, **extra), [(x,)])
    yield Case("lstm_two_ways", Layer("LSTM", 3, 4, num_layers=2, bidirectional=True, batch_first=True), [(x.transpose(0, 1),)])
    yield Case("gru_two_ways", Layer("GRU", 3, 4, bidirectional=True, bias=False), [(x, dyadic(2, 2, 4))])
    yield Case("lstm_projected", Layer("LSTM", 3, 5, proj_size=2, num_layers=2), [(x,)])
    yield Case("lstm_open", Layer("LSTM", 3, 4), [(x,), (x[:3],), (dyadic(100, 2, 3),)], {"args": ({0: steps},)})
    yield Case("gru_open_back", Layer("GRU", 3, 4, bidirectional=True), [(x,), (x[:2],)], {"args": ({0: steps},)})
    yield Case("rnn_open", Layer("RNN", 3, 4), [(x,), (x[:17],)], {"args": ({0: steps},)})
    yield Case("lstm_one_sequence", Layer("LSTM", 3, 4), [(x[:, 0],)])


def complexes():
    """Complex numbers and Fourier transforms."""
    fft = torch.fft

    def arithmetic(a, b):
        x, y = torch.complex(a, b), torch.complex(b + 1, a)
        z = x * y + x / (y + 2) - x.conj() * 0.5
        return torch.view_as_real(z), z.abs(), z.angle(), z.real, z.imag

    def rotation(q, angles):
        pairs = torch.view_as_complex(q.reshape(3, 4, 2))
        turned = pairs * torch.polar(torch.ones_like(angles), angles)
        return torch.view_as_real(turned).flatten(1)

    def shapes(a, b):
        x = torch.complex(a, b)
        y = torch.cat([x.t(), x.t() * 2], dim=-1).reshape(2, -1)[:, 1:5].unsqueeze(-1)
        return torch.view_as_real(y.sum(0)), torch.view_as_real(y.flip(0).permute(2, 1, 0))

    def product(a, b):
        x = torch.complex(a, b)
        return torch.view_as_real(x @ x.t()), torch.view_as_real(torch.nn.functional.pad(x, (1, 2)) * x.sum()), torch.view_as_real(torch.exp(x).reciprocal())

    def ways(x):
        y = fft.rfft(x)
        return torch.view_as_real(fft.fft(x)), torch.view_as_real(y), fft.irfft(y, 11), fft.irfft(y, norm="ortho"), torch.view_as_real(fft.ifft(fft.fft(x), dim=0))

    def mirrored(x):
        y = torch.complex(x, x.flip(-1))
        return fft.hfft(y, 12), torch.view_as_real(fft.ihfft(x, norm="ortho").resolve_conj()), torch.view_as_real(fft.fft(y, 16)), torch.view_as_real(fft.fft(y, 5, norm="forward"))

    def planes(x):
        y = fft.rfft2(x)
        return torch.view_as_real(y), fft.irfft2(y, s=x.shape[-2:]), torch.view_as_real(fft.fftn(x, norm="ortho")), torch.view_as_real(fft.ifft2(y)), torch.view_as_real(fft.fftn(y, dim=(0,)))

    def frames(x, w):
        return torch.view_as_real(torch.stft(x, 16, 5, 12, w, return_complex=True)), torch.stft(x[0], 8, center=False, onesided=False, normalized=True, return_complex=True).abs()

    class Spectrum(torch.nn.Module):
        """A layer with complex weights."""

        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.complex(dyadic(3, 6), dyadic(3, 6)))

        def forward(self, x):
            return fft.irfft(fft.rfft(x, norm="ortho") * self.weight, n=10, norm="ortho")

    a, b, x = dyadic(3, 4), dyadic(3, 4), dyadic(3, 10)
    n = Dim("n", min=2, max=64)
    yield Case("arithmetic", arithmetic, [(a, b)])
    yield Case("arithmetic_open", arithmetic, [(a, b), (dyadic(5, 4), dyadic(5, 4))], ({0: n}, {0: n}))
    yield Case("rotation", rotation, [(dyadic(3, 8), dyadic(3, 4))])
    yield Case("shapes", shapes, [(a, b)])
    yield Case("product", product, [(a, b)])
    for body in (ways, mirrored):
        yield Case(body.__name__, body, [(x,)])
        yield Case(f"{body.__name__}_core", body, [(x,)], decomposed=True)
    yield Case("planes", planes, [(dyadic(2, 6, 7),)], tolerance=2e-5)
    yield Case("planes_core", planes, [(dyadic(2, 6, 7),)], decomposed=True, tolerance=2e-5)
    yield Case("long", lambda x: torch.view_as_real(fft.rfft(x)), [(dyadic(1, 200),)], tolerance=1e-4)
    yield Case("open", lambda x: fft.rfft(x).abs(), [(x,), (dyadic(3, 7),)], ({1: n},))
    yield Case("frames", frames, [(dyadic(2, 40), torch.hann_window(12))])
    yield Case("spectrum", Spectrum(), [(x,)])
    from fx_python_numbers import python_numbers
    yield from python_numbers()


def gradients():
    """Derivatives that programs compute."""
    def group_norm(grad, x, weight):
        y, mean, inverse = torch.ops.aten.native_group_norm(x, weight, None, 2, 6, 20, 3, 1e-5)
        return torch.ops.aten.native_group_norm_backward(grad, x, mean, inverse, weight, 2, 6, 20, 3, [True, True, True])

    def adaptive(grad, x):
        return torch.ops.aten._adaptive_avg_pool2d_backward(grad, x)

    def flash(q, k, v, mask):
        causal = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, is_causal=True)
        return causal + torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, attn_mask=mask, scale=0.5)

    yield Case("flash_attention", flash, [(dyadic(2, 3, 5, 4), dyadic(2, 3, 7, 4), dyadic(2, 3, 7, 4), dyadic(5, 7))])
    yield Case("group_norm", group_norm, [(dyadic(2, 6, 4, 5), dyadic(2, 6, 4, 5), dyadic(6))])
    yield Case("adaptive_average", adaptive, [(dyadic(2, 3, 4, 3), dyadic(2, 3, 7, 9))])


def samples():
    """One program for each overload that PyTorch's operator database has."""
    import fx_samples
    yield from fx_samples.samples(lambda name, body, runs: Case(name, body, runs, tolerance=1e-4, flags=[]))


def overloads():
    import fx_overloads
    yield from fx_overloads.overloads(Case)


def signals():
    """Signals of frames, shifts of transforms, associative scans, and overloads that the database does not reach."""
    from torch._higher_order_ops.associative_scan import associative_scan, associative_scan_op
    window = torch.hann_window(16)

    def back(x, w):
        full = torch.stft(x, 16, 5, 16, w, return_complex=True)
        return torch.istft(full, 16, 5, 16, w), torch.istft(full, 16, 5, 16, w, length=30), torch.istft(full, 16, 5, 16, w, length=44)

    def unlike(x):
        two = torch.stft(x[0], 8, 3, onesided=False, normalized=True, return_complex=True)
        return (torch.istft(two, 8, 3, onesided=False, normalized=True),
                torch.istft(torch.stft(x, 12, 4, 10, center=False, return_complex=True), 12, 4, 12, center=False))

    def combined(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    def polynomials(x):
        s = torch.special
        kinds = ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w", "shifted_chebyshev_polynomial_t",
                 "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he",
                 "laguerre_polynomial_l", "legendre_polynomial_p")
        n = torch.tensor([-1.0, 0, 1, 2, 5, 7.5, 12])
        return [f for kind in kinds for f in (getattr(s, kind)(x, 4), getattr(s, kind)(0.75, n), getattr(s, kind)(x[:, None], n))]

    def integrals(x, t):
        return (*torch.gradient(x), *torch.gradient(x, spacing=0.5, dim=1, edge_order=2), *torch.gradient(x, spacing=[0.5, 2.0]), *torch.gradient(x, dim=[1, 0]),
                *torch.gradient(x, spacing=(t[:6], t[:7])), *torch.gradient(x, spacing=(t[:7],), dim=1, edge_order=2), *torch.gradient(x, spacing=2.0, dim=[0, 1]))

    def gamma(a, x):
        return torch.special.gammainc(a, x), torch.special.gammaincc(a, x), torch.special.zeta(a + 1, x), torch.special.zeta(3.0, x), torch.special.zeta(a + 1, 0.5)

    yield Case("istft", back, [(dyadic(2, 40), window)], tolerance=1e-4)
    yield Case("istft_forms", unlike, [(dyadic(2, 40),)], tolerance=1e-4)
    yield Case("istft_open", lambda x, w: torch.istft(torch.stft(x, 16, 4, 16, w, return_complex=True), 16, 4, 16, w), [(dyadic(2, 40), window), (dyadic(5, 40), window)],
               ({0: Dim("n", min=2, max=9)}, None), tolerance=1e-4)
    yield Case("associative_scan", lambda x, y: associative_scan_op(lambda a, b, c, d: [a * c, b * c + d], [x, y], ()), [(dyadic(5, 3), dyadic(5, 3))])
    yield Case("associative_scan_decomposed", lambda x, y: associative_scan(combined, (x, y), 1, True, "generic"), [(dyadic(3, 5), dyadic(3, 5))], decomposed=True)
    yield Case("polynomials", polynomials, [(torch.tensor([-2.5, -1, -0.75, -0.1, 0, 0.3, 1, 1.5, 4]),)], tolerance=1e-4)
    yield Case("gradients_of_grids", integrals, [(dyadic(6, 7), torch.tensor([0.0, 1, 1.5, 3, 4, 6, 6.25]))], tolerance=1e-4)
    yield Case("incomplete_gamma", gamma, [(torch.tensor([0.5, 1, 2, 7, 30, 0.1, 5, 1e-3]), torch.tensor([0.25, 3, 2, 5, 45, 0.0, 80, 0.5]))], tolerance=1e-4)
    yield Case("bessel", lambda x: [getattr(torch.special, n)(x) for n in (
        "i0", "i0e", "i1", "i1e", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_k0", "scaled_modified_bessel_k1", "airy_ai", "erfcx", "log_ndtr", "spherical_bessel_j0")],
        [(torch.tensor([-30.0, -8, -2, -0.5, -1e-3, 0, 1e-3, 0.5, 2, 3, 8, 8.5, 30, 200]),)], tolerance=1e-4)
    yield Case("quantiles", lambda x: (torch.special.ndtri(x), torch.polygamma(2, x * 9 - 4), torch.polygamma(1, x - 7.2)),
               [(torch.tensor([0.0, 1e-6, 0.01, 0.3, 0.5, 0.75, 0.999, 1, 1.5]),)], tolerance=1e-4)
    yield Case("ends", lambda x: (torch.logit(x, 0.6), torch.logit(x, 0.25), torch.logspace(0.5, 2.7, 4, dtype=torch.int64), torch.linspace(-1.7, 9.9, 5, dtype=torch.int64),
                                  torch.linspace(1.7, 9.2, 4)), [(torch.tensor([0.0, 0.25, 0.5, 0.55, 0.7, 1]),)])
    yield Case("einsums", lambda x, y: (torch.einsum("ii->i", x), torch.einsum("...ij,jk", x[None], y), torch.einsum("ij,jk,kl->il", x, y, y.t()), torch.einsum("ab->", x),
                                        torch.einsum("ij,ij->j", x, x)), [(dyadic(4, 4), dyadic(4, 4))], tolerance=1e-4)


def matrices():
    """Linear algebra. What has a sign of its own, or an order, is multiplied together again."""
    la = torch.linalg
    a, b = dyadic(2, 4, 4) + 6 * torch.eye(4), dyadic(2, 4, 3)
    wide, tall = dyadic(2, 3, 5), dyadic(2, 5, 3)
    even = a + a.mT
    positive = a @ a.mT

    def eigen(x):
        w, v = la.eigh(x)
        return w, (v * w.unsqueeze(-2)) @ v.mT, la.eigvalsh(x, UPLO="U")

    def singular(x):
        u, s, vh = la.svd(x, full_matrices=False)
        old = torch.svd(x)
        return s, (u * s.unsqueeze(-2)) @ vh, la.svdvals(x), (old[0] * old[1].unsqueeze(-2)) @ old[2].mT, la.svd(x)[1]

    def factors(x):
        p, l, u = la.lu(x)
        packed, pivots = la.lu_factor(x)
        return p, l, u, packed, pivots, *torch.lu_unpack(packed, pivots)[:2], la.lu_factor_ex(x)[2]

    def systems(x, y):
        packed, pivots = la.lu_factor(x)
        return (la.solve(x, y), la.solve(x, y.mT @ torch.ones(4, 4), left=False), la.solve(x, y[..., 0]), la.solve_ex(x, y)[0], la.inv(x), la.inv_ex(x)[0],
                la.lu_solve(packed, pivots, y), la.lu_solve(packed, pivots, y, adjoint=True), torch.lu_solve(y, packed, pivots),
                la.solve_triangular(x, y, upper=True), la.solve_triangular(x, y.mT, upper=False, left=False),
                torch.triangular_solve(y, x, upper=False, transpose=True)[0])

    def powers(x):
        return la.matrix_power(x, 3), la.matrix_power(x, -2), la.matrix_power(x, 0), torch.matrix_exp(x / 4), la.det(x), *la.slogdet(x), torch.logdet(x)

    def norms(x):
        return (la.matrix_norm(x), la.matrix_norm(x, "nuc"), la.matrix_norm(x, 2), la.matrix_norm(x, -2, keepdim=True), la.matrix_norm(x, 1), la.norm(x, float("inf"), (0, 2)),
                la.norm(x[0], "fro"), la.norm(x), la.cond(x), la.cond(x, 1), la.cond(x, -2), la.matrix_rank(x), la.matrix_rank(x, atol=1.0, rtol=0.5))

    def positives(x):
        l = la.cholesky(x)
        ld, pivots = la.ldl_factor(x)
        return (l, la.cholesky(x, upper=True), *la.cholesky_ex(x), torch.cholesky(x), torch.cholesky_inverse(l), torch.cholesky_solve(x, l), ld, pivots, la.ldl_solve(ld, pivots, x),
                la.ldl_factor_ex(x)[2])

    def orthogonal(x):
        q, r = la.qr(x)
        full = la.qr(x, mode="complete")
        packed, tau = torch.geqrf(x)
        return (q, r, *full, la.qr(x, mode="r")[1], *torch.qr(x), packed, tau, la.householder_product(packed[..., :3], tau),
                torch.ormqr(packed, tau, x), torch.ormqr(packed, tau, x.mT, left=False, transpose=True))

    def inverses(x):
        return la.pinv(x), la.pinv(x, rtol=0.1), la.pinv(x, atol=torch.tensor(0.5)), torch.pinverse(x)

    def by_name(x, even):
        a, (packed, tau) = torch.ops.aten, torch.geqrf(x)
        w, v = a._linalg_eigh.default(even)
        u, s, vh = a._linalg_svd.default(x)
        return (a._linalg_det.default(x)[0], *a._linalg_slogdet.default(x)[:2], w, (v * w.unsqueeze(-2)) @ v.mT, a._linalg_solve_ex.default(x, even)[0],
                s, (u * s.unsqueeze(-2)) @ vh, *a._lu_with_info.default(x)[:2], a.inverse.default(x), a.linalg_cond.p_str(x, "fro"), a.linalg_cond.p_str(x, "nuc"),
                a.linalg_matrix_exp.default(x / 4), a.linalg_matrix_rank.default(x, 1.5), a.linalg_matrix_rank.tol_tensor(x, torch.tensor([0.5, 7.0])),
                a.linalg_pinv.default(x, 0.25), a.linalg_pinv.rcond_tensor(x, torch.tensor([0.125, 0.75])), a.linalg_pinv.default(even, 0.25, True),
                a.matrix_power.default(x, 3), a.orgqr.default(packed, tau))

    def complex_systems(x, y):
        x, y = torch.complex(x, x.mT / 2), torch.complex(y, y.flip(-1))
        found = (la.solve(x, y), la.solve(x, y.mT, left=False), la.solve(x, y[..., 0]), la.solve(x[0], y), la.solve(x[0], y[0, :, 1]), la.solve_ex(x, y)[0], la.inv(x), torch.inverse(x),
                 la.inv_ex(x)[0])
        return (*[torch.view_as_real(f.resolve_conj()) for f in found], la.inv_ex(x)[1])

    def complex_eigen(x):
        z = torch.complex(x, x.mT / 2 + x.flip(-1))
        w, v = la.eigh(z)
        upper, u = la.eigh(z, UPLO="U")
        values, vectors = la.eig(z)
        parts = ((v * w.unsqueeze(-2)) @ v.conj().mT, (u * upper.unsqueeze(-2)) @ u.conj().mT, vectors * values.unsqueeze(-2) - z @ vectors)
        return (w, upper, la.eigvalsh(z), *[torch.view_as_real(p.resolve_conj()) for p in parts], la.eigvals(z).abs().sort(-1)[0], vectors.abs().square().sum(-2))

    yield Case("by_name", by_name, [(a, even)], tolerance=1e-4)
    yield Case("eigen", eigen, [(even,)], tolerance=1e-4)
    yield Case("eigenvalues", lambda x: la.eigvals(x).abs().sort(-1)[0], [(a,)], tolerance=1e-4)
    yield Case("eigenvectors", lambda x: la.eig(x)[1].abs().sum(-2), [(a,)], tolerance=1e-3)
    for name, x in (("wide", wide), ("tall", tall), ("square", a)):
        yield Case(f"singular_{name}", singular, [(x,)], tolerance=1e-4)
        yield Case(f"inverses_{name}", inverses, [(x,)], tolerance=1e-4)
        yield Case(f"factors_{name}", factors, [(x,)], tolerance=1e-4)
    yield Case("systems", systems, [(a, b)], tolerance=1e-4)
    n = Dim("n", min=2, max=64)
    more = dyadic(5, 4, 4) + 6 * torch.eye(4)
    yield Case("complex_systems", complex_systems, [(a, b)], tolerance=1e-4)
    yield Case("complex_systems_open", complex_systems, [(a, b), (more, dyadic(5, 4, 3))], ({0: n}, {0: n}), tolerance=1e-4)
    yield Case("complex_eigen", complex_eigen, [(a,)], tolerance=1e-4)
    yield Case("systems_open", lambda x, y: (la.solve(x, y), la.inv(x), la.det(x)), [(a, b), (more, dyadic(5, 4, 3))], ({0: n}, {0: n}), tolerance=1e-4)
    yield Case("powers", powers, [(a,)], tolerance=1e-3)
    yield Case("norms", norms, [(a,)], tolerance=1e-4)
    yield Case("positives", positives, [(positive,)], tolerance=1e-3)
    yield Case("orthogonal_tall", orthogonal, [(tall,)], tolerance=1e-4)
    yield Case("tensors", lambda x, y: (la.tensorinv(x.reshape(2, 2, 4), 2), la.tensorsolve(x.reshape(2, 2, 4), y.reshape(2, 2))), [(a[0], b[0].flatten()[:4])], tolerance=1e-4)


def found():
    import fx_found
    yield from fx_found.found()


def halves():
    import fx_halves
    yield from fx_halves.halves()


def assertions():
    import fx_assertions
    yield from fx_assertions.assertions()


def quantiles():
    import fx_quantiles
    yield from fx_quantiles.quantiles()


FAMILIES = {"samples": samples, "overloads": overloads, "signals": signals, "matrices": matrices, "views": views, "strided": strided,
            "functions": functions, "images": images, "data": data, "losses": losses, "regions": regions, "states": states, "recurrences": recurrences, "complexes": complexes, "gradients": gradients,
            "found": found, "halves": halves, "assertions": assertions, "quantiles": quantiles}
