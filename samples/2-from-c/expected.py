"""Writes expected.txt: what ONNX Runtime computes for the pictures of main.c. (Needs the packages numpy and onnxruntime.)"""
import pathlib

import numpy as np
import onnxruntime

here = pathlib.Path(__file__).parent
session = onnxruntime.InferenceSession(here / "../models/tiny_cnn.onnx")
with open(here / "expected.txt", "w") as out:
    for shape in ((1, 3, 32, 32), (2, 3, 48, 20)):
        image = (np.arange(np.prod(shape)) * 37 % 101).astype(np.float32) / np.float32(50) - np.float32(1)
        for row in session.run(None, {"image": image.reshape(shape)})[0]:
            print(*(f"{p:.5f}" for p in row), file=out)
