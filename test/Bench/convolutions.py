"""Models of one convolution (and some of a few) against ONNX Runtime, one thread: grouped, depthwise, transposed, open sizes.

usage: convolutions.py LATHE [NAME...] [--variant avx512] [--other LATHE2]
Prints the shortest time of interleaved slices in microseconds and its ratio to ONNX Runtime's; --other times a second compiler."""
import argparse
import json
import os
import subprocess
import tempfile
import time
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

rng = np.random.default_rng(0)
CASES = {}


def values(*shape):
    return (rng.standard_normal(shape) * 0.05).astype(np.float32)


def case(name, nodes, x, constants, open_sizes=False):
    CASES[name] = (nodes, x, constants, open_sizes)


def conv(name, inputs, outputs, kernel, size, groups=1, stride=1, dilation=1, **flags):
    node = helper.make_node("Conv", ["x", "w"], ["y"], group=groups, strides=[stride] * 2, dilations=[dilation] * 2, pads=[dilation * (kernel // 2)] * 4)
    case(name, [node], (1, inputs, size, size), {"w": values(outputs, inputs // groups, kernel, kernel)}, **flags)


def transposed(name, inputs, outputs, kernel, stride, spatial, pad=0, extra=0, groups=1):
    count = len(spatial)
    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], group=groups, strides=[stride] * count, pads=[pad] * 2 * count, output_padding=[extra] * count)
    case(name, [node], (1, inputs, *spatial), {"w": values(inputs, outputs // groups, *[kernel] * count)})


def branches(name, open_sizes):
    """A text detector's neck: enlarged images of two levels are concatenated with a third before a convolution."""
    resize = lambda x, y, s: helper.make_node("Resize", [x, "", s], [y], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    same = lambda x, w, y, s=1: helper.make_node("Conv", [x, w], [y], strides=[s, s], pads=[1] * 4)
    nodes = [same("x", "a", "p1", 2), same("p1", "b", "p2", 2), resize("p1", "u1", "s2"), resize("p2", "u2", "s4"), same("x", "c", "p0"),
             helper.make_node("Concat", ["p0", "u1", "u2"], ["j"], axis=1), same("j", "d", "e"), helper.make_node("Relu", ["e"], ["y"])]
    scale = lambda s: np.array([1, 1, s, s], np.float32)
    constants = {"a": values(32, 96, 3, 3), "b": values(32, 32, 3, 3), "c": values(32, 96, 3, 3), "d": values(24, 96, 3, 3), "s2": scale(2), "s4": scale(4)}
    case(name, nodes, (1, 96, 80, 80), constants, open_sizes)


conv("3x3_56", 64, 64, 3, 56)
conv("3x3_14", 256, 256, 3, 14)
conv("3x3_28_open", 128, 128, 3, 28, open_sizes=True)
conv("9x9_to_3", 64, 3, 9, 128)
for g in (2, 8, 16, 32, 64):
    conv(f"groups_{g}", 256, 256, 3, 28, groups=g)
conv("groups_32_open", 256, 256, 3, 28, groups=32, open_sizes=True)
conv("groups_32_stride_2", 256, 256, 3, 56, groups=32, stride=2)
for k, size, channels in ((3, 56, 144), (5, 56, 144), (7, 56, 144), (5, 28, 240), (3, 14, 480)):
    conv(f"depthwise_{k}_{size}", channels, channels, k, size, groups=channels)
for k in (3, 5):
    conv(f"depthwise_{k}_stride_2", 240, 240, k, 28, groups=240, stride=2)
conv("depthwise_3_dilated", 240, 240, 3, 28, groups=240, dilation=2)
conv("depthwise_5_open", 240, 240, 5, 28, groups=240, open_sizes=True)
conv("multiplier_4", 64, 256, 3, 28, groups=64)
transposed("transposed_2", 128, 64, 2, 2, (32, 32))
transposed("transposed_4", 128, 64, 4, 2, (32, 32), pad=1)
transposed("transposed_3", 64, 32, 3, 2, (64, 64), pad=1, extra=1)
transposed("transposed_16_1d", 256, 128, 16, 8, (100,), pad=4)
transposed("transposed_4_groups", 64, 64, 4, 2, (32, 32), pad=1, groups=4)
branches("concatenated", False)
branches("concatenated_open", True)


def build(path, nodes, x, constants, open_sizes):
    dims = ["n", x[1]] + [f"s{d}" for d in range(len(x) - 2)] if open_sizes else x
    held = [numpy_helper.from_array(v, k) for k, v in constants.items()]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, dims)], [onnx.ValueInfoProto(name="y")], held)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("lathe")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--variant", default="avx512")
    parser.add_argument("--other")
    a = parser.parse_args()
    compilers = [a.lathe] + ([a.other] if a.other else [])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        for name in a.names or CASES:
            nodes, shape, constants, open_sizes = CASES[name]
            model, given = f"{folder}/m.onnx", f"{folder}/x.npz"
            build(model, nodes, shape, constants, open_sizes)
            session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
            x = values(*shape)
            np.savez(given, x=x, out0=session.run(None, {"x": x})[0])
            times, peer = [[] for _ in compilers], []
            for i, lathe in enumerate(compilers):
                subprocess.run([lathe, "compile", model, "-o", f"{folder}/{i}.so", "--target", f"x86_64:{a.variant}"], check=True)
                subprocess.run([lathe, "run", f"{folder}/{i}.so", "--inputs", given, "--expect", given, "--rtol", "1e-3", "--atol", "1e-3"], check=True, capture_output=True)
            for _ in range(4):
                for i, lathe in enumerate(compilers):
                    done = subprocess.run([lathe, "run", f"{folder}/{i}.so", "--inputs", given, "--bench", "--threads", "1", "--duration", "0.15", "--json"], check=True, capture_output=True, text=True)
                    times[i].append(json.loads(done.stdout)["min_us"])
                end = time.perf_counter() + 0.15
                while time.perf_counter() < end:
                    start = time.perf_counter()
                    session.run(None, {"x": x})
                    peer.append((time.perf_counter() - start) * 1e6)
            shown = "  ".join(f"{min(t):9.1f} {min(t) / min(peer):6.2f}" for t in times)
            print(f"{name:20s} {min(peer):9.1f}  {shown}", flush=True)


if __name__ == "__main__":
    main()
