import numpy as np
import kernels
from guarded import copy, empty, pack
from kernels import Kernel, variants

rng = np.random.default_rng(0)
R = '!kernel.ref<f32>'
wrong = 0


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def check(name, kernel, inputs, sizes, want, chunk=None, tolerance=2e-4, scale=None):
    """Runs the items in chunks; the outputs start as NaN. With a `scale` errors are fractions of it, and infinities and NaN are where they should be."""
    global wrong
    want = want if isinstance(want, list) else [want]
    outs = [empty(w.shape, np.float64 if w.dtype == np.longdouble else np.float32, np.nan) for w in want]
    call = kernel.bind([copy(x) for x in inputs] + outs, sizes)
    for begin in range(0, call.items, chunk or max(call.items, 1)):
        call(begin, min(call.items, begin + (chunk or call.items)))
    for out, w in zip(outs, want):
        if scale is None:
            error = np.max(np.abs(out - w)) if w.size else 0
        else:
            with np.errstate(invalid='ignore'):
                error = np.max(np.where((out == w) | (np.isnan(out) & np.isnan(w)), 0, np.abs(out - w) / scale))
        if not error <= tolerance:
            wrong += 1
            print(f'{name}: error {error}')
    return outs[0]


def contract(lhs, rhs, over, packed=False, types=('f32', 'f32', 'f32')):
    axes = ', '.join(f'"{a}"' for a in over)
    layout = ' packed {n_panel = 32 : i64}' if packed else ''
    refs = ', '.join(f'!kernel.ref<{t}>' for t in types[:2])
    return f'%c = kernel.contract %in0["{lhs}"], %in1["{rhs}"] over [{axes}]{layout} : ({refs}) -> {types[2]}\n'


def store(value, offset, out=0, type='f32'):
    return f'kernel.store {value}, %out{out}["{offset}"] : {type}, !kernel.ref<{type}>\n'


def heights_and_panels(variant):
    """Every tile height, whole and partial panels, the constant and the two dynamic layouts of the second operand."""
    for k, n in ((64, 64), (67, 33), (5, 1), (40, 31)):
        for layout, rhs in (('packed', f'{n}*k + n'), ('rows', f'{n}*k + n'), ('columns', f'{k}*n + k')):
            body = contract(f'{k}*m + k', rhs, 'k', layout == 'packed') + f'''
                %b = kernel.load %in2["n"] : {R} -> f32
                %y = arith.addf %c, %b : f32\n''' + store('%y', f'{n}*m + n')
            kernel = Kernel(f'contraction @x axes(m = "mm", n = "{n}", k = "{k}") {{ {body} }}', ['f32'] * 3, ['f32'], variant)
            for m in (1, 2, 3, 5, 6, 7, 11, 12, 13, 31):
                a, b, bias = normal(m, k), normal(k, n), normal(n)
                laid = {'packed': pack(b), 'rows': b, 'columns': np.ascontiguousarray(b.T)}[layout]
                check(f'{variant} {layout} {m}x{k}x{n}', kernel, [a, laid, bias], [m], a.astype(float) @ b + bias, chunk=2)


def permuted_store(variant):
    """Two row axes, two column axes (also narrower than a vector), a bias and a transposing store, as a QKV projection has."""
    for heads, width, k in ((4, 64, 96), (3, 5, 17)):
        n = heads * width
        body = contract(f'{k}*(s + ss*b) + k', f'{n}*k + {width}*h + d', 'k', True) + f'''
            %bias = kernel.load %in2["{width}*h + d"] : {R} -> f32
            %y = arith.addf %c, %bias : f32\n''' + store('%y', f'{width}*(s + ss*(h + {heads}*b)) + d')
        kernel = Kernel(f'contraction @x axes(b = "bb", s = "ss", h = "{heads}", d = "{width}", k = "{k}") {{ {body} }}',
                        ['f32'] * 3, ['f32'], variant)
        a, w, bias = normal(2, 19, k), normal(k, n), normal(n)
        want = (a.astype(float) @ w + bias).reshape(2, 19, heads, width).transpose(0, 2, 1, 3)
        check(f'{variant} permuted store {width}', kernel, [a, pack(w), bias], [2, 19], want, chunk=1)


def batches(variant):
    """Batch axes; the first operand transposed; a stride and a division in the second."""
    body = contract('q + nq*(d + dd*b)', 'n + nk*(d + dd*b)', 'd') + store('%c', 'n + nk*(q + nq*b)')
    kernel = Kernel(f'contraction @x axes(b = "nb", q = "nq", n = "nk", d = "dd") {{ {body} }}', ['f32'] * 2, ['f32'], variant)
    for n in (45, 35, 5):
        a, b = normal(2, 19, 40), normal(2, 19, n)
        check(f'{variant} transposed lhs {n}', kernel, [a, b], [19, 2, n, 40], a.astype(float).transpose(0, 2, 1) @ b)
    body = contract('32*(q + nq*h) + d', 'floordiv(h, 2) + 2*(n + 24*d)', 'd') + store('%c', 'n + 24*(q + nq*h)')
    kernel = Kernel(f'contraction @x axes(h = "4", q = "nq", n = "24", d = "32") {{ {body} }}', ['f32'] * 2, ['f32'], variant)
    a, b = normal(4, 9, 32), normal(32, 24, 2)
    check(f'{variant} strided rhs', kernel, [a, b], [9], np.stack([a[h].astype(float) @ b[:, :, h // 2] for h in range(4)]))


def transposed_rows(variant):
    """Many rows side by side: blocks of tiles are copied together, in front of whichever tile of a block a piece of the work begins with."""
    global wrong
    for m, k, n in ((259, 70, 40), (300, 130, 100)):
        a, b = normal(k, m), normal(k, n)
        for layout in ('packed', 'rows'):
            body = contract(f'm + {m}*k', f'{n}*k + n', 'k', layout == 'packed') + store('%c', f'{n}*m + n')
            kernels_of = [Kernel(f'contraction @x axes(m = "{rows}", n = "{n}", k = "{k}") {{ {body} }}', ['f32'] * 2, ['f32'], variant) for rows in (m, 64)]
            for chunk in (None, 3, 11):
                check(f'{variant} {layout} transposed rows {m} {chunk}', kernels_of[0], [a, pack(b) if layout == 'packed' else b], [], a.T.astype(float) @ b, chunk)
            if kernels_of[0].plan([])[1] - kernels_of[1].plan([])[1] < k * 40 * 4:
                wrong += 1
                print(f'{variant} {layout}: no scratch memory for tiles of transposed rows')


def rows_for_all_panels(variant):
    """Rows that many panels pass by are packed once for a piece of the work, whichever panel and tile it begins with."""
    global wrong
    for layout, least in (('packed', 256), ('rows', 1024)):
        for m, k, n in ((50, least, 300), (25, least + 8, 257)):
            a, b = normal(m, k + 3), normal(k, n)
            body = contract(f'{k + 3}*m + k', f'{n}*k + n', 'k', layout == 'packed') + store('%c', f'{n}*m + n')
            many, few = [Kernel(f'contraction @x axes(m = "{rows}", n = "{n}", k = "{k}") {{ {body} }}', ['f32'] * 2, ['f32'], variant) for rows in (m, 12)]
            for chunk in (None, 1, 7, 20):
                check(f'{variant} {layout} rows for all panels {m} {chunk}', many, [a, pack(b) if layout == 'packed' else b], [], a[:, :k].astype(float) @ b, chunk)
            if variant == 'avx2' and many.plan([])[1] - few.plan([])[1] < m * k * 4:
                wrong += 1
                print(f'{variant} {layout}: no scratch memory for the rows')


def shared_rows(variant):
    """One matrix times several: columns are those of all, a vector of them lies in one or reaches into the next."""
    for m, k, n in ((13, 20, 37), (7, 9, 5), (6, 10, 64)):
        a, b, bias = normal(m, k), normal(4, k, n), normal(n)
        for count, length, sizes in (('4', n, []), ('bb', 'nn', [4, n])):
            body = contract(f'{k}*m + k', f'n + {length}*(k + {k}*b)', 'k') + f'''
                %bias = kernel.load %in2["n"] : {R} -> f32
                %y = arith.addf %c, %bias : f32\n''' + store('%y', f'n + {length}*(m + {m}*b)')
            kernel = Kernel(f'contraction @x axes(b = "{count}", m = "{m}", n = "{length}", k = "{k}") {{ {body} }}', ['f32'] * 3, ['f32'], variant)
            check(f'{variant} shared rows {m}x{k}x{n}', kernel, [a, b, bias], sizes, a.astype(float) @ b + bias, chunk=2)


def several_contracted_axes(variant):
    """A 3x3 convolution of stride 2 as a contraction, with a residual and two results in different layouts."""
    c, o, height, width, rows, columns = 20, 40, 9, 11, 4, 5
    body = contract(f'{c}*({width}*({height}*b + 2*y + u) + 2*x + w) + c', f'{o}*({c}*(3*u + w) + c) + n', 'uwc', True) + f'''
        %r = kernel.load %in2["{o}*({columns}*({rows}*b + y) + x) + n"] : {R} -> f32
        %z = arith.addf %c, %r : f32\n''' + store('%z', f'{o}*({columns}*({rows}*b + y) + x) + n') + store(
            '%c', f'{columns}*({rows}*({o}*b + n) + y) + x', out=1)
    kernel = Kernel(f'contraction @x axes(b = "nb", y = "{rows}", x = "{columns}", n = "{o}", u = "3", w = "3", c = "{c}") '
                    f'{{ {body} }}', ['f32'] * 3, ['f32'] * 2, variant)
    x, w, r = normal(3, height, width, c), normal(3, 3, c, o), normal(3, rows, columns, o)
    want = np.zeros((3, rows, columns, o))
    for i in range(rows):
        for j in range(columns):
            want[:, i, j] = np.tensordot(x[:, 2 * i:2 * i + 3, 2 * j:2 * j + 3].astype(float), w.astype(float), 3)
    check(f'{variant} convolution', kernel, [x, pack(w.reshape(-1, o)), r], [3], [want + r, want.transpose(0, 3, 1, 2)])


def channels_first(variant):
    """The rows lie side by side in the result: lines that are longer and shorter than a tile, a residual beside them."""
    for k, n, pixels in ((40, 45, 50), (16, 32, 16), (5, 3, 9), (24, 70, 3)):
        place = f'pp*({n}*b + n) + p'
        body = contract(f'{k}*(p + pp*b) + k', f'{n}*k + n', 'k', True) + f'''
            %bias = kernel.load %in2["n"] : {R} -> f32
            %r = kernel.load %in3["{place}"] : {R} -> f32
            %y = arith.addf %c, %bias : f32
            %z = arith.addf %y, %r : f32\n''' + store('%z', place)
        kernel = Kernel(f'contraction @x axes(b = "bb", p = "pp", n = "{n}", k = "{k}") {{ {body} }}', ['f32'] * 4, ['f32'], variant)
        a, w, bias, r = normal(3, pixels, k), normal(k, n), normal(n), normal(3, n, pixels)
        want = (a.astype(float) @ w + bias).transpose(0, 2, 1) + r
        check(f'{variant} channels first {n}x{pixels}', kernel, [a, pack(w), bias, r], [3, pixels], want, chunk=2)


def panels_together(variant):
    """Rows that no cache holds pass by several panels at once: the plan says how many by the run's cache and threads, the last ones are
    fewer; the same where a schedule says so."""
    global wrong
    m, k, n = 173, 401, 133
    a, b = normal(2, m, k), normal(k, n)
    want = a.astype(float) @ b
    for layout in ('packed', 'rows'):
        body = contract('401*(m + mm*b) + k', f'{n}*k + n', 'k', layout == 'packed') + store('%c', f'{n}*(m + mm*b) + n')
        text = f'contraction @x axes(b = "bb", m = "mm", n = "{n}", k = "{k}") {{ {body} }}'
        inputs = [a, pack(b) if layout == 'packed' else b]
        kernel, items = Kernel(text, ['f32'] * 2, ['f32'], variant), []
        for facts in ([1000, 1 << 20, 32 << 20], [0, 0, 0], [1, 300 << 10, 0], [2, 1 << 19, 1 << 20], [1, 300 << 10, 64 << 20]):
            kernels.FACTS[:] = facts
            items.append(kernel.plan([2, m])[0])
            check(f'{variant} {layout} panels together {facts}', kernel, inputs, [2, m], want, chunk=7)
        if not items[0] > items[1] == items[2] > items[3]:
            wrong += 1
            print(f'{variant} {layout}: items {items} for different machines')
        for forced in ('panels = 3', 'panels = 64', 'height = 3, panels = 2'):
            kernel = Kernel(text, ['f32'] * 2, ['f32'], variant, f'attributes {{schedule.cases = [#schedule.case<#schedule.tiles<{forced}>>]}} ')
            check(f'{variant} {layout} {forced}', kernel, inputs, [2, m], want, chunk=5)
    body = contract('24*m + k', '1300*k + n', 'k', False) + store('%c', '1300*m + n')
    kernel, items = Kernel(f'contraction @x axes(m = "mm", n = "1300", k = "24") {{ {body} }}', ['f32'] * 2, ['f32'], variant), []
    a, b = normal(m, 24), normal(24, 1300)
    for facts in ([1, 1 << 20, 16 << 20], [1, 1 << 14, 16 << 20]):  # results that are four second-level caches are written from end to end
        kernels.FACTS[:] = facts
        items.append(kernel.plan([m])[0])
        check(f'{variant} streamed results {facts}', kernel, [a, b], [m], a.astype(float) @ b, chunk=5)
    if items[1] >= items[0]:
        wrong += 1
        print(f'{variant} streamed results: items {items}')
    kernels.FACTS[:] = [1, 1 << 20, 16 << 20]
    body = contract('k*1 + 4001*m', f'{n}*k + n', 'k', True, ('f32', 'bf16', 'f32')) + store('%c', f'{n}*m + n')
    kernel = Kernel(f'contraction @x axes(m = "mm", n = "{n}", k = "4001") {{ {body} }}', ['f32', 'bf16'], ['f32'], variant)
    for m in (2, 41):
        a, b = normal(m, 4001), bfloat(normal(4001, n))
        check(f'{variant} converted panels together', kernel, [a, pack(b)], [m], a.astype(float) @ (b.astype(np.uint32) << 16).view(np.float32),
              chunk=3, tolerance=2e-3)


def row_accesses(variant):
    """Each way to read rows that lie along the sum or side by side, of open sizes: in place, some tiles' together, all once, part by part; none that
    the layout does not have is taken."""
    for lies, lhs in (('along', 'kk*m + k'), ('beside', 'm + mm*k')):
        body = contract(lhs, 'nn*k + n', 'k') + store('%c', 'nn*m + n')
        text = f'contraction @x axes(m = "mm", n = "nn", k = "kk") {{ {body} }}'
        for way in range(4):
            cases = f'attributes {{schedule.cases = [#schedule.case<#schedule.tiles<narrow = 16, rows = {way}>>]}} '
            kernel = Kernel(text, ['f32'] * 2, ['f32'], variant, cases)
            for m, n, k in ((1, 1, 1), (7, 33, 5), (13, 40, 8), (31, 65, 67), (50, 300, 129), (6, 16, 300)):
                a, b = normal(m, k), normal(k, n)
                laid = a if lies == 'along' else np.ascontiguousarray(a.T)
                check(f'{variant} {lies} rows = {way} {m}x{n}x{k}', kernel, [laid, b], [k, m, n], a.astype(float) @ b, chunk=3)


def bfloat(x):
    return ((x.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)


def element_types(variant):
    m, k, n = 14, 67, 50
    a, b = normal(m, k), normal(k, n)
    forms = {'f32': (lambda x: x, lambda x: x), 'f64': (np.float64, lambda x: x), 'f16': (np.float16, lambda x: x),
             'bf16': (bfloat, lambda x: (x.astype(np.uint32) << 16).view(np.float32))}
    for ta, tb in (('f32', 'bf16'), ('bf16', 'bf16'), ('f16', 'f16'), ('f64', 'f64')):
        for packed in (True, False):
            (make_a, read_a), (make_b, read_b) = forms[ta], forms[tb]
            left, right = make_a(a), make_b(b)
            t = 'f64' if ta == 'f64' else 'f32'
            body = contract(f'{k}*m + k', f'{n}*k + n', 'k', packed, (ta, tb, t)) + store('%c', f'{n}*m + n', type=t)
            kernel = Kernel(f'contraction @x axes(m = "mm", n = "{n}", k = "{k}") {{ {body} }}', [ta, tb], [t], variant)
            want = read_a(left).astype(float) @ read_b(right).astype(float)
            check(f'{variant} {ta} {tb}', kernel, [left, pack(right) if packed else right], [m],
                  want.astype(np.longdouble) if t == 'f64' else want, tolerance=1e-12 if t == 'f64' else 1e-4)


def vectors(variant):
    body = contract('kk*m + k', 'k', 'k') + store('%c', 'm')
    kernel = Kernel(f'contraction @x axes(m = "mm", k = "kk") {{ {body} }}', ['f32'] * 2, ['f32'], variant)
    a, x = normal(37, 70), normal(70)
    check(f'{variant} matrix-vector', kernel, [a, x], [70, 37], a.astype(float) @ x)
    body = contract('k', 'nn*k + n', 'k') + store('%c', 'n')
    kernel = Kernel(f'contraction @x axes(n = "nn", k = "kk") {{ {body} }}', ['f32'] * 2, ['f32'], variant)
    check(f'{variant} vector-matrix', kernel, [x, np.ascontiguousarray(a.T)], [70, 37], a.astype(float) @ x)
    check(f'{variant} nothing to add', kernel, [normal(0), normal(0, 37)], [0, 37], np.zeros(37))


def streams(variant):
    """A single row and weights that no second-level cache holds: several panels at a time, what is left over one by one, with the same bits however the items
    are shared out; more rows by the same kernel; batches, a bias."""
    for kind, k, n in (('f32', 1024, 600), ('f16', 1100, 500), ('bf16', 700, 1030), ('f32', 4099, 129)):
        for batch in (1, 3):
            body = (contract(f'{k}*mm*p + {k}*m + k', f'{n}*k + n', 'k', True, ('f32', kind, 'f32')) + f'%b = kernel.load %in2["n"] : {R} -> f32\n%s = arith.addf %c, %b : f32\n' +
                    store('%s', f'{n}*mm*p + {n}*m + n'))
            kernel = Kernel(f'contraction @x axes(p = "{batch}", m = "mm", n = "{n}", k = "{k}") {{ {body} }}', ['f32', kind, 'f32'], ['f32'], variant)
            b, bias = normal(k, n), normal(n)
            b = bfloat(b) if kind == 'bf16' else b.astype(np.float16) if kind == 'f16' else b
            wide = ((b.astype(np.uint32) << 16).view(np.float32) if kind == 'bf16' else b).astype(float)
            for m in (1, 2):
                a, made = normal(batch, m, k), []
                for chunk in (1, 5, None):
                    made.append(check(f'{variant} {kind} {batch} {m}x{k}x{n}', kernel, [a, pack(b), bias], [m], a.astype(float) @ wide + bias, chunk=chunk, tolerance=1e-3))
                if any(not np.array_equal(made[0], other) for other in made[1:]):
                    check(f'{variant} {kind} {batch} {m}x{k}x{n}: bits', kernel, [a, pack(b), bias], [m], np.full_like(made[0], np.nan))


def rounded(x):
    """To the nearest bf16, ties to even."""
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


def tiles_of_halves(variant):
    """Rows that are rounded and weights of bf16 in tile registers: tiles of all heights, whole steps of sixteen words and others, an odd number of points,
    panels that are not full, sums in parts; one tile, which is no matter of them."""
    for k, n in ((64, 64), (131, 40), (96, 16), (47, 33), (2085, 33)):
        body = contract(f'{k}*m + k', f'{n}*k + n', 'k', True, ('f32', 'bf16', 'f32')).replace(' : (', ' {may_round} : (') + store('%c', f'{n}*m + n')
        kernel = Kernel(f'contraction @x axes(m = "mm", n = "{n}", k = "{k}") {{ {body} }}', ['f32', 'bf16'], ['f32'], variant)
        for m in (3, 14, 15, 25, 37, 100):
            a, b = normal(m, k), bfloat(normal(k, n))
            left = a if m < 13 else rounded(a)
            check(f'{variant} {m}x{k}x{n}', kernel, [a, pack(b)], [m], left.astype(float) @ (b.astype(np.uint32) << 16).view(np.float32), chunk=2,
                  tolerance=2e-5 if k < 200 else 4e-4)


def finite(x):
    return np.nan_to_num(np.abs(x), posinf=0)


def tiles_of_f16(variant):
    """Both factors are f16, as two bf16 each: as exact as sums of f32, with subnormal numbers and the largest ones, and infinities of one factor or both
    are what they are elsewhere."""
    for k, n in ((64, 64), (40, 33), (509, 70), (13, 32), (2100, 33)):
        body = contract(f'{k}*m + k', f'{n}*k + n', 'k', True, ('f32', 'f16', 'f32')).replace(' : (', ' {may_round} : (') + store('%c', f'{n}*m + n')
        kernel = Kernel(f'contraction @x axes(m = "mm", n = "{n}", k = "{k}") {{ {body} }}', ['f32', 'f16'], ['f32'], variant)
        rounding = 2 ** -21 * k ** 0.5  # of sums of f32 in whatever order
        for m in (3, 14, 25, 37, 100, 300):
            a, b = normal(m, k).astype(np.float16), normal(k, n).astype(np.float16)
            a, b = (abs(a), abs(b)) if k == 64 else (a, b)  # the four products have one sign then: none may be missing
            a[1, :3], b[:3, 2] = (6e-8, 65504, 0), (65504, 6e-8, 5e-7)
            both = a.astype(float), b.astype(float)
            check(f'{variant} f16 {m}x{k}x{n}', kernel, [a.astype(np.float32), pack(b)], [m], both[0] @ both[1], chunk=2, tolerance=rounding,
                  scale=np.abs(both[0]) @ np.abs(both[1]))
            b[:, 1], b[1, 4], b[2, 5] = 0, np.inf, np.nan
            a[0, 1], a[1, 3], a[2, :], a[2, 2] = np.inf, -np.inf, 0, 1
            both = a.astype(float), b.astype(float)
            with np.errstate(invalid='ignore'):
                want, scale = both[0] @ both[1], finite(both[0]) @ finite(both[1])
            check(f'{variant} f16 {m}x{k}x{n} infinities', kernel, [a.astype(np.float32), pack(b)], [m], want, chunk=2, tolerance=rounding, scale=scale)


def tiles_of_operands(variant):
    """Both operands are computed and of a half type: panels are packed as f32 and made words where they lie, of open sizes where there are enough of them;
    rows of the second operand side by side, and columns; batches."""
    for kind, k in (('bf16', 64), ('bf16', 131), ('bf16', 2085), ('f16', 48), ('f16', 1100)):
        narrow = bfloat if kind == 'bf16' else lambda x: x.astype(np.float16)
        wide = (lambda x: (x.astype(np.uint32) << 16).view(np.float32).astype(float)) if kind == 'bf16' else lambda x: x.astype(float)
        for transposed in (False, True):
            rhs = f'{k}*nn*p + {k}*n + k' if transposed else f'{k}*nn*p + nn*k + n'
            body = contract(f'{k}*mm*p + {k}*m + k', rhs, 'k', False, ('f32', kind, 'f32')).replace(' : (', ' {may_round} : (') + store('%c', 'mm*nn*p + nn*m + n')
            kernel = Kernel(f'contraction @x axes(p = "2", m = "mm", n = "nn", k = "{k}") {{ {body} }}', ['f32', kind], ['f32'], variant)
            for m, n in ((5, 200), (30, 33), (50, 127), (50, 130), (70, 300)):
                a, b = narrow(normal(2, m, k)), narrow(normal(2, k, n))
                left, right = wide(a), wide(b)
                stored = np.ascontiguousarray(b.swapaxes(1, 2)) if transposed else b
                check(f'{variant} {kind} {m}x{k}x{n} {transposed}', kernel, [left.astype(np.float32), stored], [m, n], left @ right, chunk=3,
                      tolerance=2 ** -22 * k ** 0.5, scale=np.abs(left) @ np.abs(right))


def convolution(taps, channels, columns, high, stride, border):
    """A kernel of an image with its channels side by side and a filter in pairs, and the axes' extents."""
    out = [(size + 2 * border - taps) // stride + 1 for size in (high, high + 2)]
    body = ''
    for place, (axis, tap, size) in enumerate((('y', 'p', high), ('x', 'q', high + 2))):
        body += f'%at{place} = kernel.index "{stride}*{axis} + {tap} - {border}"\n%zero{place} = arith.constant 0 : i64\n%end{place} = arith.constant {size} : i64\n'
        body += f'%from{place} = arith.cmpi sge, %at{place}, %zero{place} : i64\n%to{place} = arith.cmpi slt, %at{place}, %end{place} : i64\n'
    body += '%both0 = arith.andi %from0, %to0 : i1\n%both1 = arith.andi %from1, %to1 : i1\n%inside = arith.andi %both0, %both1 : i1\n%none = arith.constant 0.0 : f32\n'
    line = channels * (high + 2)
    offset = f'{line * stride}*y + {line}*p + {channels * stride}*x + {channels}*q + c - {border * (line + channels)}'
    body += f'%a = kernel.load %in0["{offset}"] if %inside else %none : {R} else f32 -> f32\n' if border else f'%a = kernel.load %in0["{offset}"] : {R} -> f32\n'
    body += (f'%f = kernel.load %in1["{channels * taps ** 2}*n + {taps ** 2}*c + {taps}*p + q"] {{packed}} : !kernel.ref<bf16> -> bf16\n'
             '%w = arith.extf %f : bf16 to f32\n%m = arith.mulf %a, %w : f32\n%c = kernel.reduce add %m over ["p", "q", "c"] : f32\n')
    axes = f'y = "{out[0]}", x = "{out[1]}", n = "{columns}", p = "{taps}", q = "{taps}", c = "{channels}"'
    return f'reduction @x axes({axes}) {{ {body} {store("%c", f"{columns * out[1]}*y + {columns}*x + n")} }}', out


def convolutions_of_halves(variant):
    """A filter in pairs of bf16 and rows of the image that are rounded: windows with a border and strides, blocks of several sizes, a last panel that is not
    full, lines of the window outside of the image; windows of 40 channels go in steps of ten words, of 38 by no unit."""
    for taps, channels, columns, high, stride, border in ((1, 64, 40, 9, 1, 0), (3, 32, 33, 12, 1, 1), (3, 40, 64, 9, 2, 1), (5, 64, 70, 4, 1, 2), (1, 128, 20, 30, 1, 0),
                                                          (1, 64, 33, 4, 1, 0), (3, 38, 32, 8, 1, 1), (3, 256, 96, 7, 1, 1)):
        text, out = convolution(taps, channels, columns, high, stride, border)
        image, filters = normal(high, high + 2, channels), bfloat(normal(columns, channels, taps, taps))
        padded = np.pad(rounded(image).astype(float), ((border, border), (border, border), (0, 0)))
        wide = (filters.astype(np.uint32) << 16).view(np.float32).astype(float)
        want = sum(padded[p:p + stride * (out[0] - 1) + 1:stride, q:q + stride * (out[1] - 1) + 1:stride] @ wide[:, :, p, q].T
                   for p in range(taps) for q in range(taps))
        panels = pack(np.ascontiguousarray(filters.transpose(2, 3, 1, 0)).reshape(-1, columns))
        pairs = np.ascontiguousarray(panels.reshape(panels.shape[0], -1, 2, panels.shape[2]).swapaxes(2, 3))
        check(f'{variant} convolution {taps}x{taps} {channels} {columns} {high} {stride}', Kernel(text, ['f32', 'bf16'], ['f32'], variant), [image, pairs], [], want,
              chunk=3, tolerance=2e-4)


def open_lines(variant):
    """Windows along lines of open length, which scratch memory holds and no more: lines that end with a vector, and within one."""
    for channels, taps, stride, columns in ((1, 10, 5, 33), (2, 7, 2, 16), (1, 3, 1, 64)):
        line = f'({stride}*N + {taps - stride + 1})'  # an element longer than what is read, so that rows of two images do not follow each other
        body = (f'%a = kernel.load %in0["{stride}*x + q + c*{line} + {channels}*b*{line}"] : {R} -> f32\n'
                f'%f = kernel.load %in1["{channels * taps}*n + {taps}*c + q"] {{packed}} : {R} -> f32\n'
                '%m = arith.mulf %a, %f : f32\n%s = kernel.reduce add %m over ["c", "q"] : f32\n')
        text = f'reduction @x axes(b = "B", n = "{columns}", x = "N", c = "{channels}", q = "{taps}") {{ {body} {store("%s", f"{columns}*N*b + N*n + x")} }}'
        kernel = Kernel(text, ['f32', 'f32'], ['f32'], variant)
        filters = normal(columns, channels, taps)
        packed = pack(np.ascontiguousarray(filters.transpose(1, 2, 0)).reshape(-1, columns))
        for n in (1, 5, 30, 62, 126, 255, 300):
            image = normal(2, channels, stride * n + taps - stride + 1)
            want = sum(np.einsum('o,bx->box', filters[:, c, q].astype(float), image[:, c, q:q + stride * (n - 1) + 1:stride]) for c in range(channels) for q in range(taps))
            check(f'{variant} line of {n} x {stride} of {channels}', kernel, [image, packed], [2, n], want, tolerance=2e-5)


tiles_of_halves('avx512amx')
convolutions_of_halves('avx512amx')
tiles_of_operands('avx512amx')
tiles_of_f16('avx512amx')
for v in variants():
    for test in (heights_and_panels, permuted_store, channels_first, batches, transposed_rows, rows_for_all_panels, shared_rows, several_contracted_axes, panels_together, row_accesses, element_types, vectors):
        test(v)
for v in variants():
    streams(v)
for v in variants():
    open_lines(v)
print(f'{wrong} wrong')
