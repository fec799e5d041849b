"""Compiles and runs models of quantised products: integers.py FOLDER"""
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import unsigned_bytes

sys.path.append(str(pathlib.Path(__file__).parents[2] / 'Conformance'))
import turns  # noqa: E402

folder = sys.argv[1]
rng = np.random.default_rng(0)
wrong = count = 0


def integers(kind, *shape):
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max + 1, shape).astype(kind)


def floats(*shape):
    return (rng.standard_normal(shape) * 3).astype(np.float32)


def scales(n):
    return (rng.random(n) * 0.02 + 0.001).astype(np.float32)


def save(nodes, inputs, constants, open_dims):
    def info(name, a):
        dims = [f'{name}{d}' if d in open_dims.get(name, ()) else n for d, n in enumerate(a.shape)]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), dims)
    graph = helper.make_graph(nodes, 'g', [info(n, a) for n, a in inputs.items()], [onnx.ValueInfoProto(name='y')],
                              [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    sets = [helper.make_opsetid('', 17), helper.make_opsetid('com.microsoft', 1)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=9), f'{folder}/model.onnx')


def runtime(inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = lambda model: onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
    return unsigned_bytes.run(session, f'{folder}/model.onnx', inputs)[0]


def check(name, nodes, inputs, constants, open_dims={}, want=None, rtol=0, atol=0):
    """`want`: what numpy says, else ONNX Runtime."""
    global wrong, count
    for opened in (open_dims, {}) if open_dims else ({},):
        save(nodes, inputs, constants, opened)
        expected = runtime(inputs) if want is None else want
        np.savez(f'{folder}/data.npz', **inputs, out0=expected)
        flags = turns.target(count) + turns.effort(count, (0, 3))
        count += 1
        subprocess.run(['lathe', 'compile', f'{folder}/model.onnx', '-o', f'{folder}/model.so', *flags], check=True)
        for extra in ([], ['--max-level', '2'], ['--max-level', '1'], ['--threads', '2']):
            r = subprocess.run(['lathe', 'run', f'{folder}/model.so', '--inputs', f'{folder}/data.npz', '--expect', f'{folder}/data.npz',
                                '--rtol', str(rtol), '--atol', str(atol)] + extra, capture_output=True, text=True)
            if r.returncode:
                wrong += 1
                print(name, opened, extra, r.stderr[-300:])


def node(op, inputs, output='y', **attributes):
    return helper.make_node(op, inputs.split(','), output.split(','), **attributes)


def matrices():
    u8, i8 = np.uint8, np.int8
    for a, b, zero, m, k, n in ((u8, i8, 0, 29, 67, 45), (u8, u8, 128, 3, 5, 33), (i8, i8, 7, 1, 130, 70), (u8, u8, 3, 40, 64, 32)):
        constants = dict(b=integers(b, k, n), az=integers(a), bz=b(zero))
        check('MatMulInteger', [node('MatMulInteger', 'a,b,az,bz')], dict(a=integers(a, 2, m, k)), constants, {'a': (0, 1)})
        constants.update(sa=np.float32(0.02), sb=scales(n), bz=np.full(n, zero, b), sy=np.float32(0.9), zy=integers(a))
        check('QLinearMatMul', [node('QLinearMatMul', 'a,sa,az,b,sb,bz,sy,zy')], dict(a=integers(a, m, k)), constants, {'a': (0,)})
    for m, k, n in ((12, 40, 12), (7, 33, 20)):  # a scale and a zero point for each row, which ONNX Runtime does not take
        a, b, sa, az = integers(u8, m, k), integers(i8, k, n), scales(m), integers(u8, m)
        sb, sy, zy = scales(n), np.float32(0.9), np.uint8(100)
        sums = ((a.astype(np.int32) - az[:, None]) @ b.astype(np.int32)).astype(np.float32)
        want = np.clip(np.rint(sums * (sa[:, None] * sb / sy)) + zy, 0, 255).astype(u8)
        check('rows', [node('QLinearMatMul', 'a,sa,az,b,sb,bz,sy,zy')], dict(a=a, sa=sa, az=az), dict(b=b, sb=sb, bz=np.zeros(n, i8), sy=sy, zy=zy),
              {'a': (0, 1), 'sa': (0,), 'az': (0,)}, want=want, atol=1)
    check('two activations', [node('MatMulInteger', 'a,b,az,bz')],
          dict(a=integers(u8, 3, 17, 37), b=integers(u8, 3, 37, 40), az=integers(u8), bz=integers(u8)), {}, {'a': (1,), 'b': (2,)})
    dynamic = [node('DynamicQuantizeLinear', 'x', 'q,s,z'), node('MatMulInteger', 'q,w,z,wz', 'i'), node('Cast', 'i', 'c', to=1),
               node('Mul', 's,ws', 'f'), node('Mul', 'c,f')]
    check('dynamic', dynamic, dict(x=floats(11, 50)), dict(w=integers(i8, 50, 31), wz=i8(0), ws=np.float32(0.01)), {'x': (0,)}, rtol=1e-5)


def microsoft():
    inputs, constants = dict(a=integers(np.uint8, 9, 33)), dict(
        b=integers(np.int8, 20, 33), sa=np.float32(0.02), za=np.uint8(100), sb=scales(20), zb=integers(np.int8, 20),
        c=rng.integers(-3000, 3000, 20).astype(np.int32), sy=np.float32(1.1), zy=np.uint8(90))
    gemm = dict(domain='com.microsoft', transB=1)
    check('QGemm', [node('QGemm', 'a,sa,za,b,sb,zb,c,sy,zy', **gemm)], inputs, constants, {'a': (0,)})
    for name in ('c', 'sy', 'zy'):
        del constants[name]
    check('QGemm to floats', [node('QGemm', 'a,sa,za,b,sb,zb', alpha=0.5, **gemm)], inputs, constants, rtol=1e-5)

    ws = dict(w=integers(np.int8, 50, 31), ws=scales(31), wz=integers(np.int8, 31), bias=floats(31))
    ms = dict(domain='com.microsoft')
    check('DynamicQuantizeMatMul', [node('DynamicQuantizeMatMul', 'x,w,ws,wz,bias', **ms)], dict(x=floats(3, 11, 50)), ws, {'x': (1,)}, rtol=1e-5,
          atol=1e-5)
    check('MatMulIntegerToFloat', [node('MatMulIntegerToFloat', 'x,w,xs,ws,xz,wz,bias', **ms)], dict(x=integers(np.uint8, 3, 11, 50)),
          dict(ws, xs=np.float32(0.02), xz=np.uint8(9)), {'x': (1,)}, rtol=1e-5, atol=1e-5)

    k, n, block = 75, 21, 32
    x, packed, scale, zero = floats(5, k), integers(np.uint8, n, 3, block // 2), scales(n * 3), integers(np.uint8, n, 2)
    halves = lambda v: np.stack([v & 15, v >> 4], -1).reshape(n, -1).astype(np.float64)
    w = (halves(packed).reshape(n, 3, block) - halves(zero)[:, :3, None]) * scale.reshape(n, 3, 1)
    check('MatMulNBits', [node('MatMulNBits', 'x,w,s,z', domain='com.microsoft', K=k, N=n, bits=4, block_size=block)], dict(x=x),
          dict(w=packed, s=scale, z=zero.reshape(-1)), want=(x @ w.reshape(n, -1)[:, :k].T).astype(np.float32), rtol=1e-4, atol=1e-4)

    # Words in panels of 32 columns: with one zero point for all, with one for each block, with codes of 8 bits; panels and blocks that are filled up.
    ms = dict(domain='com.microsoft')
    for rows, k, n, block, bits in ((1, 64, 64, 32, 4), (3, 96, 64, 16, 4), (30, 256, 64, 128, 4), (2, 64, 64, 32, 8), (3, 100, 41, 32, 4),
                                    (30, 57, 72, 16, 8)):
        blocks, per = (k + block - 1) // block, 8 // bits
        packed, scale = integers(np.uint8, n, blocks, block // per), scales(n * blocks)
        codes = np.stack([packed >> (bits * i) & (2 ** bits - 1) for i in range(per)], -1).reshape(n, blocks, block).astype(np.float64)
        zeros = integers(np.uint8, n, (blocks * bits + 7) // 8)
        each = np.stack([zeros >> (bits * i) & (2 ** bits - 1) for i in range(per)], -1).reshape(n, -1)[:, :blocks, None].astype(np.float64)
        x = floats(rows, k)
        for zero, given in ((2 ** (bits - 1), {}), (each, dict(z=zeros.reshape(-1)))):
            w, bias = ((codes - zero) * scale.reshape(n, -1, 1)).reshape(n, -1)[:, :k], floats(n)
            check(f'blocks of {block} x {bits} bits', [node('MatMulNBits', 'x,w,s,z' if given else 'x,w,s', 'p', K=k, N=n, bits=bits, block_size=block, **ms),
                                                       node('Add', 'p,bias')],
                  dict(x=x), dict(w=packed, s=scale, bias=bias, **given), {'x': (0,)}, want=(x @ w.T + bias).astype(np.float32), rtol=1e-4, atol=1e-4)

    for rows in (1, 30):
        x, w, s = floats(rows, 64), integers(np.int8, 64, 40), scales(40)
        check('weights of 8 bits', [node('DequantizeLinear', 'w,s', 'd', axis=1), node('MatMul', 'x,d')], dict(x=x), dict(w=w, s=s), {'x': (0,)},
              want=(x.astype(np.float64) @ (w * s.astype(np.float64))).astype(np.float32), rtol=1e-4, atol=1e-4)


def images():
    for channels, out, groups, shape, window, extra in ((5, 33, 1, (9, 14), (3, 3), dict(pads=[1] * 4)), (4, 8, 1, (11, 12), (3, 2), dict(strides=[2, 1])),
                                                        (6, 9, 3, (7, 7), (3, 3), dict(pads=[1] * 4, group=3)),
                                                        (20, 20, 20, (9, 37), (3, 3), dict(pads=[1] * 4, group=20, strides=[2, 2])), (7, 20, 1, (40,), (5,), dict(dilations=[2])),
                                                        (3, 5, 1, (5, 6, 7), (2, 3, 3), dict(pads=[0, 1, 1, 1, 1, 1]))):
        x, w = dict(x=integers(np.uint8, 2, channels, *shape)), integers(np.int8, out, channels // groups, *window)
        constants = dict(sx=np.float32(0.02), zx=np.uint8(117), w=w, sw=scales(out), zw=np.zeros(out, np.int8), sy=np.float32(0.7),
                         zy=np.uint8(50), b=rng.integers(-3000, 3000, out).astype(np.int32))
        opened = {'x': (0, *range(2, 2 + len(shape)))}
        check('QLinearConv', [node('QLinearConv', 'x,sx,zx,w,sw,zw,sy,zy,b', **extra)], x, constants, opened)
        if groups == 1:
            constants = dict(w=integers(np.uint8, *w.shape), zx=np.uint8(3), zw=np.uint8(201))
            check('ConvInteger', [node('ConvInteger', 'x,w,zx,zw', **extra)], x, constants, opened)


def recurrence():
    """The operand and each step's state are quantised when they are known."""
    ms = dict(domain='com.microsoft', hidden_size=20)
    for steps, directions in ((5, 1), (40, 2)):
        constants = dict(w=integers(np.int8, directions, 12, 80), r=integers(np.int8, directions, 20, 80), b=floats(directions, 160) * np.float32(.1),
                         ws=scales(directions), wz=np.zeros(directions, np.int8), rs=scales(directions), rz=np.zeros(directions, np.int8))
        kind = 'bidirectional' if directions == 2 else 'reverse'
        check('DynamicQuantizeLSTM', [node('DynamicQuantizeLSTM', 'x,w,r,b,,,,,ws,wz,rs,rz', direction=kind, **ms)],
              dict(x=floats(steps, 1, 12)), constants, {'x': (0,)}, atol=1e-3)


def between():
    """Operators between Dequantize and Quantize, one step beside ONNX Runtime's tables at most."""
    ms = dict(domain='com.microsoft')
    for kind in (np.uint8, np.int8):
        q = lambda name: {f's{name}': np.float32(rng.random() * 0.03 + 0.01), f'z{name}': np.asarray(integers(kind) // 4, kind)}
        x, constants = dict(a=integers(kind, 2, 6, 9, 7)), dict(q('a'), **q('b'), **q('y'), b=integers(kind, 6, 1, 7))
        opened = {'a': (0, 2)}
        for op in ('QLinearAdd', 'QLinearMul'):
            check(op, [node(op, 'a,sa,za,b,sb,zb,sy,zy', **ms)], x, constants, opened, atol=1)
        # Every other sum lies between two steps of the result.
        halves = dict(constants, sa=np.float32(.05), sb=np.float32(.05), sy=np.float32(.1))
        check('QLinearAdd', [node('QLinearAdd', 'a,sa,za,b,sb,zb,sy,zy', **ms)], x, halves, opened)
        for op, extra in (('QLinearSigmoid', {}), ('QLinearLeakyRelu', dict(alpha=0.2)), ('QLinearGlobalAveragePool', {}),
                          ('QLinearAveragePool', dict(kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1])),
                          ('QLinearAveragePool', dict(kernel_shape=[2, 2], count_include_pad=1, pads=[1, 1, 0, 0])),
                          ('QLinearSoftmax', dict(axis=-1, opset=13))):
            small = dict(constants, sy=np.float32(1 / 256), zy=kind(np.iinfo(kind).min)) if op == 'QLinearSoftmax' else constants
            check(op, [node(op, 'a,sa,za,sy,zy', **extra, **ms)], x, small, opened, atol=1)
        means = ((x['a'].astype(np.float64) - constants['za']) * constants['sa']).mean((2, 3)) / constants['sy'] + constants['zy']
        limits = np.iinfo(kind)
        check('QLinearReduceMean', [node('QLinearReduceMean', 'a,sa,za,sy,zy', axes=[2, 3], keepdims=0, **ms)], x, constants, opened,
              want=np.clip(np.rint(means), limits.min, limits.max).astype(kind), atol=1) # ONNX Runtime has no kernel for it
        joined = dict(constants, b=integers(kind, 2, 3, 9, 7))
        check('QLinearConcat', [node('QLinearConcat', 'sy,zy,a,sa,za,b,sb,zb', axis=1, **ms)], x, joined, atol=1)
        choice = dict(constants, c=rng.integers(0, 2, (6, 9, 7)).astype(bool))
        check('QLinearWhere', [node('QLinearWhere', 'c,a,sa,za,b,sb,zb,sy,zy', **ms)], x, choice, opened, atol=1)
    # A function written out between Dequantize and Quantize, as tables.
    gelu, names = [node('DequantizeLinear', 'a,sa,za', 'x')], iter('bcdefgh')
    def again(v):
        q, d = next(names), next(names)
        gelu.extend([node('QuantizeLinear', f'{v},s{v},z', q), node('DequantizeLinear', f'{q},s{v},z', d)])
        return d
    gelu.append(node('Div', 'x,root', 'u'))
    gelu.append(node('Erf', 'u', 'v'))
    gelu.append(node('Add', f'{again("v")},one', 'w'))
    gelu.append(node('Mul', f'x,{again("w")}', 'm'))
    gelu.append(node('QuantizeLinear', 'm,sy,zy'))
    constants = dict(sa=np.float32(.05), za=np.uint8(117), root=np.float32(2 ** .5), one=np.float32(1), z=np.uint8(120), sv=np.float32(.008),
                     sw=np.float32(.016), sy=np.float32(.03), zy=np.uint8(9))
    check('GELU between bytes', gelu, dict(a=integers(np.uint8, 5, 300)), constants, {'a': (0, 1)}, atol=1)
    x, constants = dict(a=integers(np.uint8, 2, 9, 7, 6)), dict(sa=np.float32(.02), za=np.uint8(7), sy=np.float32(.01), zy=np.uint8(3))
    for op, extra in (('QLinearGlobalAveragePool', {}), ('QLinearAveragePool', dict(kernel_shape=[3, 3]))):
        check(op, [node(op, 'a,sa,za,sy,zy', channels_last=1, **extra, **ms)], x, constants, {'a': (0, 1)}, atol=1)


matrices()
microsoft()
recurrence()
between()
images()
print(wrong, 'wrong')
