import itertools
import numpy as np
from guarded import copy, empty
from kernels import Kernel, byte_variants

rng = np.random.default_rng(0)
wrong = 0


def integers(shape, signed):
    kind = np.int8 if signed else np.uint8
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max + 1, shape).astype(kind)


def words(matrix, run):
    """[K][N] as [ceil(N / 32)][words][32][4]: each `run` rows are filled up to whole words."""
    k, n = matrix.shape
    filled = np.zeros((k // run, (run + 3) // 4 * 4, (n + 31) // 32 * 32), matrix.dtype)
    filled[:, :run, :n] = matrix.reshape(k // run, run, n)
    return np.ascontiguousarray(filled.reshape(-1, 4, filled.shape[2] // 32, 32).transpose(2, 0, 3, 1))


def seldom_large(shape):
    """Weights of seven bits, but in some places."""
    return np.where(rng.random(shape) < 1 / 400, rng.choice([-128, 127], shape), rng.integers(-64, 65, shape)).astype(np.int8)


def listed(panels):
    """Behind each panel a list of the words that have a pair of neighbours of a sum beyond 128 or below -128: how many, which, of how many."""
    pairs = panels.astype(int).reshape(*panels.shape[:3], 2, 2).sum(-1)
    beyond = [np.flatnonzero((np.abs(p) > 128).any((1, 2))) for p in pairs]
    rows = (max(map(len, beyond)) + 2 + 31) // 32
    lists = np.zeros((len(panels), rows * 32), np.int32)
    for at, which in zip(lists, beyond):
        at[:len(which) + 2] = [len(which), *which, panels.shape[1]]
    return np.concatenate([panels, lists.view(np.int8).reshape(len(panels), rows, 32, 4)], 1), rows


def check(name, kernel, inputs, sizes, want, chunk=2):
    global wrong
    out = empty(want.shape, want.dtype, 77)
    call = kernel.bind([copy(x) for x in inputs] + [out], sizes)
    for begin in range(0, call.items, chunk):
        call(begin, min(call.items, begin + chunk))
    if not np.array_equal(out, want):
        wrong += 1
        print(f'{name}: {np.count_nonzero(out != want)} of {out.size} differ')


def widen(name, value, signed):
    return f'%{name} = arith.{"extsi" if signed else "extui"} %{value} : i8 to i32\n'


def product(lhs, rhs, signs, over, packed):
    return (f'%a = kernel.load %in0["{lhs}"] : !kernel.ref<i8> -> i8\n'
            f'%b = kernel.load %in1["{rhs}"] {{{packed or ""}}} : !kernel.ref<i8> -> i8\n' +
            widen('aw', 'a', signs[0]) + widen('bw', 'b', signs[1]) +
            f'%p = arith.muli %aw, %bw : i32\n%c = kernel.reduce add %p over ["{over}"] : i32\n')


def matrices(variant):
    everySign = list(itertools.product((False, True), repeat=2))
    for i, (k, n) in enumerate(((64, 64), (67, 33), (5, 1), (1030, 40))):
        for j, layout in enumerate(('packed', 'rows', 'columns')):
            rhs = f'{k}*n + k' if layout == 'columns' else f'{n}*k + n'
            signs = everySign[(i + j) % 4]
            if layout == 'packed':
                signs = (signs[0], True)  # constants are made signed
            body = product(f'{k}*m + k', rhs, signs, 'k', 'packed' if layout == 'packed' else '') + f'''
                %e = kernel.load %in2["n"] : !kernel.ref<i32> -> i32
                %y = arith.addi %c, %e : i32
                kernel.store %y, %out0["{n}*m + n"] : i32, !kernel.ref<i32>\n'''
            kernel = Kernel(f'reduction @x axes(m = "mm", n = "{n}", k = "{k}") {{ {body} }}', ['i8', 'i8', 'i32'], ['i32'], variant)
            for m in (1, 2, 5, 13, 14, 15, 29, 100):
                a, b, e = integers((m, k), signs[0]), integers((k, n), signs[1]), rng.integers(-9, 9, n).astype(np.int32)
                laid = {'packed': words(b, k) if layout == 'packed' else None, 'rows': b, 'columns': np.ascontiguousarray(b.T)}[layout]
                want = (a.astype(np.int32) @ b.astype(np.int32) + e).astype(np.int32)
                check(f'{variant} {layout} {signs} {m}x{k}x{n}', kernel, [a, laid, e], [m], want)


def strided_and_batched(variant):
    """Rows along which the sum steps by their number; a batch; no rows at all; a sum over two axes."""
    m, k, n = 19, 37, 45
    body = product(f'{m}*k + m', f'{n}*k + n', (True, True), 'k', 'packed') + f'kernel.store %c, %out0["{n}*m + n"] : i32, !kernel.ref<i32>\n'
    kernel = Kernel(f'reduction @x axes(m = "{m}", n = "{n}", k = "{k}") {{ {body} }}', ['i8', 'i8'], ['i32'], variant)
    a, b = integers((k, m), True), integers((k, n), True)
    check(f'{variant} transposed', kernel, [a, words(b, k)], [], a.T.astype(np.int32) @ b.astype(np.int32))

    body = product(f'{k}*(m + {m}*h) + k', f'{n}*(k + {k}*h) + n', (False, False), 'k', '')
    body += f'kernel.store %c, %out0["{n}*(m + {m}*h) + n"] : i32, !kernel.ref<i32>\n'
    kernel = Kernel(f'reduction @x axes(h = "hh", m = "{m}", n = "{n}", k = "{k}") {{ {body} }}', ['i8', 'i8'], ['i32'], variant)
    a, b = integers((3, m, k), False), integers((3, k, n), False)
    check(f'{variant} batch', kernel, [a, b], [3], a.astype(np.int32) @ b.astype(np.int32), chunk=1)

    body = product('k', f'{n}*k + n', (False, True), 'k', 'packed') + 'kernel.store %c, %out0["n"] : i32, !kernel.ref<i32>\n'
    kernel = Kernel(f'reduction @x axes(n = "{n}", k = "{k}") {{ {body} }}', ['i8', 'i8'], ['i32'], variant)
    a, b = integers((k,), False), integers((k, n), True)
    check(f'{variant} one row', kernel, [a, words(b, k)], [], a.astype(np.int32) @ b.astype(np.int32))

    body = product(f'{k}*(m + {m}*j) + k', f'{n}*(k + {k}*j) + n', (False, True), 'j", "k', 'packed')
    body += f'kernel.store %c, %out0["{n}*m + n"] : i32, !kernel.ref<i32>\n'
    kernel = Kernel(f'reduction @x axes(m = "{m}", n = "{n}", j = "2", k = "{k}") {{ {body} }}', ['i8', 'i8'], ['i32'], variant)
    a, b = integers((2, m, k), False), integers((2 * k, n), True)
    want = sum(a[j].astype(np.int32) @ b.reshape(2, k, n)[j].astype(np.int32) for j in range(2))
    check(f'{variant} two axes', kernel, [a, words(b, k)], [], want)


def pairs(variant):
    """Weights of which pairs of products fit in 16 bits, all or most; rows of the largest bytes."""
    for k, n, large in ((64, 64, False), (67, 33, False), (1030, 40, True), (300, 17, True)):
        b = seldom_large((k, n)) if large else rng.choice([-64, 64], (k, n)).astype(np.int8)
        packed, rows = listed(words(b, k)) if large else (words(b, k), 0)
        for signed in (False, True):
            body = product(f'{k}*m + k', f'{n}*k + n', (signed, True), 'k', f'packed, pairs = {rows} : i64')
            body += f'kernel.store %c, %out0["{n}*m + n"] : i32, !kernel.ref<i32>\n'
            kernel = Kernel(f'reduction @x axes(m = "mm", n = "{n}", k = "{k}") {{ {body} }}', ['i8', 'i8'], ['i32'], variant)
            for m in (1, 3, 6, 7, 25):
                a = integers((m, k), signed)
                a[m // 2:] = np.iinfo(a.dtype).max
                check(f'{variant} pairs {signed} {m}x{k}x{n}', kernel, [a, packed], [m], a.astype(np.int32) @ b.astype(np.int32))


IMAGES = (5, 33, 9, 21, 3, 1, 1), (4, 8, 13, 40, 3, 2, 1), (3, 40, 8, 30, 3, 1, 2), (16, 16, 7, 7, 1, 1, 1), (9, 17, 20, 5, 2, 2, 1), (37, 33, 6, 11, 3, 1, 1)
# Places in the lanes: lines that fill vectors, lines end to end, one that is longer than the sums have room, two phases of places.
PLACES = (3, 70, 9, 32, 3, 1, 1), (6, 9, 3, 300, 3, 1, 1), (3, 20, 21, 48, 3, 2, 1), (5, 8, 30, 20, 3, 1, 1), (2, 33, 11, 61, 5, 2, 2), (7, 12, 40, 9, 1, 2, 1)
# Channels that fill steps of the matrix unit, alone or in a line of taps; lines of a part of a tile, of two tiles, of several.
FULL_IMAGES = (37, 33, 6, 11, 3, 1, 1), (64, 48, 9, 7, 3, 1, 1), (32, 40, 13, 70, 3, 2, 1), (64, 16, 8, 30, 3, 1, 2), (128, 9, 20, 5, 2, 2, 1)

FULL_PLANES = (64, 33, 9, 21, 3, 1, 1), (128, 8, 13, 40, 3, 2, 1), (64, 40, 8, 30, 3, 1, 2), (64, 17, 20, 5, 2, 2, 1)


def convolutions(variant, last, signed, cases=IMAGES):
    """[image][channel][y][x], or `last`, [image][y][x][channel], with a border of 7."""
    for c, o, h, w, kernel_size, stride, dilation in cases:
        pad = dilation * (kernel_size // 2)
        oh, ow = ((s + 2 * pad - dilation * (kernel_size - 1) - 1) // stride + 1 for s in (h, w))
        y, x, taps = f'{stride}*i + {dilation}*p - {pad}', f'{stride}*j + {dilation}*q - {pad}', kernel_size**2
        body = ''.join(f'''
            %{n}i = kernel.index "{e}"
            %{n}l = arith.cmpi sge, %{n}i, %zero : i64
            %{n}e = arith.constant {limit} : i64
            %{n}h = arith.cmpi slt, %{n}i, %{n}e : i64
            %{n} = arith.andi %{n}l, %{n}h : i1''' for n, e, limit in (('y', y, h), ('x', x, w)))
        body = f'''%zero = arith.constant 0 : i64 {body}
            %in = arith.andi %y, %x : i1
            %l = kernel.load %in0["{f'{c}*({h * w}*b + {w}*({y}) + {x}) + c' if last else f'{h * w}*(c + {c}*b) + {w}*({y}) + {x}'}"] if %in : !kernel.ref<i8> -> i8
            %border = arith.constant 7 : i8
            %a = arith.select %in, %l, %border : i8
            %f = kernel.load %in1["{c * taps}*o + {taps}*c + {kernel_size}*p + q"] {{packed}} : !kernel.ref<i8> -> i8
            {widen('aw', 'a', signed)} {widen('fw', 'f', True)}
            %m = arith.muli %aw, %fw : i32
            %s = kernel.reduce add %m over ["p", "q", "c"] {{slides = ["{stride}*i + {dilation}*p", "{stride}*j + {dilation}*q"]}} : i32
            kernel.store %s, %out0["{f'{o}*({oh * ow}*b + {ow}*i + j) + o' if last else f'{oh * ow}*(o + {o}*b) + {ow}*i + j'}"] : i32, !kernel.ref<i32>\n'''
        parallel = f'i = "{oh}", j = "{ow}", o = "{o}"' if last else f'o = "{o}", i = "{oh}", j = "{ow}"'
        kernel = Kernel(f'reduction @x axes(b = "bb", {parallel}, p = "{kernel_size}", q = "{kernel_size}", '
                        f'c = "{c}") {{ {body} }}', ['i8', 'i8'], ['i32'], variant)
        for images in (1, 3):
            a, f = integers((images, c, h, w), signed), integers((o, c, kernel_size, kernel_size), True)
            framed = np.full((images, c, h + 2 * pad, w + 2 * pad), 7, np.int32)
            framed[:, :, pad:pad + h, pad:pad + w] = a
            want = np.zeros((images, o, oh, ow), np.int32)
            for p, q in itertools.product(range(kernel_size), repeat=2):
                part = framed[:, :, p * dilation:p * dilation + stride * (oh - 1) + 1:stride,
                              q * dilation:q * dilation + stride * (ow - 1) + 1:stride]
                want += np.einsum('bchw,oc->bohw', part, f[:, :, p, q].astype(np.int32))
            packed = words(f.transpose(2, 3, 1, 0).reshape(-1, o), c)
            if last:
                a, want = (np.ascontiguousarray(x.transpose(0, 2, 3, 1)) for x in (a, want))
            check(f'{variant} convolution {c}->{o} {h}x{w} kernel {kernel_size} stride {stride} x{images} last {last}', kernel, [a, packed], [images], want)


def columns_of_rows(variant):
    """Rows of a product that lie side by side in the results: of all signs, packed and not, as many as fill vectors or not, known or found in a run."""
    for k, n, signs in ((6, 72, (False, True)), (21, 33, (True, True)), (40, 9, (False, False)), (3, 5, (True, False))):
        for packed in (False, True)[:1 + signs[1]]:  # constants are made signed
            for known in (0, 48, 193):
                rows = known or 'mm'
                body = product(f'{rows}*k + m', f'{n}*k + n', signs, 'k', 'packed' if packed else '') + f'''
                    %e = kernel.load %in2["n"] : !kernel.ref<i32> -> i32
                    %y = arith.addi %c, %e : i32
                    kernel.store %y, %out0["{rows}*n + m"] : i32, !kernel.ref<i32>\n'''
                kernel = Kernel(f'reduction @x axes(m = "{rows}", n = "{n}", k = "{k}") {{ {body} }}', ['i8', 'i8', 'i32'], ['i32'], variant)
                for m in (known,) if known else (1, 9, 48, 100, 193):
                    a, b, e = integers((k, m), signs[0]), integers((k, n), signs[1]), rng.integers(-9, 9, n).astype(np.int32)
                    want = (b.T.astype(np.int32) @ a.astype(np.int32) + e[:, None]).astype(np.int32)
                    check(f'{variant} columns of {m} rows {signs} {k}x{n} packed {packed}', kernel, [a, words(b, k) if packed else b, e], [] if known else [m], want)


def groups(variant):
    """Groups of channels, each with panels of its own, of an image without a border; and of a product."""
    h, w = 9, 21
    for g, c, o, stride in ((3, 5, 7, 1), (2, 4, 40, 2), (4, 1, 9, 1)):
        oh, ow = (h - 3) // stride + 1, (w - 3) // stride + 1
        filled = (o + 31) // 32 * 32
        body = product(f'{h * w}*(c + {c}*g) + {w}*({stride}*i + p) + {stride}*j + q', f'{filled * 9 * c}*g + {9 * c}*o + {3 * c}*p + {c}*q + c',
                       (False, True), 'p", "q", "c', 'packed, pairs = 0 : i64')
        body = body.replace('"c"] : i32', f'"c"] {{slides = ["{stride}*i + p", "{stride}*j + q"]}} : i32')
        body += f'kernel.store %c, %out0["{oh * ow}*(o + {o}*g) + {ow}*i + j"] : i32, !kernel.ref<i32>\n'
        kernel = Kernel(f'reduction @x axes(g = "{g}", o = "{o}", i = "{oh}", j = "{ow}", p = "3", q = "3", c = "{c}") {{ {body} }}',
                        ['i8', 'i8'], ['i32'], variant)
        a, f = integers((g, c, h, w), False), rng.choice([-64, 64], (g, o, 3, 3, c)).astype(np.int8)
        want = sum(np.einsum('gchw,goc->gohw', a[:, :, p:p + stride * (oh - 1) + 1:stride, q:q + stride * (ow - 1) + 1:stride].astype(np.int32),
                             f[:, :, p, q].astype(np.int32)) for p, q in itertools.product(range(3), repeat=2)).astype(np.int32)
        packed = np.concatenate([words(x.reshape(o, -1).T, c) for x in f])
        check(f'{variant} groups {g} of {c}->{o} stride {stride}', kernel, [a, packed], [], want, chunk=1)

    g, m, k, n = 3, 10, 13, 11
    body = product(f'{k}*(m + {m}*g) + k', f'{32 * k}*g + {k}*n + k', (True, True), 'k', 'packed')
    body += f'kernel.store %c, %out0["{n}*(m + {m}*g) + n"] : i32, !kernel.ref<i32>\n'
    kernel = Kernel(f'reduction @x axes(g = "{g}", m = "{m}", n = "{n}", k = "{k}") {{ {body} }}', ['i8', 'i8'], ['i32'], variant)
    a, b = integers((g, m, k), True), integers((g, k, n), True)
    check(f'{variant} groups of a product', kernel, [a, np.concatenate([words(x, k) for x in b])], [], a.astype(np.int32) @ b.astype(np.int32))


# Image, window, strides, dilations, border below and behind as in front, channels to a filter; one of 0 lines: one dimension. Lines that fill vectors, with and
# without a rest, less than one, less than half of one; taps of which four are a word, or more, or one.
SINGLE = ((9, 21), (3, 3), (1, 1), (1, 1), (1, 1), 1), ((7, 7), (3, 3), (1, 1), (1, 1), (1, 1), 1), ((14, 14), (5, 5), (2, 2), (1, 1), (2, 2), 1), ((5, 130), (4, 7), (1, 3), (1, 1), (0, 3), 2), \
    ((8, 16), (3, 2), (2, 1), (1, 3), (0, 3), 1), ((6, 3), (2, 9), (1, 1), (2, 1), (1, 4), 3), ((1, 4), (1, 1), (1, 1), (1, 1), (0, 0), 1), ((0, 33), (0, 3), (0, 2), (0, 1), (0, 1), 1), ((0, 5), (0, 5), (0, 1), (0, 1), (0, 0), 1), \
    ((70, 64), (3, 3), (1, 1), (1, 1), (0, 0), 1), ((21, 40), (21, 33), (1, 1), (1, 1), (2, 16), 1), ((0, 90), (0, 64), (0, 1), (0, 1), (0, 0), 1), ((9, 8), (3, 3), (1, 4), (1, 1), (1, 1), 1), ((8, 4), (3, 3), (2, 1), (1, 2), (2, 2), 1)


def single_channels(variant, signed):
    """Windows of single channels, with a border of 7: [image][channel][y][x]."""
    for (h, w), (kh, kw), (sy, sx), (dy, dx), (py, px), o in SINGLE:
        flat, c = h == 0, 3
        if flat:
            h, kh, sy, dy, py = 1, 1, 1, 1, 0
        oh, ow = (h + 2 * py - dy * (kh - 1) - 1) // sy + 1, (w + 2 * px - dx * (kw - 1) - 1) // sx + 1
        places = (('y', f'{sy}*i + {dy}*p - {py}', h), ) * (not flat) + (('x', f'{sx}*j + {dx}*q - {px}', w), )
        body = ''.join(f'''
            %{n}i = kernel.index "{e}"
            %{n}l = arith.cmpi sge, %{n}i, %zero : i64
            %{n}e = arith.constant {limit} : i64
            %{n}h = arith.cmpi slt, %{n}i, %{n}e : i64
            %{n} = arith.andi %{n}l, %{n}h : i1''' for n, e, limit in places)
        at = ' + '.join(f'{w if n == "y" else 1}*({e})' for n, e, _ in places)
        body = f'''%zero = arith.constant 0 : i64 {body}
            %in = arith.andi %{places[0][0]}, %{places[-1][0]} : i1
            %l = kernel.load %in0["{h * w}*(c + {c}*b) + {at}"] if %in : !kernel.ref<i8> -> i8
            %border = arith.constant 7 : i8
            %a = arith.select %in, %l, %border : i8
            %f = kernel.load %in1["{o * kh * kw}*c + {kh * kw}*o {'' if flat else f'+ {kw}*p'} + q"] : !kernel.ref<i8> -> i8
            {widen('aw', 'a', signed)} {widen('fw', 'f', True)}
            %m = arith.muli %aw, %fw : i32
            %s = kernel.reduce add %m over [{'' if flat else '"p", '}"q"] {{slides = [{'' if flat else f'"{sy}*i + {dy}*p", '}"{sx}*j + {dx}*q"]}} : i32
            %e = kernel.load %in2["c"] : !kernel.ref<i32> -> i32
            %y2 = arith.addi %s, %e : i32
            kernel.store %y2, %out0["{oh * ow}*(o + {o}*(c + {c}*b)) {'' if flat else f'+ {ow}*i'} + j"] : i32, !kernel.ref<i32>\n'''
        lines, taps = ('', '') if flat else (f'i = "{oh}", ', f'p = "{kh}", ')
        kernel = Kernel(f'reduction @x axes(b = "bb", c = "{c}", o = "{o}", {lines}j = "{ow}", {taps}q = "{kw}") {{ {body} }}', ['i8', 'i8', 'i32'], ['i32'], variant)
        for images in (1, 2):
            a, f, e = integers((images, c, h, w), signed), integers((c, o, kh, kw), True), rng.integers(-9, 9, c).astype(np.int32)
            framed = np.full((images, c, h + 2 * py, w + 2 * px), 7, np.int32)
            framed[:, :, py:py + h, px:px + w] = a
            want = np.zeros((images, c, o, oh, ow), np.int32) + e[:, None, None, None]
            for p, q in itertools.product(range(kh), range(kw)):
                part = framed[:, :, p * dy:p * dy + sy * (oh - 1) + 1:sy, q * dx:q * dx + sx * (ow - 1) + 1:sx]
                want += part[:, :, None] * f[:, :, p, q, None, None].astype(np.int32)
            check(f'{variant} single channels {h}x{w} window {kh}x{kw} strides {sy},{sx} x{images} signed {signed}', kernel, [a, f, e], [images], want)


def tiles(variant):
    """Heights of two by two tiles of 16 rows and columns, alone and after whole ones; sums that end within a step of 16 words, which begins
    earlier then, or are shorter than one; rows in memory, and ones that are evaluated; a known number of rows."""
    for i, (k, n) in enumerate(((3, 16), (60, 17), (64, 32), (68, 48), (129, 33), (200, 5))):
        for transposed in (False, True):
            signs = bool(i % 2), True
            body = product(f'm + mm*k' if transposed else f'{k}*m + k', f'{n}*k + n', signs, 'k', 'packed')
            body += f'kernel.store %c, %out0["{n}*m + n"] : i32, !kernel.ref<i32>\n'
            kernel = Kernel(f'reduction @x axes(m = "mm", n = "{n}", k = "{k}") {{ {body} }}', ['i8', 'i8'], ['i32'], variant)
            for m in (0, 11, 12, 16, 17, 32, 33, 65, 130, 300):
                a, b = integers((m, k), signs[0]), integers((k, n), True)
                laid = np.ascontiguousarray(a.T) if transposed else a
                check(f'{variant} tiles {m}x{k}x{n} transposed {transposed}', kernel, [laid, words(b, k)], [m], a.astype(np.int32) @ b.astype(np.int32))
    for m, signs in ((12, (True, False)), (31, (False, False)), (96, (True, True))):
        body = product('70*m + k', '40*k + n', signs, 'k', '') + 'kernel.store %c, %out0["40*m + n"] : i32, !kernel.ref<i32>\n'
        kernel = Kernel(f'reduction @x axes(m = "{m}", n = "40", k = "70") {{ {body} }}', ['i8', 'i8'], ['i32'], variant)
        a, b = integers((m, 70), signs[0]), integers((70, 40), signs[1])
        check(f'{variant} tiles {m} rows {signs}', kernel, [a, b], [], a.astype(np.int32) @ b.astype(np.int32))


for variant in byte_variants():
    matrices(variant)
    strided_and_batched(variant)
    if variant == 'avx512amx':
        tiles(variant)
        for signed in (False, True):
            convolutions(variant, True, signed, FULL_IMAGES)
            convolutions(variant, False, signed, FULL_PLANES)
        continue
    pairs(variant)
    for last, signed in ((False, False), (True, False), (True, True)):
        convolutions(variant, last, signed, IMAGES if last else IMAGES + PLACES)
    columns_of_rows(variant)
    groups(variant)
    for signed in (False, True):
        single_channels(variant, signed)
print(wrong, 'wrong')
