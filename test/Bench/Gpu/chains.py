"""Random chains of a few operators on large tensors, fixed and with every size open: where operators meet, what is fused decides.

`chain_SEED` and `open_chain_SEED`; a chain grows on tensors without memory, so that an operator is added where it can stand."""
import random

import torch
import torch.nn.functional as F
from torch import nn

from .case import Later, add, b16, f16, f32, t

COUNT, LARGEST = 400, 1 << 26
UNARY = dict(relu=F.relu, sigmoid=torch.sigmoid, tanh=torch.tanh, gelu=F.gelu, silu=F.silu, abs=torch.abs, root=lambda x: x.abs().sqrt(), negative=torch.neg, erf=torch.erf,
             hardswish=F.hardswish, scaled=lambda x: x * 0.5 + 1, wide=lambda x: (x.float() * 1.5).to(x.dtype))
BINARY = dict(add=torch.add, sub=torch.sub, mul=torch.mul, maximum=torch.maximum, ratio=lambda x, y: x / (y.abs() + 1), where=lambda x, y: torch.where(x > y, x, y))
REDUCTIONS = dict(sum=torch.sum, mean=torch.mean, amax=torch.amax, norm=lambda x, d, keepdim: torch.linalg.vector_norm(x, dim=d, keepdim=keepdim),
                  logsumexp=lambda x, d, keepdim: torch.logsumexp(x.float(), d, keepdim).to(x.dtype), var=lambda x, d, keepdim: torch.var(x, d, keepdim=keepdim, correction=0))
SHAPES = [(16, 64, 112, 112), (32, 256, 28, 28), (8, 96, 57, 55), (16, 512, 768), (8, 1024, 320), (64, 77, 1024), (8192, 2048), (50000, 300), (300, 40000), (4, 12, 1024, 64)]


class Chain(nn.Module):
    """Its steps are functions of values that stand before them, and the numbers of these; results are the values that nothing reads."""

    def __init__(self, seed, nodes=4):
        super().__init__()
        self.draw, self.weights, self.steps = random.Random(seed), nn.ParameterList(), []
        self.kind = self.draw.choice([b16, b16, f16, f32])
        self.values = [torch.empty(self.draw.choice(SHAPES), dtype=self.kind, device='meta')]
        if self.draw.random() < .3:
            self.values.append(torch.empty([n if self.draw.random() < .8 else 1 for n in self.values[0].shape], dtype=self.kind, device='meta'))
        self.inputs = [t(*v.shape, kind=self.kind) for v in self.values]
        while len(self.steps) < nodes:
            kept = len(self.weights), len(self.steps), len(self.values)
            try:
                self.draw.choice(self.WAYS)(self)
            except Exception:  # it cannot stand there
                self.weights, self.steps, self.values = nn.ParameterList(list(self.weights)[:kept[0]]), self.steps[:kept[1]], self.values[:kept[2]]
        read = {i for _, taken in self.steps for i in taken}
        self.given = [i for i in range(len(self.values)) if i not in read and i >= len(self.inputs)]
        del self.values

    def forward(self, *inputs):
        values = list(inputs)
        for function, taken in self.steps:
            values.append(function(*(values[i] for i in taken)))
        return tuple(values[i].contiguous() for i in self.given)  # a view alone would be no work

    def pick(self, suits=lambda v: True):
        found = [i for i, v in enumerate(self.values) if v.ndim and suits(v)]
        return self.draw.choice(found[-2:] if self.draw.random() < .8 else found)

    def put(self, function, *taken):
        made = function(*(self.values[i] for i in taken))
        assert 0 < made.numel() <= LARGEST
        self.steps.append((function, taken))
        self.values.append(made)

    def weight(self, *shape, by=1.0):
        """A parameter's number; its values come from a seed of its own."""
        made = torch.randn(shape, generator=torch.Generator().manual_seed(len(self.weights) + sum(shape))) * by
        self.weights.append(nn.Parameter(made.to(self.kind), requires_grad=False))
        return len(self.weights) - 1

    def unary(self):
        self.put(UNARY[self.draw.choice(list(UNARY))], self.pick())

    def binary(self):
        x, function = self.pick(), BINARY[self.draw.choice(list(BINARY))]
        shape = self.values[x].shape
        if self.draw.random() < .5:
            return self.put(function, x, self.pick(lambda v: all(a == b or 1 in (a, b) for a, b in zip(v.shape[::-1], shape[::-1]))))
        w = self.weight(*[n if self.draw.random() < .5 else 1 for n in shape][max(0, len(shape) - self.draw.choice([1, 1, 2, 3])):])
        assert self.weights[w].numel() < 1 << 18
        self.put(lambda x: function(x, self.weights[w]), x)

    def conv(self):
        x = self.pick(lambda v: v.ndim == 4)
        assert self.kind != f32  # PyTorch rounds to tf32 there
        channels, kernel = self.values[x].shape[1], self.draw.choice([1, 3, 3, 5])
        groups = self.draw.choice([1, 1, channels])
        width, stride = channels if groups > 1 else self.draw.choice([32, 64, 50]), self.draw.choice([1, 1, 2])
        w = self.weight(width, channels // groups, kernel, kernel, by=(channels // groups) ** -.5 / kernel)
        self.put(lambda x: F.conv2d(x, self.weights[w], None, stride, kernel // 2, 1, groups), x)

    def pool(self):
        k, s = self.draw.choice([2, 3]), self.draw.choice([1, 2])
        function = self.draw.choice([F.max_pool2d, F.avg_pool2d])
        self.put(lambda x: function(x, k, s, k // 2), self.pick(lambda v: v.ndim == 4))

    def norm(self):
        x = self.pick(lambda v: v.ndim > 1)
        last, channels = self.values[x].shape[-1], self.values[x].shape[1]
        if self.values[x].ndim == 4 and self.draw.random() < .6:
            w = self.weight(channels)
            return self.put(lambda x: F.group_norm(x, self.draw_groups(channels), self.weights[w]), x)
        w = self.weight(last)
        self.put(self.draw.choice([lambda x: F.layer_norm(x, (last,), self.weights[w], self.weights[w]), lambda x: F.rms_norm(x, (last,), self.weights[w])]), x)

    @staticmethod
    def draw_groups(channels):
        return next(g for g in (32, 16, 8, 4, 2, 1) if channels % g == 0)

    def softmax(self):
        x, function = self.pick(), self.draw.choice([F.softmax, F.softmax, F.log_softmax])
        axis = self.draw.choice([-1, -1, self.draw.randrange(self.values[x].ndim)])
        self.put(lambda x: function(x, axis), x)

    def reduce(self):
        x, function = self.pick(), REDUCTIONS[self.draw.choice(list(REDUCTIONS))]
        rank = self.values[x].ndim
        axes = self.draw.choice([[rank - 1], [rank - 1], sorted(self.draw.sample(range(rank), self.draw.randint(1, rank)))])
        keep = self.draw.choice([False, True, True])
        self.put(lambda x: function(x, axes, keepdim=keep), x)

    def product(self):
        x = self.pick(lambda v: v.ndim > 1 and v.shape[-1] <= 4096)
        if self.draw.random() < .25:
            assert self.values[x].shape[-2] <= 2048
            return self.put(lambda x: x @ x.mT / x.shape[-1], x)
        w = self.weight(self.values[x].shape[-1], self.draw.choice([24, 64, 256, 1024]), by=self.values[x].shape[-1] ** -.5)
        self.put(lambda x: x @ self.weights[w], x)

    def attention(self):
        self.put(lambda x: F.scaled_dot_product_attention(x, x, x), self.pick(lambda v: v.ndim == 4 and v.shape[-1] in (64, 128) and v.shape[-2] <= 2048))

    def transpose(self):
        x = self.pick(lambda v: v.ndim > 1)
        order = self.draw.sample(range(self.values[x].ndim), self.values[x].ndim)
        self.put(lambda x: x.permute(order).contiguous(), x)

    def reshape(self):
        x = self.pick(lambda v: v.ndim > 1)
        at, rank = self.draw.randrange(self.values[x].ndim - 1), self.values[x].ndim
        if self.draw.random() < .5:
            return self.put(lambda x: x.flatten(at, at + 1), x)
        heads = self.draw.choice([h for h in (2, 4, 8) if self.values[x].shape[-1] % h == 0])
        self.put(lambda x: x.unflatten(rank - 1, (heads, -1)), x)

    def slice(self):
        x = self.pick()
        axis = self.draw.randrange(self.values[x].ndim)
        begin, step = self.draw.randint(0, self.values[x].shape[axis] // 3), self.draw.choice([1, 1, 2])
        self.put(lambda x: x[(slice(None),) * axis + (slice(begin, None, step),)], x)

    def concat(self):
        x = self.pick()
        shape, axis = self.values[x].shape, self.draw.randrange(self.values[x].ndim)
        y = self.pick(lambda v: v.ndim == len(shape) and all(a == axis or v.shape[a] == n for a, n in enumerate(shape)))
        self.put(lambda x, y: torch.cat([x, y], axis), x, y)

    def pad(self):
        x, mode = self.pick(lambda v: v.ndim in (3, 4)), self.draw.choice(['constant', 'reflect', 'replicate'])
        self.put(lambda x: F.pad(x, (1, 2, 2, 1)[:2 * (x.ndim - 2)], mode), x)

    def gather(self):
        x = self.pick()
        axis = self.draw.randrange(self.values[x].ndim)
        size = self.values[x].shape[axis]
        made = torch.randint(0, size, (self.draw.choice([3, size, max(1, size // 2)]),), generator=torch.Generator().manual_seed(size))
        self.weights.append(nn.Parameter(made, requires_grad=False))
        at = len(self.weights) - 1
        self.put(lambda x: x.index_select(axis, self.weights[at].to(x.device)), x)

    def resize(self):
        by, mode = self.draw.choice([2.0, .5, 1.5]), self.draw.choice(['nearest', 'bilinear'])
        self.put(lambda x: F.interpolate(x, scale_factor=by, mode=mode), self.pick(lambda v: v.ndim == 4))

    def split(self):
        x = self.pick(lambda v: v.shape[-1] % 2 == 0)
        self.put(lambda x: x.chunk(2, -1)[0], x)
        self.put(lambda x: x.chunk(2, -1)[1], x)

    def scan(self):
        x = self.pick()
        axis = self.draw.randrange(self.values[x].ndim)
        self.put(lambda x: (x.float() * .1).cumsum(axis).to(x.dtype), x)

    def top(self):
        x = self.pick(lambda v: v.shape[-1] > 5)
        self.put(lambda x: x.topk(5, -1)[0], x)

    def excited(self):
        self.put(lambda x: x * torch.sigmoid(x.mean((2, 3), keepdim=True)), self.pick(lambda v: v.ndim == 4))

    WAYS = [unary] * 4 + [binary] * 6 + [conv] * 2 + [pool, norm, norm, norm, softmax, softmax, reduce, reduce, reduce, product, product, attention, transpose, transpose,
                                                      reshape, reshape, slice, concat, pad, gather, resize, split, scan, top, excited]


for seed in range(COUNT):
    chain = Chain(seed, nodes=0)  # of which a case knows the inputs: a chain grows where it is asked for
    for prefix in ('', 'open_'):
        add(f'{prefix}chain_{seed}', Later(lambda seed=seed: Chain(seed).eval()), *chain.inputs, open=bool(prefix), tolerance=2e-3 if chain.kind == f32 else 5e-2,
            fixed=tuple((i, d) for i, s in enumerate(chain.inputs) for d, n in enumerate(s.shape) if n == 1))
