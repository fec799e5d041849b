"""FOLDER SAMPLE: ONNX's Attention with masks of every kind against numpy, fixed and open: broadcast, shorter than the keys, of rows without any key."""
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper

folder, sample = sys.argv[1:]
sys.path.append(sample)
from model import Model  # noqa: E402

random = np.random.default_rng(0)
wrong = count = 0
size = 16


def build(path, q, k, mask, kind):
    values = [helper.make_tensor_value_info(n, 1, d) for n, d in (("Q", q), ("K", k), ("V", k))]
    values.append(helper.make_tensor_value_info("M", kind, mask))
    graph = helper.make_graph([helper.make_node("Attention", ["Q", "K", "V", "M"], ["Y"])], "g", values, [helper.make_tensor_value_info("Y", 1, None)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11), path + ".onnx")
    subprocess.run(["lathe", "compile", path + ".onnx", "-o", path + ".so", "-O", "1"], check=True)
    kernels = subprocess.run(["lathe", "inspect", path + ".so"], check=True, capture_output=True, text=True).stdout
    assert any(line.startswith("kernel") and "(attention," in line for line in kernels.splitlines()), path
    return Model(path + ".so")


def expected(q, k, v, mask):
    scores = q @ k.transpose(0, 1, 3, 2) / 4
    if mask.shape[-1] not in (1, k.shape[2]):
        rest = np.full(mask.shape[:-1] + (k.shape[2] - mask.shape[-1],), False if mask.dtype == bool else -np.inf, mask.dtype)
        mask = np.concatenate([mask, rest], -1)
    scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    most = scores.max(-1, keepdims=True)
    weights = np.where(np.isinf(most), 0, np.exp(scores - np.where(np.isinf(most), 0, most)))
    sums = weights.sum(-1, keepdims=True)
    return weights / np.where(sums == 0, 1, sums) @ v


def check(model, b, h, s, t, m, heads, batches, kind):
    global wrong, count
    q, k, v = (random.standard_normal((b, h, n, size)).astype(np.float32) for n in (s, t, t))
    mask = random.standard_normal((batches, heads, s, m)).astype(np.float32)
    if kind == onnx.TensorProto.BOOL:
        mask = mask > 0
        mask[:, :, 0] = False
    else:
        mask[:, :, 0] = -np.inf
    count += 1
    if not np.allclose(model(q, k, v, mask)[0], expected(q, k, v, mask), 1e-4, 1e-5):
        wrong += 1
        print(b, h, s, t, m, heads, batches, kind)


for kind in (onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL):
    model = build(f"{folder}/open{kind}", ["b", "h", "s", size], ["b", "h", "t", size], ["mb", 1, "s", "m"], kind)
    for b, h, s, t in ((2, 3, 5, 7), (1, 2, 1, 20), (1, 1, 33, 65), (2, 2, 4, 1)):
        for m in sorted({1, t, t - 1 or 1, t // 2 or 1}):
            for batches in {1, b}:
                check(model, b, h, s, t, m, 1, batches, kind)
    for b, h, s, t, m, heads, batches in ((2, 3, 5, 7, 7, 3, 2), (1, 4, 9, 40, 33, 1, 1), (2, 2, 1, 40, 40, 1, 1), (1, 2, 70, 70, 1, 2, 1)):
        fixed = build(f"{folder}/fixed{kind}.{count}", [b, h, s, size], [b, h, t, size], [batches, heads, s, m], kind)
        check(fixed, b, h, s, t, m, heads, batches, kind)
    for m in (0, 9):
        try:
            model(*(np.zeros((1, 1, n, size), np.float32) for n in (2, 8, 8)), np.zeros((1, 1, 2, m), np.float32 if kind == 1 else bool))
            print("taken: a mask of", m)
        except ValueError as refusal:
            print("refused:", refusal)
print(count, "attentions,", wrong, "wrong")
