"""Programs in the form of test/Conformance/Inputs/fx, for tests without PyTorch."""
import json
import pathlib
import sys

import torch

from .check import ROOT
from .program import coarsest

sys.path.insert(0, str(ROOT / "test/Conformance"))
LARGEST = 15000  # bytes of a program


def line_of(program, name, others):
    """The first run is what the program is exported with. "" for steps without inputs, which `lathe run --steps` counts."""
    if program.steps > 1 and not program.inputs:
        return ""
    from fx_make import export, fx_cases
    inputs = tuple(program.inputs.values())
    want = [t for step in program.run() for t in step]
    most = max([1.0] + [float(t.abs().max()) for t in want if t.is_floating_point() and t.numel()])
    tolerance = max(1e-6, coarsest(want + [*inputs, *program.states.values()])) * most  # numbers are written with nine digits
    runs = [inputs] * program.steps if program.steps > 1 else [inputs, *map(tuple, others)]
    case = fx_cases.Case(name, program.module(), runs, program.shapes(), tolerance=float(f"{tolerance:.2g}"), steps=program.steps > 1)
    with torch.no_grad():
        return json.dumps(export(case), separators=(",", ":"))


def write(path, lines):
    kept = [line for line in lines if 0 < len(line) <= LARGEST]
    pathlib.Path(path).write_text("[\n" + ",\n".join(kept) + "\n]\n")
    return len(kept)
