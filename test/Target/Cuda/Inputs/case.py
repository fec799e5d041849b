"""What a case of cases.py is: a kernel's text, sizes, inputs and the expected outputs."""
import re
import zlib
import numpy as np


def dims_of(shape):
    return "x".join(str(n) for n in shape) + ("x" if len(shape) else "")


TYPES = {"f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "i8": np.int8, "i1": np.bool_, "f64": np.float64}


def to_bf16(a):
    """Rounds to nearest even; the bits as uint16."""
    bits = np.ascontiguousarray(a, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


class Case:
    """`inputs` and `expected`: (type name, array); bf16 arrays are float32 here and rounded when written."""

    def __init__(self, name, cls, axes, body, sizes, inputs, expected, rtol=2e-5, atol=2e-5):
        self.name, self.cls, self.axes, self.body, self.sizes = name, cls, axes, body, sizes
        self.inputs, self.expected, self.rtol, self.atol = inputs, expected, rtol, atol
        self.flops = self.bytes = 0  # of cases that are timed on a GPU
        self.torch = None            # (torch, device inputs) -> a call that does the same
        self.attributes = ""         # of the kernel
        self.processors = None       # of the machine that plans are told of
        self.launches = None         # the entry points that they call, where that is to be looked at
        self.dims = {}               # of inputs whose type says open sizes: their names
        self.constants = ()          # inputs that are weights of the model (their values still come in their buffers)

    def with_constants(self, *inputs):
        self.constants = inputs
        return self

    def with_constant_sizes(self):
        for name, value in self.sizes.items():
            fixed = lambda text: re.sub(rf"\b{name}\b", str(value), text)
            self.axes, self.body = [(n, fixed(e)) for n, e in self.axes], fixed(self.body)
        self.sizes = {}
        return self

    def on(self, processors):
        self.processors = processors
        return self

    def launching(self, *entries):
        self.launches = list(entries)
        return self

    def timed(self, flops=0, bytes=0, torch=None):
        self.flops, self.bytes, self.torch = flops, bytes, torch
        return self

    def tensor(self, t):
        return f"tensor<{dims_of(t[1].shape)}{t[0]}>"

    def input(self, i):
        names = ", ".join(f'"{name}"' for name in self.dims.get(i, ()))
        sizes = "".join(f"{name if name.isdigit() else '?'}x" for name in self.dims.get(i, ()))
        return f"tensor<{sizes}{self.inputs[i][0]}, #lathe.dims<{names}>>" if names else self.tensor(self.inputs[i])

    def mlir(self):
        args = ", ".join(f"%arg{i}: {self.input(i)}" for i in range(len(self.inputs)) if i not in self.constants)
        zero = lambda t: "0" if t.startswith("i") else "0.0"
        made = "".join(f"  %arg{i} = lathe.constant dense<{zero(self.inputs[i][0])}> : {self.tensor(self.inputs[i])}\n" for i in self.constants)
        ins = ", ".join(f"%arg{i}" for i in range(len(self.inputs)))
        types = ", ".join(self.input(i) for i in range(len(self.inputs)))
        outs = ", ".join(self.tensor(t) for t in self.expected)
        refs = ", ".join(f"%i{i}: !kernel.ref<{t[0]}>" for i, t in enumerate(self.inputs))
        refs += (", " if refs else "") + ", ".join(f"%o{i}: !kernel.ref<{t[0]}>" for i, t in enumerate(self.expected))
        axes = ", ".join(f'{n} = "{e}"' for n, e in self.axes)
        res = "%r" if len(self.expected) == 1 else f"%r:{len(self.expected)}"
        head = f"ins({ins} : {types}) " if self.inputs else ""
        symbols = "".join(f'lathe.symbol "{name}" range [0, -1]\n' for name in sorted(set().union(*self.dims.values())) if not name.isdigit())
        return symbols + (f"func.func @f({args}) {{\n{made}  {res} = kernel.generic {self.cls} @{self.name} axes({axes})\n"
                f"      {head}outs({outs}) {self.attributes}{{\n  ^bb0({refs}):\n{self.body}\n  }}\n  return\n}}\n")


def load(dst, src, off, t="f32"):
    return f'    %{dst} = kernel.load %{src}["{off}"] : !kernel.ref<{t}> -> {t}\n'


def store(v, dst, off, t="f32"):
    return f'    kernel.store %{v}, %{dst}["{off}"] : {t}, !kernel.ref<{t}>\n'


def constant(dst, value, t):
    """Of infinity, too, which has no decimal form."""
    if t.startswith("i"):
        return f"    %{dst} = arith.constant {value} : {t}\n"
    bits = {"f32": "0x7F800000", "f64": "0x7FF0000000000000"}.get(t) if np.isinf(value) else f"{value:e}"
    return f"    %{dst} = arith.constant {bits} : {t}\n"


def rng(name):
    return np.random.default_rng(zlib.crc32(name.encode()))
