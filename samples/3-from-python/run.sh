#!/bin/bash
# Lesson 3: batches of any size from Python. Needs numpy.
. "$(dirname "$0")/../common.sh"
# The cache may be empty; sizes are at least 1 unless the model or --dim says otherwise.
"$lathe" compile "$models/tiny_gpt2.onnx" --dim past=0.. -o "$out/tiny_gpt2.so"
"${PYTHON:-python3}" "$samples/3-from-python/batches.py" "$out/tiny_gpt2.so" "$models"/tiny_gpt2.*.npz
