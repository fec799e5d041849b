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


FAMILIES = {"views": views}
