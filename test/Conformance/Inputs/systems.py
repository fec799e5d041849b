"""Writes the program "systems_open" of Inputs/fx/matrices.json as an archive, and inputs of zeros for it.

usage: systems.py ARCHIVE NPZ"""
import json
import pathlib
import sys

import numpy as np

here = pathlib.Path(__file__).parent
sys.path.insert(0, str(here.parent))
from fx_programs import write_archive  # noqa: E402

case = next(c for c in json.loads((here / "fx/matrices.json").read_text()) if c["name"] == "systems_open")
write_archive(case, sys.argv[1])
np.savez(sys.argv[2], **{f"in{i}": np.zeros(t["shape"], t["type"]) for i, t in enumerate(case["runs"][0]["in"])})
