"""Convolutions, integer and half products between a model's input and output against ONNX Runtime, one thread.

usage: quantised.py LATHE [NAME...]      ratios are of medians of interleaved slices; below 1 lathe is faster"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

rng = np.random.default_rng(0)
node = helper.make_node
floats = lambda *s: rng.standard_normal(s).astype(np.float32)
signed = lambda *s: rng.integers(-127, 128, s).astype(np.int8)
small = lambda n: (rng.random(n) * 0.01 + 0.001).astype(np.float32)
one, u8 = lambda x: np.float32(x), np.uint8
MS = dict(domain='com.microsoft')


def qconv(channels, size, kernel, out, groups=1, stride=1):
    """QLinearConv of an image of bytes."""
    pad = kernel // 2
    return ([node('QLinearConv', ['x', 'sx', 'zx', 'w', 'sw', 'zw', 'sy', 'zy'], ['y'], group=groups, strides=[stride] * 2, pads=[pad] * 4)],
            dict(x=rng.integers(0, 256, (1, channels, size, size)).astype(u8)),
            dict(sx=one(.02), zx=u8(120), w=signed(out, channels // groups, kernel, kernel), sw=small(out), zw=np.zeros(out, np.int8), sy=one(.3), zy=u8(128)))


def conv(channels, size, kernel, out, groups=1, stride=1, kind=np.float32):
    pad = kernel // 2
    return ([node('Conv', ['x', 'w'], ['y'], group=groups, strides=[stride] * 2, pads=[pad] * 4)],
            dict(x=floats(1, channels, size, size).astype(kind)), dict(w=(floats(out, channels // groups, kernel, kernel) * .1).astype(kind)))


def nbits(rows, k, n, block, bits=4):
    return ([node('MatMulNBits', ['x', 'w', 's'], ['y'], K=k, N=n, bits=bits, block_size=block, **MS)], dict(x=floats(rows, k)),
            dict(w=rng.integers(0, 256, (n, k // block, block * bits // 8)).astype(u8), s=small(n * k // block)))


def integers(rows, k, n):
    return ([node('MatMulInteger', ['x', 'w', 'z'], ['y'])], dict(x=rng.integers(0, 256, (rows, k)).astype(u8)), dict(w=signed(k, n), z=u8(128)))


def dynamic(rows, k, n):
    return ([node('DynamicQuantizeMatMul', ['x', 'w', 's', 'z'], ['y'], **MS)], dict(x=floats(rows, k)), dict(w=signed(k, n), s=small(n), z=np.zeros(n, np.int8)))


def between(op, *shape, **attributes):
    return ([node(op, ['x', 'sx', 'zx', 'sy', 'zy'], ['y'], **attributes, **MS)], dict(x=rng.integers(0, 256, shape).astype(u8)),
            dict(sx=one(.05), zx=u8(120), sy=one(.01), zy=u8(3)))


def both(op, *shape):
    return ([node(op, ['x', 'sx', 'zx', 'b', 'sx', 'zx', 'sy', 'zx'], ['y'], **MS)],
            dict(x=rng.integers(0, 256, shape).astype(u8), b=rng.integers(0, 256, shape).astype(u8)), dict(sx=one(.05), zx=u8(120), sy=one(.1)))


def half(rows, k, n):
    return [node('MatMul', ['x', 'w'], ['y'])], dict(x=floats(rows, k).astype(np.float16)), dict(w=(floats(k, n) * .03).astype(np.float16))


def pooled(channels, size, out):
    return ([node('MaxPool', ['x'], ['p'], kernel_shape=[2, 2], strides=[2, 2]), node('Conv', ['p', 'w'], ['y'])], dict(x=floats(1, channels, size, size)),
            dict(w=floats(out, channels, 1, 1)))


CASES = {
    'qconv3x3_64_56': lambda: qconv(64, 56, 3, 64), 'qconv1x1_256_28': lambda: qconv(256, 28, 1, 256), 'qconv3x3_s2': lambda: qconv(128, 56, 3, 128, stride=2),
    'qconv7x7_first': lambda: qconv(3, 224, 7, 64, stride=2), 'qconv_g32': lambda: qconv(256, 28, 3, 256, 32), 'qconv_g8': lambda: qconv(256, 28, 3, 256, 8),
    'qconv_dw3': lambda: qconv(144, 56, 3, 144, 144), 'qconv_dw5': lambda: qconv(240, 28, 5, 240, 240), 'qconv_dw3_s2': lambda: qconv(96, 112, 3, 96, 96, 2),
    'conv3x3_64_56': lambda: conv(64, 56, 3, 64), 'conv3x3_512_7': lambda: conv(512, 7, 3, 512), 'conv1x1_256_56': lambda: conv(256, 56, 1, 64),
    'conv_first': lambda: conv(3, 224, 3, 32, stride=2), 'conv_g32': lambda: conv(256, 28, 3, 256, 32), 'conv_dw3': lambda: conv(144, 56, 3, 144, 144),
    'conv_dw7': lambda: conv(96, 56, 7, 96, 96), 'conv_gray': lambda: conv(1, 160, 3, 32), 'conv_wide': lambda: conv(128, 160, 3, 64), 'pool_1x1': lambda: pooled(128, 56, 128),
    'conv_half': lambda: conv(64, 56, 3, 64, kind=np.float16), 'half_1': lambda: half(1, 768, 3072), 'half_128': lambda: half(128, 768, 768),
    'nbits_1': lambda: nbits(1, 768, 3072, 32), 'nbits_1_long': lambda: nbits(1, 4096, 4096, 128), 'nbits_4': lambda: nbits(4, 768, 3072, 32),
    'nbits_128': lambda: nbits(128, 768, 3072, 32), 'nbits_8bit': lambda: nbits(1, 768, 3072, 32, 8), 'integers_1': lambda: integers(1, 1024, 4096),
    'integers_128': lambda: integers(128, 768, 3072), 'dynamic_1': lambda: dynamic(1, 768, 3072), 'dynamic_128': lambda: dynamic(128, 768, 768),
    'qadd': lambda: both('QLinearAdd', 1, 256, 56, 56), 'qmul': lambda: both('QLinearMul', 1, 256, 56, 56), 'qsigmoid': lambda: between('QLinearSigmoid', 1, 64, 56, 56),
    'qleaky': lambda: between('QLinearLeakyRelu', 1, 64, 56, 56, alpha=.1), 'qpool': lambda: between('QLinearAveragePool', 1, 64, 56, 56, kernel_shape=[3, 3]),
    'qglobal': lambda: between('QLinearGlobalAveragePool', 1, 512, 14, 14),
}


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider'])


def measure(lathe, folder, name):
    nodes, inputs, constants = CASES[name]()
    path, so, data = (os.path.join(folder, name + end) for end in ('.onnx', '.so', '.npz'))
    info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in inputs.items()]
    graph = helper.make_graph(nodes, 'g', info, [onnx.ValueInfoProto(name='y')], [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17), helper.make_opsetid('com.microsoft', 1)], ir_version=9), path)
    np.savez(data, **inputs)
    subprocess.run([lathe, 'compile', path, '-o', so], check=True)
    other, ratios, mine = session(path), [], []
    for _ in range(3):
        r = subprocess.run([lathe, 'run', so, '--inputs', data, '--bench', '--threads', '1', '--duration', '0.3', '--json'], check=True, capture_output=True)
        mine.append(json.loads(r.stdout)['p50_us'])
        times, end = [], time.perf_counter() + 0.3
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            other.run(None, inputs)
            times.append((time.perf_counter() - start) * 1e6)
        ratios.append(mine[-1] / statistics.median(times))
    print(f'{name:16s} {statistics.median(mine):10.1f} us  ratio {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})', flush=True)


if __name__ == '__main__':
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[2:] or CASES:
            measure(sys.argv[1], folder, name)
