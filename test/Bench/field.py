"""Models of a folder, as packages carry them, against ONNX Runtime: one thread, by turns.

usage: field.py LATHE FOLDER [NAME...] [--seconds 0.4]
Each .onnx file below the folder is measured as it is and, where it has open dimensions, with those that it is run with written into it. Open dimensions are given
by what the models of a kind use: lines of text are 48 pixels high, pages 480x640. Files with the same bytes count once. A line for each: what lathe takes, what
ONNX Runtime takes, the ratio, how far the results are from one another beside their size; at the end the geometric mean and what is above 1."""
import argparse
import hashlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here]
import operators  # noqa: E402

# Part of the file's name: its input's open dimensions, in order.
OPEN = [('rec', [1, 48, 320]), ('cls', [1, 48, 192]), ('orientation', [1]), ('det', [1, 480, 640]), ('slanet', [1, 488, 488]), ('320n', [1, 320, 320]), ('common', [160]),
        ('pnet', [1, 160, 120]), ('rnet', [16]), ('onet', [4]), ('sequence', [16]), ('magika', [1]), ('smart-turn', [1])]
rng = np.random.default_rng(5)


def dims_of(path, value):
    """Of an input, with sizes for those that are open."""
    dims = [d.dim_value if d.HasField('dim_value') and d.dim_value > 0 else None for d in value.type.tensor_type.shape.dim]
    name = os.path.basename(path)
    given = next((list(sizes) for part, sizes in OPEN if part in name or part in path), [1] * len(dims))
    if 'silero' in name and 'sequence' not in name:
        given = [1, 576] if value.name == 'input' else [1]
    if len(given) == 3 and dims.count(None) == 2:  # the file knows the height
        del given[1]
    return [d if d is not None else given.pop(0) for d in dims]


def inputs_of(path, model):
    constants = {t.name for t in model.graph.initializer}
    out = {}
    for value in model.graph.input:
        if value.name in constants:
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        dims = dims_of(path, value)
        if value.name == 'sr':
            out[value.name] = np.array(16000, kind)
        elif np.issubdtype(kind, np.integer):
            out[value.name] = rng.integers(0, 255, dims).astype(kind)
        else:
            out[value.name] = (rng.standard_normal(dims) * (0 if value.name in ('h', 'c', 'state') else 0.5)).astype(kind)
    return out


def fixed(model, inputs, path):
    """The model with these inputs' sizes written into it; False where it has them already."""
    changed = False
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, inputs[value.name].shape if value.name in inputs else ()):
            changed |= not (dim.HasField('dim_value') and dim.dim_value == size)
            dim.dim_value = size
    for value in [*model.graph.output, *model.graph.value_info] if changed else []:
        value.type.tensor_type.ClearField('shape')
    if changed:
        onnx.save(model, path)
    return changed


def seconds_of(run, seconds):
    start, count = time.thread_time(), 0
    while time.thread_time() - start < seconds or count < 2:
        run()
        count += 1
    return (time.thread_time() - start) / count


def distance(ours, theirs):
    worst = 0.0
    for a, b in zip(ours, theirs):
        if a.shape != b.shape:
            return math.inf
        if b.size:
            x, y = a.astype(np.float64), b.astype(np.float64)
            worst = max(worst, float(np.abs(x - y).max() / (np.abs(y).max() + 1e-9)))
    return worst


def measure(lathe, path, inputs, seconds, folder):
    library = os.path.join(folder, hashlib.md5(path.encode()).hexdigest() + '.so')
    start = time.monotonic()
    done = subprocess.run([lathe, 'compile', path, '-o', library], capture_output=True, text=True)
    if done.returncode:
        return None, done.stderr.strip()[:200]
    took = time.monotonic() - start
    ours, theirs = operators.Compiled(library, inputs), operators.Peer(path, inputs)
    far = distance(ours.results(), theirs.session.run(None, inputs))
    turns = [(seconds_of(ours, seconds / 4), seconds_of(theirs, seconds / 4)) for _ in range(5)]
    mine, other = (min(t) for t in zip(*turns))
    ratio = statistics.median(a / b for a, b in turns)
    return ratio, f'{mine * 1e3:9.3f} ms  ONNX Runtime {other * 1e3:9.3f} ms  ratio {ratio:5.2f}  off by {far:.1e}  compiled in {took:.1f} s'


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('lathe')
    parser.add_argument('folder')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--seconds', type=float, default=0.4)
    a = parser.parse_args()
    seen, ratios = set(), {}
    paths = sorted(os.path.join(at, f) for at, _, files in os.walk(a.folder) for f in files if f.endswith('.onnx'))
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            digest = hashlib.md5(open(path, 'rb').read()).hexdigest()
            if digest in seen or os.path.getsize(path) < 10000 or (a.names and not any(n in path for n in a.names)):
                continue
            seen.add(digest)
            name = '/'.join([os.path.relpath(path, a.folder).split('-')[0], os.path.basename(path)])
            model = onnx.load(path)
            inputs = inputs_of(path, model)
            written = os.path.join(folder, digest + '.onnx')
            forms = [('as it is', path)] + ([('fixed', written)] if fixed(model, inputs, written) else [])
            for form, file in forms:
                try:
                    ratio, line = measure(a.lathe, file, inputs, a.seconds, folder)
                except Exception as error:
                    ratio, line = None, f'{type(error).__name__}: {str(error)[:200]}'
                if ratio:
                    ratios[f'{name} ({form})'] = ratio
                print(f'{name:60s} {form:8s} {line}', flush=True)
    print(f'geometric mean {math.exp(statistics.fmean(map(math.log, ratios.values()))):.3f} of {len(ratios)}; above 1:',
          ', '.join(f'{n} {r:.2f}' for n, r in ratios.items() if r > 1) or 'none')


if __name__ == '__main__':
    main()
