"""FOLDER SAMPLE: convolutions of open batches whose filter is there for large tiles, in each of the tiles that it serves, against sums in double precision."""
import json
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

folder, sample = sys.argv[1:]
sys.path.append(sample)
from model import Model  # noqa: E402

random = np.random.default_rng(0)
wrong = count = 0


def compile_to(path, model, *flags):
    subprocess.run(["lathe", "compile", model, "-o", path, *flags], check=True)


def expected(x, w):
    """Of windows of three places with a border of one."""
    dims = x.ndim - 2
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0)] + [(1, 1)] * dims)
    windows = np.lib.stride_tricks.sliding_window_view(x, (3,) * dims, axis=tuple(range(2, 2 + dims)))
    over = [1, *range(2 + dims, 2 + 2 * dims)]
    return np.moveaxis(np.tensordot(windows, w.astype(np.float64), (over, list(range(1, 2 + dims)))), -1, 1)


for channels, spatial, forms in ((256, (7, 7), [(4, 4), (2, 4), (4, 2), (2, 2)]), (256, (64,), [(1, 4), (1, 2)])):
    w = (random.standard_normal((channels, channels) + (3,) * len(spatial)) / 64).astype(np.float32)
    values = [helper.make_tensor_value_info(n, 1, ["n", channels, *spatial]) for n in "xy"]
    node = helper.make_node("Conv", ["x", "w"], ["y"], pads=[1] * 2 * len(spatial))
    graph = helper.make_graph([node], "g", values[:1], values[1:], [numpy_helper.from_array(w, "w")])
    path = f"{folder}/{len(spatial)}"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path + ".onnx")
    inputs = [random.standard_normal((n, channels, *spatial)).astype(np.float32) for n in (1, 2, 3, 9)]
    outputs = [expected(x, w) for x in inputs]
    for machine in ("baseline", "avx2", "avx512"):
        compile_to(path + ".so", path + ".onnx", "--target", "x86_64:" + machine, "--report", path + ".json")
        kernel = json.load(open(path + ".json"))[0]["kernels"][0]
        print(machine, len(spatial), [c["schedule"] for c in kernel["schedules"][machine]["cases"]])
        for high, wide in forms:
            open(path + ".tuning", "w").write(f"{kernel['tuning_key']} {machine} * #schedule.winograd<high = {high}, wide = {wide}>\n")
            compile_to(path + ".so", path + ".onnx", "--target", "x86_64:" + machine, "--tuning", path + ".tuning")
            found = subprocess.run(["lathe", "inspect", path + ".so"], check=True, capture_output=True, text=True).stdout
            assert "not taken" not in found and f"#schedule.winograd<high = {high}, wide = {wide}>" in found, found
            for x, y in zip(inputs, outputs):
                count += 1
                off = np.abs(Model(path + ".so")(x)[0] - y).max() / np.abs(y).max()
                if not off < 1e-5:
                    wrong += 1
                    print(machine, high, wide, x.shape, off)
print(count, "convolutions,", wrong, "wrong")
