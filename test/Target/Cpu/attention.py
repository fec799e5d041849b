import math
import numpy as np
from guarded import copy, empty
from kernels import Kernel, variants

rng = np.random.default_rng(0)
wrong = 0
WINDOW = 16
POSITIONS = '''%ki = kernel.index "k"
  %qi = kernel.index "q + kn - qn"
  %ninf = arith.constant 0xFF800000 : f32
  %causal = arith.cmpi sle, %ki, %qi : i64\n'''
# The score region after the scale: what it computes from %t, and what the mask operand holds.
REGIONS = {
    'dense': 'kernel.yield %t : f32',
    'causal': POSITIONS + '%x = arith.select %causal, %t, %ninf : f32\n kernel.yield %x : f32',
    'window': POSITIONS + f'''%w = arith.constant {WINDOW} : i64
  %end = arith.addi %ki, %w : i64
  %near = arith.cmpi sgt, %end, %qi : i64
  %both = arith.andi %causal, %near : i1
  %x = arith.select %both, %t, %ninf : f32
  kernel.yield %x : f32''',
    'biased': POSITIONS + '''%one = arith.constant 1.0 : f32
  %u = arith.mulf %t, %t : f32
  %v = arith.addf %u, %one : f32
  %w = arith.divf %t, %v : f32
  %slope = kernel.load %in3["h"] : !kernel.ref<f32> -> f32
  %d = arith.subi %ki, %qi : i64
  %df = arith.sitofp %d : i64 to f32
  %bias = arith.mulf %slope, %df : f32
  %s1 = arith.addf %w, %bias : f32
  %x = arith.select %causal, %s1, %ninf : f32
  kernel.yield %x : f32''',
    'added': '''%a = kernel.load %in3["k + kn*q"] : !kernel.ref<f32> -> f32
  %x = arith.addf %t, %a : f32
  kernel.yield %x : f32''',
    'boolean': '''%a = kernel.load %in3["k + kn*q"] : !kernel.ref<i1> -> i1
  %ninf = arith.constant 0xFF800000 : f32
  %x = arith.select %a, %t, %ninf : f32
  kernel.yield %x : f32''',
    'keys': '''%a = kernel.load %in3["k"] : !kernel.ref<f32> -> f32
  %x = arith.addf %t, %a : f32
  kernel.yield %x : f32''',
}


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def reference(q, k, v, region, mask):
    q, k, v = (x.astype(float) for x in (q, k, v))
    queries, keys = q.shape[1], k.shape[1]
    s = np.einsum('hqd,hkd->hqk', q, k) / math.sqrt(q.shape[2])
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


def attention(heads, depth, width, region, offsets, scale):
    zero = ' {zero_masked}' if region == 'boolean' else ''
    r = '!kernel.ref<f32>'
    return f'''attention @x axes({offsets["axes"]}, e = "{width}", k = "kn", d = "{depth}") {{
  %r = kernel.attention %in0["{offsets["q"]}"], %in1["{offsets["k"]}"], %in2["{offsets["v"]}"]
      query "{offsets["query"]}" key "k" depth "d" value "e"{zero} : ({r}, {r}, {r}) -> f32 {{
  ^bb0(%s: f32):
  %c = arith.constant {scale:.9e} : f32
  %t = arith.mulf %s, %c : f32
  {REGIONS[region]}
  }}
  kernel.store %r, %out0["{offsets["out"]}"] : f32, {r} }}'''


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
            kernel = Kernel(attention(heads, depth, width, region, offsets, 1 / math.sqrt(depth)),
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
            kernel = Kernel(attention(heads, depth, depth, 'keys', offsets, 1 / math.sqrt(depth)), ['f32'] * 4, ['f32'], variant)
            for queries, keys in ((1, 1), (1, 7), (1, 300)) if single else ((1, 130), (2, 20), (40, 77)):
                q, mask = normal(heads, queries, depth), normal(keys)
                k, v = normal(heads // group, keys, depth), normal(heads // group, keys, depth)
                want = reference(q, k.repeat(group, 0), v.repeat(group, 0), 'keys', mask)
                check(f'{variant} grouped {heads}/{group} {queries}x{keys}', kernel, q, k, v, mask,
                      [keys] if single else [keys, queries], want, None)


for v in variants():
    shapes_and_masks(v)
    grouped_queries(v)
print(f'{wrong} wrong')
