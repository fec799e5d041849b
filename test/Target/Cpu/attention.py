import math
import numpy as np
import bodies
from guarded import copy, empty
from kernels import Kernel, variants

rng = np.random.default_rng(0)
wrong = 0
WINDOW = 16
REGIONS = bodies.regions(WINDOW)


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def reference(q, k, v, region, mask):
    q, k, v = (x.astype(float) for x in (q, k, v))
    queries, keys = q.shape[1], k.shape[1]
    s = np.einsum('hqd,hkd->hqk', q, k) / math.sqrt(q.shape[2] or 1)
    qi, ki = np.arange(queries)[:, None] + keys - queries, np.arange(keys)[None]
    if region == 'biased':
        s = s / (1 + s * s) + mask[:, None, None] * (ki - qi)
    if region in ('added', 'keys'):
        s = s + mask
    seen = {'causal': ki <= qi, 'biased': ki <= qi, 'window': (ki <= qi) & (ki + WINDOW > qi), 'boolean': mask}.get(region)
    s = s if seen is None else np.where(seen, s, -np.inf)
    with np.errstate(all='ignore'):
        p = np.exp(s - s.max(-1, keepdims=True))
        out = np.einsum('hqk,hke->hqe', p / p.sum(-1, keepdims=True), v)
    return np.where(np.isnan(out), 0, out) if region == 'boolean' else out


def mask_for(region, heads, queries, keys):
    if region == 'biased':
        return np.linspace(0.25, 0.5, heads).astype(np.float32)
    if region == 'added':  # the most negative finite number masks too; a row with nothing else is an average
        mask = np.where(rng.random((queries, keys)) < 0.3, np.finfo(np.float32).min, normal(queries, keys))
        mask[-1] = np.finfo(np.float32).min
        return mask.astype(np.float32)
    if region == 'boolean':
        mask = rng.random((queries, keys)) < 0.6
        mask[queries // 2] = False
        return mask
    return normal(keys)


def check(name, kernel, q, k, v, mask, sizes, want, layout):
    global wrong
    lay = layout or (lambda x: x)
    out = empty(lay(want).shape, fill=7)
    call = kernel.bind([copy(np.ascontiguousarray(lay(x))) for x in (q, k, v)] + [copy(mask), out], sizes)
    for i in range(call.items):
        call(i, i + 1)
    want = lay(want)
    same = np.isnan(out) == np.isnan(want)
    error = np.nanmax(np.abs(out - want), initial=0, where=~np.isnan(want))
    if not same.all() or not error < 1e-4:
        wrong += 1
        print(f'{name}: error {error}, {(~same).sum()} NaN differences')


def shapes_and_masks(variant):
    heads = 2
    for depth, width in ((64, 64), (13, 50)):
        for region in REGIONS:
            last = region in ('dense', 'window')  # heads outside, or between the rows
            by_head = lambda n, a, w, i: f'{w}*({a} + {n}*h) + {i}'
            by_row = lambda n, a, w, i: f'{w}*(h + {heads}*{a}) + {i}'
            f = by_row if last else by_head
            offsets = {'axes': f'h = "{heads}", q = "qn"', 'query': 'q', 'q': f('qn', 'q', depth, 'd'),
                       'k': f('kn', 'k', depth, 'd'), 'v': f('kn', 'k', width, 'e'), 'out': f('qn', 'q', width, 'e')}
            kernel = Kernel(bodies.attention(depth, width, REGIONS[region], offsets, 1 / math.sqrt(depth), region == 'boolean'),
                            ['f32'] * 3 + ['i1' if region == 'boolean' else 'f32'], ['f32'], variant)
            for queries, keys in ((1, 1), (1, 300), (5, 3), (16, 40), (33, 33), (33, 200), (100, 129), (300, 300)):
                q, k, v = normal(heads, queries, depth), normal(heads, keys, depth), normal(heads, keys, width)
                mask = mask_for(region, heads, queries, keys)
                check(f'{variant} {region} {queries}x{keys}x{depth}', kernel, q, k, v, mask, [keys, queries],
                      reference(q, k, v, region, mask), (lambda x: x.transpose(1, 0, 2)) if last else None)


def grouped_queries(variant):
    """Query heads that share keys and values, for one query (then they share a pass) and for several; no query axis at all."""
    for heads, group, depth in ((8, 4, 64), (20, 20, 40)):
        for single in (True, False):
            n, a = ('1', '0') if single else ('qn', 'q')
            row = lambda x, i: f'{depth}*({x} + kn*floordiv(h, {group})) + {i}'
            offsets = {'axes': f'h = "{heads}"' + ('' if single else ', q = "qn"'), 'query': '' if single else 'q',
                       'q': f'{depth}*({a} + {n}*h) + d', 'k': row('k', 'd'), 'v': row('k', 'e'),
                       'out': f'{depth}*({a} + {n}*h) + e'}
            kernel = Kernel(bodies.attention(depth, depth, REGIONS['keys'], offsets, 1 / math.sqrt(depth)), ['f32'] * 4, ['f32'],
                            variant)
            for queries, keys in ((1, 1), (1, 7), (1, 300)) if single else ((1, 130), (2, 20), (40, 77)):
                q, mask = normal(heads, queries, depth), normal(keys)
                k, v = normal(heads // group, keys, depth), normal(heads // group, keys, depth)
                want = reference(q, k.repeat(group, 0), v.repeat(group, 0), 'keys', mask)
                check(f'{variant} grouped {heads}/{group} {queries}x{keys}', kernel, q, k, v, mask,
                      [keys] if single else [keys, queries], want, None)


def open_heads(variant):
    """Heads whose sizes are known when it runs, also none and wide ones; keys as they lie and turned around, where nothing lies at a known distance."""
    heads, scale = 2, .125
    for region, turned in (('dense', False), ('causal', False), ('added', True)):
        k = 'k + kn*(d + dn*h)' if turned else 'dn*(k + kn*h) + d'
        offsets = {'axes': f'h = "{heads}", q = "qn"', 'query': 'q', 'q': 'dn*(q + qn*h) + d', 'k': k, 'v': 'en*(k + kn*h) + e', 'out': 'en*(q + qn*h) + e'}
        kernel = Kernel(bodies.attention('dn', 'en', REGIONS[region], offsets, scale), ['f32'] * 4, ['f32'], variant)
        for queries, keys, depth, width in ((1, 1, 1, 1), (1, 70, 64, 50), (5, 3, 0, 7), (16, 40, 13, 16), (33, 200, 80, 33), (50, 129, 7, 200), (40, 45, 1100, 1030)):
            q, keyed, v = normal(heads, queries, depth), normal(heads, keys, depth), normal(heads, keys, width)
            mask = mask_for(region, heads, queries, keys)
            want = reference(q * (scale * math.sqrt(depth)), keyed, v, region, mask)
            lines = keyed.transpose(0, 2, 1) if turned else keyed
            check(f'{variant} open heads {region} {queries}x{keys}x{depth}x{width}', kernel, q, lines, v, mask, [depth, width, keys, queries], want, None)


for v in variants():
    shapes_and_masks(v)
    grouped_queries(v)
for v in variants():
    open_heads(v)
print(f'{wrong} wrong')
