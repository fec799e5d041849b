"""Compiles functions of the lathe dialect for all instruction sets of this machine, many at once, and calls them on arrays."""
import ctypes
import pathlib
import subprocess
import sys

import numpy as np

sys.path.append(str(pathlib.Path(__file__).parent.parent.parent / "Target" / "Cpu"))
from kernels import variants  # noqa: E402  (which instruction sets there are)

DIMS = '#lathe.dims<"N">'


def tensor(element):
    """`one f32` is a scalar."""
    return f"tensor<{element[4:]}>" if element.startswith("one ") else f"tensor<?x{element}, {DIMS}>"


class Function:
    """`body`: lines of lathe ops on %x0, %x1, ... that end in %r, with {T} for the result's type and {T0} for the first operand's."""

    def __init__(self, name, operands, result, body):
        self.name, self.operands, self.result, self.body = name, operands, result, body

    def text(self):
        types = {f"T{i}": tensor(t) for i, t in enumerate(self.operands)} | {"T": tensor(self.result)}
        args = ", ".join(f"%x{i}: {tensor(t)}" for i, t in enumerate(self.operands))
        return (f"func.func @{self.name}({args}) -> {tensor(self.result)} {{\n{self.body.format(**types)}\n"
                f"return %r : {tensor(self.result)}\n}}\n")


def kernels_of(functions):
    """The text of the kernels, one for each function."""
    text = 'lathe.symbol "N" range[1, -1]\n' + "".join(f.text() for f in functions)
    formed = subprocess.run(["lathe-opt", "--lathe-form-kernels", "-"], input=text, text=True, capture_output=True)
    if formed.returncode:
        raise SystemExit(formed.stderr)
    return formed.stdout


def build(functions, folder):
    """{variant: {name: callable}}. A callable takes the arrays of the operands and of the result."""
    folder, found = pathlib.Path(folder), variants()
    command = ["lathe-kernel", "-", "-o", str(folder / "k")] + [f"--variant={v}" for v in found]
    made = subprocess.run(command, input=kernels_of(functions), text=True, capture_output=True)
    if made.returncode:
        raise SystemExit(made.stderr)
    symbols = [line.split() for line in made.stdout.splitlines()]
    assert len(symbols) == len(functions) * len(found), "one kernel for each function"
    # The kernels are hidden: exported jumps reach them.
    stubs = "".join(f".globl fn{i}\nfn{i}: jmp {fn}\n.globl plan{i}\nplan{i}: jmp {plan}\n" for i, (_, fn, plan) in enumerate(symbols))
    (folder / "stubs.s").write_text(".text\n" + stubs)
    subprocess.run(["clang-19", "-c", str(folder / "stubs.s"), "-o", str(folder / "stubs.o")], check=True)
    objects = [str(p) for p in sorted(folder.glob("k.*.o"))]
    subprocess.run(["clang-19", "-shared", "-fuse-ld=lld-19", *objects, str(folder / "stubs.o"), "-o", str(folder / "k.so")], check=True)
    library = ctypes.CDLL(str(folder / "k.so"))
    out = {v: {} for v in found}
    for i, (variant, _, _) in enumerate(symbols):
        out[variant][functions[i // len(found)].name] = caller(library[f"fn{i}"], library[f"plan{i}"])
    return out


def caller(fn, plan):
    def call(*arrays):
        sizes = (ctypes.c_int64 * 1)(len(arrays[0]))
        planned = (ctypes.c_int64 * 17)()  # LATHE_PLAN_WORDS
        plan(sizes, planned)
        scratch = np.zeros(planned[1] + 128, np.int8)
        base = (scratch.ctypes.data + 63) & ~63
        buffers = (ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays])
        fn(buffers, sizes, ctypes.c_int64(0), ctypes.c_int64(planned[0]), ctypes.c_void_p(base))
    return call
