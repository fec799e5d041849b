"""Programs of the family `quantiles`: quantiles of samples."""
import torch
from fx_cases import Case
from torch.export import Dim

WAYS = ("linear", "lower", "higher", "midpoint", "nearest")


def samples(*shape):
    return torch.randint(-64, 65, shape).float() / 16


def with_nans(x):
    x = x.clone()
    x[x > 2] = float("nan")
    x[0, :, 1] = float("nan")  # nothing else
    return x


def each_way(x, y, q):
    return tuple(f for way in WAYS for f in (torch.quantile(x, 0.37, interpolation=way), torch.quantile(x, q, dim=1, keepdim=True, interpolation=way),
                                             torch.quantile(y, q, dim=1, interpolation=way), torch.nanquantile(y, q, dim=-1, interpolation=way),
                                             torch.nanquantile(y, 0.5, dim=1, interpolation=way)))


def quantiles():
    x, q = samples(3, 7, 4), torch.tensor([0.0, 0.25, 0.5, 0.875, 1.0])
    yield Case("each_way", each_way, [(x, with_nans(x), q)])
    yield Case("whole", lambda x, y: (torch.quantile(x, 0.25, keepdim=True), torch.nanquantile(y, 0.75), torch.quantile(x.double(), 0.5)), [(x, with_nans(x))])
    yield Case("scalar", lambda x: (torch.quantile(x, 0.5), torch.quantile(x, torch.tensor(0.5), dim=0)), [(torch.tensor(3.0),)])
    infinite = torch.tensor([1.0, float("inf"), 2.0, float("-inf"), 3.0])
    yield Case("infinite", lambda x, q: (torch.quantile(x, q, interpolation="lower"), torch.quantile(x, q)), [(infinite, torch.tensor([0.0, 0.5, 0.6, 1.0]))])
    sizes = ({0: Dim.AUTO, 1: Dim.AUTO, 2: Dim.AUTO}, {0: Dim.AUTO})
    opened = lambda x, q: (torch.quantile(x, q, dim=1), torch.nanquantile(x, q), torch.quantile(x, 0.3, dim=2, keepdim=True))  # noqa: E731
    yield Case("open", opened, [(x, q), (with_nans(samples(5, 19, 2)), torch.tensor([0.125, 0.9]))], sizes)
