"""Lesson 3: run one compiled model on batches of several sizes.    usage: batches.py MODEL.so DATA.npz ..."""
import sys

import numpy as np
from model import Model

model = Model(sys.argv[1])
signature = model.signature
print("takes", *(str(signature.inputs[i]) for i in range(signature.num_inputs)), sep="\n  ")
print("gives", *(str(signature.outputs[i]) for i in range(signature.num_outputs)), sep="\n  ")

for path in sys.argv[2:]:
    data = np.load(path)
    results = model(*(data[f"in{i}"] for i in range(signature.num_inputs)))
    for i, (info, result) in enumerate(zip(signature.outputs, results)):
        worst = float(np.abs(result - data[f"out{i}"]).max(initial=0))
        print(f"{info.name.decode()} {result.shape}: largest difference from ONNX Runtime {worst:.1e}")
        if worst > 1e-4:
            sys.exit("that is too much")

try:
    model(data["in0"].astype(np.float64), *(data[f"in{i}"] for i in range(1, signature.num_inputs)))
    sys.exit("an input of the wrong type was accepted")
except ValueError as error:
    print("refused:", error)
