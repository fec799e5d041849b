"""Programs whose nodes run a graph for each element of a dimension."""
import torch
from fx_cases import Case, dyadic
from torch.export import Dim


def loops():
    """Over lengths that are open, and over one that is too long to be written out."""
    from torch._higher_order_ops.associative_scan import associative_scan_op
    from torch._higher_order_ops.map import map as each_row
    from torch._higher_order_ops.scan import scan

    def halves(x):
        return x / 2 ** x.abs().max().log2().ceil()

    def rows(x, y):
        return each_row(lambda a, b: (a * 2 + b.sum(), torch.cond(a.sum() > 0, lambda v: v * 2, lambda v: v - b[0], (a,))), x, y)

    def running(x, y):
        return scan(lambda c, a: ((c[0] + 1, (c[1] + a) / 2), [c[1] * c[0] + y.sum(), a[:2] * y.shape[0]]),
                    (torch.zeros((), dtype=torch.int64), torch.zeros(4)), x, dim=1)

    def backwards(x, w):
        return scan(lambda c, a: (torch.tanh(c @ w + a), c.sum(-1)), torch.zeros(x.shape[1], 4), x, reverse=True)

    def turning(x):
        z = torch.complex(x, x.flip(1))
        last, all = scan(lambda c, a: (c * a / 2, c + a), z[0] * 0 + 1, z)
        return torch.view_as_real(last), torch.view_as_real(all)

    def nested(x):
        def row(c, a):
            inner, sums = scan(lambda d, b: (d + b, d * b), torch.zeros(()), a)
            return c + inner, sums + c
        return scan(row, torch.zeros(()), x)

    def affine(a, b, c, d):
        return [a * c, b * c + d]

    long = (halves(dyadic(257, 1)),)
    yield Case("map_open", rows, [(dyadic(3, 4), dyadic(2)), (dyadic(7, 4), dyadic(3)), (dyadic(1, 4), dyadic(3))], ({0: Dim.AUTO}, {0: Dim.AUTO}))
    yield Case("scan_open", running, [(dyadic(4, 3), dyadic(5)), (dyadic(4, 7), dyadic(2)), (dyadic(4, 1), dyadic(3))], ({1: Dim.AUTO}, {0: Dim.AUTO}))
    yield Case("scan_back_open", backwards, [(dyadic(3, 2, 4), halves(dyadic(4, 4))), (dyadic(6, 5, 4), halves(dyadic(4, 4)))], ({0: Dim.AUTO, 1: Dim.AUTO}, None))
    yield Case("scan_complex_open", turning, [(halves(dyadic(3, 2)),), (halves(dyadic(6, 2)),)], ({0: Dim.AUTO},))
    yield Case("scan_nested_open", nested, [(dyadic(3, 4),), (dyadic(5, 4),)], ({0: Dim.AUTO},))
    yield Case("scan_long", lambda x: scan(lambda c, a: (c / 2 + a, c * a), torch.zeros(1), x), [long])
    yield Case("associative_scan_open", lambda x, y: associative_scan_op(affine, [x, y], ()), [(halves(dyadic(n, 3)), dyadic(n, 3)) for n in (3, 7, 2)],
               ({0: Dim.AUTO}, {0: Dim.AUTO}))
    yield Case("associative_scan_long", lambda x: associative_scan_op(lambda a, b: [torch.maximum(a, b)], [x], ()), [long])

    # A branch with a loop runs only where it is meant to: the loop would not end otherwise.
    def doubled_until(x, limit):
        return torch._higher_order_ops.while_loop(lambda v, _: v.sum() < limit, lambda v, _: (v * 2, v - 1), (x, x))

    def on_data(x, w):
        return torch.cond(x.sum() > 0, lambda v, w: (doubled_until(v, 99)[0] @ w, v.amax(0)), lambda v, w: (v - 1, w[0] * 2), (x, w))

    def on_size(x):
        return torch.cond(x.shape[0] > 4, lambda v: doubled_until(v.abs() + 1, 200)[1], lambda v: v * 3, (x,))

    def nested(x, y):
        inner = lambda v, w: torch.cond(w.sum() > 0, lambda v, w: doubled_until(v + w, 50), lambda v, w: (v - w, v * w), (v, w))  # noqa: E731
        return torch.cond(x.sum() > 0, inner, lambda v, w: (w * 1, v * 1), (x, y))

    def loop_of_branches(x):
        def step(i, v):
            return i + 1, torch.cond(v.sum() > 0, lambda v: doubled_until(v, 40)[0] - 50, lambda v: v + 20, (v,))
        return torch._higher_order_ops.while_loop(lambda i, v: i < 4, step, (torch.zeros((), dtype=torch.int64), x))
    x, w = dyadic(3, 4).abs() + 0.5, halves(dyadic(4, 4))
    yield Case("branches_with_loops", on_data, [(x, w), (-x, w)])
    yield Case("branches_with_loops_open", on_data, [(x, w), (-x, w), (dyadic(7, 4).abs() + 0.5, w), (-dyadic(2, 4).abs() - 0.5, w)], ({0: Dim.AUTO}, None))
    yield Case("branch_on_size_with_loop", on_size, [(x,), (dyadic(7, 4),)], ({0: Dim.AUTO},))
    yield Case("branches_nested_with_loops", nested, [(x, x), (x, -x), (-x, x)])
    yield Case("loop_of_branches_with_loops", loop_of_branches, [(x,), (-x,), (dyadic(5, 4),)], ({0: Dim.AUTO},))

    # Sizes that a step reads from data.
    def chosen(x):
        def step(i, v):
            some = v > 0
            y = v.clone()
            y[some] = v[some] / 2 + i
            return i + 1, torch.where(some, y, v - torch.unique(y).sum() / 16) + v[some].sum() / 8
        return torch._higher_order_ops.while_loop(lambda i, v: i < 3, step, (torch.zeros((), dtype=torch.int64), x))

    def counted(x):
        def step(i, v, n):
            places = (v > 0).nonzero()
            return i + 1, v - v[v > 0].sum() / 8, n + places.shape[0]
        zero = torch.zeros((), dtype=torch.int64)
        return torch._higher_order_ops.while_loop(lambda i, v, n: (i < 5) & (n < 9), step, (zero, x, zero.clone()))
    yield Case("sizes_of_data_in_a_loop", chosen, [(dyadic(4),), (dyadic(7),), (-dyadic(3).abs() - 1,)], ({0: Dim.AUTO},))
    yield Case("counts_in_a_loop", counted, [(dyadic(4),), (dyadic(7),), (-dyadic(3).abs() - 1,)], ({0: Dim.AUTO},))
    yield Case("counts", lambda x: ((x > 0).nonzero().shape[0] + x, torch.unique(x).shape[0] * x), [(dyadic(4),), (dyadic(7),)], ({0: Dim.AUTO},))
    yield Case("sizes_of_data_in_a_branch", lambda x: torch.cond(x.sum() > 0, lambda v: torch._higher_order_ops.while_loop(lambda v: v.sum() < 9, lambda v: (v * 2 + v[v > 0].sum(),), (v,))[0],
                                                                 lambda v: v * 2, (x,)), [(dyadic(4).abs() + 0.5,), (-dyadic(4).abs(),)])
