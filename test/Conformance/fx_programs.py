"""Compiles exported programs and compares what they compute with what PyTorch computed (fx_make.py).

usage: fx_programs.py FAMILY... [--lathe PATH]     prints what differs; exit code 1 when something does"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

from verdict import verdict

TYPES = {"bool": np.bool_, "bfloat16": None}


def array(tensor):
    data = [float(v) if isinstance(v, str) else v for v in tensor["data"]]
    kind = TYPES.get(tensor["type"]) or getattr(np, tensor["type"])
    return np.array(data, kind).reshape(tensor["shape"])


def write_archive(case, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        z.writestr("case/archive_format", "pt2")
        z.writestr("case/models/model.json", json.dumps(case["program"]))
        for name, content in case["files"].items():
            z.writestr(f"case/{name}", bytes.fromhex(content))


def call(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    return done.returncode, (done.stderr + done.stdout).strip()[-600:]


def faults_of(case, lathe, folder):
    archive, artifact, data = (folder / name for name in ("case.pt2", "case.so", "data.npz"))
    write_archive(case, archive)
    code, text = call(lathe, "compile", archive, "-o", artifact, "-O", "1", *case["flags"])
    if code:
        yield f"{case['name']}: lathe compile exits with {code}: {text}"
        return
    runs = [{f"{way}{k}": array(t) for way in ("in", "out") for k, t in enumerate(run[way])} for run in case["runs"]]
    steps = ["--steps"] if case.get("steps") else []
    if steps:
        runs = [{name: np.stack([run[name] for run in runs]) for name in runs[0]}]
    for i, run in enumerate(runs):
        np.savez(data, **run)
        tolerance = case["tolerance"]
        code, text = call(lathe, "run", artifact, "--inputs", data, "--expect", data, "--rtol", tolerance, "--atol", tolerance, *steps)
        if code:
            yield f"{case['name']}, run {i}: {text}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="+")
    parser.add_argument("--lathe", default="lathe")
    options = parser.parse_args()
    right, faults = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for family in options.families:
            for case in json.loads((pathlib.Path(__file__).parent / f"Inputs/fx/{family}.json").read_text()):
                found = list(faults_of(case, options.lathe, pathlib.Path(folder)))
                faults += [f"{family}: {fault}" for fault in found]
                right += not found
    return verdict(right, "programs", faults, "PyTorch")


if __name__ == "__main__":
    sys.exit(main())
