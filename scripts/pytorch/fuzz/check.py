"""One program through torch.export, lathe and the artifact, at each level of the CPU's code, against PyTorch."""
import ctypes
import pathlib
import random
import re
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import torch

from .program import Noise, coarsest, difference

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path += [str(ROOT / "samples/3-from-python"), str(ROOT / "test/Target/Cpu")]
from kernels import variants  # noqa: E402
from model import KINDS, Model, Tensor, describe  # noqa: E402

LEVELS = variants()
FAILURES = ("wrong", "crash", "refuses", "accepts")


where = None  # what the process is doing, for when it crashes; memory that its parent sees


def enter(stage):
    if where is not None:
        where[:] = stage.encode().ljust(len(where))


@dataclass
class Verdict:
    """`outcome`: ok; torch (torch.export refuses it); unsupported; unsure (it depends on how one rounds); or a failure."""
    outcome: str
    message: str = ""

    def is_failure(self):
        return self.outcome in FAILURES


class Options(ctypes.Structure):
    """LatheOptions of lathe.h."""
    _fields_ = [("size", ctypes.c_uint32), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("threads", ctypes.c_int32),
                ("cached_shapes", ctypes.c_uint32), ("max_level", ctypes.c_uint32), ("profile", ctypes.c_void_p), ("profile_user", ctypes.c_void_p)]


class Artifact(Model):
    """With results in the library's memory, since the size of some is known only after the run."""

    def __call__(self, *tensors):
        arrays = [t.numpy() for t in tensors]
        inputs, outputs = [describe(a) for a in arrays], [Tensor() for _ in range(self.signature.num_outputs)]
        pointers = [(ctypes.POINTER(Tensor) * len(given))(*map(ctypes.pointer, given)) for given in (inputs, outputs)]
        self.check(self.library.lathe_run(self.context, pointers[0], ctypes.c_size_t(len(inputs)), pointers[1], ctypes.c_size_t(len(outputs))))
        return list(map(copied, outputs))


def copied(output):
    kind = {code: kind for kind, code in KINDS.items()}[output.dtype.code]
    shape, dtype = output.shape[:output.ndim], np.dtype(f"{kind}{output.dtype.bits // 8}")
    count = int(np.prod(shape, dtype=np.int64))
    content = ctypes.string_at(output.data + output.byte_offset, count * dtype.itemsize) if count else b""
    return torch.from_numpy(np.frombuffer(content, dtype).reshape(shape).copy())


def artifact_results(path, inputs, steps, level, threads):
    artifact = Artifact(str(path), Options(size=ctypes.sizeof(Options), max_level=level, threads=threads))
    return [artifact(*inputs) for _ in range(steps)]


class Told(torch.fx.Interpreter):
    """Stops where the file tells a type wrongly."""

    def run_node(self, n):
        out, told = super().run_node(n), n.meta.get("val")
        if isinstance(out, torch.Tensor) and isinstance(told, torch.Tensor) and out.dtype != told.dtype:
            raise TypeError(f"the file says that '{n.name}' is {told.dtype}, and it is {out.dtype}")
        return out


class Checker:
    """Of one program, in a folder of its own."""

    def __init__(self, program, folder, lathe, effort=1, timeout=120):
        self.program, self.folder, self.lathe, self.effort, self.timeout = program, pathlib.Path(folder), lathe, effort, timeout
        self.archive, self.artifact = self.folder / "program.pt2", self.folder / "program.so"
        self.others = []  # inputs of other sizes that it is right for

    def run(self):
        enter("torch")
        try:
            self.exported = self.program.export()
            torch.export.save(self.exported, self.archive)
            faulty = self.fault_of_export()
        except Exception as error:  # of many kinds
            return Verdict("torch", first_line(error))
        enter("compile")
        failed = Verdict("torch", faulty) if faulty else self.compile()
        if failed:
            return failed
        enter("run")
        verdict = self.compare(list(self.program.inputs.values()))
        for inputs in self.other_inputs() if self.program.is_open and verdict.outcome == "ok" else ():
            other = self.compare_other(inputs)
            if other.is_failure():
                return other
            if other.outcome == "ok" and not other.message:
                self.others.append(inputs)
        return verdict

    def fault_of_export(self):
        """PyTorch's exported program is not always the function: then it says nothing about lathe."""
        inputs, want = list(self.program.inputs.values()), self.program.run()[0]
        with torch.no_grad():
            got = Told(self.exported.module()).run(*[t.clone() for t in inputs])
        return self.first_difference([got], [want], coarsest(want))

    def compile(self):
        command = [self.lathe, "compile", self.archive, "-o", self.artifact, "-O", self.effort, "--target", "x86_64:" + "+".join(LEVELS), "--jobs", 1]
        try:
            done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=self.timeout)
        except subprocess.TimeoutExpired:
            return Verdict("crash", f"lathe compile takes more than {self.timeout} s")
        said = (done.stderr + done.stdout).strip()
        if done.returncode == 2:
            return Verdict("unsupported", said)
        return Verdict("crash", f"lathe compile exits with {done.returncode}: {said[:800]}") if done.returncode else None

    def compare(self, inputs):
        program = self.program
        want = program.run(inputs)
        tolerance = coarsest([t for step in want for t in step] + self.types())
        if not self.is_stable(inputs, want, tolerance, seeds=(1,)):
            return Verdict("unsure", "a result depends on how one rounds")
        for level in range(1, len(LEVELS) + 1):
            for threads in (1, 2):
                where = f"{LEVELS[level - 1]}, {threads} thread{'s' * (threads > 1)}{self.at_sizes(inputs)}"
                try:
                    got = artifact_results(self.artifact, inputs, program.steps, level, threads)
                except ValueError as error:
                    return Verdict("refuses", f"{where}: {error}")
                found = self.first_difference(got, want, tolerance)
                if found and not self.is_stable(inputs, want, tolerance, range(2, 18)):
                    return Verdict("unsure", "a result depends on how one rounds")
                if found:
                    return Verdict("wrong", f"{where}: {found}")
        return Verdict("ok")

    def types(self):
        """Of the values in between."""
        names = re.findall(r"dtypes?=torch\.(\w+)|torch\.(float16|bfloat16|half)|\.(bfloat16|half)\(", self.program.source())
        found = [getattr(torch, n) for group in names for n in group if n]
        return [torch.empty(0, dtype=d) for d in found] + [*self.program.inputs.values(), *self.program.states.values()]

    def first_difference(self, got, want, tolerance):
        for step, (g, w) in enumerate(zip(got, want)):
            if len(g) != len(w):
                return f"{len(g)} results, expected {len(w)}"
            for i, pair in enumerate(zip(g, w)):
                if found := difference(*pair, tolerance):
                    return f"result {i}{f' of run {step}' if len(want) > 1 else ''}: {found}"
        return None

    def is_stable(self, inputs, want, tolerance, seeds):
        for step in want:
            if any(t.is_floating_point() and t.numel() and (not t.isfinite().all() or t.abs().max() > 1e4) for t in step):
                return False
        for seed in seeds:
            noise = Noise(seed)
            with noise:
                off = self.program.run([noise.disturbed(t) for t in inputs])
            if self.first_difference(off, want, tolerance / 2):
                return False
        return True

    # ---- other sizes

    def at_sizes(self, inputs):
        return " at " + " ".join("x".join(map(str, t.shape)) for t in inputs) if self.program.is_open else ""

    def other_inputs(self, count=4):
        """Equal sizes stay equal at first; what the program may refuse is tried too: sizes that differ, and one that is 1."""
        rng, generator = random.Random(7), torch.Generator().manual_seed(7)
        for attempt in range(count):
            sizes, inputs = {0: 0, 1: 1}, []
            if attempt == 3:
                sizes[rng.choice([n for t in self.program.inputs.values() for n in t.shape] or [1])] = 1
            for t in self.program.inputs.values():
                shape = []
                for n in t.shape:
                    if n not in sizes or attempt == 2 and n > 1 and rng.random() < 0.3:
                        sizes[n] = rng.choice([n, rng.randint(2, n + 4), n + 1, 2 * n])
                    shape.append(sizes[n])
                flat = t.flatten()
                if t.is_floating_point():
                    inputs.append(torch.randn(shape, generator=generator).to(t.dtype))
                elif len(flat):
                    inputs.append(flat[torch.randint(0, len(flat), shape, generator=generator)])
                else:  # of none there are none to take
                    inputs.append(torch.zeros(shape, dtype=t.dtype))
            yield inputs

    def compare_other(self, inputs):
        enter("torch")
        try:
            with torch.no_grad():
                self.exported.module()(*[t.clone() for t in inputs])
            accepted = True
        except Exception as error:
            accepted, why = False, first_line(error)
            if "tried to access index" in why:  # an element, and no size: what an artifact does then is not said
                return Verdict("ok", "an index outside of its tensor")
        enter("run")
        if accepted:
            try:
                verdict = self.compare(inputs)
            except Exception as error:  # PyTorch's own program takes what the function does not
                return Verdict("torch", first_line(error))
            # torch.export writes min(2, s) as 2, since it takes sizes to be at least 2, and does not check that they are
            return Verdict("ok", "refused") if verdict.outcome == "refuses" and any(1 in t.shape for t in inputs) else verdict
        try:
            artifact_results(self.artifact, inputs, 1, len(LEVELS), 1)
        except ValueError:
            return Verdict("ok", "refused, as by PyTorch")
        if any(1 in t.shape for t in inputs):  # torch.export takes sizes to be at least 2, where the program may mean something for 1
            try:
                return self.compare(inputs)
            except Exception as error:
                why = first_line(error)
        return Verdict("accepts", f"sizes{self.at_sizes(inputs)}, where PyTorch says: {why}")


def first_line(error):
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:200]}"


def save(program, archive, path):
    """FILE.py, FILE.pt2 and FILE.npz: in0, ... and out0, ..."""
    pathlib.Path(f"{path}.py").write_text(program.source())
    if archive.exists():
        pathlib.Path(f"{path}.pt2").write_bytes(archive.read_bytes())
    arrays = {f"in{i}": t.numpy() for i, t in enumerate(program.inputs.values())}
    arrays |= {f"out{i}": t.numpy() for i, t in enumerate(program.run()[0])}
    np.savez(f"{path}.npz", **arrays)
