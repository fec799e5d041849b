"""Cases of scans, sorts and scatters, for cases.py, which has what they are made of."""
import numpy as np

from case import TYPES, Case, constant, from_bf16, load, rng, store, to_bf16

FLOATS = ("f32", "f16", "bf16", "f64")


def scatter(rows, count, width, t="f32", combine="add", special=False, spread=0, each=None, listed=False, places=None):
    """Updates of a result that lies where its data lie: the 77 of every element before a kernel runs. `spread`: elements differ by powers of ten
    up to this. `each`: what all updates are. `listed`: an operand has the numbers of the updates, sorted by place. `places`: all go to so many."""
    r = rng("scatter")
    kind = TYPES.get(t, np.float32)
    at = r.integers(-rows - 3, rows + 3, count) if places is None else r.integers(0, places, count) * (rows // places)
    updates = r.standard_normal((count, width)).astype(kind) if t in FLOATS else r.integers(-9, 9, (count, width)).astype(kind)
    if spread:
        updates = np.ldexp(updates, 3 * (at[:, None] % spread)).astype(kind)
    if special:  # numbers that are none, and some that others of the same element cannot hold
        updates.flat[::7], updates.flat[3::11], updates.flat[5::13], updates.flat[1::17] = np.nan, np.inf, -np.inf, 1e30
        if combine == "mul":
            updates.flat[2::19] = 0
    if each is not None:
        updates[:] = each
    if t == "bf16":
        updates = from_bf16(to_bf16(updates))
    clause = f"combine {combine} " if combine else ""
    body = (load("x", "i0", f"{width}*r + c", t) + store("x", "o0", f"{width}*r + c", t) + load("i", "i1", "n", "i64") + f'''
    %zero = arith.constant 0 : i64
    %rows = kernel.index "R"
    %last = kernel.index "R - 1"
    %negative = arith.cmpi slt, %i, %zero : i64
    %wrapped = arith.addi %i, %rows : i64
    %at = arith.select %negative, %wrapped, %i : i64
    %low = arith.cmpi sge, %at, %zero : i64
    %high = arith.cmpi slt, %at, %rows : i64
    %inside = arith.andi %low, %high : i1
    %most = arith.minsi %at, %last : i64
    %to = arith.maxsi %most, %zero : i64
''' + (load("u", "i2", f"{width}*n + c", t) if each is None else constant("u", each, t)) +
            f'    kernel.store %u, %o0["{width}*$0 + c"] indirect(%to) if %inside {clause}: {t}, !kernel.ref<{t}>\n')
    want = np.full((rows, width), 77, np.float64 if t in FLOATS else kind)
    combined = {"add": np.add, "max": np.maximum, "min": np.minimum, "mul": np.multiply, "": lambda old, new: new}[combine]
    with np.errstate(all="ignore"):
        for i, u in zip(at, updates):
            i += rows if i < 0 else 0
            if 0 <= i < rows:
                want[i] = combined(want[i], u)
        want = want.astype(np.float32) if t == "f32" else want
    case = Case("scatter", "scatter", [("r", "R"), ("c", str(width)), ("n", "N")], body, {"R": rows, "N": count},
                [(t, np.full((rows, width), 77, kind)), ("i64", at), (t, updates)], [(t, want)], *[{"f16": 2e-3, "bf16": 1e-2}.get(t, 1e-5)] * 2)
    case.attributes = "attributes {in_place = 0 : i64} "
    if listed:
        to = np.where(at < 0, at + rows, at)
        case.inputs.append(("i64", np.argsort(np.where((to >= 0) & (to < rows), to, rows), kind="stable")))
        case.attributes = "attributes {in_place = 0 : i64, order = 3 : i64} "
    return case


def scan(rows, n, kind="add", t="f32", columns=0, exclusive=False, reverse=False, open_size=True):
    """Along the last of two axes, or with columns behind it along the middle one of three."""
    r = rng(f"scan{n}")
    shape = (rows, n, columns) if columns else (rows, n)
    x = r.integers(-4, 5, shape) if t == "i64" else r.standard_normal(shape).astype(np.float32)
    size = "C" if open_size else str(n)
    at = f"{columns}*{size}*n + {columns}*c + k" if columns else f"{size}*n + c"
    flags = ", ".join([f for f, on in (("exclusive", exclusive), ("reverse", reverse)) if on])
    body = (load("x", "i0", at, t) + f'    %s = kernel.scan {kind} %x along "c" {{{flags}}} : {t}\n' + store("s", "o0", at, t))
    y = x.astype(np.int64 if t == "i64" else np.float64)
    y = np.flip(y, 1) if reverse else y
    want = {"add": np.cumsum, "max": np.maximum.accumulate, "logaddexp": np.logaddexp.accumulate}[kind](y, axis=1)
    if exclusive:
        want = np.concatenate([np.full_like(want[:, :1], 0 if kind == "add" else -np.inf), want[:, :-1]], 1)
    want = np.flip(want, 1) if reverse else want
    axes = [("n", "N"), ("c", size)] + ([("k", str(columns))] if columns else [])
    sizes = {"N": rows} | ({"C": n} if open_size else {})
    return Case("scan", "scan", axes, body, sizes, [(t, x)], [(t, want)], 1e-4, 1e-3 if n < 10000 else 2e-2)


def compact(n, t="f32", share=0.3, open_size=True):
    """The numbers above a bound, in order, and where they stand; or the latter alone."""
    r = rng(f"compact{n}")
    x = r.random(n).astype(np.float32)
    kept = np.flatnonzero(x < np.float32(share))
    size = "N" if open_size else str(n)
    body = (load("x", "i0", "i") + constant("bound", np.float32(share), "f32") + f'''    %p = arith.cmpf olt, %x, %bound : f32
    %v = kernel.index "i"
    %one = arith.extui %p : i1 to i64
    %s = kernel.scan add %one along "i" {{exclusive}} : i64
    %k = kernel.index "K"
    %zero = arith.constant 0 : i64
    %last = kernel.index "K - 1"
    %low = arith.cmpi slt, %s, %k : i64
    %q = arith.andi %p, %low : i1
    %most = arith.minsi %s, %last : i64
    %at = arith.maxsi %most, %zero : i64
''' + f'    kernel.store {"%x" if t == "f32" else "%v"}, %o0["$0"] indirect(%at) if %q : {t}, !kernel.ref<{t}>\n')
    want = x[kept] if t == "f32" else kept
    return Case("compact", "scan", [("i", size)], body, {"K": len(kept)} | ({"N": n} if open_size else {}), [("f32", x)], [(t, want)], 0, 0)


def sort(rows, n, k, t="f32", descending=False, ties=False, alike=0, fixed=False):
    """The first k of each row and where they stand; with `alike` the best ones belong to the first k of so many threads."""
    C, K = (n, k) if fixed else ("C", "K")
    r = rng(f"sort{n}{k}{t}")
    x = r.integers(-5, 5, (rows, n)) if ties else r.permutation(rows * n).reshape(rows, n) - n
    if alike:
        x[:, np.argsort(np.arange(n) % alike >= k, kind="stable")] = np.sort(x, 1)[:, ::-1 if descending else 1]
    if t != "i64":
        x = x.astype(np.float32)
        x[x == 1] = np.nan
        x[x == 2] = -0.0
        x[x == 3] = -np.inf
    flag = " {descending}" if descending else ""
    body = (load("x", "i0", f"{C}*n + c", t) + f'    %s = kernel.sort %x along "c" to "p"{flag} : {t}\n' +
            f'    %v = kernel.load %i0["{C}*n + $0"] indirect(%s) : !kernel.ref<{t}> -> {t}\n' +
            store("v", "o0", f"{K}*n + p", t) + store("s", "o1", f"{K}*n + p", "i64"))
    rank = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    order = np.argsort(-rank if descending else rank, 1, kind="stable")[:, :k]
    sizes = {"N": rows} if fixed else {"N": rows, "C": n, "K": k}
    return Case("sort", "sort", [("n", "N"), ("p", str(K)), ("c", str(C))], body, sizes, [(t, x)],
                [(t, np.take_along_axis(x, order, 1)), ("i64", order)], 0, 0)


ORDERED = [lambda: scan(3, 1000), lambda: scan(9, 70, reverse=True), lambda: scan(2, 3001, exclusive=True), lambda: scan(2, 1, kind="max"),
           lambda: scan(5, 64, open_size=False, exclusive=True, reverse=True), lambda: scan(2, 4096, open_size=False),
           lambda: scan(2, 2500, open_size=False, reverse=True, kind="max"), lambda: scan(3, 50, t="i64"), lambda: scan(2, 40, columns=33),
           lambda: scan(2, 7, columns=5, exclusive=True, reverse=True), lambda: scan(2, 300, kind="logaddexp"), lambda: scan(0, 9),
           # Rows and columns in chunks: open and fixed, with wide accesses and without, several rows.
           lambda: scan(1, 9000), lambda: scan(2, 8193, exclusive=True, reverse=True), lambda: scan(1, 20000, open_size=False),
           lambda: scan(2, 4100, t="i64", reverse=True), lambda: scan(1, 12290, open_size=False, kind="max"), lambda: scan(1, 4097, kind="logaddexp"),
           lambda: scan(1, 200, columns=33), lambda: scan(2, 300, columns=5, exclusive=True, reverse=True), lambda: scan(1, 33, columns=70, open_size=False, kind="max"),
           lambda: sort(3, 1, 1), lambda: sort(3, 50, 50), lambda: sort(2, 50, 7, descending=True), lambda: sort(2, 1000, 1000, ties=True),
           lambda: sort(2, 5000, 5000), lambda: sort(1, 9000, 4097, descending=True), lambda: sort(2, 6000, 5, ties=True),
           lambda: sort(2, 300, 300, "i64", ties=True), lambda: sort(1, 5000, 2049, "i64"), lambda: sort(1, 5000, 3, "i64", descending=True, ties=True),
           # The best ones of long rows; the last two have more good ones than a block has room for.
           lambda: sort(2, 8192, 1), lambda: sort(1, 20000, 50, descending=True, ties=True), lambda: sort(1, 9001, 512, "i64"), lambda: sort(3, 1100, 128),
           lambda: sort(1, 9900, 500, alike=1024), lambda: sort(1, 8000, 120, "i64", descending=True, alike=256)]
# Chosen elements: some, all and none of lists that one block has, and that blocks share.
COMPACT = [lambda: compact(50), lambda: compact(3001, "i64"), lambda: compact(4096, share=2.0, open_size=False), lambda: compact(700, share=-1.0),
           lambda: compact(20000), lambda: compact(40960, "i64", open_size=False), lambda: compact(30011, "i64", 0.9), lambda: compact(16384, share=0.01), lambda: compact(0)]
# Rows that a block sorts digit by digit: its shapes, of which the largest fit one GPU, and words that share digits.
SORTED_ROWS = [lambda: sort(2, 513, 513), lambda: sort(3, 700, 130, ties=True, descending=True), lambda: sort(2, 1024, 1024, "i64"),
               lambda: sort(2, 1025, 1025, descending=True), lambda: sort(1, 2049, 2049), lambda: sort(1, 4100, 4100, "i64", ties=True),
               lambda: sort(1, 8200, 8200, ties=True), lambda: sort(1, 8192, 200, "i64", descending=True)]
# Rows that all blocks sort together.
SORTED_TOGETHER = [lambda: sort(1, 16400, 16400), lambda: sort(2, 16500, 600, descending=True, ties=True), lambda: sort(1, 8200, 8200, "i64", ties=True),
                   lambda: sort(1, 8300, 8300, "i64")]
# A few best ones of short rows, which a warp finds.
SORTED_WARPS = [lambda: sort(9, 100, 8), lambda: sort(3, 1, 1), lambda: sort(5, 1000, 32, ties=True, descending=True), lambda: sort(6, 40, 20, "i64"),
                lambda: sort(7, 128, 8, "bf16", descending=True, ties=True, fixed=True), lambda: sort(2, 1024, 3, "i64", ties=True, fixed=True),
                lambda: sort(0, 50, 3), lambda: sort(5, 30, 30, fixed=True), lambda: sort(2, 33, 1, fixed=True)]
# And of long rows too few for a device, of each of whose stretches a block finds them.
SORTED_STRETCHES = [lambda: sort(1, 40000, 100), lambda: sort(2, 33001, 7, ties=True, descending=True), lambda: sort(1, 32769, 500, "i64", ties=True),
                    lambda: sort(1, 70000, 1, fixed=True), lambda: sort(3, 32768, 300, "bf16", descending=True, ties=True, fixed=True)]

SCATTERS = [lambda: scatter(50, 200, 8), lambda: scatter(7, 90, 1), lambda: scatter(300, 40, 33, combine=""), lambda: scatter(50, 500, 3, "i32"),
            lambda: scatter(9, 300, 5, "i64", "max"), lambda: scatter(9, 60, 5, "i64", "mul"), lambda: scatter(20, 100, 4, "i64", ""),
            lambda: scatter(9, 300, 5), lambda: scatter(1, 400, 3), lambda: scatter(40, 300, 2, special=True), lambda: scatter(3, 200, 3, "f16"),
            lambda: scatter(5, 60, 2, "bf16"), lambda: scatter(30, 90, 3, combine="max"), lambda: scatter(30, 90, 3, "bf16", "min"),
            lambda: scatter(40, 300, 2, combine="max", special=True), lambda: scatter(40, 300, 2, combine="min", special=True),
            lambda: scatter(7, 90, 2, combine="mul"), lambda: scatter(7, 3, 2), lambda: scatter(7, 90, 2, "i32", ""),
            # Many more elements than updates, several windows of a sum, f64.
            lambda: scatter(1000, 40, 3), lambda: scatter(1001, 30, 3, combine=""), lambda: scatter(999, 40, 3, combine="max", special=True),
            lambda: scatter(1003, 40, 3, special=True), lambda: scatter(900, 40, 3, "i64", ""), lambda: scatter(900, 40, 3, "bf16"),
            lambda: scatter(60, 300, 3, spread=41), lambda: scatter(900, 60, 1, spread=41), lambda: scatter(40, 300, 3, "f64"),
            lambda: scatter(60, 300, 3, "f64", spread=60), lambda: scatter(40, 300, 2, "f64", special=True), lambda: scatter(40, 300, 2, "f64", "min"),
            lambda: scatter(900, 60, 1, "f64", spread=70), lambda: scatter(30, 100, 1, "f64", ""),
            # Products: special numbers, several windows of powers, many more elements than updates.
            lambda: scatter(40, 300, 2, combine="mul", special=True), lambda: scatter(999, 40, 3, combine="mul", special=True),
            lambda: scatter(7, 200, 1, "f16", "mul"), lambda: scatter(5, 60, 2, "bf16", "mul"), lambda: scatter(60, 300, 3, combine="mul", spread=7),
            lambda: scatter(9, 300, 3, "i32", "mul"), lambda: scatter(30, 100, 1, "f64", "mul"),
            # Updates that are one number, few elements of many updates, integers among them.
            lambda: scatter(300, 900, 2, each=0.3), lambda: scatter(900, 60, 1, each=-2.5), lambda: scatter(50, 9000, 2, each=1.0),
            lambda: scatter(3, 400, 5, "bf16", each=0.5), lambda: scatter(40, 500, 1, "f64", each=0.1), lambda: scatter(7, 40, 2, each=float("inf")),
            lambda: scatter(20, 9000, 2, "i64"), lambda: scatter(1, 17000, 1, "i32"), lambda: scatter(50, 9000, 2, "i64", each=3), lambda: scatter(2000, 9000, 2, "i32", each=-2)]
# Rows in the order of their places: none, one run of all stretches, runs of several of them, special numbers, half types.
SCATTER_RUNS = [lambda: scatter(50, 300, 8, listed=True), lambda: scatter(9, 1000, 33, listed=True), lambda: scatter(700, 900, 16, listed=True),
                lambda: scatter(1, 2000, 8, listed=True, places=1), lambda: scatter(40, 3000, 12, listed=True, places=3), lambda: scatter(30, 0, 8, listed=True),
                lambda: scatter(40, 300, 8, listed=True, special=True), lambda: scatter(30, 400, 24, "bf16", listed=True), lambda: scatter(3, 200, 64, "f16", listed=True),
                lambda: scatter(60, 500, 9, "f64", listed=True), lambda: scatter(20, 15, 300, listed=True), lambda: scatter(5, 6000, 1, listed=True, places=5)]
SPEED = [lambda: scan(4096, 16384).timed(bytes=8.0 * 4096 * 16384, torch=lambda torch, x: lambda: torch.cumsum(x[0], 1)),
          lambda: scan(1, 1 << 20).timed(bytes=8.0 * (1 << 20), torch=lambda torch, x: lambda: torch.cumsum(x[0], 1)),
          lambda: scan(64, 512, columns=512).timed(bytes=8.0 * 64 * 512 * 512, torch=lambda torch, x: lambda: torch.cumsum(x[0], 1)),
          lambda: sort(8, 50257, 50, descending=True).timed(torch=lambda torch, x: lambda: torch.topk(x[0], 50)),
          lambda: sort(1024, 2048, 2048).timed(torch=lambda torch, x: lambda: torch.sort(x[0])),
          lambda: sort(1, 1 << 18, 1 << 18).timed(torch=lambda torch, x: lambda: torch.sort(x[0]))]
GROUPS = {"compact": COMPACT, "scatters": SCATTERS, "scatter_runs": SCATTER_RUNS, "sorted_warps": SORTED_WARPS, "sorted_stretches": SORTED_STRETCHES, "sorted_together": SORTED_TOGETHER,
          "sorted_rows": SORTED_ROWS, "ordered": ORDERED}
