"""Operators of exported PyTorch programs (Operators/exported_cases.py): lathe beside PyTorch, one thread, and open sizes beside fixed ones.

usage: exported.py LATHE [NAME...] [--seconds 0.05]     needs torch
A line each: lathe's microseconds with fixed sizes, over PyTorch's, and with all sizes open, over fixed ones; scratch memory as a multiple of the inputs' and
outputs' bytes. Results of both are compared with PyTorch's; integers that say where one of equal values stands may differ."""
import argparse
import math
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here]
import growth  # noqa: E402
import operators  # noqa: E402
from Operators.exported_cases import CASES  # noqa: E402


class Program(torch.nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, *inputs):
        return self.body(*inputs)


def compiled(lathe, stem, function, inputs, is_open):
    """The artifact, ready to run; a text where it does not come to that."""
    shapes = (tuple({d: torch.export.Dim.AUTO for d in range(t.ndim)} for t in inputs),) if is_open else None
    try:
        with torch.no_grad():
            program = torch.export.export(Program(function), inputs, dynamic_shapes=shapes)
        torch.export.save(program, stem + '.pt2')
    except Exception as e:
        return 'not exported: ' + str(e).split('\n')[0][:60]
    done = subprocess.run([lathe, 'compile', stem + '.pt2', '-o', stem + '.so'], capture_output=True, text=True)
    if done.returncode:
        return f'exit {done.returncode}'
    names = [s.arg.name for s in program.graph_signature.input_specs if s.kind.name == 'USER_INPUT']
    return operators.Compiled(stem + '.so', {name: t.contiguous().numpy() for name, t in zip(names, inputs)})


def differs(got, want):
    for g, w in zip(got, torch.utils._pytree.tree_leaves(want)):
        w = w.numpy()
        if g.shape != w.shape:
            return f'  SHAPE {g.shape}, not {w.shape}'
        scale = np.abs(w[np.isfinite(w)]).max(initial=1) if w.dtype.kind == 'f' else 0
        if w.dtype.kind == 'f' and not np.allclose(g, w, 2e-3, 2e-3 * scale, equal_nan=True):
            return f'  DIFFERS by {np.nanmax(np.abs(g - w)):.2g}'
    return ''


def ratio(run, other, seconds):
    pairs = [(growth.least(run, seconds), growth.least(other, seconds)) for _ in range(3)]
    return min(pairs, key=lambda p: p[0] / p[1])


def measure(lathe, folder, name, seconds):
    """Lathe's time over PyTorch's and open over fixed, as far as there are both."""
    function, inputs = CASES[name]

    def peer():
        with torch.no_grad():
            return function(*inputs)
    fixed, opened = (compiled(lathe, os.path.join(folder, f'{name}_{kind}'), function, inputs, kind) for kind in (False, True))
    if isinstance(fixed, str):
        print(f'{name:22s} {fixed}', flush=True)
        return None, None
    fixed()
    wrong, (ours, theirs) = differs(fixed.results(), peer()), ratio(fixed, peer, seconds)
    shown = f'{name:22s} {ours * 1e6:9.1f} us  over PyTorch {ours / theirs:5.2f}  memory {growth.workspace(fixed):5.2f}'
    if isinstance(opened, str):
        print(f'{shown}  open: {opened}{wrong}', flush=True)
        return ours / theirs, None
    opened()
    wrong += differs(opened.results(), peer())
    open_time, fixed_time = ratio(opened, fixed, seconds)
    print(f'{shown}  open over fixed {open_time / fixed_time:5.2f}{wrong}', flush=True)
    return ours / theirs, open_time / fixed_time


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('lathe')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--seconds', type=float, default=0.05)
    a = parser.parse_args()
    warnings.filterwarnings('ignore')
    torch.set_num_threads(1)
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as folder:
        rows = [measure(a.lathe, folder, name, a.seconds) for name in a.names or CASES]
    for label, values in (('over PyTorch', [r[0] for r in rows if r[0]]), ('open over fixed', [r[1] for r in rows if r[1]])):
        if values:
            print(f'{label}: {math.exp(sum(map(math.log, values)) / len(values)):.3f} in the mean of {len(values)}, at most {max(values):.2f}')


if __name__ == '__main__':
    main()
