"""Programs for torch.export that were wrong or refused once, as random programs found them."""
import torch
from fx_cases import Case, dyadic
from torch.export import Dim


def found():
    """What random programs (scripts/pytorch-fuzz) found to be wrong or refused once."""
    class LastStates(torch.nn.Module):
        """torch.export describes an LSTM's states, and what is computed of them, with a rank too many."""

        def __init__(self, layers=1, both=False):
            super().__init__()
            self.layer = torch.nn.LSTM(3, 4, layers, bidirectional=both)
            self.head = torch.nn.Linear(4, 2)

        def forward(self, x):
            _, (h, c) = self.layer(x)
            written = c.clone()
            written[0].mul_(2)
            return (torch.cat([h[-1], c[0].relu()], -1), h.squeeze(0), h.transpose(0, 1).reshape(2, -1), torch.softmax(h * 2 + c, -1), written,
                    self.head(h[-1]), h.mean(0), *h.unbind(0), torch.zeros_like(h) + 1, c.unsqueeze(-1))

    x = dyadic(5, 2, 3)
    yield Case("lstm_states", LastStates(), [(x,)])
    yield Case("lstm_states_two_ways", LastStates(2, True), [(x,)])
    def shifts(x):
        y = x % 5 + 1
        return (x << 1, x >> 2, x << y.abs(), x >> y.abs(), torch.bitwise_left_shift(x, 3), torch.bitwise_right_shift(x, 1), torch.bitwise_left_shift(3, y.abs()),
                torch.bitwise_right_shift(100, y.abs()), (x >> 4) & 15)
    for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64):
        yield Case(f"shifts_{str(dtype)[6:]}", shifts, [((torch.arange(40) * 7 - (0 if dtype == torch.uint8 else 140)).to(dtype),)])
    # Sizes that the file knows, and that do not follow: of a square in pairs.
    yield Case("square_in_pairs", lambda x: (x @ torch.cat([x[..., x.shape[-1] // 2:], x[..., :x.shape[-1] // 2]], -1)).reshape(*x.shape[:-1], -1, 2),
               [(dyadic(3, 6, 6),), (dyadic(2, 8, 8),)], ({0: Dim.AUTO, 1: Dim.AUTO, 2: Dim.AUTO},))
    yield Case("lerp_of_two_types", lambda x, w: torch.lerp(x, x * 2, w), [(torch.tensor(1.5), torch.tensor(0.25).double())])
    # A padding that takes all, or of an open size perhaps all.
    yield Case("transposed_nothing", lambda x: torch.nn.functional.conv_transpose2d(x, torch.ones(2, 3, 1, 2), torch.ones(3), padding=1), [(dyadic(2, 2, 2, 3),)])
    yield Case("transposed_less", lambda x: torch.nn.functional.conv_transpose1d(x, torch.ones(2, 3, 1), padding=1), [(dyadic(2, 2, 5),), (dyadic(3, 2, 4),)],
               ({0: Dim.AUTO, 2: Dim.AUTO},))
    # Products of sizes of which it does not show that they are not negative.
    yield Case("product_of_rests", lambda x: ((v := x[x.shape[0] // 2:, x.shape[1] // 3:].flatten()) * 2, v.cumsum(0), torch.zeros(v.shape[0]) + v.shape[0]),
               [(dyadic(5, 7),), (dyadic(4, 9),), (dyadic(3, 6),)], ({0: Dim.AUTO, 1: Dim.AUTO},))
    # The bound that torch gives a sum of counts is more than 64 bits hold.
    runs = [(dyadic(4, 6),), (dyadic(3, 5),)]
    # Integers of few bits are the low bits of the whole number, also of one that int32 does not hold.
    def narrow(x):
        types = (torch.uint8, torch.int8, torch.int16)
        filled = torch.zeros(x.shape, dtype=torch.uint8)
        filled[1:] = x[1:]
        return (*[x.to(t) for t in types], *[x[1:9].sum(dtype=t) for t in types], x.cumsum(0, dtype=torch.int8), filled, torch.complex(x.float(), x.float()).to(torch.uint8))
    ends = torch.tensor([877.14, -877.14, -3.5, 3.5, 255, 256, -128, -129, 40000, -40000, 65535.5, 3 * 2.**30, -3 * 2.**30, 1e19, -1e19, float("inf"), float("-inf"), float("nan")])
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        yield Case(f"narrow_{str(dtype)[6:]}", lambda x, dtype=dtype: narrow(x.to(dtype)), [(ends,)])
    yield Case("narrow_wide", lambda x: (x + 1).to(torch.uint8), [(torch.tensor([3.3e9, -3.3e9, 7.5e11, -2.5, 254.5, 1e19], dtype=torch.float64),)])
    yield Case("unflatten_in_threes", lambda x: torch.tensordot(x.unflatten(0, (-1, 3)), x, 1), [(dyadic(6, 6),), (dyadic(9, 9),), (dyadic(12, 12),)], ({0: Dim.AUTO, 1: Dim.AUTO},))
    yield Case("sections", lambda x: (*torch.tensor_split(x, 3, 0), *torch.tensor_split(x * 2, 4, 1)), [(dyadic(8, 9),), (dyadic(11, 13),)],
               ({0: Dim.AUTO, 1: Dim.AUTO},))
    def written_behind_einsum(x):
        z = x * 1
        turned, summed = torch.einsum("...ij->...ji", z), torch.einsum("ij->j", z)
        z[..., -3:, 3:].fill_(-2)
        turned[0] += 1
        return turned, summed, z
    yield Case("written_behind_einsum", written_behind_einsum, [(dyadic(4, 6),)])
    yield Case("differences_of_none", lambda x: (x.diff(dim=0), x[:, :1].diff(n=3), x[:0].diff(prepend=x[:0]), x.view(3, 0).diff()), [(dyadic(0, 3),)])
    yield Case("filled_diagonals", lambda x: (x.clone().fill_diagonal_(7), x.t().clone().fill_diagonal_(7), x.clone().fill_diagonal_(-1, wrap=True), x.long().fill_diagonal_(2),
                                              x[:8].reshape(2, 2, 4)[..., :2].clone().fill_diagonal_(5)), [(dyadic(8, 2),)])
    yield Case("places_as_tuples", lambda x: (*torch.where(x > 0), x[torch.where(x > 1)], torch.where(x[0, 0] > 0)[0] * 2), [(dyadic(4, 5),), (dyadic(3, 7),)],
               ({0: Dim.AUTO, 1: Dim.AUTO},))
    # Where a function is 0 exactly, a logical operator sees it.
    yield Case("zeros_of_lgamma", lambda x: (torch.lgamma(x), torch.logical_not(torch.lgamma(x)), torch.lgamma(x.double()).bool()), [(torch.tensor([1.0, 2.0, 1.5, 3.0, 0.5, -0.5, 1 + 2.0**-20]).repeat(5),)])
    # The imaginary part of a real number is 0, and not its product with one.
    yield Case("transform_of_one", lambda x: (*[torch.copysign(torch.ones(1), torch.view_as_real(f(x, dim=-1))) for f in (torch.fft.rfft, torch.fft.fft)], torch.view_as_real(torch.fft.ifft(x, norm="ortho").resolve_conj()),
                                              torch.fft.irfft(torch.complex(x, x), n=1), torch.fft.hfft(x, n=1)), [(torch.cat([dyadic(9, 1), torch.tensor([[float("inf")]])]),)])
    yield Case("sum_of_counts", lambda x: torch.cat([(v := x.nonzero())[v > 0], v[v <= 0]]), runs, ({0: Dim.AUTO, 1: Dim.AUTO},))
    # Whose scale follows from an open size, and keys of a length of their own.
    yield Case("attention_of_open_heads", torch.nn.functional.scaled_dot_product_attention,
               [(dyadic(2, 3, 4, 8), dyadic(2, 3, 6, 8), dyadic(2, 3, 6, 8)), (dyadic(1, 2, 5, 4), dyadic(1, 2, 3, 4), dyadic(1, 2, 3, 4))],
               ({0: Dim.AUTO, 1: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO},) * 3)
    # Fewer rows of places than of numbers.
    yield Case("gather_of_some_rows", lambda x, i: x.gather(1, i), [(dyadic(5, 6), torch.randint(0, 6, (3, 4))), (dyadic(4, 7), torch.randint(0, 7, (4, 2)))],
               ({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO, 1: Dim.AUTO}))
    # One count under one name, computed twice.
    def counted_twice(x):
        chosen = x.sum(1) > 0
        written = x.clone()
        written[chosen] = -1
        return x[chosen], written, x[chosen.nonzero().squeeze(1)] * 2, x[chosen].mean(0)
    yield Case("counted_twice", counted_twice, [(dyadic(6, 4),), (dyadic(9, 4),), (-dyadic(2, 4).abs() - 1,)], ({0: Dim.AUTO},))
    # The first result's dimensions, which nobody reads.
    yield Case("places_of_maxima", lambda x: (torch.nn.functional.max_pool2d(x, 2, return_indices=True)[1], x.max(2).indices, x.sort(3).indices[..., :1], x.topk(2).indices),
               [(torch.randperm(192).float().reshape(2, 2, 6, 8),), (torch.randperm(360).float().reshape(3, 2, 10, 6),)], ({0: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO},))
    def masks_used_twice(x, y):
        chosen, inner, all_of = x.sum((1, 2)) > 0, x.sum((0, 2)) > 0, x > 1
        return x[chosen], y[chosen], torch.cat([x[chosen].sum((1, 2)), y[chosen]]), x[:, inner], x[:, inner].mean(1), x[all_of], (x + 1)[all_of], all_of.nonzero()
    yield Case("masks_used_twice", masks_used_twice, [(dyadic(4, 6, 5), dyadic(4)), (dyadic(3, 9, 5), dyadic(3)), (-dyadic(2, 2, 5).abs() - 1, dyadic(2))],
               ({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO}))
    yield from written_as_users_do()


def written_as_users_do():
    """What programs as people write them found."""
    f = torch.nn.functional
    yield Case("vander", lambda x: (torch.vander(x), torch.vander(x, increasing=True), torch.vander(x, 1), torch.vander(x.long()), torch.vander((x > 0).int(), 4)), [(dyadic(4),)])
    yield Case("vander_wide", lambda x: (torch.linalg.vander(x, N=7), torch.linalg.vander(x[None].expand(2, 4).long())), [(dyadic(4) / 2,)])

    # Masks behind the first dimension, and beside other indices; some pick nothing.
    def later_masks(x, m, v):
        y = x.clone()
        y[:, m] = v
        y[:, m, 0] = 5
        z = x.clone()
        z[:, m] = x[:, m] * 2 + 1
        w = x.clone()
        w[m[:x.shape[0]]] = v[:1]
        w[..., m[:3]] -= 1
        u = x.clone()
        u.index_put_((torch.tensor([1]), m), torch.ones(()), accumulate=True)
        return y, z, w, u
    some, none = torch.tensor([True, False, True, True]), torch.zeros(6, dtype=torch.bool)
    yield Case("later_masks", later_masks, [(dyadic(4, 4, 3), m, dyadic(4, 1, 3)) for m in (some, none[:4])])
    yield Case("later_masks_open", later_masks, [(dyadic(2, 4, 3), some, dyadic(2, 1, 3)), (dyadic(3, 6, 3), torch.arange(6) % 4 == 1, dyadic(3, 1, 3)), (dyadic(2, 6, 3), none, dyadic(2, 1, 3))],
               ({0: Dim.AUTO, 1: Dim.AUTO}, {0: Dim.AUTO}, {0: Dim.AUTO}))

    def affine_grids(x, two, three):
        return (f.affine_grid(two, x.shape, align_corners=False), f.affine_grid(two, x.shape, align_corners=True), f.affine_grid(three, [2, 3, 4, 1, 3], align_corners=True))
    yield Case("affine_grids", affine_grids, [(dyadic(2, 3, 5, 6), dyadic(2, 2, 3), dyadic(2, 3, 4))])

    def bytes_of_elements(x, h):
        return (x.to(torch.int32).view(torch.int16), x.float().view(torch.int32), x.view(torch.uint8), x.view(torch.int32), h.view(torch.int16), h.view(torch.int32),
                x.double().view(torch.int32), h.view(torch.int64), (x.to(torch.int32) & 0x3fffffff).view(torch.float32))
    yield Case("bytes_of_elements", bytes_of_elements, [(torch.arange(-4, 4) * 77777777777, dyadic(2, 8).half()), (torch.arange(6) * 1234567, dyadic(3, 12).half())], ({0: Dim.AUTO}, {0: Dim.AUTO, 1: 4 * Dim("m", max=64)}))

    def quantised_tokens(x):
        import torch.ao.quantization.fx._decomposed  # noqa: F401
        ops = torch.ops.quantized_decomposed
        scale, zero = ops.choose_qparams_per_token_asymmetric(x, torch.int8)
        even, none = ops.choose_qparams_per_token(x, torch.int8)
        q = ops.quantize_per_token(x, scale, zero, -128, 127, torch.int8)
        halves = ops.quantize_per_token(x.round() / 2, torch.ones_like(x[:, :1]), torch.ones_like(x[:, :1]).long(), -128, 127, torch.int8)
        return scale, zero, even, none, q, ops.quantize_per_token(x, even, none, -128, 127, torch.int8), halves, ops.dequantize_per_token(q, scale, zero, -128, 127, torch.int8, torch.float32)
    yield Case("quantised_tokens", quantised_tokens, [(dyadic(3, 4),), (dyadic(2, 6),)], ({0: Dim.AUTO, 1: Dim.AUTO},))

    def quantised_and_back(x):
        steps, zeros = torch.tensor([0.5, 0.25, 1, 2]), torch.tensor([0, 1, -2, 3], dtype=torch.int32)
        return (torch.fake_quantize_per_tensor_affine(x, 0.125, 2, -16, 15), torch.fake_quantize_per_tensor_affine(x, steps[1], zeros[1], 0, 15),
                torch.fake_quantize_per_channel_affine(x, steps, zeros, 1, -8, 7))
    yield Case("quantised_and_back", quantised_and_back, [(dyadic(3, 4),)])

    yield Case("weighted_counts", lambda x, w: (torch.bincount(x, w), torch.bincount(x, w.double(), 9), torch.bincount(x)), [(torch.tensor([1, 3, 1, 0]), dyadic(4)), (torch.tensor([2, 2, 6]), dyadic(3))],
               ({0: Dim.AUTO}, {0: Dim.AUTO}))

    # Types that the program asks for, and a diagonal that is a size.
    def aligned_to_the_end(q, k):
        height, width = q.shape[2], k.shape[2]
        places = torch.stack(torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij"), -1) / torch.tensor([height, width])
        hidden = torch.full((height, width), float("-inf")).triu(1 + width - height)
        return (q @ k.mT + hidden).softmax(-1), torch.ones(height, width).tril(width - height), places
    yield Case("aligned_to_the_end", aligned_to_the_end, [(dyadic(2, 4, 3, 8), dyadic(2, 4, 5, 8)), (dyadic(1, 4, 4, 8), dyadic(1, 4, 7, 8))], ({0: Dim.AUTO, 2: Dim.AUTO},) * 2)

    # Bounds that are data, of either sign, and what is known of them.
    def bounds_of_data(x, n, m):
        k, end = n.item(), m.item()
        y = x.clone()
        y[k:].mul_(2)
        return x[k:] * 2, x[:, k:end], x[:k].sum(0), x[-3:k], x[k], x[:, end], y
    places = [torch.tensor(i) for i in (2, 5, 0, 6, -2, -1, -3)]
    yield Case("bounds_of_data", bounds_of_data, [(dyadic(8, 7), *places[:2]), (dyadic(9, 7), *places[2:4]), (dyadic(9, 7), *places[4:6]), (dyadic(9, 7), places[6], places[5])],
               ({0: Dim.AUTO}, None, None))

    def asserted_bounds(x, n):
        k = n.item()
        torch._check(k > 0)
        torch._check(2 * k <= x.shape[0])
        torch._check(x.shape[0] - k != 3)
        return x[k:2 * k], x[:k] * 2, x.view(-1)[:2 * k]
    yield Case("asserted_bounds", asserted_bounds, [(dyadic(8, 3), places[0]), (dyadic(12, 3), places[3])], ({0: Dim.AUTO}, None))

    def parts_of_data(x, sizes):
        a, b = sizes.tolist()
        for size in (a, b):
            torch._check(size >= 0)
            torch._check(size <= x.shape[0])
        torch._check(a + b == x.shape[0])
        first, second = torch.split(x, [a, b])
        return first.sum(0), second * 2
    yield Case("parts_of_data", parts_of_data, [(dyadic(5, 3), torch.tensor([2, 3])), (dyadic(8, 3), torch.tensor([8, 0]))], ({0: Dim.AUTO}, None))

    def numbers_of_sizes(x):
        return (x * (x.shape[0] ** 0.5), x / (x.shape[1] * 0.5), torch.full((2,), x.shape[0] / 4) + x[0, 0], f.interpolate(x[None, None], scale_factor=0.5, mode="area"),
                x * (x.sum().item() * 2.5), x + x.max().item() / 2 - 1)
    yield Case("numbers_of_sizes", numbers_of_sizes, [(dyadic(4, 6),), (dyadic(8, 10),)], ({0: Dim.AUTO, 1: Dim.AUTO},))

    def turned_in_place(x):
        y = x.clone()
        y.transpose_(0, 1)
        y[0] = 4
        y.swapaxes_(0, 1).unsqueeze_(0)
        y[0, 1:] += 1
        return y
    yield Case("turned_in_place", turned_in_place, [(dyadic(4, 6),), (dyadic(3, 6),)], ({0: Dim.AUTO},))

    # Halves of an odd number of elements are -n // 2 of it.
    def frequencies(x):
        return (*[torch.fft.fftfreq(n, 0.5) + x[0] for n in (1, 2, 7, 8)], torch.fft.rfftfreq(7) + x[0], torch.fft.rfftfreq(8, 2.0) * x[0], torch.fft.fftfreq(5, dtype=torch.float64) * x[0])
    yield Case("frequencies", frequencies, [(dyadic(3),)])

    def filled_up(x, y):
        pad = torch.nn.utils.rnn.pad_sequence
        return pad([x, y, x[1:]]), pad([x, y], batch_first=True, padding_value=2.5)
    yield Case("filled_up", filled_up, [(dyadic(5, 2), dyadic(3, 2))])
    yield Case("filled_up_open", filled_up, [(dyadic(5, 2), dyadic(3, 2)), (dyadic(4, 2), dyadic(7, 2))], ({0: Dim.AUTO}, {0: Dim.AUTO}))

    # Halves of halves that are equal where a size is even.
    def halves_of_halves(x):
        w = torch.ones(1, 1, 3, 3)
        y = torch.conv2d(x, w, None, 2, 1)
        u = torch.max_pool2d(y, 2, 2) + torch.conv2d(y, w, None, 2, 1)
        return u, torch.max_pool2d(u, 2, 2) - torch.conv2d(u, w, None, 2, 1)
    yield Case("halves_of_halves", halves_of_halves, [(dyadic(1, 1, 16, 24),), (dyadic(1, 1, 32, 16),)], ({2: Dim.AUTO, 3: Dim.AUTO},))
