"""Loop and reduction kernels of many forms against numpy, for every instruction set of this machine."""
import sys
import numpy as np
from kernels import Kernel, variants

CASES = []
rng = np.random.default_rng(7)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def case(name, text, ins, outs, sizes, rtol=2e-5, atol=2e-6):
    """ins: arrays; outs: expected arrays (their types say the results'); sizes: {symbol: value}."""
    CASES.append((name, text, ins, outs, sizes, rtol, atol))


def static(text, **values):
    for k, v in values.items():
        text = text.replace(f'"{k}"', f'"{v}"').replace(f'{k}*', f'{v}*')
    return text


def ld(i, offset, t='f32', name=None):
    return f'%{name or "x" + str(i)} = kernel.load %in{i}["{offset}"] : !kernel.ref<{t}> -> {t}\n'


def st(v, i, offset, t='f32'):
    return f'kernel.store %{v}, %out{i}["{offset}"] : {t}, !kernel.ref<{t}>\n'


# Softmax over rows, of dynamic and static length.
SOFTMAX = ('reduction @softmax axes(n = "N", c = "C") {' + ld(0, 'C*n + c') + '''
%m = kernel.reduce max %x0 over ["c"] : f32
%d = arith.subf %x0, %m : f32
%e = math.exp %d : f32
%s = kernel.reduce add %e over ["c"] : f32
%y = arith.divf %e, %s : f32
''' + st('y', 0, 'C*n + c') + '}')


def softmax(x, axis):
    x = x.astype(np.float64)
    e = np.exp(x - x.max(axis, keepdims=True))
    return (e / e.sum(axis, keepdims=True)).astype(np.float32)


for C in (1, 7, 15, 16, 17, 64, 100, 1000, 4096):
    x = f32(5, C)
    case(f'softmax {C}', SOFTMAX, [x], [softmax(x, 1)], {'N': 5, 'C': C})
    case(f'softmax static {C}', static(SOFTMAX, C=C), [x], [softmax(x, 1)], {'N': 5})
# Sums with few columns that lie side by side: a transposed convolution to one channel, images whose channels go last.
for H, W, K in ((3, 5, 16), (7, 37, 16), (2, 64, 5)):
    x, w = f32(K, H, W), f32(K, 2, 2)
    z = np.einsum('khw,kij->hiwj', x.astype(np.float64), w).reshape(2 * H, 2 * W)
    text = 'reduction @spread axes(i = "2", j = "2", y = "H", x = "W", k = "K") {' + ld(0, 'H*W*k + W*y + x') + ld(1, '4*k + 2*i + j') + '''
%p = arith.mulf %x0, %x1 : f32
%s = kernel.reduce add %p over ["k"] : f32
%n = arith.negf %s : f32
%e = math.exp %n : f32
%one = arith.constant 1.0 : f32
%d = arith.addf %one, %e : f32
%y = arith.divf %one, %d : f32
''' + st('y', 0, '4*W*y + 2*W*i + 2*x + j') + '}'
    case(f'spread {H} {W} {K}', static(text, K=K), [x, w], [(1 / (1 + np.exp(-z))).astype(np.float32)], {'H': H, 'W': W})
    case(f'spread static {H} {W} {K}', static(text, H=H, W=W, K=K).replace('H*', f'{H}*').replace('W*', f'{W}*'), [x, w],
         [(1 / (1 + np.exp(-z))).astype(np.float32)], {})
for N, P, K in ((2, 40, 32), (3, 19, 7), (4, 101, 32), (5, 64, 9), (8, 33, 16)):
    x, w = f32(K, P), f32(N, K)
    text = static('reduction @last axes(n = "N", p = "P", k = "K") {' + ld(0, 'P*k + p') + ld(1, 'K*n + k') + '''
%m = arith.mulf %x0, %x1 : f32
%s = kernel.reduce add %m over ["k"] : f32
''' + st('s', 0, 'N*p + n') + '}', N=N, K=K)
    case(f'last {N} {P} {K}', text, [x, w], [(w.astype(np.float64) @ x).T.astype(np.float32)], {'P': P}, 1e-4, 1e-5)

# Images that are enlarged by 8, 4, 2 and 1 and put together: rows of a branch are read without asking which, and not in twos.
for H, W in ((1, 1), (2, 3), (1, 20)):
    images = [f32(3, 8 * H // d, 8 * W // d) for d in (8, 4, 2, 1)]
    text = 'loop @together axes(c = "12", y = "8*H", x = "8*W") {\n%c = kernel.index "c"\n'
    for n, d in enumerate((8, 4, 2, 1)):
        text += f'''%lo{n} = arith.constant {3 * n} : i64
%hi{n} = arith.constant {3 * n + 3} : i64
%ge{n} = arith.cmpi sge, %c, %lo{n} : i64
%lt{n} = arith.cmpi slt, %c, %hi{n} : i64
%in_{n} = arith.andi %ge{n}, %lt{n} : i1
%v{n} = kernel.load %in{n}["{64 // d // d}*H*W*(c - {3 * n}) + {8 // d}*W*floordiv(y, {d}) + floordiv(x, {d})"] if %in_{n} : !kernel.ref<f32> -> f32
'''
        text += f'%s{n} = arith.select %ge{n}, %v{n}, %s{n - 1} : f32\n' if n else ''
    text = text.replace('%s0,', '%v0,').replace('%s0 ', '%v0 ') + st('s3', 0, '64*H*W*c + 8*W*y + x') + '}'
    large = np.concatenate([im.repeat(d, 1).repeat(d, 2) for im, d in zip(images, (8, 4, 2, 1))])
    case(f'together {H} {W}', text, images, [large], {'H': H, 'W': W})
# Exponentials at the border of what has a number, below it, and of what is none.
edges = np.stack([np.linspace(0, -d, 40) for d in (87.3, 88.5, 104, 1000)] + [np.where(np.arange(40) % 3, 0, bad) for bad in (-np.inf, np.nan)]).astype(np.float32)
with np.errstate(invalid='ignore'):
    case('softmax edges', SOFTMAX, [edges], [softmax(edges, 1)], {'N': 6, 'C': 40}, 1e-5, 1.2e-38)
case('softmax 0 rows', SOFTMAX, [f32(0, 9)], [f32(0, 9)], {'N': 0, 'C': 9})
case('softmax 0 columns', SOFTMAX, [f32(3, 0)], [f32(3, 0)], {'N': 3, 'C': 0})

# Long sums across the rows run in blocks: a single running sum of these would be off by 1e-5 and more.
LONG = 'reduction @long axes(p = "P", q = "Q", c = "C") {' + ld(0, 'C*Q*p + C*q + c') + '''
%s = kernel.reduce add %x0 over ["p", "q"] : f32
''' + st('s', 0, 'c') + '}'
for P, Q in ((1, 100000), (100000, 1), (300, 333), (1, 127), (1, 129), (128, 128), (5000, 20), (0, 9), (9, 0)):
    for C in (3, 16, 40):
        x = f32(P, Q, C) + np.float32(1)
        want = x.astype(np.float64).sum((0, 1)).astype(np.float32)
        case(f'long sums {P} {Q} {C}', LONG, [x], [want], {'P': P, 'Q': Q, 'C': C}, 2.5e-6, 1e-5)
        case(f'long sums static {P} {Q} {C}', static(LONG, P=P, Q=Q, C=C), [x], [want], {}, 2.5e-6, 1e-5)

# Softmax over an axis that is not the last: lanes run across rows.
x = f32(3, 11, 50)
case('softmax middle', 'reduction @s axes(n = "N", c = "C", r = "R") {' + ld(0, 'C*R*n + C*r + c') + '''
%m = kernel.reduce max %x0 over ["r"] : f32
%d = arith.subf %x0, %m : f32
%e = math.exp %d : f32
%s = kernel.reduce add %e over ["r"] : f32
%y = arith.divf %e, %s : f32
''' + st('y', 0, 'C*R*n + C*r + c') + '}', [x], [softmax(x, 1)], {'N': 3, 'C': 50, 'R': 11})

# Residual and layer norm: two results.
LN = ('reduction @ln axes(n = "N", c = "C") {' + ld(0, 'C*n + c') + ld(1, 'C*n + c') + ld(2, 'c') + ld(3, 'c') + '''
%h = arith.addf %x0, %x1 : f32
%i = kernel.index "C"
%cf = arith.sitofp %i : i64 to f32
%s = kernel.reduce add %h over ["c"] : f32
%mu = arith.divf %s, %cf : f32
%d = arith.subf %h, %mu : f32
%q = arith.mulf %d, %d : f32
%v = kernel.reduce add %q over ["c"] : f32
%var = arith.divf %v, %cf : f32
%eps = arith.constant 1.0e-5 : f32
%ve = arith.addf %var, %eps : f32
%rs = math.rsqrt %ve : f32
%z = arith.mulf %d, %rs : f32
%zg = arith.mulf %z, %x2 : f32
%y = arith.addf %zg, %x3 : f32
''' + st('h', 0, 'C*n + c') + st('y', 1, 'C*n + c') + '}')


def layer_norm(h, g, b):
    d = h - h.mean(1, keepdims=True)
    return (d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * g + b).astype(np.float32)


for C in (3, 16, 768, 1000):
    x, r, g, b = f32(7, C), f32(7, C), f32(C), f32(C)
    h = x + r
    want = [h, layer_norm(h.astype(np.float64), g, b)]
    case(f'layer norm {C}', LN, [x, r, g, b], want, {'N': 7, 'C': C}, 1e-4, 1e-5)
    case(f'layer norm static {C}', static(LN, C=C), [x, r, g, b], want, {'N': 7}, 1e-4, 1e-5)

# Exclusive self attention: reductions over D at (n, h) and at (n, h, p), results at both depths.
XSA = ('reduction @xsa axes(n = "N", h = "H", p = "P", d = "D") {' + ld(0, 'D*H*P*n + D*P*h + D*p + d') +
       ld(1, 'D*H*n + D*h + d') + '''
%c0 = arith.mulf %x1, %x1 : f32
%nv = kernel.reduce add %c0 over ["d"] : f32
%sq = math.sqrt %nv : f32
%eps = arith.constant 1.0e-6 : f32
%mx = arith.maximumf %sq, %eps : f32
%vn = arith.divf %x1, %mx : f32
%c1 = arith.mulf %x0, %vn : f32
%ps = kernel.reduce add %c1 over ["d"] : f32
%c2 = arith.mulf %x0, %x0 : f32
%ny = kernel.reduce add %c2 over ["d"] : f32
%c3 = arith.mulf %ps, %vn : f32
%o0 = arith.subf %x0, %c3 : f32
%ab = math.absf %ps : f32
%sy = math.sqrt %ny : f32
%my = arith.maximumf %sy, %eps : f32
%o2 = arith.divf %ab, %my : f32
''' + st('o0', 0, 'D*H*P*n + D*P*h + D*p + d') + st('ab', 1, 'H*P*n + P*h + p') + st('o2', 2, 'H*P*n + P*h + p') + '}')
for D in (8, 64, 100, 128):
    y, v = f32(2, 3, 5, D), f32(2, 3, D)
    vn = v / np.maximum(np.sqrt((v * v).sum(-1, keepdims=True)), 1e-6)
    ps = (y * vn[:, :, None]).sum(-1)
    want = [y - ps[..., None] * vn[:, :, None], np.abs(ps), np.abs(ps) / np.maximum(np.sqrt((y * y).sum(-1)), 1e-6)]
    for s, text, sizes in (('', XSA, {'N': 2, 'H': 3, 'P': 5, 'D': D}), (' static', static(XSA, D=D), {'N': 2, 'H': 3, 'P': 5})):
        case(f'xsa{s} {D}', text, [y, v], [w.astype(np.float32) for w in want], sizes, 1e-4, 1e-5)

# Group norm: a reduction over two axes.
for S in (5, 49, 256):
    x, g, b = f32(2, 4, 3, S), f32(4, 3), f32(4, 3)
    mu = x.mean((2, 3), keepdims=True)
    sd = np.sqrt(x.var((2, 3), keepdims=True) + 1e-5)
    case(f'group norm {S}', 'reduction @gn axes(n = "N", g = "G", k = "K", s = "S") {' + ld(0, 'G*K*S*n + K*S*g + S*k + s') +
         ld(1, 'K*g + k') + ld(2, 'K*g + k') + '''
%i = kernel.index "K*S"
%cf = arith.sitofp %i : i64 to f32
%a = kernel.reduce add %x0 over ["k", "s"] : f32
%mu = arith.divf %a, %cf : f32
%d = arith.subf %x0, %mu : f32
%q = arith.mulf %d, %d : f32
%v = kernel.reduce add %q over ["k", "s"] : f32
%var = arith.divf %v, %cf : f32
%eps = arith.constant 1.0e-5 : f32
%ve = arith.addf %var, %eps : f32
%rs = math.rsqrt %ve : f32
%z = arith.mulf %d, %rs : f32
%zg = arith.mulf %z, %x1 : f32
%y = arith.addf %zg, %x2 : f32
''' + st('y', 0, 'G*K*S*n + K*S*g + S*k + s') + '}', [x, g, b],
         [((x - mu) / sd * g[None, :, :, None] + b[None, :, :, None]).astype(np.float32)], {'N': 2, 'G': 4, 'K': 3, 'S': S},
         1e-4, 1e-5)

# Column sums; a product of everything; a mean that everything needs.
x = f32(2, 37, 131)
case('column sums', 'reduction @cs axes(n = "N", c = "C", r = "R") {' + ld(0, 'C*R*n + C*r + c') +
     '%s = kernel.reduce add %x0 over ["r"] : f32\n' + st('s', 0, 'C*n + c') + '}', [x], [x.sum(1)],
     {'N': 2, 'C': 131, 'R': 37}, 1e-4, 1e-5)
x = f32(300)
case('sum of all', 'reduction @all axes(i = "N") {' + ld(0, 'i') + '%s = kernel.reduce add %x0 over ["i"] : f32\n' +
     st('s', 0, '0') + '}', [x], [x.sum(keepdims=True)], {'N': 300}, 1e-4, 1e-4)
case('sum of nothing', 'reduction @all axes(i = "N") {' + ld(0, 'i') + '%s = kernel.reduce max %x0 over ["i"] : f32\n' +
     st('s', 0, '0') + '}', [f32(0)], [np.array([-np.inf], np.float32)], {'N': 0})
x = f32(9, 40)
case('centre by the whole', 'reduction @c axes(n = "N", c = "C") {' + ld(0, 'C*n + c') +
     '%s = kernel.reduce add %x0 over ["n", "c"] : f32\n%y = arith.subf %x0, %s : f32\n' + st('y', 0, 'C*n + c') + '}',
     [x], [x - x.sum()], {'N': 9, 'C': 40}, 1e-4, 1e-4)
# A scalar reduction over an axis of its own, and rows that all need it.
x, w = f32(9, 40), f32(21)
case('scale by a norm', 'reduction @c axes(n = "N", c = "C", k = "K") {' + ld(0, 'C*n + c') + ld(1, 'k') +
     '%s = kernel.reduce add %x1 over ["k"] : f32\n%y = arith.mulf %x0, %s : f32\n' + st('y', 0, 'C*n + c') + '}',
     [x, w], [x * w.sum()], {'N': 9, 'C': 40, 'K': 21}, 1e-4, 1e-4)
# A reduction at the columns, needed at rows and columns.
x, w = f32(9, 40), f32(40, 21)
case('scale columns', 'reduction @c axes(n = "N", c = "C", k = "K") {' + ld(0, 'C*n + c') + ld(1, 'K*c + k') +
     '%s = kernel.reduce add %x1 over ["k"] : f32\n%y = arith.mulf %x0, %s : f32\n' + st('y', 0, 'C*n + c') + '}',
     [x, w], [x * w.sum(1)], {'N': 9, 'C': 40, 'K': 21}, 1e-4, 1e-4)
# Sums over rows of values normalised over columns: the reductions contradict one another's loop order.
x = f32(6, 20)
case('two directions', 'reduction @t axes(n = "N", c = "C") {' + ld(0, 'C*n + c') + '''
%r = kernel.reduce max %x0 over ["c"] : f32
%d = arith.subf %x0, %r : f32
%s = kernel.reduce add %d over ["n"] : f32
%y = arith.addf %d, %s : f32
''' + st('y', 0, 'C*n + c') + '}', [x], [(lambda d: d + d.sum(0))(x - x.max(1, keepdims=True))], {'N': 6, 'C': 20}, 1e-4, 1e-4)
x = f32(3, 50)
x[1, 20] = np.nan
for kind, ref in (('max', np.max), ('min', np.min)):
    case(f'{kind} with NaN', 'reduction @m axes(n = "N", c = "C") {' + ld(0, 'C*n + c') +
         f'%m = kernel.reduce {kind} %x0 over ["c"] : f32\n' + st('m', 0, 'n') + '}', [x], [ref(x, 1)], {'N': 3, 'C': 50})

# What may be repeated, is repeated or enlarged along the lanes: elements side by side, a single one, and neither, whole vectors and rests.
for t, kind in (('f32', np.float32), ('f64', np.float64), ('i8', np.int8)):
    for N in (1, 7, 16, 45, 100):
        for n in {1, min(5, N), N}:
            x, i = rng.integers(-99, 99, (3, n)).astype(kind), np.arange(N)
            for name, offset, at in (('min', 'min(i, n - 1)', np.minimum(i, n - 1)), ('mod', 'mod(i, n)', i % n),
                                     ('max', 'min(max(i - 2, 0), n - 1)', np.clip(i - 2, 0, n - 1)), ('of a sum', 'mod(i + 2, n)', (i + 2) % n),
                                     ('both', 'min(floordiv(i, 3), n - 1)', np.minimum(i // 3, n - 1))):
                case(f'{name} {t} {n} of {N}', 'loop @t axes(r = "3", i = "N") {' + ld(0, 'n*r + ' + offset, t) + st('x0', 0, 'N*r + i', t) + '}',
                     [x], [x[:, at]], {'N': N, 'n': n})
            # Under a predicate of the lanes: one element, and elements of a period.
            text = ('loop @t axes(r = "3", i = "N") {\n%i = kernel.index "i"\n%k = kernel.index "n - 1"\n%p = arith.cmpi sgt, %i, %k : i64\n'
                    f'%q = arith.cmpi sle, %i, %k : i64\n%a = kernel.load %in0["n*r"] if %p : !kernel.ref<{t}> -> {t}\n'
                    f'%b = kernel.load %in0["n*r + mod(i, n)"] if %q : !kernel.ref<{t}> -> {t}\n%c = arith.select %p, %a, %b : {t}\n' +
                    st('c', 0, 'N*r + i', t) + '}')
            case(f'under a predicate {t} {n} of {N}', text, [x], [np.where(i >= n, x[:, :1], x[:, np.minimum(i, n - 1)])], {'N': N, 'n': n})
# Reductions of everything: two that do not wait for one another, and one that waits for both.
x = f32(37, 45)
low, high = x.min(), x.max()
case('least, greatest and what is above their middle', 'reduction @t axes(i = "M", j = "N") {' + ld(0, 'N*i + j') +
     '%l = kernel.reduce min %x0 over ["i", "j"] : f32\n%h = kernel.reduce max %x0 over ["i", "j"] : f32\n%m = arith.addf %l, %h : f32\n'
     '%d = arith.subf %x0, %m : f32\n%s = kernel.reduce add %d over ["i", "j"] : f32\n' + st('l', 0, '0') + st('h', 1, '0') + st('s', 2, '0') + '}',
     [x], [np.array(v, np.float32) for v in (low, high, (x.astype(np.float64) - low - high).sum())], {'M': 37, 'N': 45})
# Transposes, reversal, a stride, a broadcast.
x = f32(37, 53)
case('transpose', 'loop @t axes(i = "M", j = "N") {' + ld(0, 'M*j + i') + st('x0', 0, 'N*i + j') + '}', [x.T.copy()], [x],
     {'M': 37, 'N': 53})
x = f32(2, 3, 4, 35)
case('permute', 'loop @t axes(a = "2", b = "B", c = "C", d = "D") {' + ld(0, 'B*C*D*a + C*D*b + D*c + d') +
     st('x0', 0, 'B*D*(C*a + c) + D*b + d') + '}', [x], [x.transpose(0, 2, 1, 3).copy()], {'B': 3, 'C': 4, 'D': 35})
x = f32(100)
case('reverse', 'loop @r axes(i = "N") {' + ld(0, 'N - 1 - i') + st('x0', 0, 'i') + '}', [x], [x[::-1].copy()], {'N': 100})
case('stride', 'loop @r axes(i = "N") {' + ld(0, '3*i + 1') + st('x0', 0, 'i') + '}', [x], [x[1::3].copy()], {'N': 33})
case('floordiv', 'loop @r axes(i = "N") {' + ld(0, 'floordiv(i, 3) + mod(i, 3)') + st('x0', 0, 'i') + '}', [x],
     [x[np.arange(100) // 3 + np.arange(100) % 3]], {'N': 100})
case('negative floordiv', 'loop @r axes(i = "N") { %a = kernel.index "floordiv(i - 50, K) + 7*mod(i - 50, K) + floordiv(i - 50, 4)"\n' +
     st('a', 0, 'i', 'i64') + '}', [],
     [np.array([(i - 50) // 3 + 7 * ((i - 50) % 3) + (i - 50) // 4 for i in range(100)])], {'N': 100, 'K': 3})
# 5 - K is 2: in normal form the divisor is K - 5, below 0.
case('floordiv by a difference', 'loop @r axes(i = "N") { %a = kernel.index "floordiv(i - 50, 5 - K) + 100*mod(i, 5 - K)"\n' +
     st('a', 0, 'i', 'i64') + '}', [], [np.array([(i - 50) // 2 + 100 * (i % 2) for i in range(100)])], {'N': 100, 'K': 3})
case('broadcast', 'loop @b axes(i = "M", j = "N") {' + ld(0, 'i') + ld(1, 'j') + '%y = arith.addf %x0, %x1 : f32\n' +
     st('y', 0, 'N*i + j') + '}', [x[:9], x[:41]], [x[:9, None] + x[None, :41]], {'M': 9, 'N': 41})
case('fill', 'loop @f axes(i = "N") { %c = arith.constant 2.5 : f32\n' + st('c', 0, 'i') + '}', [], [np.full(77, 2.5, np.float32)],
     {'N': 77})
case('scalar', 'loop @f axes() {' + ld(0, '0') + '%y = arith.addf %x0, %x0 : f32\n' + st('y', 0, '0') + '}', [x[:1]], [x[:1] * 2], {})
x = f32(10000)
case('long', 'loop @l axes(i = "N") {' + ld(0, 'i') + '%y = math.tanh %x0 : f32\n' + st('y', 0, 'i') + '}', [x],
     [np.tanh(x)], {'N': 10000})

# Embedding: rows chosen by an index; indices per element.
table, ids = f32(50, 40), rng.integers(0, 50, 13)
case('embedding', 'loop @e axes(n = "N", d = "D") {' + ld(1, 'n', 'i64') +
     '%v = kernel.load %in0["D*$0 + d"] indirect(%x1) : !kernel.ref<f32> -> f32\n' + st('v', 0, 'D*n + d') + '}',
     [table, ids], [table[ids]], {'N': 13, 'D': 40})
x, ids = f32(99), rng.integers(0, 99, 45)
case('gather elements', 'loop @e axes(n = "N") {' + ld(1, 'n', 'i64') +
     '%v = kernel.load %in0["$0"] indirect(%x1) : !kernel.ref<f32> -> f32\n' + st('v', 0, 'n') + '}', [x, ids], [x[ids]],
     {'N': 45})
perm = rng.permutation(45)
case('scatter elements', 'loop @e axes(n = "N") {' + ld(1, 'n', 'i64') + ld(0, 'n') +
     'kernel.store %x0, %out0["$0"] indirect(%x1) : f32, !kernel.ref<f32>\n}', [x[:45], perm], [x[:45][np.argsort(perm)]],
     {'N': 45})

# Concatenation and padding by predicates, across and along the lanes.
a, b = f32(3, 20), f32(5, 20)
CONCAT = '''loop @c axes(n = "A + B", d = "D") {
%i = kernel.index "n"
%na = kernel.index "A"
%first = arith.cmpi slt, %i, %na : i64
%second = arith.cmpi sge, %i, %na : i64
%z = arith.constant 0.0 : f32
%x = kernel.load %in0["D*n + d"] if %first else %z : !kernel.ref<f32> else f32 -> f32
%y = kernel.load %in1["D*n - D*A + d"] if %second else %z : !kernel.ref<f32> else f32 -> f32
%v = arith.select %first, %x, %y : f32
kernel.store %v, %out0["D*n + d"] : f32, !kernel.ref<f32> }'''
case('concat rows', CONCAT, [a, b], [np.concatenate([a, b])], {'A': 3, 'B': 5, 'D': 20})
a, b = f32(4, 13), f32(4, 22)
case('concat columns', '''loop @c axes(n = "N", d = "A + B") {
%i = kernel.index "d"
%na = kernel.index "A"
%first = arith.cmpi slt, %i, %na : i64
%second = arith.cmpi sge, %i, %na : i64
%z = arith.constant 0.0 : f32
%x = kernel.load %in0["A*n + d"] if %first else %z : !kernel.ref<f32> else f32 -> f32
%y = kernel.load %in1["B*n + d - A"] if %second else %z : !kernel.ref<f32> else f32 -> f32
%v = arith.select %first, %x, %y : f32
kernel.store %v, %out0["A*n + B*n + d"] : f32, !kernel.ref<f32> }''', [a, b], [np.concatenate([a, b], 1)],
     {'A': 13, 'B': 22, 'N': 4})
case('store parts', '''loop @c axes(n = "N", d = "A", e = "B") {''' + ld(0, 'A*n + d') + ld(1, 'B*n + e') +
     st('x0', 0, 'A*n + B*n + d') + st('x1', 0, 'A*n + B*n + e + A') + '}', [a, b], [np.concatenate([a, b], 1)],
     {'A': 13, 'B': 22, 'N': 4})
x = f32(30)
case('store if', '''loop @c axes(n = "N") {''' + ld(0, 'n') + '''%z = arith.constant 0.0 : f32
%p = arith.cmpf ogt, %x0, %z : f32
%q = arith.cmpf ole, %x0, %z : f32
kernel.store %x0, %out0["n"] if %p : f32, !kernel.ref<f32>
kernel.store %z, %out0["n"] if %q : f32, !kernel.ref<f32> }''', [x], [np.maximum(x, 0)], {'N': 30})

# Convolutions: filters, padding by predicates, several output channels at once.
def conv(x, w, stride, pad, groups=1):
    n, c, hh, ww = x.shape
    o, ci, kh, kw = w.shape
    xp = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    oh, ow = (hh + 2 * pad - kh) // stride + 1, (ww + 2 * pad - kw) // stride + 1
    y = np.zeros((n, o, oh, ow))
    for oc in range(o):
        g = oc // (o // groups)
        for i in range(kh):
            for j in range(kw):
                part = xp[:, g * ci:(g + 1) * ci, i:i + stride * oh:stride, j:j + stride * ow:stride]
                y[:, oc] += np.einsum('nchw,c->nhw', part, w[oc, :, i, j])
    return np.maximum(y, 0).astype(np.float32)


for ci, co, size, k, stride, depthwise in ((5, 16, 20, 3, 1, False), (6, 12, 33, 3, 2, False), (3, 7, 9, 1, 1, False),
                                           (16, 16, 28, 5, 1, True), (4, 8, 7, 3, 1, False), (8, 24, 14, 1, 1, False)):
    pad, out = k // 2, (size + 2 * (k // 2) - k) // stride + 1
    x, w = f32(2, ci, size, size), f32(co, 1 if depthwise else ci, k, k)
    channel = 'o' if depthwise else 'c'
    text = f'''reduction @conv axes(n = "N", o = "{co}", h = "{out}", w = "{out}"{'' if depthwise else f', c = "{ci}"'}, i = "{k}", j = "{k}") {{
%h = kernel.index "{stride}*h + i - {pad}"
%w = kernel.index "{stride}*w + j - {pad}"
%z = arith.constant 0 : i64
%size = arith.constant {size} : i64
%p0 = arith.cmpi sge, %h, %z : i64
%p1 = arith.cmpi slt, %h, %size : i64
%p2 = arith.cmpi sge, %w, %z : i64
%p3 = arith.cmpi slt, %w, %size : i64
%p4 = arith.andi %p0, %p1 : i1
%p5 = arith.andi %p2, %p3 : i1
%p = arith.andi %p4, %p5 : i1
%f = arith.constant 0.0 : f32
%x = kernel.load %in0["{ci * size * size}*n + {size * size}*{channel} + {size}*({stride}*h + i - {pad}) + {stride}*w + j - {pad}"] if %p else %f : !kernel.ref<f32> else f32 -> f32
%k = kernel.load %in1["{k * k * w.shape[1]}*o + {'' if depthwise else f'{k * k}*c + '}{k}*i + j"] : !kernel.ref<f32> -> f32
%m = arith.mulf %x, %k : f32
%s = kernel.reduce add %m over [{'' if depthwise else '"c", '}"i", "j"] : f32
%y = arith.maximumf %s, %f : f32
kernel.store %y, %out0["{co * out * out}*n + {out * out}*o + {out}*h + w"] : f32, !kernel.ref<f32> }}'''
    case(f'conv {ci} {co} {size} {k}/{stride}{" depthwise" if depthwise else ""}', text, [x, w],
         [conv(x, w, stride, pad, ci if depthwise else 1)], {'N': 2}, 1e-4, 1e-4)

# Integers and booleans.
i, j = rng.integers(-9, 9, 70), rng.integers(-9, 9, 70)
j[:5] = 0
safe = np.where(j == 0, 1, j)
for t, d in (('i64', np.int64), ('i32', np.int32), ('i16', np.int16), ('i8', np.int8)):
    p, q = i.astype(d), j.astype(d)
    head = 'loop @i axes(n = "N") {' + ld(0, 'n', t) + ld(1, 'n', t)
    case(f'divide {t}', head + f'%y = arith.divsi %x0, %x1 : {t}\n' + st('y', 0, 'n', t) + '}', [p, q],
         [np.where(j == 0, 0, np.trunc(i / safe)).astype(d)], {'N': 70})
    case(f'floordiv {t}', head + f'%y = arith.floordivsi %x0, %x1 : {t}\n' + st('y', 0, 'n', t) + '}', [p, q],
         [np.where(j == 0, 0, i // safe).astype(d)], {'N': 70})
    case(f'sum {t}', 'reduction @i axes(n = "N") {' + ld(0, 'n', t) + f'%s = kernel.reduce add %x0 over ["n"] : {t}\n' +
         st('s', 0, '0', t) + '}', [p], [p.sum(keepdims=True, dtype=d)], {'N': 70})
    case(f'max {t}', 'reduction @i axes(n = "N") {' + ld(0, 'n', t) + f'%s = kernel.reduce max %x0 over ["n"] : {t}\n' +
         st('s', 0, '0', t) + '}', [p], [p.max(keepdims=True)], {'N': 70})
    case(f'compare {t}', head + f'%y = arith.cmpi slt, %x0, %x1 : {t}\n' + st('y', 0, 'n', 'i1') + '}', [p, q], [p < q], {'N': 70})
    case(f'to float {t}', 'loop @i axes(n = "N") {' + ld(0, 'n', t) + f'%y = arith.sitofp %x0 : {t} to f32\n' + st('y', 0, 'n') + '}',
         [p], [p.astype(np.float32)], {'N': 70})
u, v = rng.random((4, 37)) < 0.9, rng.random((4, 37)) < 0.5
case('logic', 'loop @b axes(n = "N") {' + ld(0, 'n', 'i1') + ld(1, 'n', 'i1') + '%y = arith.xori %x0, %x1 : i1\n' +
     st('y', 0, 'n', 'i1') + '}', [u, v], [u ^ v], {'N': u.size})
case('all', 'reduction @b axes(n = "N", c = "C") {' + ld(0, 'C*n + c', 'i1') + '%y = kernel.reduce and %x0 over ["c"] : i1\n' +
     st('y', 0, 'n', 'i1') + '}', [u], [u.all(1)], {'N': 4, 'C': 37})
case('any down', 'reduction @b axes(c = "C", n = "N") {' + ld(0, 'C*n + c', 'i1') + '%y = kernel.reduce or %x0 over ["n"] : i1\n' +
     st('y', 0, 'c', 'i1') + '}', [v], [v.any(0)], {'N': 4, 'C': 37})
x, y = f32(4, 37), f32(4, 37)
case('where', 'loop @b axes(n = "N") {' + ld(0, 'n', 'i1') + ld(1, 'n') + ld(2, 'n') +
     '%y = arith.select %x0, %x1, %x2 : f32\n' + st('y', 0, 'n') + '}', [u, x, y], [np.where(u, x, y)], {'N': u.size})
x = f32(6, 45)
case('argmax', 'reduction @a axes(n = "N", c = "C") {' + ld(0, 'C*n + c') + '''
%m = kernel.reduce max %x0 over ["c"] : f32
%i = kernel.index "c"
%big = arith.constant 9223372036854775807 : i64
%is = arith.cmpf oeq, %x0, %m : f32
%k = arith.select %is, %i, %big : i64
%r = kernel.reduce min %k over ["c"] : i64
''' + st('r', 0, 'n', 'i64') + '}', [x], [x.argmax(1)], {'N': 6, 'C': 45})

# Half types, doubles.
x = np.concatenate([f32(300) * 100, f32(200) * 1e-6, np.array([0, -0.0, np.inf, -np.inf, 70000, 65504, 65519.9, 6e-8, 2.9e-8], np.float32)])
case('to f16', 'loop @h axes(n = "N") {' + ld(0, 'n') + '%y = arith.truncf %x0 : f32 to f16\n' + st('y', 0, 'n', 'f16') + '}', [x],
     [x.astype(np.float16)], {'N': x.size}, 0, 0)
h = np.arange(65536, dtype=np.uint16).view(np.float16)
h = h[~np.isnan(h)]
case('from f16', 'loop @h axes(n = "N") {' + ld(0, 'n', 'f16') + '%y = arith.extf %x0 : f16 to f32\n' + st('y', 0, 'n') + '}', [h],
     [h.astype(np.float32)], {'N': h.size}, 0, 0)


def to_bf16(a):
    b = a.astype(np.float32).view(np.uint32).astype(np.uint64)
    return ((b + 0x7FFF + ((b >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(a):
    return (a.astype(np.uint32) << 16).view(np.float32)


p, q = to_bf16(f32(99)), to_bf16(f32(99))
case('add bf16', 'loop @h axes(n = "N") {' + ld(0, 'n', 'bf16') + ld(1, 'n', 'bf16') + '%y = arith.addf %x0, %x1 : bf16\n' +
     st('y', 0, 'n', 'bf16') + '}', [p, q], [to_bf16(from_bf16(p) + from_bf16(q))], {'N': 99})
case('choose bf16', 'loop @h axes(n = "N") {' + ld(0, 'n', 'bf16') + '''%c = arith.constant 1.0 : bf16
%p = arith.cmpf ogt, %x0, %c : bf16
%y = arith.select %p, %x0, %c : bf16
''' + st('y', 0, 'n', 'bf16') + '}', [p], [np.where(from_bf16(p) > 1, p, np.uint16(0x3F80))], {'N': 99})
case('max bf16', 'reduction @h axes(n = "9", c = "C") {' + ld(0, 'C*n + c', 'bf16') +
     '%y = kernel.reduce max %x0 over ["c"] : bf16\n' + st('y', 0, 'n', 'bf16') + '}', [p], [to_bf16(from_bf16(p).reshape(9, 11).max(1))],
     {'C': 11})
h = f32(4, 25).astype(np.float16)
case('pad f16', 'loop @h axes(n = "4", c = "C + 3") {' + '''%c = kernel.index "c"
%k = kernel.index "C"
%p = arith.cmpi slt, %c, %k : i64
%z = arith.constant -1.0 : f16
%y = kernel.load %in0["C*n + c"] if %p else %z : !kernel.ref<f16> else f16 -> f16
''' + st('y', 0, 'C*n + 3*n + c', 'f16') + '}', [h], [np.pad(h, ((0, 0), (0, 3)), constant_values=-1)], {'C': 25})
x = rng.standard_normal((5, 77))
case('f64 rows', 'reduction @d axes(n = "N", c = "C") {' + ld(0, 'C*n + c', 'f64') + '''%e = math.exp %x0 : f64
%s = kernel.reduce add %e over ["c"] : f64
%y = arith.divf %e, %s : f64
''' + st('y', 0, 'C*n + c', 'f64') + '}', [x], [np.exp(x) / np.exp(x).sum(1, keepdims=True)], {'N': 5, 'C': 77}, 1e-14, 0)

# What the emitters of contractions and attention decline: integers, odd strides.
p, q = rng.integers(-9, 9, (7, 11)).astype(np.int32), rng.integers(-9, 9, (11, 19)).astype(np.int32)
case('integer matmul', '''contraction @c axes(m = "M", n = "N", k = "K") {
%y = kernel.contract %in0["K*m + k"], %in1["N*k + n"] over ["k"] : (!kernel.ref<i32>, !kernel.ref<i32>) -> i32
kernel.store %y, %out0["N*m + n"] : i32, !kernel.ref<i32> }''', [p, q], [p @ q], {'M': 7, 'N': 19, 'K': 11})
q, k, v = (rng.standard_normal((2, n, 6)) for n in (5, 9, 9))
s = q @ k.transpose(0, 2, 1) * 0.5
e = np.exp(s - s.max(-1, keepdims=True))
case('f64 attention', '''attention @a axes(h = "H", q = "Q", e = "6", k = "K", d = "6") {
%y = kernel.attention %in0["6*Q*h + 6*q + d"], %in1["6*K*h + 6*k + d"], %in2["6*K*h + 6*k + e"]
  query "q" key "k" depth "d" value "e" : (!kernel.ref<f64>, !kernel.ref<f64>, !kernel.ref<f64>) -> f64 {
^bb0(%s: f64):
  %c = arith.constant 0.5 : f64
  %t = arith.mulf %s, %c : f64
  kernel.yield %t : f64
}
kernel.store %y, %out0["6*Q*h + 6*q + e"] : f64, !kernel.ref<f64> }''', [q, k, v], [(e / e.sum(-1, keepdims=True)) @ v],
     {'H': 2, 'Q': 5, 'K': 9}, 1e-12, 1e-12)

NAMES = {np.dtype(np.float32): 'f32', np.dtype(np.float64): 'f64', np.dtype(np.float16): 'f16', np.dtype(np.int64): 'i64',
         np.dtype(np.int32): 'i32', np.dtype(np.int16): 'i16', np.dtype(np.int8): 'i8', np.dtype(np.bool_): 'i1',
         np.dtype(np.uint16): 'bf16'}


# A window whose border is the same in all lanes, which run over channels and are fewer than a vector.
for channels, lanes in ((2, 7), (1, 16), (3, 33)):
    x, w, bias = f32(20), f32(channels, 3), f32(lanes, channels)
    padded = np.pad(x, 1)
    sums = np.array([[(padded[p:p + 3] * w[k]).sum() for k in range(channels)] for p in range(20)])
    case(f'uniform border {channels} {lanes}', f'''reduction @border axes(k = "{channels}", p = "20", l = "{lanes}", r = "3") {{
%zero = arith.constant 0 : i64
%size = arith.constant 20 : i64
%place = kernel.index "p + r - 1"
%low = arith.cmpi sge, %place, %zero : i64
%high = arith.cmpi slt, %place, %size : i64
%inside = arith.andi %low, %high : i1
%none = arith.constant 0.0 : f32
%x = kernel.load %in0["p + r - 1"] if %inside else %none : !kernel.ref<f32> else f32 -> f32
''' + ld(1, '3*k + r', name='w') + ld(2, f'k + {channels}*l', name='b') + '''%t = arith.mulf %x, %w : f32
%s = kernel.reduce add %t over ["r"] : f32
%y = arith.addf %s, %b : f32
''' + st('y', 0, f'k + {channels * lanes}*p + {channels}*l') + '}', [x, w, bias], [(sums[:, None] + bias).astype(np.float32)], {})


# Operands along another axis than the results: tiles of whole vectors, and what they leave over on either side.
KINDS = {'f32': np.float32, 'f64': np.float64, 'f16': np.float16, 'i64': np.int64, 'i8': np.int8, 'i1': np.bool_, 'i16': np.int16}


def any_of(kind, *shape):
    if kind == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    return f32(*shape).astype(kind) if np.issubdtype(kind, np.floating) else rng.integers(-99, 99, shape).astype(kind)


for t, kind in KINDS.items():
    for M, N in ((64, 32), (67, 35), (3, 70), (70, 3), (17, 2100), (1, 9), (5, 0), (131, 512), (300, 1100), (13, 40), (40, 13), (5, 600), (600, 9), (2, 300), (2, 3)):
        x = any_of(kind, N, M)
        case(f'permutation {t} {M}x{N}', 'loop @t axes(i = "M", j = "N") {' + ld(0, 'M*j + i', t) + st('x0', 0, 'N*i + j', t) + '}',
             [x], [x.T.copy()], {'M': M, 'N': N})
for M, N in ((48, 80), (33, 50)):
    x, y, r, c = f32(3, N, M), f32(3, M, N), f32(M), f32(N)
    text = ('loop @t axes(b = "3", i = "M", j = "N") {' + ld(0, 'M*N*b + M*j + i') + ld(1, 'M*N*b + N*i + j') + ld(2, 'i') + ld(3, 'j') +
            '%s = arith.mulf %x0, %x2 : f32\n%q = arith.addf %s, %x1 : f32\n%z = arith.addf %q, %x3 : f32\n' + st('z', 0, 'M*N*b + N*i + j') + '}')
    want = x.transpose(0, 2, 1) * r[:, None] + y + c
    case(f'permutation with others {M}x{N}', text, [x, y, r, c], [want], {'M': M, 'N': N})
    case(f'permutation with others, static {M}x{N}', static(text, M=M, N=N), [x, y, r, c], [want], {})
# Under a predicate that varies along both axes, with a fill: the transpose of a padded matrix.
x = f32(40, 30)
case('permutation of padding', '''loop @p axes(i = "M", j = "N") {
%a = kernel.index "i - 2"
%zero = arith.constant 0 : i64
%m = kernel.index "M - 4"
%n = kernel.index "N - 1"
%j = kernel.index "j"
%p = arith.cmpi sge, %a, %zero : i64
%q = arith.cmpi slt, %a, %m : i64
%r = arith.cmpi slt, %j, %n : i64
%pq = arith.andi %p, %q : i1
%inside = arith.andi %pq, %r : i1
%f = arith.constant 7.0 : f32
%x0 = kernel.load %in0["M*j - 4*j + i - 2"] if %inside else %f : !kernel.ref<f32> else f32 -> f32
''' + st('x0', 0, 'N*i + j') + '}', [x], [np.pad(x, ((0, 1), (2, 2)), constant_values=7).T.copy()], {'M': 34, 'N': 41})

# Windows over rows with padding: ends, an interior of whole vectors, and one that overlaps.
MAXIMUM = ('loop @max axes(n = "R", o = "O") {\n' + '%zero = arith.constant 0 : i64\n%w = kernel.index "W"\n%f = arith.constant -9.0 : f32\n' +
           ''.join(f'''%at{k} = kernel.index "S*o + {k} - 2"
%p{k} = arith.cmpi sge, %at{k}, %zero : i64
%q{k} = arith.cmpi slt, %at{k}, %w : i64
%i{k} = arith.andi %p{k}, %q{k} : i1
%x{k} = kernel.load %in0["W*n + S*o + {k} - 2"] if %i{k} else %f : !kernel.ref<T> else T -> T
''' for k in range(4)) + '%m0 = arith.maximumf %x0, %x1 : f32\n%m1 = arith.maximumf %m0, %x2 : f32\n%m = arith.maximumf %m1, %x3 : f32\n' +
           st('m', 0, 'O*n + o') + '}').replace('<T>', '<f32>').replace('else T -> T', 'else f32 -> f32')


def windows(x, stride, out):
    padded = np.pad(x, ((0, 0), (2, stride * out + 4)), constant_values=-9)
    return np.stack([padded[:, o * stride:o * stride + 4].max(1) for o in range(out)], 1)


for stride in (1, 2, 3, 4, 5):
    for W in (1, 5, 13, 31, 64, 150, 333):
        out = W // stride + 1
        x = f32(3, W)
        text = MAXIMUM.replace('S*o', f'{stride}*o')
        case(f'windows {W} by {stride}', text, [x], [windows(x, stride, out)], {'R': 3, 'W': W, 'O': out})
        case(f'windows static {W} by {stride}', static(text, W=W, O=out), [x], [windows(x, stride, out)], {'R': 3})
# A stride without padding, in every width of an element.
for t, kind in KINDS.items():
    for stride in (2, 3, 4):
        for N in (1, 15, 16, 40, 100):
            x = any_of(kind, stride * N)
            other = any_of(kind, N)
            case(f'stride {stride} {t} {N}', 'loop @s axes(i = "N") {' + ld(0, f'{stride}*i', t) + ld(1, 'i', t) + '%c = arith.constant true\n' +
                 f'%y = arith.select %c, %x0, %x1 : {t}\n' + st('y', 0, 'i', t) + '}', [x, other], [x[::stride].copy()], {'N': N})

# Results of which a short axis is the innermost one: lanes along the next axis, interleaved.
for t, kind in KINDS.items():
    for places in (2, 3, 4, 5, 6, 7, 8) if t == 'f32' else (2, 3):
        for N in (1, 15, 16, 17, 40, 4100):
            x, each = any_of(kind, 3, N), any_of(kind, places, 3, N)
            chosen = f32(places) > 0
            text = ('loop @i axes(r = "3", i = "N", j = "J") {' + ld(0, 'N*r + i', t) + ld(1, '3*N*j + N*r + i', t) + ld(2, 'j', 'i1') +
                    f'%y = arith.select %x2, %x1, %x0 : {t}\n' + st('y', 0, 'N*J*r + J*i + j', t) + '}').replace('J', str(places))
            case(f'interleaved {t} {N}x{places}', text, [x, each, chosen], [np.where(chosen, each.transpose(1, 2, 0), x[:, :, None])], {'N': N})
# Of sums, whose images have an end; and of elements that lie apart themselves.
for N in (7, 16, 61):
    x, w = f32(4, N), f32(4, 3, 2)
    padded = np.pad(x, ((0, 0), (0, 1)))
    want = sum(padded[:, k:k + N, None] * w[:, None, :, k] for k in range(2))
    case(f'interleaved sums {N}', """reduction @t axes(c = "4", i = "N", j = "3", k = "2") {
%at = kernel.index "i + k"
%n = kernel.index "N"
%in = arith.cmpi slt, %at, %n : i64
%z = arith.constant 0.0 : f32
%x0 = kernel.load %in0["N*c + i + k"] if %in else %z : !kernel.ref<f32> else f32 -> f32
""" + ld(1, '6*c + 2*j + k') + '%p = arith.mulf %x0, %x1 : f32\n%s = kernel.reduce add %p over ["k"] : f32\n' +
         st('s', 0, '3*N*c + 3*i + j') + '}', [x, w], [want], {'N': N}, 2e-5, 2e-5)
    x, w = f32(N, 3), f32(3)
    case(f'interleaved elements {N}', 'loop @t axes(i = "N", j = "3") {' + ld(0, '3*i + j') + ld(1, 'j') + '%y = arith.mulf %x0, %x1 : f32\n' +
         st('y', 0, '3*i + j') + '}', [x, w], [x * w], {'N': N})


def types(arrays):
    return [NAMES[a.dtype] for a in arrays]

# Bytes where there are no masks for them: a row is cut where it goes over to another operand or to the border, and each stretch is whole
# vectors of which the last overlaps the one before, narrower ones, or single elements.
JOINED = 'loop @joined axes(n = "6", c = "{W}") {{' + """
%i = kernel.index "c"
%p = arith.constant {P} : i64
%first = arith.cmpi slt, %i, %p : i64
%a = kernel.load %in0["{P}*n + c"] if %first : !kernel.ref<i8> -> i8
%second = arith.cmpi sge, %i, %p : i64
%b = kernel.load %in1["{Q}*n + c - {P}"] if %second : !kernel.ref<i8> -> i8
%y = arith.select %second, %b, %a : i8
""" + st('y', 0, '{W}*n + c', 'i8') + '}}'
BORDERED = 'loop @bordered axes(n = "3", c = "{W}") {{' + """
%i = kernel.index "c - 3"
%zero = arith.constant 0 : i64
%low = arith.cmpi sge, %i, %zero : i64
%c = arith.constant {C} : i64
%high = arith.cmpi slt, %i, %c : i64
%in = arith.andi %low, %high : i1
%a = kernel.load %in0["{C}*n + c - 3"] if %in : !kernel.ref<i8> -> i8
%fill = arith.constant 7 : i8
%y = arith.select %in, %a, %fill : i8
""" + st('y', 0, '{W}*n + c', 'i8') + '}}'


def i8(*shape):
    return rng.integers(-99, 99, shape).astype(np.int8)


# Quotients of integers as vectors are those of floats with more digits: next to whole numbers, and at both ends of the range.
for t, kind in (('i32', np.int32), ('i16', np.int16), ('i8', np.int8)):
    most = np.iinfo(kind).max
    x, y = (a.ravel() for a in np.meshgrid(np.array([-most - 1, 1 - most, -7, -1, 0, 1, 6, most // 3 * 3 - 1, most - 1, most], kind),
                                           np.array([-most - 1, -most, -3, 1, 2, 3, 7, most // 2, most - 1, most], kind)))
    q = np.sign(x.astype(int)) * np.sign(y.astype(int)) * (np.abs(x.astype(int)) // np.abs(y.astype(int)))
    case(f'quotients {t}', 'loop @q axes(n = "N") {' + ld(0, 'n', t) + ld(1, 'n', t) + f'%q = arith.divsi %x0, %x1 : {t}\n%r = arith.remsi %x0, %x1 : {t}\n' +
         st('q', 0, 'n', t) + st('r', 1, 'n', t) + '}', [x, y], [q.astype(kind), (x.astype(int) - q * y.astype(int)).astype(kind)], {'N': x.size}, 0, 0)

for P, Q in ((1, 1), (3, 40), (33, 55), (64, 5), (200, 31)):
    a, b = i8(6, P), i8(6, Q)
    case(f'joined bytes {P} {Q}', JOINED.format(P=P, Q=Q, W=P + Q), [a, b], [np.concatenate([a, b], 1)], {})
for C in (1, 5, 8, 31, 32, 33, 100, 5000):
    a = i8(3, C)
    case(f'bordered bytes {C}', BORDERED.format(C=C, W=C + 7), [a], [np.pad(a, ((0, 0), (3, 4)), constant_values=7)], {})

# Results in the operands' layout and turned: one value in both, two of which one is computed from the other, operands of which one is the same for rows.
for t in ('f32', 'f16', 'f64', 'i8'):
    for M, N in ((64, 32), (67, 35), (3, 70), (12, 40), (1, 9), (5, 0), (300, 21)):
        x = any_of(KINDS[t], M, N)
        case(f'both ways {t} {M}x{N}', 'loop @t axes(i = "M", j = "N") {' + ld(0, 'N*i + j', t) + st('x0', 0, 'N*i + j', t) + st('x0', 1, 'M*j + i', t) + '}',
             [x], [x.copy(), x.T.copy()], {'M': M, 'N': N})
for M, N in ((48, 80), (33, 50), (12, 7)):
    x, r, c = f32(3, M, N), f32(M), f32(N)
    head = 'loop @t axes(b = "3", i = "M", j = "N") {' + ld(0, 'M*N*b + N*i + j') + ld(1, 'i') + ld(2, 'j') + '%s = arith.mulf %x0, %x1 : f32\n%z = arith.addf %s, %x2 : f32\n'
    text = head + st('z', 0, 'M*N*b + M*j + i') + st('s', 1, 'M*N*b + N*i + j') + '}'
    want = [(x * r[:, None] + c).transpose(0, 2, 1).copy(), x * r[:, None]]
    case(f'both ways, of two values {M}x{N}', text, [x, r, c], want, {'M': M, 'N': N})
    case(f'both ways, of two values, static {M}x{N}', static(text, M=M, N=N), [x, r, c], want, {})

# An element of each of several images in turn, to an odd number: lanes are woven from vectors of each.
for t in ('f32', 'f16', 'f64', 'i8'):
    for places in (2, 4, 3):
        for N in (1, 2, 8, 9, 16, 33, 100):
            x, each = any_of(KINDS[t], 3, places, N), any_of(KINDS[t], places)
            count = places * N - 1
            text = (f'loop @w axes(r = "3", i = "{places}*N - 1") {{' + ld(0, f'{places}*N*r + floordiv(i, {places}) + N*mod(i, {places})', t) + ld(1, f'mod(i, {places})', t) +
                    ld(2, f'2*mod(i, {places})', t) + st('x0', 0, f'{places}*N*r - r + i', t) + st('x1', 1, f'{places}*N*r - r + i', t) + st('x2', 2, f'{places}*N*r - r + i', t) + '}')
            twice = any_of(KINDS[t], 2 * places)
            spread = lambda v: np.ascontiguousarray(np.broadcast_to(np.tile(v, N)[:count], (3, count)))
            case(f'woven {t} {N} of {places}', text, [x, each, twice], [np.ascontiguousarray(x.transpose(0, 2, 1).reshape(3, -1)[:, :count]), spread(each), spread(twice[::2])], {'N': N})


def run(name, text, ins, outs, sizes, rtol, atol, variant):
    kernel = Kernel(text, types(ins), types(outs), variant)
    guard = 64 # elements after each result that must stay as they are
    buffers = [np.full(o.size + guard, 77, np.uint8).view(np.uint8) if o.dtype == np.bool_ else np.full(o.size + guard, 77, o.dtype)
               for o in outs]
    kernel([np.ascontiguousarray(a) for a in ins] + buffers, [sizes[s] for s in sorted(sizes)])
    for buffer, want in zip(buffers, outs):
        got = buffer[:want.size].reshape(want.shape)
        if not (buffer[want.size:] == 77).all():
            return 'writes past the end'
        if want.dtype == np.bool_ and got.size and got.max() > 1:
            return 'a boolean is not 0 or 1'
        if not np.allclose(got.astype(np.float64), want.astype(np.float64), rtol, atol, equal_nan=True):
            bad = ~np.isclose(got.astype(np.float64), want.astype(np.float64), rtol, atol, equal_nan=True)
            at = tuple(np.argwhere(bad)[0])
            return f'{bad.sum()} of {bad.size} differ, first at {at}: {got[at]}, expected {want[at]}'
    return None


def run_all(cases):
    failed = 0
    chosen = [a for a in sys.argv[1:] if not a.startswith('-')]
    cases = [c for c in cases if not chosen or any(a in c[0] for a in chosen)]
    for variant in variants():
        Kernel.prepare_in_turn([(text, types(ins), types(outs)) for _, text, ins, outs, *_ in cases], variant)
        for c in cases:
            message = run(*c, variant)
            if message or '-v' in sys.argv:
                print(f'{"FAIL" if message else "ok"} {variant} {c[0]}: {message or ""}')
            failed += bool(message)
    print(f'{failed} failed' if failed else 'passed')
    sys.exit(1 if failed else 0)


if __name__ == '__main__':
    run_all(CASES)
