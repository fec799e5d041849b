"""How a model is compared with what it should give, and how a comparison of many results ends."""
import subprocess

import numpy as np


def fault(lathe, folder, made, data, *flags):
    """What went wrong when the model was compiled or run on the inputs in `data`, whose other arrays are the results expected; or nothing."""
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    np.savez(folder / "data.npz", **data)
    for command in ([lathe, "compile", folder / "m.onnx", "-o", folder / "m.so", *flags],
                    [lathe, "run", folder / "m.so", "--inputs", folder / "data.npz", "--expect", folder / "data.npz"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()
    return ""


def verdict(right, what, faults, judge):
    """Prints the faults and the numbers; the exit code. Nothing compared is a failure."""
    for fault in faults:
        print(fault)
    print(f"{right} {what} agree with {judge}, {len(faults)} do not")
    return 1 if faults or not right else 0
