"""Programs for torch.export whose elements have two bytes."""
import torch
from fx_cases import Case, dyadic
from torch.export import Dim


def halves():
    """Elements of two bytes, of either kind. Each result has been rounded a few times."""
    f = torch.nn.functional

    def block(x, w, b):
        y = f.layer_norm(x @ w, (8,), b, b)
        return f.gelu(y), f.softmax(y, -1), f.silu(y) * x[..., :8]

    def attention(x, w, b):
        q, k, v = (x @ w).view(x.shape[0], -1, 3, 2, 4).permute(2, 0, 3, 1, 4)
        return f.scaled_dot_product_attention(q, k, v, is_causal=True)

    def mixed(x, w, b):
        y = x.float() * 2 + 1
        return y, y.to(x.dtype) + x, x > 0.5, x.sum(-1), x.mean(0), x.amax(1), (x * 8).int(), *x.max(-1)

    def pieces(x, w, b):
        y = x.clone()
        y[:, 1:3] = y[:, 2:4] - 1
        return torch.cat([y, x], 1), torch.where(x > 0, x, y), f.pad(x, (1, 2), value=1.5), x.cumsum(1), x.sort(1)[0]

    def images(x, w, b):
        y = f.conv2d(x, w, b, padding=1)
        return y, f.max_pool2d(y, 2), f.avg_pool2d(x, 2), f.interpolate(x, scale_factor=2.0)

    n = Dim("n", min=2, max=64)
    for kind, name, tolerance in ((torch.bfloat16, "bfloat16", 1 / 64), (torch.float16, "float16", 1 / 512)):
        w, b = (dyadic(12, 8) / 4).to(kind), dyadic(8).to(kind)
        x, more = dyadic(3, 5, 12).to(kind), dyadic(6, 5, 12).to(kind)
        for body in (block, mixed, pieces):
            yield Case(f"{name}_{body.__name__}", body, [(x, w, b), (more, w, b)], ({0: n}, None, None), tolerance=tolerance)
        yield Case(f"{name}_attention", attention, [(x, (dyadic(12, 24) / 8).to(kind), b), (more, (dyadic(12, 24) / 8).to(kind), b)], ({0: n}, None, None),
                   tolerance=tolerance)
        yield Case(f"{name}_images", images, [(dyadic(2, 3, 6, 8).to(kind), (dyadic(4, 3, 3, 3) / 8).to(kind), dyadic(4).to(kind))], tolerance=tolerance)
