"""Forms of rows: short ones side by side in the lanes, rows that are one of several as a whole, neighbours that share their
places. Against numpy, for every instruction set of this machine; inputs end at an inaccessible page."""
import numpy as np
from guarded import copy
from rows import MAXIMUM, SOFTMAX, f32, ld, run_all, st, static, windows

CASES = []
rng = np.random.default_rng(11)


def case(name, text, ins, outs, sizes=None, rtol=2e-5, atol=2e-6):
    CASES.append((name, text, [copy(np.ascontiguousarray(a)) for a in ins], outs, sizes or {}, rtol, atol))


# Rows of 1 to 9 elements, one behind the other: a vector has one element of each of as many rows.
for C in (2, 5, 7, 8, 9):
    for N in (63, 64, 81):
        x = f32(N, C)
        for t, values in (('f32', x), ('f64', x.astype(np.float64)), ('i8', (x * 20).astype(np.int8))):
            for kind, want in (('max', values.max(1)), ('add', values.sum(1, dtype=values.dtype))):
                text = (f'reduction @short axes(n = "{N}", c = "{C}") {{' + ld(0, f'{C}*n + c', t) + f'%s = kernel.reduce {kind} %x0 over ["c"] : {t}\n' +
                        st('s', 0, 'n', t) + '}')
                case(f'short {kind} {t} {N}x{C}', text, [values], [want])
    for N in (1, 64, 100):
        x = f32(N, C)
        e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
        text = (f'reduction @softmax axes(n = "N", c = "{C}") {{' + ld(0, f'{C}*n + c') + '''
%m = kernel.reduce max %x0 over ["c"] : f32
%d = arith.subf %x0, %m : f32
%e = math.exp %d : f32
%s = kernel.reduce add %e over ["c"] : f32
%y = arith.divf %e, %s : f32
''' + st('y', 0, f'{C}*n + c') + '}')
        want = (e / e.sum(1, keepdims=True)).astype(np.float32)
        case(f'short softmax {N}x{C}', text, [x], [want], {'N': N})
        case(f'short softmax static {N}x{C}', static(text, N=N), [x], [want])

# A chain of selections by conditions that are the same all along a row: a concatenation of three, and what lies around an image.
for I, J, K, L in ((3, 4, 5, 40), (1, 1, 1, 16), (2, 0, 3, 17), (4, 4, 4, 3), (0, 0, 7, 33)):
    x, y, z = f32(I, L), f32(J, L), f32(K, L)
    text = f'''loop @concat axes(i = "{I + J + K}", l = "L") {{
%i = kernel.index "i"
%a = arith.constant {I} : i64
%b = arith.constant {I + J} : i64
%p0 = arith.cmpi slt, %i, %a : i64
%x0 = kernel.load %in0["L*i + l"] if %p0 : !kernel.ref<f32> -> f32
%q1 = arith.cmpi sge, %i, %a : i64
%r1 = arith.cmpi slt, %i, %b : i64
%p1 = arith.andi %q1, %r1 : i1
%x1 = kernel.load %in1["L*i + l - L*{I}"] if %p1 : !kernel.ref<f32> -> f32
%p2 = arith.cmpi sge, %i, %b : i64
%x2 = kernel.load %in2["L*i + l - L*{I + J}"] if %p2 : !kernel.ref<f32> -> f32
%s1 = arith.select %p1, %x1, %x0 : f32
%s2 = arith.select %p2, %x2, %s1 : f32
''' + st('s2', 0, 'L*i + l') + '}'
    want = np.concatenate([x, y, z])
    case(f'concat {I} {J} {K} {L}', text, [x, y, z], [want], {'L': L})
    case(f'concat static {I} {J} {K} {L}', static(text, L=L), [x, y, z], [want])
for H, W in ((3, 40), (1, 5), (5, 64)):
    x = f32(H, W)
    text = f'''loop @pad axes(i = "{H + 3}", l = "{W}") {{
%i = kernel.index "i"
%one = arith.constant 1 : i64
%end = arith.constant {H + 1} : i64
%f = arith.constant -2.0 : f32
%a = arith.cmpi sge, %i, %one : i64
%b = arith.cmpi slt, %i, %end : i64
%p = arith.andi %a, %b : i1
%x0 = kernel.load %in0["{W}*i + l - {W}"] if %p : !kernel.ref<f32> -> f32
%s = arith.select %p, %x0, %f : f32
''' + st('s', 0, f'{W}*i + l') + '}'
    case(f'pad {H} {W}', text, [x], [np.pad(x, ((1, 2), (0, 0)), constant_values=-2)])

# All channels of an image are sampled at the same computed places: neighbours share them.
for C in (1, 3, 4, 8, 12):
    for P in (1, 16, 30, 100):
        image, place, weight = f32(C, 50), (rng.random(P) * 49).astype(np.float32), f32(P)
        text = f'''loop @sample axes(c = "{C}", p = "P") {{
%x1 = kernel.load %in1["p"] : !kernel.ref<f32> -> f32
%x2 = kernel.load %in2["p"] : !kernel.ref<f32> -> f32
%e = math.exp %x2 : f32
%fl = math.floor %x1 : f32
%fr = arith.subf %x1, %fl : f32
%i = arith.fptosi %fl : f32 to i64
%x0 = kernel.load %in0["50*c + $0"] indirect(%i) : !kernel.ref<f32> -> f32
%y = kernel.load %in0["50*c + $0 + 1"] indirect(%i) : !kernel.ref<f32> -> f32
%d = arith.subf %y, %x0 : f32
%m = arith.mulf %d, %fr : f32
%v = arith.addf %x0, %m : f32
%w = arith.mulf %v, %e : f32
''' + st('w', 0, 'P*c + p') + '}'
        low = place.astype(int)
        want = (image[:, low] + (image[:, low + 1] - image[:, low]) * (place - low)) * np.exp(weight)
        case(f'sample {C} {P}', text, [image, place, weight], [want.astype(np.float32)], {'P': P})
        case(f'sample static {C} {P}', static(text, P=P), [image, place, weight], [want.astype(np.float32)])

# Repeated rows: the axis is the number of the copy and the place in it, which goes for short rows and for none.
for A, B, R, Q in ((1, 16, 1, 3), (3, 33, 2, 2), (5, 7, 4, 9), (2, 100, 3, 1), (4, 0, 2, 2), (0, 5, 3, 2)):
    for t, x in (('f32', f32(A, B)), ('i8', (f32(A, B) * 20).astype(np.int8)), ('f64', f32(A, B).astype(np.float64))):
        for a, b, sizes in (('A', 'B', {'A': A, 'B': B}), (A, B, {})):
            if not sizes and not A * B:
                continue
            text = (f'loop @tile axes(i0 = "{R}*{a}", i1 = "{Q}*{b}") {{' + ld(0, f'{b}*mod(i0, {a}) + mod(i1, {b})', t) +
                    f'%i = kernel.index "floordiv(i1, {b})"\n' +
                    ('%f = arith.trunci %i : i64 to i8\n%s = arith.addi %x0, %f : i8\n' if t == 'i8' else
                     f'%f = arith.sitofp %i : i64 to {t}\n%s = arith.addf %x0, %f : {t}\n') + st('s', 0, f'{Q}*{b}*i0 + i1', t) + '}')
            want = np.tile(x, (R, Q)) + np.repeat(np.arange(Q), B).astype(x.dtype)
            case(f'tile {t} {a}x{b} {R} {Q}', text, [x], [want], sizes)
    sums = f'reduction @sum axes(i0 = "A", i1 = "{R}*B") {{' + ld(0, 'B*i0 + mod(i1, B)') + '%s = kernel.reduce add %x0 over ["i1"] : f32\n' + st('s', 0, 'i0') + '}'
    x = f32(A, B)
    case(f'sum of copies {A}x{B} {R}', sums, [x], [(R * x.sum(1, dtype=np.float64)).astype(np.float32)], {'A': A, 'B': B}, atol=1e-4)

# Softmaxes of rows with numbers that are none, with infinities, with small quotients and with large sums: against f64.
LOG = SOFTMAX.replace('%y = arith.divf %e, %s : f32', '%l = math.log %s : f32\n%y = arith.subf %d, %l : f32')
for C in (5, 16, 40, 128, 300, 1000):
    x = f32(8, C) * 3
    x[1, C // 2] = np.nan
    x[2, C - 1] = np.inf
    x[3, :] = -np.inf
    x[4, ::2] = -np.inf
    x[5, 1:] = np.linspace(-80, -104, C - 1)
    x[5, 0] = 0
    x[6, :] = 88
    with np.errstate(invalid='ignore'):
        d = x.astype(np.float64) - x.max(1, keepdims=True)
        e = np.exp(d)
        total = e.sum(1, keepdims=True)
        soft, logs = (e / total).astype(np.float32), (d - np.log(total)).astype(np.float32)
    for name, text, want in (('softmax', SOFTMAX, soft), ('log-softmax', LOG, logs)):
        case(f'odd {name} {C}', text, [x], [want], {'N': 8, 'C': C}, atol=1e-37 if name == 'softmax' else 2e-6)
        case(f'odd {name} static {C}', static(text, C=C), [x], [want], {'N': 8}, atol=1e-37 if name == 'softmax' else 2e-6)

# The largest of a window is NaN where one of them is, wherever it stands.
for W in (5, 14, 16, 28, 64, 65, 150):
    x = f32(3, W)
    x[1, W // 2] = np.nan
    x[2, ::7] = np.nan
    case(f'windows with NaN {W}', MAXIMUM.replace('S*o', 'o'), [x], [windows(x, 1, W)], {'R': 3, 'W': W, 'O': W})
    case(f'windows with NaN static {W}', static(MAXIMUM.replace('S*o', 'o'), W=W, O=W), [x], [windows(x, 1, W)], {'R': 3})

# Matrices with a side shorter than a vector are transposed in smaller tiles; what a tile does not cover is gathered.
for A in (4, 6, 12):
    for B in (9, 40):
        for t, x in (('f32', f32(3, A, B)), ('i8', (f32(3, A, B) * 20).astype(np.int8)), ('f64', f32(3, A, B).astype(np.float64))):
            for n, m in ((A, B), (B, A)):
                y = np.ascontiguousarray(x if n == A else x.transpose(0, 2, 1))
                text = f'loop @turn axes(b = "3", j = "{m}", i = "{n}") {{' + ld(0, f'{n * m}*b + {m}*i + j', t) + st('x0', 0, f'{n * m}*b + {n}*j + i', t) + '}'
                case(f'transposed {t} {n}x{m}', text, [y], [np.ascontiguousarray(y.transpose(0, 2, 1))])

# Running sums of rows side by side, in one part and in several.
for C in (1, 70, 600, 4096, 4100, 9000):
    x = f32(5, C)
    text = 'scan @sums axes(i = "5", c = "C") {' + ld(0, 'C*i + c') + '%s = kernel.scan add %x0 along "i" : f32\n' + st('s', 0, 'C*i + c') + '}'
    case(f'sums of columns {C}', text, [x], [x.cumsum(0)], {'C': C})
    case(f'sums of columns static {C}', static(text, C=C), [x], [x.cumsum(0)])

if __name__ == '__main__':
    run_all(CASES)
