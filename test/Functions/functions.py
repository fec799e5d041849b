"""Measures every elementary function, on every instruction set of this machine, against libm in long double.

usage: functions.py [-v] [--neon FOREIGN]

All numbers of the half types, samples of f32 and f64 over all exponents with the places where functions go wrong, and integers
against Python's. With --neon, fewer of f32 and f64 in an emulator, where FOREIGN has the C library of aarch64. The table of
what is allowed is Inputs/cases.py; -v prints what was measured.
"""
import ctypes
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parent / "Inputs"))
import cases  # noqa: E402
import integers  # noqa: E402
from compiled import Function, build  # noqa: E402
from floats import TYPES  # noqa: E402

PAIRS = [0.0, 1, 0.5, 2, 3, 1.5, 7, 100, 1e4, np.inf, np.nan, 5e-324, 1e-45, 1e-40, 6e-8, 1e30, 1e-30, 65504, 0.3, 3.4e38, 1.79e308]


class Reference:
    def __init__(self, folder):
        library = folder / "reference.so"
        source = pathlib.Path(__file__).parent / "Inputs" / "reference.c"
        compiler = shutil.which("clang-19") or "cc"
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True)
        self.function = ctypes.CDLL(str(library)).reference

    def __call__(self, name, *operands):
        out = np.zeros(len(operands[0]), np.longdouble)
        pointers = [ctypes.c_void_p(v.ctypes.data) for v in (*operands, out)]
        if len(operands) == 1:
            pointers.insert(1, None)
        assert self.function(name.encode(), *pointers, ctypes.c_size_t(len(out))), name
        return out


class Check:
    """Counts and prints what fails."""

    def __init__(self):
        self.failed = 0

    def ulps(self, what, got, want, element, bound, operands):
        measured = element.ulps(got, want)
        worst = int(np.argmax(measured))
        if measured[worst] > bound:
            self.failed += 1
            at = ", ".join(repr(float(v[worst])) for v in operands)
            print(f"FAIL {what}({at}): {measured[worst]} ulp, {bound} allowed: {element.doubles(got)[worst]!r}, expected {want[worst]!r}")
        elif "-v" in sys.argv:
            print(f"{what}: {measured[worst]:.2f} ulp of {bound}")

    def equal(self, what, got, want, operands):
        wrong = np.flatnonzero((got != want) & ~((got != got) & (want != want)))
        if len(wrong):
            self.failed += 1
            at = ", ".join(str(v[wrong[0]]) for v in operands)
            print(f"FAIL {what}({at}): {got[wrong[0]]}, expected {want[wrong[0]]}; {len(wrong)} such")


    def verdict(self, compiled):
        """The exit code."""
        print("failed", self.failed) if self.failed else print("passed on", *compiled)
        return 1 if self.failed else 0


def float_functions(elements=tuple(TYPES)):
    for element in elements:
        for name in cases.UNARIES:
            yield Function(f"{name}_{element}", [element], element, f"%r = lathe.{name} %x0 : {{T}}")
        for name in cases.BINARIES:
            yield Function(f"{name}_{element}", [element] * 2, element, f"%r = lathe.{name} %x0, %x1 : {{T}}")


def powers_of_one():
    """With one exponent for all elements, which may be of those that are simple."""
    return [Function(f"pow_one_{e}", [e, f"one {e}"], e, "%e = lathe.broadcast %x1 : {T1} -> {T}\n%r = lathe.pow %x0, %e : {T}") for e in TYPES]


def sigmoids():
    """An exponential beside 1."""
    body = ("%n = lathe.neg %x0 : {{T}}\n%e = lathe.exp %n : {{T}}\n%s = lathe.constant dense<1.0> : tensor<{0}>\n"
            "%one = lathe.broadcast %s : tensor<{0}> -> {{T}}\n%d = lathe.add %e, %one : {{T}}\n%r = lathe.div %one, %d : {{T}}")
    return [Function(f"sigmoid_{e}", [e], e, body.format(e)) for e in ("f32", "f64")]


def cast(source, to):
    return Function(f"cast_{source}_{to}", [source], to, "%r = lathe.cast %x0 : {T0} -> {T}")


def integer_functions():
    for element in integers.WIDTH:
        for name in integers.UNARIES:
            yield Function(f"{name}_{element}", [element], element, f"%r = lathe.{name} %x0 : {{T}}")
        for name in integers.BINARIES:
            yield Function(f"{name}_{element}", [element] * 2, element, f"%r = lathe.{name} %x0, %x1 : {{T}}")
        for other in integers.FLOATS:
            yield cast(element, other)
            yield cast(other, element)


def narrowings():
    return [cast(source, to) for source, to in (("f64", "f16"), ("f64", "bf16"), ("f64", "f32"), ("f32", "f16"), ("f32", "bf16"))]


def check_floats(check, reference, compiled, rng, allowed=cases.allowed, elements=tuple(TYPES), at_most=None):
    for name, element in ((name, TYPES[name]) for name in elements):
        x = element.every() if element.width == 16 else element.samples(rng, 48 if name == "f32" else 8, 4000)
        edges = element.patterns(np.array(PAIRS + [-v for v in PAIRS]))
        near = element.patterns(rng.uniform(-10, 10, (2, 15000)))
        pair = [np.concatenate(parts) for parts in zip((v.ravel() for v in np.meshgrid(edges, edges)), rng.choice(x, (2, 15000)), near)]
        if at_most:
            x, pair = rng.choice(x, at_most), [v[:at_most] for v in pair]
        for table, operands in ((cases.UNARIES, [x]), (cases.BINARIES, pair)):
            numbers = [element.doubles(v) for v in operands]
            for function in table:
                want = reference(function, *numbers)
                for variant, kernels in compiled.items():
                    got = np.zeros_like(operands[0])
                    kernels[f"{function}_{name}"](*operands, got)
                    check.ulps(f"{variant} {name} {function}", got, want, element, allowed(table, function, name), numbers)


def check_powers_of_one(check, reference, compiled, rng):
    """A cube is rounded twice."""
    for name, element in TYPES.items():
        x = np.concatenate([element.patterns(np.array(PAIRS + [-v for v in PAIRS])), rng.choice(element.samples(rng, 8, 500), 3000)])
        numbers = element.doubles(x)
        for exponent in (2, 0.5, 3, -1, 1, 0, -0.5, 2.5, -3, np.inf, -np.inf, np.nan):
            e = element.patterns(np.array([float(exponent)]))
            want = reference("pow", numbers, np.full(len(x), element.doubles(e)[0]))
            for variant, kernels in compiled.items():
                got = np.zeros_like(x)
                kernels[f"pow_one_{name}"](x, e, got)
                bound = 1.51 if exponent == 3 and element.width > 16 else cases.allowed(cases.BINARIES, "pow", name)
                check.ulps(f"{variant} {name} pow by {exponent}", got, want, element, bound, [numbers])


def check_sigmoids(check, compiled, rng):
    """In f32 and f64, NaNs with any payload among the operands."""
    for name, bound in (("f32", 6.5), ("f64", 3.0)):
        element = TYPES[name]
        payloads = element.patterns(np.full(500, np.nan)) | rng.integers(0, 1 << (element.mantissa - 1), 500).astype(element.dtype)
        x = np.concatenate([element.samples(rng, 16, 4000), payloads])
        numbers = element.doubles(x)
        exact = np.exp(-np.abs(numbers).astype(np.longdouble))
        want = np.where(numbers < 0, exact, 1) / (1 + exact)
        want[numbers < (-700 if name == "f64" else -87)] = 0
        for variant, kernels in compiled.items():
            got = np.zeros_like(x)
            kernels[f"sigmoid_{name}"](x, got)
            got[(element.doubles(got) < float(np.exp(-700.0 if name == "f64" else -87.0))) & (want == 0)] = 0  # may be subnormal or not
            check.ulps(f"{variant} {name} sigmoid", got, want, element, bound, [numbers])


def check_narrowings(check, compiled, rng):
    """Among the samples: numbers just beside a tie, which rounding by way of f32 would take for one."""
    for function in narrowings():
        source, to = TYPES[function.operands[0]], TYPES[function.result]
        every = to.doubles(to.every()) if to.width == 16 else to.doubles(to.samples(rng, 16, 1000))
        every = np.unique(np.abs(every[np.isfinite(every)]))
        with np.errstate(all="ignore"):
            ties = source.patterns((every[1:] + every[:-1]) / 2)
        x = np.concatenate([source.neighbours(ties, 1), source.samples(rng, 8, 1000)])
        want = source.doubles(x).astype(np.longdouble)
        for variant, kernels in compiled.items():
            got = np.zeros(len(x), to.dtype)
            kernels[function.name](x, got)
            check.ulps(f"{variant} {function.name}", got, want, to, 0.5, [want])
            exact = to.doubles(got) == want  # of two as near, the even one
            tie = (to.ulps(got, want) == 0.5) & ~exact
            check.equal(f"{variant} {function.name} of ties", got[tie] & 1, np.zeros(tie.sum(), got.dtype), [want[tie]])


def check_integers(check, compiled, rng):
    for element in integers.WIDTH:
        kind, values = integers.dtype(element), integers.samples(element, rng)
        x = np.array(values, kind)
        i, j = rng.integers(0, len(values), (2, 4000))
        i, j = (np.concatenate([a, b.ravel()]) for a, b in zip((i, j), np.meshgrid(np.arange(19), np.arange(19))))
        pairs = list(zip((values[k] for k in i), (values[k] for k in j)))
        wanted = {f"{n}_{element}": ([x], np.array([f(v, element) for v in values], kind)) for n, f in integers.UNARIES.items()}
        wanted |= {f"{n}_{element}": ([x[i], x[j]], np.array([f(a, b, element) for a, b in pairs], kind))
                   for n, f in integers.BINARIES.items()}
        for name, (kind_of_float, _) in integers.FLOATS.items():
            wanted[f"cast_{element}_{name}"] = ([x], np.array([integers.nearest(v, name) for v in values], kind_of_float))
            floats = rng.choice(TYPES[name].samples(rng, 2, 500), 3000).view(kind_of_float)
            with np.errstate(all="ignore"):
                floats = np.concatenate([floats, x.astype(kind_of_float)])
            wanted[f"cast_{name}_{element}"] = ([floats], np.array([integers.saturated(float(v), element) for v in floats], kind))
        for variant, kernels in compiled.items():
            for name, (operands, want) in wanted.items():
                got = np.zeros(len(want), want.dtype)
                kernels[name](*operands, got)
                check.equal(f"{variant} {name}", got, want, operands)


def all_functions():
    return [*float_functions(), *powers_of_one(), *sigmoids(), *integer_functions(), *narrowings()]


def check_all(compiled, scratch, allowed=cases.allowed):
    """The exit code."""
    np.seterr(all="ignore")
    rng = np.random.default_rng(7)
    check = Check()
    reference = Reference(pathlib.Path(scratch))
    check_floats(check, reference, compiled, rng, allowed)
    check_powers_of_one(check, reference, compiled, rng)
    check_sigmoids(check, compiled, rng)
    check_narrowings(check, compiled, rng)
    check_integers(check, compiled, rng)
    check_table(check)
    return check.verdict(compiled)


def check_table(check):
    """The table of docs/Rationale/Functions.md is that of Inputs/cases.py."""
    page = (pathlib.Path(__file__).parent.parent.parent / "docs" / "Rationale" / "Functions.md").read_text()
    said = {name.strip(): bounds for names, *bounds in re.findall(r"^\| (.*) \| ([0-9.]+) \| ([0-9.]+) \|$", page, re.M)
            for name in names.split(",")}
    meant = {name: [str(b) for b in bounds] for table in (cases.UNARIES, cases.BINARIES) for name, bounds in table.items()}
    for name in sorted(said.keys() | meant.keys()):
        if said.get(name) != meant.get(name):
            check.failed += 1
            print(f"FAIL docs/Rationale/Functions.md says {said.get(name)} of {name}, which is {meant.get(name)}")


def check_neon(foreign):
    from foreign import build_neon
    np.seterr(all="ignore")
    check, elements = Check(), ("f32", "f64")
    with tempfile.TemporaryDirectory() as scratch:
        compiled = build_neon(list(float_functions(elements)), scratch, foreign)
        reference = Reference(pathlib.Path(scratch))
        check_floats(check, reference, compiled, np.random.default_rng(7), elements=elements, at_most=8000)
    return check.verdict(compiled)


def main():
    if "--neon" in sys.argv:
        return check_neon(sys.argv[sys.argv.index("--neon") + 1])
    with tempfile.TemporaryDirectory() as scratch:
        return check_all(build(all_functions(), scratch), scratch)


if __name__ == "__main__":
    sys.exit(main())
