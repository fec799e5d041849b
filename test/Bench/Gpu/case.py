"""What a PyTorch function to be measured on a GPU is, for the families beside this file and for ../gpu_operators.py.

Inputs are made on the device, with a seed of the case. Sizes are such that most cases move some hundred megabytes, beyond the second-level
cache; those named small_ stay within it. `open` leaves every dimension of the inputs open but those in `fixed`."""
from typing import Callable, NamedTuple

import torch

CASES = {}
b16, f16, f32, f64, i64, i32, u8, i8 = torch.bfloat16, torch.float16, torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.int8
e4m3, e5m2 = torch.float8_e4m3fn, torch.float8_e5m2


class Spec(NamedTuple):
    """An input: `low`..`high` of integers, else normally distributed numbers."""
    shape: tuple
    kind: torch.dtype = b16
    low: int = -100
    high: int = 100
    ordered: bool = False

    def make(self, device, generator):
        if self.kind == torch.bool:
            return torch.rand(self.shape, device=device, generator=generator) > 0.5
        if self.kind.is_floating_point:
            made = torch.randn(self.shape, device=device, generator=generator).to(self.kind)
        else:
            made = torch.randint(self.low, self.high, self.shape, device=device, generator=generator).to(self.kind)
        return made.sort(-1)[0] if self.ordered else made

    def empty(self):
        """Of these sizes without values, for the export."""
        return torch.zeros((), dtype=self.kind).expand(self.shape)


class Later(NamedTuple):
    """A function that is made where it is called."""
    make: Callable


class Case(NamedTuple):
    function: Callable
    inputs: list
    open: bool
    fixed: tuple
    tolerance: float

    def made(self):
        return self.function.make() if isinstance(self.function, Later) else self.function


def t(*shape, kind=b16, **range):
    return Spec(shape, kind, **range)


def add(name, function, *inputs, open=False, fixed=(), tolerance=1e-2):
    """`fixed`: pairs (input, dimension) that stay as they are where the others are open."""
    assert name not in CASES
    CASES[name] = Case(function, list(inputs), open, fixed, tolerance)


def both(name, function, *inputs, **options):
    """With sizes fixed and open."""
    add(name, function, *inputs, **options)
    add('open_' + name, function, *inputs, open=True, **options)
