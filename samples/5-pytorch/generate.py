"""Lesson 5: tokens from the compiled decoder, with numpy and no PyTorch.    usage: generate.py LLM.so TOKEN ..."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "3-from-python"))
from model import Model  # noqa: E402

prefill = Model(sys.argv[1])  # the first entry point
decode = prefill.entry("decode")  # another one, with the same states
prompt = [int(token) for token in sys.argv[2:]]
length = 64

logits = prefill(np.array([prompt]), np.arange(len(prompt)))[0]
found = [int(logits.argmax())]
while len(prompt) + len(found) <= length:
    at = len(prompt) + len(found) - 1
    found.append(int(decode(np.array([[found[-1]]]), np.array([at]))[0].argmax()))
print(*found)
