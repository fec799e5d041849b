"""Overloads that neither PyTorch's operator database nor the programs of fx_cases.py reach, called by their names."""
import torch
from fx_cases import dyadic

a = torch.ops.aten


def real(z):
    return torch.view_as_real(z.resolve_conj())


def numbers(x, y, i, j):
    """Arithmetic with numbers in either place."""
    c = x > 0
    return [a.__and__.Scalar(i, 5), a.__and__.Tensor(i, j), a.__or__.Scalar(i, 5), a.__or__.Tensor(i, j), a.__xor__.Scalar(i, 5), a.__xor__.Tensor(i, j),
            a.bitwise_and.Scalar(i, 6), a.bitwise_or.Scalar(i, 6), a.bitwise_xor.Scalar(i, 6), a.add.Scalar(x, 2, 3), a.add.Scalar(i, 2, 3),
            a.sub.Scalar(x, 2, 3), a.sub.Scalar(i, 2), a.div.Scalar(x, 3), a.div.Scalar(i, 4), a.div.Scalar_mode(i, 4, rounding_mode="floor"),
            a.div.Scalar_mode(x, 1.5, rounding_mode="trunc"), a.floor_divide.Scalar(i, 4), a.floor_divide.Scalar(x, 1.5), a.fmod.Scalar(i, 4),
            a.fmod.Scalar(x, 1.5), a.remainder.Scalar_Tensor(7, j), a.remainder.Scalar_Tensor(-7.5, x + 5), a.pow.Scalar(2, x), a.pow.Scalar(1.5, i),
            a.clamp_max.default(x, 1), a.clip.default(x, -1, 1.5), a.clip.default(i, -2), a.copysign.Scalar(x, -2.0), a.copysign.Scalar(i, -0.0),
            a.float_power.Scalar(2.0, x), a.xlogy.Scalar_Other(x, 2), a.xlogy.Scalar_Self(3, y.abs()), a.lerp.Tensor(x, y, y / 8), a.le.Scalar(x, 0.5),
            a.le.Scalar(i, 1.5), a.ne.Scalar(i, 2), a.where.Scalar(c, 1.5, -2.0), a.where.Scalar(c, 1, 2), a.where.ScalarSelf(c, 1.5, x), a.where.ScalarOther(c, i, 7),
            a.atan2.out(x, y, out=torch.empty_like(x)), a.special_digamma.default(y.abs() + 0.5), a.special_psi.default(y + 0.3), a.special_gammaln.default(y + 0.3),
            a.special_multigammaln.default(y.abs() + 2, 3)]


def conversions(x, i):
    z = torch.complex(x, x + 1)
    return [a.to.device(x, torch.device("cpu"), torch.float64), a.to.dtype_layout(x, dtype=torch.int32), a.to.other(i, x), a.type_as.default(x, i),
            real(a.conj.default(z)), real(a._conj_physical.default(z)), a.dropout.default(x, 0.5, False) * 2,
            a.feature_dropout.default(x, 0.5, False) * 2, a.alpha_dropout.default(x, 0.5, False) * 2, a.feature_alpha_dropout.default(x, 0.5, False) * 2,
            a.native_dropout.default(x, 0.5, False)[0] * 2, a.native_dropout_backward.default(x, x > 0, 1.25)]


def created(x):
    def filled(t, value):
        return t.fill_(value)
    return [filled(a.empty.memory_format([2, 3]), 1), filled(a.empty_like.default(x), 2), filled(a.empty_strided.default([2, 3], [1, 2]), 3),
            filled(a.empty_permuted.default([2, 3], [1, 0], dtype=torch.int64), 4), filled(a.new_empty.default(x, [3]), 5),
            filled(a.new_empty_strided.default(x, [2, 2], [1, 2]), 6), a.eye.default(3), a.eye.m(2, 4, dtype=torch.int64), a.full.default([2, 2], 1.5),
            a.arange.start(2, 9), a.arange.start(0.5, 3), a.triu_indices.default(4, 5, 1), a.triu_indices.default(3, 2, -1),
            a.linspace.Tensor_Tensor(x[0, 0], x[1, 1], 5), a.logspace.Tensor_Tensor(x[0, 0] / 4, x[1, 1] / 4, 5), *a.meshgrid.default([x[0], x[1, :2]]),
            a.hann_window.default(9), a.hann_window.periodic(8, False, dtype=torch.float64), a.hann_window.default(1), a.hamming_window.default(7),
            a.hamming_window.periodic(7, False), a.hamming_window.periodic_alpha(6, True, 0.5), a.hamming_window.periodic_alpha_beta(6, False, 0.5, 0.25),
            a.blackman_window.default(10), a.blackman_window.periodic(2, False)]


def views(x):
    return [a.movedim.int(x, 0, -1), a.swapaxes.default(x, 0, 1), a.swapdims.default(x, -1, 0), a.select_copy.int(x, 1, 2), a.slice_copy.Tensor(x, 1, 1, 6, 2),
            a._reshape_copy.default(x, [3, 8]), a._unsafe_view.default(x, [2, 12]), *a.split.sizes(x, [1, 2, 3], 1), *a.unsafe_split_with_sizes.default(x, [3, 1]),
            a.row_stack.default([x[0], x[1]]), a.concat.default([x, x], 1), a.chain_matmul.default([x, x.t(), x]), *a.atleast_1d.Sequence([x, x[0, 0]]),
            *a.atleast_2d.Sequence([x[0], x[0, 0]]), a.native_channel_shuffle.default(x.view(1, 4, 2, 3), 2)]


def places(x, i, v):
    """Reads and writes by indices, counts and order."""
    distinct = x + torch.arange(x.numel()).view_as(x) / 1024
    ids = i.clamp(0, 3)
    return [a._unsafe_index.Tensor(x, [ids[0], None]), a._unsafe_index_put.default(x, [ids[0]], v[:1], True), a.scatter.value(x, 0, ids, 2.5),
            a.scatter.value_reduce(x, 0, ids[:1], 2.5, reduce="multiply"), a.scatter.value_reduce(x, 1, ids, 2.5, reduce="add"),
            a.bucketize.Scalar(0.25, x[0].sort()[0]), a.searchsorted.Scalar(x[1].sort()[0], 0.25, right=True), a.repeat_interleave.Tensor(ids[0], output_size=None).sum(),
            *a.sort.stable(x, stable=True, dim=0, descending=True), a.argsort.stable(x.round(), stable=True, dim=1), *a.topk.default(distinct, 3, 1),
            *a.topk.default(distinct, 2, 0, False), *a.kthvalue.default(distinct, 2, 1), *a.kthvalue.default(distinct, 3, 0, True),
            *a.unique_dim.default(x.sign(), 0, True, True, True), a.segment_reduce.default(x, "mean", lengths=torch.tensor([1, 0, 3]), unsafe=True),
            a.segment_reduce.default(x, "max", lengths=torch.tensor([2, 2]), unsafe=True), a.one_hot.default(ids, 5)]


def sums(x, y):
    return [a._softmax.default(x, 1, False), a._log_softmax.default(x, 0, False), a.norm.Scalar(x, 3), a.norm.ScalarOpt_dim(x, 1, [1], True),
            a.norm.ScalarOpt_dim(x, None, [0]), a._cdist_forward.default(x, y, 2.0, None), a._cdist_forward.default(x, y, 1.0, None),
            a._pdist_forward.default(x, 2.0), a._pdist_forward.default(x, float("inf")), a._prelu_kernel.default(x, y[:1])]


def losses(x, t, p):
    f = x.log_softmax(1)
    planes, where = f.view(1, 6, 2, 2), t.clamp(min=0).view(1, 2, 2)
    labels = torch.tensor([[0, 2, -1, 0, 0, 0], [5, -1, 0, 0, 0, 0], [1, 2, 3, 4, -1, 0], [-1, 0, 0, 0, 0, 0]])
    return [a.nll_loss.default(f, t, x[0].abs()), a.nll_loss.default(f, t, None, 2), *a.nll_loss_forward.default(f, t, None, 1, -100),
            a.nll_loss_forward.default(f, t, p[0], 0, -100)[0], a.nll_loss2d.default(planes, where, p[0], 0), *a.nll_loss2d_forward.default(planes, where, None, 1, 2),
            *a.multilabel_margin_loss_forward.default(x, labels, 1), a.multilabel_margin_loss_forward.default(x, labels, 0)[0]]


def norms(x, w, b, m, v):
    rows = x.flatten(2)
    y, mean, inverse = a.native_layer_norm.default(rows, [20], None, None, 1e-5)
    return [a.batch_norm.default(x, w, b, m, v, False, 0.1, 1e-5, False), *a._native_batch_norm_legit.default(x, w, b, m, v, False, 0.1, 1e-5),
            *a._native_batch_norm_legit.no_stats(x, w, b, True, 0.1, 1e-5), a._native_batch_norm_legit_no_training.default(x, w, b, m, v, 0.1, 1e-5)[0],
            *a.native_batch_norm.default(x, w, b, m, v, False, 0.1, 1e-5), a._fused_rms_norm.default(rows, [20], None, 1e-5)[0],
            *a.native_layer_norm_backward.default(rows * 2 + 1, rows, [20], mean, inverse, rows[0, 0], rows[0, 1], [True, True, True])]


def convolutions(x, w, b, line, cube):
    grad = torch.ones(2, 6, 7, 9) * x[:, :1] + x[:, 1:2]
    halves = w[:, :2]
    strided = grad[:, :, ::2, ::2]
    return [a.conv1d.default(line, w[:, :, 0], b, [2], [1], [1], 1), a.conv2d.padding(x, w, b, [1, 1], "same", [1, 1], 1), a.conv2d.padding(x, w, None, [2, 1], "valid", [1, 1], 1),
            a.conv3d.default(cube, w[:, :, None], b, [1, 2, 1], [0, 1, 1], [1, 1, 1], 1), a.convolution.default(x, w, b, [2, 1], [1, 1], [1, 2], False, [0, 0], 1),
            a.convolution.default(x, w.transpose(0, 1), b, [2, 2], [1, 1], [1, 1], True, [1, 0], 1),
            *a.convolution_backward.default(grad, x, w, [6], [1, 1], [1, 1], [1, 1], False, [0, 0], 1, [True, True, True]),
            *a.convolution_backward.default(strided, x, halves, [6], [2, 2], [1, 1], [1, 1], False, [0, 0], 2, [True, True, True]),
            *a.convolution_backward.default(grad[:, :4], x, w[:4, :4].reshape(4, 4, 3, 3)[:, :2], [4], [1, 1], [2, 2], [2, 2], True, [0, 0], 2, [True, True, True])]


def spaces(x, line, cube):
    """Pads, resizes, pools by their own overloads."""
    return [a.reflection_pad1d.default(line, [2, 1]), a.reflection_pad2d.default(x, [1, 2, 0, 3]), a.reflection_pad3d.default(cube, [1, 1, 2, 0, 1, 1]),
            a.replication_pad1d.default(line, [2, 5]), a.replication_pad2d.default(x, [1, 2, 0, 3]), a.replication_pad3d.default(cube, [1, 1, 2, 0, 1, 1]),
            a._adaptive_avg_pool2d.default(x, [3, 4]), a._adaptive_avg_pool3d.default(cube, [2, 3, 4]),
            a._upsample_bicubic2d_aa.default(x, [3, 4], False, None, None), a._upsample_bilinear2d_aa.default(x, [3, 14], False, None, None),
            a._upsample_nearest_exact1d.default(line, [7], None), a._upsample_nearest_exact1d.vec(line, None, [1.5]), a._upsample_nearest_exact2d.default(x, [5, 13], None, None),
            a._upsample_nearest_exact3d.default(cube, [3, 3, 9], None, None, None), a._upsample_nearest_exact3d.vec(cube, None, [2.0, 1.0, 0.5]),
            a.upsample_nearest1d.default(line, [7], None), a.upsample_nearest1d.vec(line, None, [1.5]), a.upsample_nearest2d.default(x, [5, 13], None, None),
            a.upsample_nearest2d.default(x, [10, 13], 1.5, 1.5), a.upsample_nearest3d.default(cube, [3, 3, 9], None, None, None),
            a.upsample_linear1d.default(line, [7], False, None), a.upsample_linear1d.default(line, [13], True, None), a.upsample_bilinear2d.default(x, [5, 13], False, None, None),
            a.upsample_bilinear2d.default(x, [10, 13], False, 1.5, 1.5), a.upsample_trilinear3d.default(cube, [3, 3, 9], True, None, None, None),
            a.upsample_bicubic2d.default(x, [5, 13], True, None, None)]


def samplers(x, grid):
    return [a.grid_sampler_2d.default(x, grid, mode, border, corners) for mode, border, corners in ((0, 0, False), (1, 1, False), (0, 2, True))]


def layers(q, k, v):
    return [a._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0.0, True)[0],
            a._scaled_dot_product_flash_attention_for_cpu.default(q, k, v, 0.0, False, attn_mask=q[:, :1, :, :1] @ k[:, :1, :, :1].mT, scale=0.25)[0]]


def attention_of_rank_5(q, k, v):
    f = torch.nn.functional.scaled_dot_product_attention
    return [f(q, k, v), f(q, k, v, attn_mask=q[0, 0, 0, :, :1] @ k[0, 0, 0, :, :1].mT), f(q, k, v, attn_mask=q[:, :1, :, :, :1] @ k[:, :1, :, :, :1].mT, scale=0.25)]


def tables(t, i, o, v, g):
    return [a.embedding_bag.default(t, i, o)[0], a._embedding_bag.default(t, i, o, False, 1)[0], a._embedding_bag_forward_only.default(t, i, o, False, 2)[0],
            a.embedding_dense_backward.default(t[i], i, 7, 2, False), *a._weight_norm_interface.default(v, g, 0)]


def quantized(x, scales, points):
    q = torch.ops.quantized_decomposed
    tensor, each, token = (-128, 127, torch.int8), (0, 255, torch.uint8), (-128, 127, torch.int8)
    lines = (scales.view(-1, 1).abs() + 0.125, points.view(-1, 1))
    whole = q.quantize_per_tensor.default(x, 0.0625, 3, *tensor)
    channel = q.quantize_per_channel.default(x, scales, points + 5, 0, *each)
    tokens = q.quantize_per_token.default(x, *lines, *token)
    by_tensor = q.quantize_per_tensor.tensor(x, scales[0], points[0], *tensor)
    return [whole, q.dequantize_per_tensor.default(whole, 0.0625, 3, *tensor), channel, q.dequantize_per_channel.default(channel, scales, points + 5, 0, *each),
            tokens, q.dequantize_per_token.default(tokens, *lines, *token, torch.float32), by_tensor, q.dequantize_per_tensor.tensor(by_tensor, scales[0], points[0], *tensor),
            *q.choose_qparams.tensor(x, -128, 127, 1e-5, torch.int8), *q.choose_qparams_symmetric.tensor(x, -127, 127, 1e-5, torch.int8)]


def histograms(x, edges, w):
    points, across = x.view(12, 2), torch.tensor([-4.0, -1, 0, 3])
    return [*a.histogram.bin_ct(x, 5), *a.histogram.bin_ct(x, 4, range=[-2.0, 2.0], weight=w, density=True), *a.histogram.bins_tensor(x, edges),
            *a.histogram.bins_tensor(x, edges, weight=w, density=True), *flat(a.histogramdd.default(points, [3, 2])), *flat(a.histogramdd.int_bins(points, 3, density=True)),
            *flat(a.histogramdd.TensorList_bins(points, [edges, across], weight=w.flatten()[:12]))]


def complex_functions(a, b):
    z, w = torch.complex(a, b), torch.complex(b, a + 1)
    functions = (torch.sqrt, torch.rsqrt, torch.log, torch.log2, torch.log10, torch.log1p, torch.exp, torch.exp2, torch.expm1, torch.sinh, torch.cosh, torch.tanh, torch.sin, torch.cos,
                 torch.tan, torch.asinh, torch.acosh, torch.atanh, torch.asin, torch.acos, torch.atan, torch.sigmoid, torch.nn.functional.silu, torch.square, torch.sgn)
    return [real(f(z)) for f in functions] + [real(torch.pow(z, w)), real(z ** 2), real(z ** 0.5), real(2 ** z), real(torch.pow(z, a))]


def complex_reductions(a, b):
    z = torch.complex(a, b)
    y = torch.where(a > 0, z, torch.zeros_like(z))
    v, m = torch.var_mean(z, 1)
    s, n = torch.std_mean(z)
    return [z.var(0), z.std(), v, real(m), s, real(n), torch.linalg.vector_norm(z, dim=1), z.norm(), torch.count_nonzero(y, 1), y.any(1), y.all(0), y == z, y != 0, torch.logical_not(y),
            torch.isnan(y), torch.isfinite(y), torch.nonzero_static(y, size=5)]


def complex_products(a, b, w, bias):
    z, v = torch.complex(a, b), torch.complex(w, w.flip(0))
    shift = torch.complex(bias, bias + 1)
    return [real(torch.nn.functional.linear(z, v, shift)), real(torch.addmm(shift, z, v.t())), real(torch.nn.functional.linear(z, v, bias.to(torch.complex64))),
            real(torch.tensordot(z, v.t(), 1)), real(torch.addmm(shift, z, w.t().to(torch.complex64))), real(torch.diag_embed(z[0])), *map(real, torch.meshgrid(z[0], v[0], indexing="ij")),
            real(torch.column_stack([z[:, 0], z])), real(z.new_zeros(2) + 1), real(torch.kron(z[:2], v[:2]))]


def detections(boxes, scores, image, regions):
    """torchvision's operators."""
    import torchvision
    kept = torchvision.ops.nms(boxes, scores, 0.4)
    return [kept, boxes[kept], torchvision.ops.roi_align(image, regions, (3, 2), 0.5, 2, True), torchvision.ops.roi_align(image, regions, 2, 0.5, 3, False)]


def flat(result):
    return [t for r in result for t in (r if isinstance(r, (list, tuple)) else [r])]


def written(x, y):
    """Results that are written to a tensor which the caller has."""
    z, both, sums = torch.zeros(4, 6), torch.empty(8, 6), torch.empty(4)
    torch.add(x, y, alpha=2, out=z)
    torch.cat([x, y], out=both)
    torch.sum(x, 1, out=sums)
    view = z[:2]
    torch.mul(x[:2], 2, out=view)
    return [z, both, sums, view]


def resized(x):
    """Smoothed, by factors and between the ends."""
    return [a._upsample_bilinear2d_aa.vec(x, None, False, [0.4, 0.7]), a._upsample_bilinear2d_aa.default(x, [3, 4], True, None, None), a._upsample_bicubic2d_aa.vec(x, None, False, [0.6, 1.5]),
            a._upsample_bicubic2d_aa.default(x, [4, 5], True, None, None), a._upsample_bilinear2d_aa.default(x, [9, 20], True, None, None)]


def masked(x, m):
    return [x.index_put((m,), x[:2] * 2, accumulate=True), x.index_put((x > 0,), torch.tensor(2.0), accumulate=True), torch.argwhere(x[:0]), *torch.nonzero(x[:, :0], as_tuple=True),
            *torch.unique(m.long()[:, None] * torch.tensor([[1, 2, 3]]), dim=0, return_inverse=True, return_counts=True)]


class Layer(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


def conditions(x, n):
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= 5)
    a._assert_async.default(n >= 0)
    a._assert_async.msg(n >= 0, "n is negative")
    return [x * k]


def ranges(graph):
    """The range of a number as a node of its own, and a constant as it is lifted."""
    for node in list(graph.nodes):
        if node.target == a.item.default:
            with graph.inserting_after(node):
                graph.call_function(a.sym_constrain_range.default, (node,), {"min": 0, "max": 5})
                graph.call_function(a.sym_constrain_range_for_size.default, (node,), {"min": 0, "max": 5})
        elif node.target == a.detach.default:
            node.target = a.lift_fresh.default


def ranged(x, n):
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= 5)
    return [x.detach() + x.new_zeros(k).sum()]


def grouped(x, w, ends):
    return [a._grouped_mm.default(x.bfloat16(), w.bfloat16(), ends).float()]


def experts(x, w, ends):
    return [torch.ops.transformers.grouped_mm_fallback.default(x, w, ends)]


def drawn(x):
    """What is the same of everybody's random numbers: that means, deviations and ranges lie within a few of what they should be."""
    def near(t, value, by):
        return (t.double() - value).abs() < by

    n = 4000
    zeros, halves = torch.zeros(n), torch.full((n,), 0.5)
    u, v = a.rand_like.default(zeros), a.uniform.default(zeros, -2, 4)
    normals = [a.randn_like.default(zeros), a.normal_functional.default(zeros, 3, 2) / 2 - 1.5, (a.normal.Tensor_float(halves, 2.0) - 0.5) / 2, a.normal.float_Tensor(1.0, halves) * 2 - 2,
               (a.normal.Tensor_Tensor(halves, halves) - 0.5) * 2, (a.normal.float_float(1.0, 2.0, [n]) - 1) / 2, a.log_normal.default(zeros, 0.0, 1.0).log(), zeros.clone().normal_(0.0, 1.0)]
    whole = [a.randint.default(10, [n]), a.randint_like.default(zeros, 10).long(), a.randint_like.low_dtype(zeros, 5, 15).long() - 5]
    ones = [a.bernoulli.default(halves), a.bernoulli.p(zeros, 0.5), a.multinomial.default(torch.tensor([0.5, 0.5]), n, True).float(), (a.geometric.default(zeros, 0.5) == 1).float(),
            (a.exponential.default(zeros, 2.0) > 0.34657359).float(), (a.cauchy.default(zeros, 1.0, 2.0) > 1).float(), a.native_dropout.default(halves, 0.5, True)[0],
            (a.alpha_dropout.default(x.new_zeros(n), 0.5, True) > 0).float(), (a.feature_alpha_dropout.default(x.new_zeros(n, 1, 1), 0.5, True) > 0).float()]
    chosen = a.multinomial.default(x.new_ones(6), 6).sort()[0]
    return ([chosen, (u >= 0).all(), (u < 1).all(), near(u.mean(), 0.5, 0.03), near(v.mean(), 1, 0.2), (v >= -2).all(), (v <= 4).all()]
            + [near(t.mean(), 0, 0.1) for t in normals] + [near(t.double().var(), 1, 0.15) for t in normals] + [near(t.bincount(minlength=10).min(), n / 10, 90) for t in whole]
            + [near(t.mean(), 0.5, 0.05) for t in ones])


def declare_experts():
    """The operator that transformers registers for products by groups."""
    @torch.library.custom_op("transformers::grouped_mm_fallback", mutates_args=())
    def grouped_mm_fallback(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
        bounds = [0, *offs.tolist()]
        return torch.cat([input[b:e] @ weight[i] for i, (b, e) in enumerate(zip(bounds, bounds[1:]))] + [input.new_zeros(len(input) - bounds[-1], weight.shape[2])])

    @grouped_mm_fallback.register_fake
    def _(input, weight, offs):
        return input.new_empty(input.shape[0], weight.shape[2])


def overloads(case):
    """`case`: makes one of a name, a body, runs and options."""
    import torch.ao.quantization.fx._decomposed  # noqa: F401  (registers quantized_decomposed)
    declare_experts()
    x, y = dyadic(4, 6), dyadic(4, 6)
    i, j = torch.arange(-12, 12).view(4, 6), torch.arange(1, 25).view(4, 6) % 7 + 1
    image, line, cube = dyadic(2, 4, 7, 9), dyadic(2, 4, 9), dyadic(2, 4, 4, 5, 6)
    yield case("numbers", numbers, [(x, y, i, j)])
    yield case("conversions", conversions, [(x, i)])
    yield case("created", created, [(x,)])
    yield case("views", views, [(x,)])
    yield case("places", places, [(x, i % 5 - 1, y)])
    yield case("sums", sums, [(x, y)])
    yield case("losses", losses, [(x, torch.tensor([1, 5, -100, 0]), y.abs() + 0.5)])
    yield case("norms", norms, [(dyadic(2, 3, 4, 5), dyadic(3), dyadic(3), dyadic(3), dyadic(3).abs() + 1)])
    yield case("convolutions", convolutions, [(image, dyadic(6, 4, 3, 3), dyadic(6), line, cube)], tolerance=1e-4)
    yield case("spaces", spaces, [(image, line, cube)])
    yield case("samplers", samplers, [(image, dyadic(2, 3, 5, 2) / 4)], tolerance=1e-4)
    yield case("layers", layers, [(dyadic(1, 2, 5, 8), dyadic(1, 2, 5, 8), dyadic(1, 2, 5, 8))])
    yield case("attention_of_rank_5", attention_of_rank_5, [(dyadic(2, 3, 2, 5, 8), dyadic(2, 3, 2, 4, 8), dyadic(2, 3, 2, 4, 6))])
    yield case("tables", tables, [(dyadic(7, 3), torch.tensor([1, 2, 4, 5, 4, 3, 2, 6]), torch.tensor([0, 4, 4]), dyadic(5, 3), dyadic(5, 1))])
    yield case("quantized", quantized, [(x, torch.tensor([0.25, 0.5, 0.125, 1.0]), torch.tensor([0, 3, -2, 7]))])
    yield case("conditions", conditions, [(x, torch.tensor(3)), (x, torch.tensor(0))])
    yield case("ranged", ranged, [(x, torch.tensor(3)), (x, torch.tensor(2))], edited=ranges)
    yield case("histograms", histograms, [(x, torch.tensor([-3.0, -1, -0.5, 0, 2]), y.abs())])
    yield case("written", written, [(x, y)])
    yield case("resized", resized, [(image,)], tolerance=1e-4)
    yield case("masked", masked, [(x, torch.tensor([True, False, True, False])), (y, torch.tensor([False, False, True, True]))])
    yield case("complex_functions", complex_functions, [(x, y), (y * 8, x / 8)], tolerance=1e-4)
    yield case("complex_reductions", complex_reductions, [(x, y)])
    yield case("complex_products", complex_products, [(x, y, dyadic(5, 6), dyadic(5))])
    corners, extent = dyadic(12, 2).abs() * 4, dyadic(12, 2).abs() * 6 + 1
    boxes = [torch.cat([corners, corners + extent], 1), torch.cat([corners / 4, corners / 4 + extent], 1)]
    regions = torch.cat([torch.tensor([0.0, 1, 1, 0])[:, None], corners[:4] / 2, corners[:4] / 2 + extent[:4]], 1)
    yield case("detections", detections, [(b, torch.randperm(12).float() / 12, image, regions) for b in boxes])
    steps = [(dyadic(5, 4, 3) + i,) for i in range(3)]
    yield case("batch_norm_in_training", Layer(torch.nn.BatchNorm1d(4, momentum=0.25)), steps, steps=True)
    yield case("renormalised", Layer(torch.nn.Embedding(7, 3, max_norm=0.75)), [(torch.tensor([1, 2, 2, 6]),), (torch.tensor([0, 2, 5, 5]),), (torch.tensor([0, 1, 2, 3]),)], steps=True)
    yield case("read_number", lambda x, n: [x * n.item()], [(x, torch.tensor(3.5)), (x, torch.tensor(-1.0))], decomposed=True)
    ends = torch.tensor([3, 3, 8], dtype=torch.int32)
    yield case("grouped", grouped, [(dyadic(8, 16), dyadic(3, 16, 8), ends)], tolerance=0.02)
    yield case("experts", experts, [(dyadic(8, 4), dyadic(3, 4, 5), ends)])
    bytes_of = lambda *shape: torch.randint(-128, 128, shape, dtype=torch.int8)
    yield case("integer_product", lambda a, b: [torch._int_mm(a, b)], [(bytes_of(17, 8), bytes_of(8, 24))])
    yield case("drawn", drawn, [(x,)], flags=["--seed", "5"])
