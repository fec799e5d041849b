"""Two networks of images with random weights, compiled once and run at many sizes, against ONNX Runtime."""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(0)
folder = sys.argv[1]


class Graph:
    """Nodes with made-up names, in order; each method returns the name of its result."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def op(self, kind, *inputs, **attributes):
        name = f'v{len(self.nodes)}'
        self.nodes.append(helper.make_node(kind, list(inputs), [name], f'{kind}_{len(self.nodes)}', **attributes))
        return name

    def constant(self, values):
        name = f'c{len(self.constants)}'
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def weight(self, *shape):
        scale = 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 1)
        return self.constant((rng.standard_normal(shape) * scale).astype(np.float32))

    def conv(self, x, inputs, outputs, kernel=1, stride=1, group=1):
        return self.op('Conv', x, self.weight(outputs, inputs // group, kernel, kernel), self.weight(outputs),
                       kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=group)

    def silu(self, x):
        return self.op('Mul', x, self.op('Sigmoid', x))

    def group_norm(self, x, channels, groups):
        """As an exporter writes it for operator sets without GroupNormalization."""
        rows = self.op('Reshape', x, self.constant(np.array([0, groups, -1])))
        one, zero = np.ones(groups, np.float32), np.zeros(groups, np.float32)
        rows = self.op('InstanceNormalization', rows, self.constant(one), self.constant(zero), epsilon=1e-5)
        back = self.op('Reshape', rows, self.op('Shape', x))
        return self.op('Add', self.op('Mul', back, self.weight(channels, 1, 1)), self.weight(channels, 1, 1))

    def save(self, name, inputs, output):
        values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n, dims in inputs]
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, name, values, [result], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 18)], ir_version=8)
        path = os.path.join(folder, name + '.onnx')
        onnx.save(model, path)
        return path


def classifier():
    """A stem, a residual bottleneck that halves the image, and a depthwise block with squeeze and excitation."""
    g = Graph()
    x = g.op('Relu', g.conv('x', 3, 32, 7, 2))
    x = g.op('MaxPool', x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = g.op('Relu', g.conv(x, 32, 16))
    y = g.op('Relu', g.conv(y, 16, 16, 3, 2))
    x = g.op('Relu', g.op('Add', g.conv(y, 16, 64), g.conv(x, 32, 64, 1, 2)))
    y = g.op('Relu', g.conv(x, 64, 24))
    x = g.op('Relu', g.op('Add', g.conv(y, 24, 64), x))
    x = g.op('Add', g.conv(g.op('HardSwish', g.conv(x, 64, 64)), 64, 64, 5, 1, group=64), x)
    y = g.op('HardSwish', g.conv(x, 64, 72))
    y = g.op('HardSwish', g.conv(y, 72, 72, 5, 1, group=72))
    s = g.op('Relu', g.conv(g.op('GlobalAveragePool', y), 72, 20))
    y = g.op('Mul', y, g.op('HardSigmoid', g.conv(s, 20, 72)))
    x = g.op('Add', x, g.conv(y, 72, 64))
    x = g.op('Flatten', g.op('GlobalAveragePool', x))
    out = g.op('Gemm', x, g.weight(10, 64), g.weight(10), transB=1)
    return g.save('classifier', [('x', ['n', 3, 'h', 'w'])], out)


def unet():
    """Down and up again with a skip connection, then up once more; group norms, a time embedding, attention between the pixels."""
    g = Graph()
    skip = g.conv('x', 20, 32, 3)
    y = g.conv(g.silu(g.group_norm(skip, 32, 8)), 32, 48, 3, 2)
    time = g.op('Gemm', g.silu('t'), g.weight(48, 24), g.weight(48), transB=1)
    y = g.op('Add', y, g.op('Unsqueeze', time, g.constant(np.array([2, 3]))))
    rows = g.op('Reshape', g.conv(g.group_norm(y, 48, 4), 48, 144), g.constant(np.array([0, 3, 48, -1])))
    q, k, v = (g.op('Gather', rows, g.constant(np.array(i)), axis=1) for i in range(3))
    scores = g.op('MatMul', g.op('Transpose', q, perm=[0, 2, 1]), k)
    weights = g.op('Softmax', g.op('Mul', scores, g.constant(np.float32(48 ** -0.5))), axis=-1)
    mixed = g.op('MatMul', v, g.op('Transpose', weights, perm=[0, 2, 1]))
    y = g.op('Add', y, g.conv(g.op('Reshape', mixed, g.op('Shape', y)), 48, 48))
    pixels = g.op('Shape', skip, start=2, end=4)
    sizes = g.op('Concat', g.op('Shape', y, start=0, end=2), pixels, axis=0)
    y = g.op('Resize', y, '', '', sizes, mode='nearest', coordinate_transformation_mode='asymmetric', nearest_mode='floor')
    y = g.op('Concat', y, skip, axis=1)
    y = g.op('Add', g.conv(g.silu(g.group_norm(y, 80, 16)), 80, 20, 3), g.conv(skip, 32, 20))
    twice = g.constant(np.array([1, 1, 2, 2], np.float32))
    y = g.op('Resize', y, '', twice, mode='nearest', coordinate_transformation_mode='asymmetric', nearest_mode='floor')
    out = g.conv(y, 20, 20, 3)
    return g.save('unet', [('x', ['n', 20, 'h', 'w']), ('t', ['n', 24])], out)


def agrees(artifact, session, name, inputs):
    want = session.run(None, dict(zip([i.name for i in session.get_inputs()], inputs)))
    data = os.path.join(folder, name + '.npz')
    np.savez(data, out0=want[0], **{f'in{i}': x for i, x in enumerate(inputs)})
    result = True
    for options in (['--threads', '1'], ['--threads', '3'], ['--max-level', '2'], ['--max-level', '1']):
        run = subprocess.run(['lathe', 'run', artifact, '--inputs', data, '--expect', data, '--rtol', '1e-4', '--atol', '1e-4', *options],
                             capture_output=True, text=True)
        if run.returncode:
            result = False
            print(name, [x.shape for x in inputs], *options, run.stdout, run.stderr)
    return result


def check(model, sizes, shapes):
    artifact = model.replace('.onnx', '.so')
    subprocess.run(['lathe', 'compile', model, '-o', artifact], check=True)
    session = onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider'])
    inputs = [[rng.standard_normal(s).astype(np.float32) for s in shapes(*size)] for size in sizes]
    return all([agrees(artifact, session, os.path.basename(model), x) for x in inputs])


sizes = [(1, 1, 1), (2, 1, 9), (3, 7, 5), (1, 16, 16), (5, 12, 34), (2, 33, 75)]
good = check(classifier(), sizes, lambda n, h, w: [(n, 3, h, w)])
good &= check(unet(), sizes, lambda n, h, w: [(n, 20, h, w), (n, 24)])
sys.exit(0 if good else 1)
