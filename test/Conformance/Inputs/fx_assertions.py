"""Programs that assert something of their data: runs for which that does not hold are refused."""
import torch
from fx_cases import Case, dyadic
from torch.export import Dim


def assertions():
    """In the program itself, in a branch (of which the one that does not run asserts nothing), and in a loop."""
    from torch._higher_order_ops.map import map as each_row
    from torch._higher_order_ops.scan import scan
    from torch._higher_order_ops.while_loop import while_loop

    def positive(x):
        torch._assert_async((x > 0).all(), "positive numbers wanted")

    def of_elements(x):
        positive(x)
        torch._assert_async(x.amax() < 9)
        return x.sqrt()

    def of_number(x, i):
        n = i.item()
        torch._check(n >= 2)
        torch._check(n <= x.shape[0])
        return x[:n].sum(0)

    def of_count(x):
        places = x.nonzero()
        torch._check(places.shape[0] > 2)
        return places[:3] * 1

    def of_truth(x, n):
        torch._check((n.sum() > 3).item())
        return x * 2

    def all_true(x, n):
        torch._check(torch.ops.aten._is_all_true(n > 0).item())
        return x * 2

    def any_true(x, n):
        torch._check(torch.ops.aten._is_any_true(n > 3).item())
        return x * 2

    def chosen_number(x, n):
        return x * torch.sym_ite((n.sum() > 3).item(), 2, 5)

    def count_is_a_size(x, y):
        return x[x > 0] @ y

    def in_branch(p, x):
        def checked(v):
            positive(v)
            return v.sqrt()
        return torch.cond(p.sum() > 0, checked, lambda v: v * 2, (x,))

    def number_in_branch(p, x, i):
        def part(v, i):
            n = i.item()
            torch._check(n >= 0)
            torch._check(n <= v.shape[0])
            return v[:n].sum(0)
        return torch.cond(p.sum() > 0, part, lambda v, i: v.sum(0) * 2, (x, i))

    def in_nested_branch(p, x, i):
        def element(v, i):
            n = i.item()
            torch._check(n >= 0)
            torch._check(n < 4)
            return v[n] * 2
        inner = lambda v, i: torch.cond(v.sum() > 0, element, lambda v, i: v[0] * 1, (v, i))  # noqa: E731
        return torch.cond(p.sum() > 0, inner, lambda v, i: v.amax(0), (x, i))

    def in_loop(x, n):
        def step(i, v):
            torch._assert_async(v.abs().max() < 100, "it diverges")
            return i + 1, v * 2
        return while_loop(lambda i, v: i < n, step, (torch.zeros((), dtype=torch.int64), x))[1]

    def in_scan(x):
        def step(c, a):
            positive(a)
            return c + a, c * a
        return scan(step, torch.zeros(2), x)

    def in_rows(x):
        def row(a):
            positive(a)
            return a * 2
        return each_row(row, x)

    def of_chosen_size(p, x):
        return torch.cond(p.sum() > 0, lambda v: v[v > 0], lambda v: v * 2, (x,))
    one, x, i = torch.ones(2), dyadic(4, 3), torch.tensor
    p = x.abs() + 0.5
    yield Case("of_elements", of_elements, [(p,), (-p,), (p + 9,), (p / 2,)])
    yield Case("of_elements_decomposed", of_elements, [(p,), (-p,)], decomposed=True)
    yield Case("of_number", of_number, [(x, i(2)), (x, i(1)), (x, i(5)), (x, i(4))])
    yield Case("of_count", of_count, [(torch.ones(5),), (torch.tensor([1.0, 0, 0, 2, 0]),), (torch.tensor([1.0, 0, 3, 2, 0]),)])
    ones = torch.ones(4, dtype=torch.int64)
    yield Case("of_truth", of_truth, [(x, ones), (x, ones * 0), (x, ones * 5)])
    yield Case("all_true", all_true, [(x, ones), (x, ones * 0), (x, ones.cumsum(0) - 1), (x, ones.cumsum(0))])
    yield Case("any_true", any_true, [(x, ones.cumsum(0)), (x, ones), (x, ones * 4)])
    yield Case("chosen_number", chosen_number, [(x, ones), (x, ones * 0), (x, ones * 5)])
    yield Case("count_is_a_size", count_is_a_size, [(i([1.0, -1, 2, 3]), dyadic(3, 2)), (i([1.0, 1, 2, 3]), dyadic(3, 2)), (i([1.0, -1, -1, 3]), dyadic(2, 2))],
               (None, {0: Dim.AUTO}))
    yield Case("in_branch", in_branch, [(one, p), (-one, -p), (one, -p)])
    yield Case("in_branch_open", in_branch, [(one, p), (-one, -p), (one, -p), (one, dyadic(6, 3).abs() + 1)], (None, {0: Dim.AUTO}))
    yield Case("number_in_branch", number_in_branch, [(one, x, i(2)), (-one, x, i(2)), (one, x, i(5))])
    yield Case("in_nested_branch", in_nested_branch, [(one, p, i(2)), (one, p, i(5)), (one, -p, i(2)), (-one, p, i(2))])
    yield Case("in_loop", in_loop, [(torch.ones(3), i(3)), (torch.ones(3), i(20)), (torch.ones(3) * 1000, i(0)), (torch.ones(3), i(7))])
    yield Case("in_scan", in_scan, [(p[:, :2],), (-p[:, :2],), (dyadic(7, 2).abs() + 1,)], ({0: Dim.AUTO},))
    yield Case("in_rows", in_rows, [(p,), (-p,)])
    yield Case("of_chosen_size", of_chosen_size, [(one, i([1.0, -2, 3])), (-one, i([1.0, -2, 3]))])
