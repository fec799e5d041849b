"""Models with open sizes against the same models with fixed ones, on a CPU, one thread: what it costs that sizes are not known.

usage: open_sizes.py LATHE [NAME|FAMILY|MODEL.onnx=INPUTS.npz ...] [--target x86_64:avx2] [--seconds 0.5] [--processes 4]
NAME and FAMILY are those of Operators/, with every size of every input open, or as they are; a MODEL has open what its file leaves open, and is fixed
to the sizes of its inputs (by their names, or in0, in1, ...). Both forms run in one process on the same memory and take turns; times are the
thread's processor time. Where the pages of a process lie in the caches alone makes some percent of difference, so several processes measure,
and open the forms in either order. `ratio` is the median of the ratios of all their turns, `from` and `to` are the medians of single processes.
The last lines have what is above 1.03, and the geometric mean."""
import argparse
import concurrent.futures
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx

import operators
from operators import CASES, Compiled, build, mean, spent

BOUND = 1.03


def arrays_of(model, path):
    """The inputs of a model's file, by name."""
    names = [i.name for i in onnx.load(model, load_external_data=False).graph.input]
    with np.load(path) as held:
        return {n: np.asarray(held[n if n in held else f'in{i}'], order='C') for i, n in enumerate(names) if n in held or f'in{i}' in held}


def forms(folder, name):
    """The inputs, and for each form, open first, the model and the flags that compile it."""
    if '=' in name:
        model, path = name.split('=', 1)
        inputs = arrays_of(model, path)
        sizes = [f'--shape={n}=' + 'x'.join(map(str, a.shape)) for n, a in inputs.items()]
        return inputs, [(model, []), (model, sizes)]
    case, made = CASES[name], []
    for open in (True, False):
        path = os.path.join(folder, f'{"open" if open else "fixed"}.onnx')
        build(path, case._replace(open=open))
        made.append((path, []))
    return {n: np.asarray(a, order='C') for n, a in case.inputs.items()}, made


def compiled(lathe, target, folder, models):
    """The artifacts of both forms, or what went wrong."""
    out = []
    for i, (model, flags) in enumerate(models):
        out.append(os.path.join(folder, f'{i}.so'))
        done = subprocess.run([lathe, 'compile', model, '-o', out[-1], '--target', target, *flags], capture_output=True, text=True)
        if done.returncode:
            return f'{"fixed" if i else "open"} form is not compiled: {done.stderr.strip()[:200]}'
    return out


def turns_of(paths, inputs, seconds, first):
    """What is wrong, and (open, fixed) seconds of a call for each turn; `first` is the form that is opened first."""
    made = {i: Compiled(paths[i], inputs) for i in (first, 1 - first)}
    results = made[1].results()
    wrong = operators.differs(made[0].results(), results, 1e-2)
    memory = [operators.like(r) for r in results]
    for form in made.values():
        form.into(memory)
    count = max(1, int(4e-3 / max(spent(made[1], 2), 1e-6)))
    spent(made[0], count)
    turns, end = [], time.monotonic() + seconds
    while time.monotonic() < end or len(turns) < 8:
        times = {i: spent(made[i], count) for i in ((0, 1) if len(turns) % 2 else (1, 0))}
        turns.append((times[0], times[1]))
    return wrong, turns


def measure(lathe, target, name, seconds, processes):
    """What is wrong, the ratio, those of the processes, and the median seconds of both forms."""
    with tempfile.TemporaryDirectory() as folder:
        inputs, models = forms(folder, name)
        paths = compiled(lathe, target, folder, models)
        if isinstance(paths, str):
            return paths, None, [], ()
        spawned = multiprocessing.get_context('spawn')
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=spawned, max_tasks_per_child=1) as pool:
            try:
                told = [pool.submit(turns_of, paths, inputs, seconds / processes, i % 2).result() for i in range(processes)]
            except ValueError as refused:  # a result whose size a run finds out
                return str(refused), None, [], ()
    ratios = [[open / fixed for open, fixed in turns] for _, turns in told]
    times = [statistics.median(t[i] for _, turns in told for t in turns) for i in (0, 1)]
    return told[0][0], statistics.median(sum(ratios, [])), sorted(map(statistics.median, ratios)), times


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('lathe')
    parser.add_argument('names', nargs='*')
    parser.add_argument('--target', default='x86_64')
    parser.add_argument('--seconds', type=float, default=0.5)
    parser.add_argument('--processes', type=int, default=4)
    a = parser.parse_args()
    chosen = [n for n in a.names if '=' in n] + [n for n, c in CASES.items() if not a.names or n in a.names or c.family in a.names]
    ratios, faults = {}, 0
    for name in chosen:
        shown = os.path.basename(name.split('=')[-1]).removesuffix('.npz')
        wrong, ratio, each, times = measure(a.lathe, a.target, name, a.seconds, a.processes)
        faults += bool(wrong)
        if ratio is None:
            print(f'{shown:24s} {wrong}', flush=True)
            continue
        ratios[shown] = ratio
        print(f'{shown:24s} open {times[0] * 1e6:10.1f} us  fixed {times[1] * 1e6:10.1f} us  ratio {ratio:6.3f}  from {each[0]:.3f} to {each[-1]:.3f}  {wrong}', flush=True)
    slow = sorted((n for n in ratios if ratios[n] > BOUND), key=lambda n: -ratios[n])
    print(f'above {BOUND}:', ', '.join(f'{n} {ratios[n]:.3f}' for n in slow) or 'none')
    if ratios:
        print(f'geometric mean {mean(list(ratios.values())):.3f} over {len(ratios)}')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
