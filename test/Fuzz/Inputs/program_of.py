"""Writes a program of test/Conformance/Inputs/fx as FILE.pt2 and FILE.npz, with its first run.     usage: program_of.py FAMILY NAME FILE [--spoil]"""
import json
import pathlib
import sys

import numpy as np

conformance = pathlib.Path(__file__).parents[2] / "Conformance"
sys.path.insert(0, str(conformance))
from fx_programs import array, write_archive  # noqa: E402

family, name, path = sys.argv[1:4]
case = next(c for c in json.loads((conformance / f"Inputs/fx/{family}.json").read_text()) if c["name"] == name)
write_archive(case, f"{path}.pt2")
run = {f"{way}{k}": array(t) for way in ("in", "out") for k, t in enumerate(case["runs"][0][way])}
if "--spoil" in sys.argv:
    run["out0"] = run["out0"] + 1
np.savez(f"{path}.npz", **run)
