"""A program as text: statements over tensors, which run eagerly, with noise, or as a module to export."""
from dataclasses import dataclass, field

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

# Of each float type: what one rounding changes of a number, and how far off a result may be of the largest number beside it.
ROUNDING = {torch.float64: 1e-15, torch.float32: 1e-7, torch.float16: 5e-4, torch.bfloat16: 4e-3}
TOLERANCE = {torch.float64: 1e-8, torch.float32: 2e-4, torch.float16: 2e-2, torch.bfloat16: 1.5e-1}


@dataclass
class Statement:
    text: str
    defines: tuple = ()          # names


@dataclass
class Program:
    inputs: dict = field(default_factory=dict)      # of tensors by name
    states: dict = field(default_factory=dict)      # the module's buffers: weights, and what it writes
    statements: list = field(default_factory=list)
    results: list = field(default_factory=list)     # names, in any order and more than once
    is_open: bool = False
    steps: int = 1                                  # runs that follow one another on one module

    def source(self):
        lines = [f"def forward(self, {', '.join(self.inputs)}):"]
        lines += ["    " + line for s in self.statements for line in s.text.split("\n")]
        return "\n".join(lines + [f"    return ({', '.join(map(self.as_result, self.results))},)"]) + "\n"

    def as_result(self, name):
        """Numbers that numpy has: no bfloat16, and pairs for complex ones."""
        return f"visible({name})"

    def module(self):
        names = {"torch": torch, "F": torch.nn.functional, "visible": visible}
        exec(compile(self.source(), "program", "exec"), names)
        module = type("Program", (torch.nn.Module,), {"forward": names["forward"]})()
        for name, tensor in self.states.items():
            module.register_buffer(name, tensor.clone())
        return module.eval()

    def run(self, inputs=None):
        """The results of each step."""
        module = self.module()
        with torch.no_grad():
            return [[t.clone() for t in module(*[v.clone() for v in inputs or self.inputs.values()])] for _ in range(self.steps)]

    def shapes(self):
        """What torch.export may leave open: all that are not 1."""
        if not self.is_open:
            return None
        return tuple({d: torch.export.Dim.AUTO for d, n in enumerate(t.shape) if n > 1} for t in self.inputs.values())

    def export(self):
        with torch.no_grad():
            return torch.export.export(self.module(), tuple(t.clone() for t in self.inputs.values()), dynamic_shapes=self.shapes(), strict=False)


def visible(tensor):
    if tensor.is_complex():
        return torch.view_as_real(tensor.resolve_conj())
    return tensor.float() if tensor.dtype == torch.bfloat16 else tensor


class Noise(TorchDispatchMode):
    """Every operator's float results are off by some roundings; whole numbers are not, since most that are whole are exact."""

    def __init__(self, seed, roundings=10):
        super().__init__()
        self.generator, self.roundings = torch.Generator().manual_seed(seed), roundings

    def disturbed(self, t):
        if t.is_complex():
            parts = self.disturbed(torch.view_as_real(t.resolve_conj()))
            # PyTorch's vectors negate as 0 - z, its single elements as -z
            return torch.view_as_complex(torch.where((parts == 0) & self.coins(parts), -parts, parts))
        if t.dtype not in ROUNDING or not t.numel():
            return t
        signs = self.coins(t).double() * 2 - 1  # a float32 does not hold 1 + 1e-14
        off = t.double() * (1 + self.roundings * ROUNDING[t.dtype] * signs)
        return torch.where(t == t.round(), t, off.to(t.dtype))

    def coins(self, t):
        return torch.randint(0, 2, t.shape, generator=self.generator).bool()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        if any(r.alias_info for r in function._schema.returns):
            return out
        return tree_map_only(torch.Tensor, self.disturbed, out)


def coarsest(tensors):
    """The tolerance of the least exact type."""
    return max([TOLERANCE.get(t.dtype, 0) for t in tensors] + [TOLERANCE[torch.float64]])


def difference(got, want, tolerance):
    """Nothing, or where two tensors differ."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {list(got.shape)}, expected {want.dtype} {list(want.shape)}"
    if want.is_complex():
        return difference(torch.view_as_real(got.resolve_conj()), torch.view_as_real(want.resolve_conj()), tolerance)
    if not want.is_floating_point():
        wrong = got != want
    else:
        a, b = got.double(), want.double()
        finite = b[b.isfinite()].abs()
        most = max(float(finite.max()) if finite.numel() else 0, 0.05)
        wrong = ~((a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= tolerance * most))
    if not wrong.any():
        return None
    at = tuple(wrong.nonzero()[0].tolist())
    return f"{int(wrong.sum())} of {wrong.numel()} elements, the first at {list(at)}: {got[at].item()}, expected {want[at].item()}"
