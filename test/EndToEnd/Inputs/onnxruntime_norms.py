"""Inputs and results of onnxruntime-norms.textproto: onnxruntime_norms.py FILE.npz"""
import sys

import numpy as np

rng = np.random.default_rng(0)
x, s = rng.standard_normal((2, 3, 8)).astype("f4"), rng.standard_normal((1, 3, 8)).astype("f4")
w, b, c = (rng.standard_normal(8).astype("f4") for _ in range(3))
image = rng.standard_normal((1, 1, 3, 8)).astype("f4")


def layer(v):
    return (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 0.01) * w


def simple(v):
    return v / np.sqrt((v * v).mean(-1, keepdims=True) + 0.01) * w


ids, mask = rng.integers(0, 5, (2, 3)).astype("i4"), rng.integers(0, 2, (2, 3)).astype("i4")
words, places, segments = (rng.standard_normal((n, 8)).astype("f4") for n in (5, 4, 5))
embeddings = words[ids] + places[:3] + segments[ids]
embedding = dict(ids=ids, mask=mask, words=words, places=places, segments=segments, embedded=layer(embeddings) + b,
                 counts=mask.sum(1).astype("i4"), total=embeddings)
total = x + s + c
# (i + 0.5) / 2 downwards in height; (i + 0.5) * 2 in width.
rows, columns = np.arange(6) // 2, np.arange(4) * 2 + 1
np.savez(sys.argv[1], x=x, s=s, w=w, b=b, c=c, image=image, layer=layer(x) + b, simple=simple(x), skip=layer(total) + b, sum=total,
         skip_simple=simple(x + s), dequantized=np.round(x * 4) / 4, larger=image[:, :, rows][..., columns], **embedding)
