"""Exports the programs of Inputs/fx_cases.py with PyTorch, with inputs and what PyTorch computes of them, as Inputs/fx/FAMILY.json.

usage: fx_make.py [FAMILY...]     needs torch; fx_programs.py, which runs the programs, does not"""
import copy
import json
import pathlib
import sys
import tempfile
import warnings
import zipfile

import numpy as np
import torch

inputs = pathlib.Path(__file__).parent / "Inputs"
sys.path.insert(0, str(inputs))
import fx_cases  # noqa: E402

KEPT = ("models/model.json", "data/weights/", "data/constants/")


def shortened(program):
    """Without what no reader of the program needs."""
    def clean(node):
        if isinstance(node, dict):
            dropped = ("metadata", "requires_grad", "device", "stack_trace", "is_hop_single_tensor_return")
            return {k: clean(v) for k, v in node.items() if k not in dropped}
        return [clean(v) for v in node] if isinstance(node, list) else node
    program["graph_module"].pop("module_call_graph", None)
    return clean({k: program[k] for k in ("schema_version", "graph_module", "range_constraints", "guards_code") if k in program})


def numbers(tensor):
    tensor = tensor.detach().contiguous()
    if tensor.is_complex():  # pairs
        tensor = torch.view_as_real(tensor.resolve_conj())
    wide = tensor.double() if tensor.is_floating_point() else tensor
    flat = wide.flatten().tolist()
    if tensor.is_floating_point():
        kind = np.float16 if tensor.dtype == torch.float16 else np.float32
        short = (lambda v: f"{v:.9g}") if tensor.dtype == torch.float64 else lambda v: str(kind(v))  # the shortest that is read as the same
        flat = [float(short(v)) if v == v and abs(v) != float("inf") else str(v) for v in flat]
    return {"type": str(tensor.dtype)[6:], "shape": list(tensor.shape), "data": flat}


def flat(result):
    if isinstance(result, torch.Tensor):
        return [result]
    return [t for r in result for t in flat(r)] if isinstance(result, (list, tuple)) else []


class Program(torch.nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, *args):
        return self.body(*args)


def export(case):
    module = case.body if isinstance(case.body, torch.nn.Module) else Program(case.body)
    shapes = case.sizes if isinstance(case.body, torch.nn.Module) or case.sizes is None else {"args": case.sizes}
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        program = torch.export.export(copy.deepcopy(module), tuple(a.clone() for a in case.runs[0]), dynamic_shapes=shapes)
        if case.decomposed:
            program = program.run_decompositions()
        if case.edited:
            case.edited(program.graph)
            program.graph_module.recompile()
        torch.export.save(program, f"{folder}/p.pt2")
        files = {}
        with zipfile.ZipFile(f"{folder}/p.pt2") as z:
            for name in z.namelist():
                short = name.split("/", 1)[1]
                if short == KEPT[0]:
                    exported = shortened(json.loads(z.read(name)))
                elif short.startswith(KEPT[1:]):
                    files[short] = z.read(name).hex()
        runs = []
        kept = copy.deepcopy(module)  # a module with states goes through its runs as steps
        for i, args in enumerate(case.runs):
            given = {"in": [numbers(a) for a in args]}
            try:
                want = flat((kept if case.steps else copy.deepcopy(module))(*[a.clone() for a in args]))
            except Exception:  # an assertion of the program's does not hold
                if i == 0:
                    raise
                runs.append({**given, "refused": True})
                continue
            runs.append({**given, "out": [numbers(w.clone()) for w in want]})
    return {"name": case.name, "flags": case.flags, "tolerance": case.tolerance, "steps": case.steps, "program": exported, "files": files, "runs": runs}


def main():
    warnings.filterwarnings("ignore")
    for family in sys.argv[1:] or fx_cases.FAMILIES:
        torch.manual_seed(1)
        cases = []
        for case in fx_cases.FAMILIES[family]():
            try:
                cases.append(export(case))
            except Exception as e:  # of PyTorch: the others are made all the same
                print(f"{family}: {case.name}: {type(e).__name__}: {str(e).strip()[:300]}")
        lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
        (inputs / "fx" / f"{family}.json").write_text(f"[\n{lines}\n]\n")
        print(f"{family}: {len(cases)} programs")


if __name__ == "__main__":
    main()
