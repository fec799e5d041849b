"""Compiles exported programs and compares what they compute with what PyTorch computed (fx_make.py).

usage: fx_programs.py FAMILY... [--lathe PATH] [--levels N,..] [--turn K/N]     prints what differs; exit code 1 when something does
       fx_programs.py FAMILY... --in-turn       compiled for and run at one level each, the next for each program
       fx_programs.py FAMILY... --emulate       the kernels as they are generated for GPUs, in the emulator, against what they mean
       fx_programs.py FAMILY... --device cuda:0 --target cuda:sm90      on a GPU (fx_devices.py: many in one process)"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import turns
from verdict import verdict

LEVELS = turns.variants()
TYPES = {"bool": np.bool_, "bfloat16": np.float32}  # numpy has no bfloat16; each is a float32


def load(families):
    """(family, place, program) of each."""
    for family in families:
        for place, case in enumerate(json.loads((pathlib.Path(__file__).parent / f"Inputs/fx/{family}.json").read_text())):
            yield family, place, case


def array(tensor):
    data = [float(v) if isinstance(v, str) else v for v in tensor["data"]]
    kind = TYPES.get(tensor["type"]) or getattr(np, tensor["type"])
    return np.array(data, kind).reshape(tensor["shape"])


def given(tensor):
    """As a run takes it: of a bfloat16, the raw elements."""
    values = array(tensor)
    return (values.view(np.uint32) >> 16).astype(np.uint16).view("V2") if tensor["type"] == "bfloat16" else values


def write_archive(case, path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as z:
        z.writestr("case/archive_format", "pt2")
        z.writestr("case/models/model.json", json.dumps(case["program"]))
        for name, content in case["files"].items():
            z.writestr(f"case/{name}", bytes.fromhex(content))


def call(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    return done.returncode, (done.stderr + done.stdout).strip()[-600:]


def emulated(case, folder):
    """On the first run's inputs, for one of two GPUs in turn."""
    archive = folder / "case.pt2"
    write_archive(case, archive)
    np.savez(folder / "case.npz", **{f"in{k}": given(t) for k, t in enumerate(case["runs"][0]["in"])})
    code, text = call("lathe-fuzz", "--replay", archive, "--emulate", "--first", len(case["name"]), "--timeout", 300)
    if code:
        yield f"{case['name']}: {text}"
    elif not text.startswith("ok"):
        print(f"{case['name']}: {text}")


def faults_of(case, place, options, folder):
    archive, artifact, data = (folder / name for name in ("case.pt2", "case.so", "data.npz"))
    write_archive(case, archive)
    target = f"x86_64:{LEVELS[place % len(LEVELS)]}" if options.in_turn else options.target
    lathe, target = options.lathe, ["--target", target] if target else turns.target(place)
    code, text = call(lathe, "compile", archive, "-o", artifact, *turns.effort(place, options.turn), *target, *case["flags"])
    if code:
        yield f"{case['name']}: lathe compile exits with {code}: {text}"
        return
    runs = [{f"{way}{k}": read(t) for way, read in (("in", given), ("out", array)) for k, t in enumerate(run.get(way, []))} for run in case["runs"]]
    steps = ["--steps"] if case.get("steps") else []
    if steps:
        runs = [{name: np.stack([run[name] for run in runs]) for name in runs[0]}]
    for i, run in enumerate(runs):
        np.savez(data, **run)
        tolerance = case["tolerance"]
        refused = case["runs"][i].get("refused") and not steps
        compare = [] if refused else ["--expect", data, "--rtol", tolerance, "--atol", tolerance]
        for level in dict.fromkeys(min(level, len(LEVELS)) for level in map(int, options.levels.split(","))):
            code, text = call(lathe, "run", artifact, "--inputs", data, *compare, "--device", options.device, "--max-level", level, *steps)
            if code != 1 or "do not satisfy" not in text if refused else code:
                yield f"{case['name']}, run {i}, level {level}: {text}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="+")
    parser.add_argument("--lathe", default="lathe")
    parser.add_argument("--levels", default="0", help="of the CPU's code, as lathe run's --max-level; 0: the machine's best")
    parser.add_argument("--in-turn", action="store_true")
    parser.add_argument("--target", help="as lathe compile's")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--emulate", action="store_true")
    turns.add_option(parser, (0, 3))
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()

    def check(item):
        family, place, case = item
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            return [f"{family}: {fault}" for fault in (emulated(case, folder) if options.emulate else faults_of(case, place, options, folder))]
    with ThreadPoolExecutor(options.jobs) as pool:
        found = list(pool.map(check, load(options.families)))
    return verdict(sum(not f for f in found), "programs", [fault for f in found for fault in f], "PyTorch")


if __name__ == "__main__":
    sys.exit(main())
