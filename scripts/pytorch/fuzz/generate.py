"""Random programs: a seed is one program. What an operator needs of the values there are, it asks the generator for."""
import random
import re

import torch

from .program import Noise, Program, Statement, coarsest, difference

OPERATORS = {}  # family -> functions of a generator that give the text of an expression or a statement, or None

FLOATS = [torch.float32] * 7 + [torch.float16, torch.bfloat16, torch.float64]
INTEGERS = [torch.int64] * 3 + [torch.int32, torch.int8, torch.uint8, torch.int16]
LONG = (16, 17, 31, 32, 33, 64, 65, 100, 130)
LARGEST = 6000      # elements of a value
MAGNITUDE = 1e4


def operator(family):
    def register(function):
        OPERATORS.setdefault(family, []).append(function)
        return function
    return register


class Value(str):
    """A name in the text, with what it stands for."""

    def __new__(cls, name, tensor):
        self = super().__new__(cls, name)
        self.t = tensor
        return self

    def __getattr__(self, name):  # dtype, shape, ndim, ...
        return getattr(self.t, name)


class Generator:
    def __init__(self, seed, is_open=False):
        self.rng = random.Random(seed * 2 + is_open)
        self.random = torch.Generator().manual_seed(self.rng.randrange(2**40))
        self.program = Program(is_open=is_open)
        self.sizes = self.rng.sample(range(2, 10), 3)
        if self.chance(0.35):  # more than a vector, or than one thread's part
            self.sizes[0] = self.of(*LONG)
        if self.chance(0.15):
            self.sizes[1] = 1
        self.types = self.rng.sample(FLOATS, 2)
        self.values, self.twins = {}, {}
        self.counter, self.places = 0, {"x": 0, "s": 0}
        self.module, self.noisy = torch.nn.Module(), torch.nn.Module()
        self.names = {"torch": torch, "F": torch.nn.functional}
        self.tried = {}             # operators: how often, and how often kept
        self.written = set()        # states that the program changes

    # ---- choices

    def chance(self, p):
        return self.rng.random() < p

    def of(self, *choices):
        return self.rng.choice(choices)

    def pick(self, which=lambda v: True):
        """A value, rather a late one; None where there is none."""
        fitting = [v for v in map(self.value, self.values) if which(v)]
        return fitting[max(self.rng.randrange(len(fitting)) for _ in range(2))] if fitting else None

    def value(self, name):
        return Value(name, self.values[name])

    def float(self, rank=0, most=9):
        shape = [self.of(*self.sizes) for _ in range(max(rank, self.of(1, 2, 2, 3, 3)))][:most]
        some = self.pick(lambda v: v.is_floating_point() and rank <= v.ndim <= most)
        return some if some and self.chance(0.9) else self.input(shape)

    def integer(self, rank=0, most=9):
        some = self.pick(lambda v: not v.is_floating_point() and not v.is_complex() and v.dtype != torch.bool and rank <= v.ndim <= most)
        return some or self.input([self.of(*self.sizes) for _ in range(max(rank, 2))][:most], self.of(*INTEGERS))

    def any(self, rank=0, most=9):
        some = self.pick(lambda v: not v.is_complex() and rank <= v.ndim <= most)
        return some or self.float(rank, most)

    def number(self, rank=0):
        """Of any type but bool."""
        some = self.pick(lambda v: not v.is_complex() and v.dtype != torch.bool and v.ndim >= rank)
        return some or self.float(rank)

    def axis(self, v):
        return self.rng.randrange(-v.ndim, v.ndim)

    def axes(self, v):
        n = self.rng.randint(1, v.ndim)
        return [a - v.ndim if self.chance(0.3) else a for a in self.rng.sample(range(v.ndim), n)]

    def size(self, v, axis):
        """The text of a size: as the program finds it, or the number."""
        if self.program.is_open or self.chance(0.2):
            return f"{v}.shape[{axis}]" if self.chance(0.7) else f"{v}.size({axis})"
        return str(v.shape[axis])

    def sizes_of(self, v):
        return [self.size(v, d) for d in range(v.ndim)]

    def scalar(self, integral=False):
        return str(self.of(-2, -1, 1, 2, 3)) if integral else self.of("0.5", "-1.5", "2", "1e-3", "3.25", "-1")

    def other(self, v, kind="float"):
        """A value that can be broadcast with this one, or be broadcast to it."""
        def fits(w):
            return (kind == "any" and not w.is_complex() or w.is_floating_point() and kind == "float" or w.dtype == kind) and self.broadcasts(v, w)
        some = self.pick(fits)
        if some and self.chance(0.75):
            return some
        shape = [1 if self.chance(0.2) else n for n in v.shape][self.of(0, 0, 0, 1):]
        return self.input(shape, None if kind in ("float", "any") else kind)

    @staticmethod
    def broadcasts(v, w):
        return all(a == b or 1 in (a, b) for a, b in zip(reversed(v.shape), reversed(w.shape)))

    # ---- values

    def numbers(self, shape, dtype):
        if dtype == torch.bool:
            return torch.randint(0, 2, shape, generator=self.random).bool()
        if not dtype.is_floating_point:
            low = 0 if dtype == torch.uint8 else -9
            return torch.randint(low, 10, shape, generator=self.random).to(dtype)
        return torch.randn(shape, generator=self.random).to(dtype)

    def input(self, shape, dtype=None):
        """A new one; some are the module's own."""
        dtype = dtype or self.of(*self.types)
        tensor = self.numbers(shape, torch.float32 if dtype == torch.bfloat16 else dtype)
        if len(self.program.inputs) and self.chance(0.25) or len(self.program.inputs) > 4:
            return self.weight(shape, dtype)
        name = f"x{self.places['x']}"
        self.places["x"] += 1
        self.program.inputs[name] = tensor
        self.values[name] = tensor.clone()
        self.twins[name] = Noise(1).disturbed(tensor)
        if dtype == torch.bfloat16:
            return self.take(f"{name}.bfloat16()")
        return self.value(name)

    def weight(self, shape, dtype=None):
        """A constant of the module."""
        tensor = self.numbers(shape, dtype or self.of(*self.types))
        return self.state(tensor)

    def state(self, tensor):
        attribute = f"s{self.places['s']}"
        self.places["s"] += 1
        self.program.states[attribute] = tensor
        self.module.register_buffer(attribute, tensor.clone())
        self.noisy.register_buffer(attribute, Noise(2).disturbed(tensor))
        return Value(f"self.{attribute}", tensor)

    # ---- statements

    def environment(self, twin):
        return {**self.names, **(self.twins if twin else self.values), "self": self.noisy if twin else self.module}

    def evaluate(self, text, twin):
        names = self.environment(twin)
        with torch.no_grad():
            try:
                code = compile(text, "statement", "eval")
            except SyntaxError:
                exec(compile(text, "statement", "exec"), names)
                return ()
            return eval(code, names)

    def versions(self):
        return [t._version for t in [*self.values.values(), *self.module.buffers()]]

    def take(self, text):
        """Makes the expression or statement a part of the program, or raises what is wrong with it."""
        before = self.versions()
        try:
            out = self.evaluate(text, twin=False)
            with Noise(self.counter + 3):
                off = self.evaluate(text, twin=True)
            single = isinstance(out, torch.Tensor)
            outs, offs = ([out], [off]) if single else (list(out), list(off))
            if not all(isinstance(t, torch.Tensor) for t in outs):
                raise ValueError("not tensors")
            changed = before != self.versions()
            if any(self.values[name]._version for name in self.program.inputs):
                raise ValueError("inputs are only read")
            compared = list(zip(outs, offs)) + (self.all_pairs() if changed else [])
            self.check(compared)
        except Exception:
            if before != self.versions():
                self.rebuild()
            raise
        names = tuple(f"v{self.counter + i}" for i in range(len(outs)))
        self.counter += len(outs)
        self.written |= {name for name, tensor in self.module.named_buffers() if tensor._version}
        left = names[0] if single else ", ".join(names) + ","
        self.program.statements.append(Statement(f"{left} = {text}" if names else text, names))
        self.values.update(zip(names, outs))
        self.twins.update(zip(names, offs))
        return self.value(names[0]) if names else None

    def all_pairs(self):
        return [(self.values[n], self.twins[n]) for n in self.values] + list(zip(self.module.buffers(), self.noisy.buffers()))

    def check(self, pairs):
        tolerance = coarsest([*self.values.values(), *(p[0] for p in pairs)])
        for t, twin in pairs:
            if t.numel() > LARGEST or t.ndim > 6:
                raise ValueError("too large")
            if t.is_quantized or t.is_sparse:
                raise ValueError("no plain tensor")
            if (t.is_floating_point() or t.is_complex()) and not (t.isfinite().all() and t.abs().max().item() <= MAGNITUDE if t.numel() else True):
                raise ValueError("not finite")
            if difference(twin, t, tolerance / 4):
                raise ValueError("subject to rounding")

    def rebuild(self):
        """From the inputs, since a statement that was taken back has written into values."""
        for twin in (False, True):
            values, module = (self.twins, self.noisy) if twin else (self.values, self.module)
            values.clear()
            for name, tensor in self.program.inputs.items():
                values[name] = Noise(1).disturbed(tensor) if twin else tensor.clone()
            for name, tensor in self.program.states.items():
                setattr(module, name, Noise(2).disturbed(tensor) if twin else tensor.clone())
            for k, statement in enumerate(self.program.statements):
                names = self.environment(twin)
                with torch.no_grad(), Noise(k + 3, 10 if twin else 0):
                    exec(statement.text, names)
                values.update({n: names[n] for n in statement.defines})

    def step(self, families):
        function = self.of(*OPERATORS[self.of(*families)])
        before, behind, text = [*self.program.inputs, *self.program.states], len(self.program.statements), None
        count = self.tried.setdefault(function.__name__, [0, 0])
        count[0] += 1
        try:
            text = function(self)
            if text:
                self.take(text)
                count[1] += 1
        except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError, OverflowError):
            text = None  # what PyTorch refuses, or what is not kept
        self.drop_unused(before, (text or "") + "".join(s.text for s in self.program.statements[behind:]))

    def drop_unused(self, before, text):
        """The inputs and weights that were made since, where the text has no use for them."""
        for table in (self.program.inputs, self.program.states):
            for name in [n for n in table if n not in before and not re.search(rf"\b{n}\b", text)]:
                del table[name]
                for values in (self.values, self.twins, self.module._buffers, self.noisy._buffers):
                    values.pop(name, None)

    # ---- the whole

    def choose_results(self):
        program = self.program
        used = " ".join(s.text for s in program.statements)
        names = [n for s in program.statements for n in s.defines]
        unused = [n for n in names if len(re.findall(rf"\b{n}\b", used)) == 1]
        more = self.rng.sample(names, min(len(names), self.of(0, 0, 1, 2)))
        results = (unused + more)[-8:] or names[-1:]
        self.rng.shuffle(results)
        program.results = results


def fill(g, families=None):
    from . import control, elementwise, indexing, products, reductions, views, windows  # noqa: F401: they fill the table
    families = families or list(OPERATORS)
    # most programs stay with some families, so that these meet
    families = g.rng.sample(families, min(len(families), g.of(3, 5, 20)))
    wanted = g.rng.randint(3, 14)
    for _ in range(60):
        if len(g.program.statements) < wanted:
            g.step(families)


def generate(seed, is_open=False, families=None):
    g = Generator(seed, is_open)
    fill(g, families)
    if not g.program.statements:
        return None
    g.program.steps = 3 if g.written else 1
    g.choose_results()
    return g.program
