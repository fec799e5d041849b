"""Convolutions, pools, resizes: what looks at an image through a window."""
from .generate import operator


def image(g, spatial):
    """A batch of images of so many spatial dimensions."""
    x = g.pick(lambda v: v.is_floating_point() and v.ndim == spatial + 2)
    return x if x and g.chance(0.8) else g.input([g.of(1, 2), g.of(1, 2, 3, 4, 6), *(g.of(3, 4, 5, 6, 7) for _ in range(spatial))])


def geometry(g, x, spatial):
    kernel = [min(g.of(1, 2, 3, 3), n) for n in x.shape[2:]]
    return kernel, g.of(1, 1, 1, 2, 3), g.of(0, 0, 1, min(kernel) // 2), g.of(1, 1, 1, 2)


@operator("windows")
def convolution(g):
    spatial = g.of(1, 2, 2, 3)
    x = image(g, spatial)
    c = x.shape[1]
    groups = g.of(1, 1, *[k for k in (2, 3, c) if c % k == 0])
    kernel, stride, pad, dilation = geometry(g, x, spatial)
    out = groups * g.of(1, 2, 3)
    w = g.weight([out, c // groups, *kernel], x.dtype)
    bias = g.weight([out], x.dtype) if g.chance(0.6) else "None"
    pad = g.of(pad, pad, "'same'") if stride == 1 else pad
    act = g.of("", "", "F.relu", "F.silu")
    return f"{act}(F.conv{spatial}d({x}, {w}, {bias}, {stride}, {pad}, {dilation}, {groups}))"


@operator("windows")
def transposed(g):
    spatial = g.of(1, 2, 2, 3)
    x = image(g, spatial)
    c = x.shape[1]
    groups = g.of(1, *[k for k in (2, c) if c % k == 0])
    kernel, stride, pad, dilation = geometry(g, x, spatial)
    w = g.weight([c, g.of(1, 2, 3), *kernel], x.dtype)
    bias = g.weight([w.shape[1] * groups], x.dtype) if g.chance(0.5) else "None"
    return f"F.conv_transpose{spatial}d({x}, {w}, {bias}, {stride}, {pad}, {g.of(0, stride - 1)}, {groups}, {dilation})"


@operator("windows")
def pooled(g):
    spatial = g.of(1, 2, 2, 3)
    x = image(g, spatial)
    kernel, stride, pad, dilation = geometry(g, x, spatial)
    pad = min(pad, min(kernel) // 2)
    ceil = g.of(False, False, True)
    return g.of(f"F.max_pool{spatial}d({x}, {kernel}, {stride}, {pad}, {dilation}, {ceil})", f"F.avg_pool{spatial}d({x}, {kernel}, {stride}, {pad}, {ceil}, {g.of(True, False)})", f"F.max_pool{spatial}d({x}, {kernel}, {stride}, {pad}, {dilation}, {ceil}, return_indices=True)",
                f"F.adaptive_avg_pool{spatial}d({x}, {g.of(1, 2, 3)})", f"F.adaptive_max_pool{spatial}d({x}, {g.of(1, 2)})", f"F.lp_pool{spatial}d({x}.abs() + 0.1, 2, {kernel[0]})" if spatial < 3 else None)


@operator("windows")
def resized(g):
    spatial = g.of(1, 2, 2, 3)
    x = image(g, spatial)
    smooth = {1: "linear", 2: "bilinear", 3: "trilinear"}[spatial]
    modes = ["'nearest'", "'nearest-exact'", "'area'", f"'{smooth}'", f"'{smooth}', align_corners=True"] + ["'bicubic'", "'bicubic', align_corners=True"] * (spatial == 2)
    sizes = [g.rng.randint(1, 9) for _ in range(spatial)]
    to = g.of("scale_factor=2", "scale_factor=0.5", "scale_factor=1.5", f"size={sizes}", f"size=[{', '.join(f'{x}.shape[{d + 2}] * 2' for d in range(spatial))}]")
    return f"F.interpolate({x}, {to}, mode={g.of(*modes)})"


@operator("windows")
def rearranged(g):
    x = image(g, 2)
    n, c, h, w = x.shape
    grid = g.input([n, g.of(2, 3), g.of(2, 3), 2], x.dtype)
    return g.of(f"F.pixel_shuffle({x}, 2)", f"F.pixel_unshuffle({x}, 2)", f"F.unfold({x}, 2)", f"F.fold(F.unfold({x}, 2), ({g.size(x, 2)}, {g.size(x, 3)}), 2)", f"F.channel_shuffle({x}, 2)",
                f"F.grid_sample({x}, {grid}, align_corners={g.of(True, False)}, mode={g.of('bilinear', 'nearest')!r}, padding_mode={g.of('zeros', 'border', 'reflection')!r})", f"F.upsample_nearest({x}, scale_factor=2)", f"{x}.unfold(2, 2, 1).unfold(3, 2, 1)",
                f"F.grid_sample({x}, F.affine_grid(torch.tensor([[[0.8, 0.1, 0.], [0., 0.9, 0.2]]], dtype={x.dtype}).expand({g.size(x, 0)}, -1, -1), [{g.size(x, 0)}, {c}, 3, 4], align_corners=False), align_corners=False)")
