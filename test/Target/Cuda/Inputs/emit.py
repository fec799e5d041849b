"""Prints the PTX of one case of a group (see cases.py).

Usage: emit.py GROUP INDEX SM"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases

with tempfile.NamedTemporaryFile("w", suffix=".mlir") as f:
    f.write(cases.GROUPS[sys.argv[1]][int(sys.argv[2])]().mlir())
    f.flush()
    sys.exit(subprocess.run(["lathe-cuda", f.name, "--emit=ptx", f"--sm={sys.argv[3]}"]).returncode)
