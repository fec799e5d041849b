"""Compiles and runs ONNX Runtime's own operators, one by one, with fixed and with open sizes: onnxruntime_ops.py FOLDER TARGET"""
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

import unsigned_bytes

folder, target = sys.argv[1:]
rng = np.random.default_rng(0)
wrong = total = 0
B, S, D, N = 2, 5, 24, 3  # batch, sequence, width, heads
onnxruntime.set_default_logger_severity(3)


def floats(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def ints(*values):
    return np.array(values, np.int32)


def save(op, inputs, constants, attributes, outputs, open_dims):
    values = {f'x{i}': x for i, x in enumerate(inputs) if x is not None}
    fed = {k: x for k, x in values.items() if int(k[1:]) not in constants}

    def info(name, x):
        dims = [open_dims.get(n, n) for n in x.shape]
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), dims)
    names = [f'x{i}' if x is not None else '' for i, x in enumerate(inputs)]
    node = helper.make_node(op, names, [f'y{i}' for i in range(outputs)], domain='com.microsoft', **attributes)
    graph = helper.make_graph([node], 'g', [info(k, x) for k, x in fed.items()], [onnx.ValueInfoProto(name=o) for o in node.output],
                              [numpy_helper.from_array(x, k) for k, x in values.items() if k not in fed])
    sets = [helper.make_opsetid('', 17), helper.make_opsetid('com.microsoft', 1)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=9), f'{folder}/model.onnx')
    return fed


def check(op, *inputs, outputs=1, constants=(), open_dims={}, valid=None, **attributes):
    """`open_dims`: a name for every dimension of that size. `valid`: numbers of rows per batch that the operator defines, along the
    dimension before the last; what lies behind is anybody's."""
    global wrong, total
    for opened in (open_dims, {}) if open_dims else ({},):
        fed = save(op, inputs, constants, attributes, outputs, opened)
        want = unsigned_bytes.run(lambda model: onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider']), f'{folder}/model.onnx', fed)
        np.savez(f'{folder}/data.npz', **fed)
        subprocess.run(['lathe', 'compile', f'{folder}/model.onnx', '-O', '1', '--target', target, '-o', f'{folder}/model.so'], check=True)
        subprocess.run(['lathe', 'run', f'{folder}/model.so', '--inputs', f'{folder}/data.npz', '--output-dir', f'{folder}/out'],
                       check=True, capture_output=True)
        for i, w in enumerate(want):
            y = np.load(f'{folder}/out/y{i}.npy')
            total += 1
            if y.shape == w.shape and valid:
                rows = valid[i]
                y, w = (np.concatenate([v[b, ..., :rows[b], :].ravel() for b in range(B)]) for v in (y, w))
            if y.shape != w.shape or not np.allclose(y, w, rtol=1e-4, atol=1e-5):
                wrong += 1
                print(op, attributes, opened, 'result', i, y.shape, w.shape)


def fused():
    x, bias = floats(3, 7), floats(7)
    check('Gelu', x)
    check('BiasGelu', x, bias, open_dims={3: 'n'})
    check('FastGelu', x, bias)
    check('FastGelu', x, open_dims={3: 'n', 7: 'm'})
    check('QuickGelu', x, alpha=1.5)
    check('FusedMatMul', floats(2, 3, 4, 5), floats(2, 3, 5, 6), alpha=0.5)
    check('FusedMatMul', floats(2, 3, 5, 4), floats(2, 3, 6, 5), transA=1, transB=1, open_dims={2: 'b', 5: 'k', 4: 'm'})
    check('FusedMatMul', floats(4, 2, 3, 5), floats(2, 3, 5, 6), transBatchA=1)
    check('FusedMatMul', floats(5, 2, 3, 4), floats(6, 2, 3, 5), transA=1, transB=1, transBatchA=1, transBatchB=1)
    check('TransposeMatMul', floats(5, 4), floats(5, 6), transA=1, alpha=2.0)
    w = floats(6, 4, 3, 3)
    for name, parameters in (('Relu', []), ('Tanh', []), ('Sigmoid', []), ('LeakyRelu', [0.2]), ('Clip', [-0.5, 0.7]),
                             ('HardSigmoid', [0.3, 0.4])):
        given = {'activation_params': parameters} if parameters else {}
        check('FusedConv', floats(1, 4, 9, 9), w, floats(6), activation=name, pads=[1] * 4, **given, open_dims={9: 's'})
        if name != 'Clip':
            given = dict(zip(('activation_alpha', 'activation_beta'), parameters))
            check('FusedGemm', floats(4, 5), floats(5, 6), floats(6), activation=name, alpha=0.5, **given)
    check('FusedConv', floats(1, 4, 9, 9), w, floats(6), floats(1, 6, 9, 9), activation='Relu', pads=[1] * 4)


def attention():
    x, w, b, past = floats(B, S, D), floats(D, 3 * D) / 5, floats(3 * D), floats(2, B, N, 4, D // N)
    mask = np.ones((B, S), np.int32)
    mask[1, 3:] = 0
    pairs = (rng.random((B, S, S)) > 0.3).astype(np.int32)
    pairs[:, :, 0] = 1
    opened = dict(constants=(1, 2), open_dims={B: 'b', S: 's'})
    check('Attention', x, w, b, num_heads=N, **opened)
    check('Attention', x, w, b, num_heads=N, unidirectional=1, scale=0.3, **opened)
    for m in (mask, ints(5, 3), ints(5, 4, 0, 1), pairs):
        check('Attention', x, w, b, m, num_heads=N, constants=(1, 2))
    check('Attention', x, w, b, mask, num_heads=N, **opened)
    check('Attention', x, w, b, mask, None, floats(1, 1, S, S), num_heads=N, constants=(1, 2))
    check('Attention', x, w, b, None, past, outputs=2, num_heads=N, unidirectional=1, constants=(1, 2), open_dims={S: 's', 4: 'p'})
    check('Attention', x, floats(D, 54) / 5, floats(54), num_heads=N, qkv_hidden_sizes=[12, 12, 30], constants=(1, 2))


def quantised_attention():
    x, bias = rng.integers(0, 256, (B, S, D)).astype(np.uint8), floats(3 * D)
    for kind, zero in ((np.int8, 0), (np.uint8, 120)):
        w = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, (D, 3 * D)).astype(kind)
        scales = np.float32(0.02), np.float32(0.003)
        for mask in (None, ints(5, 3)):
            check('QAttention', x, w, bias, *map(np.array, scales), mask, np.array(np.uint8(128)), np.array(kind(zero)), num_heads=N,
                  constants=(1, 2, 4, 7), open_dims={B: 'b', S: 's'})
    check('QAttention', x, w.astype(np.int8), bias, np.array(np.float32(0.02)), rng.random(3 * D).astype(np.float32) / 300, None,
          np.array(np.uint8(128)), np.zeros(3 * D, np.int8), floats(2, B, N, 4, D // N), outputs=2, num_heads=N, unidirectional=1,
          constants=(1, 2, 4, 7))


def multi_head():
    q, k, v = floats(B, S, D), floats(B, 7, D), floats(B, 7, D)
    keys = np.array([[1] * 7, [1] * 4 + [0] * 3], np.int32)
    opened = {B: 'b', S: 's', 7: 't'}
    check('MultiHeadAttention', q, k, v, num_heads=N, open_dims=opened)
    check('MultiHeadAttention', q, k, v, floats(3 * D), num_heads=N, open_dims=opened)
    check('MultiHeadAttention', q, k, floats(B, 7, 30), floats(2 * D + 30), num_heads=N)
    check('MultiHeadAttention', q, floats(B, N, 7, 8), floats(B, N, 7, 8), num_heads=N)
    check('MultiHeadAttention', q, k, v, None, keys, num_heads=N, open_dims=opened)
    check('MultiHeadAttention', q, k, v, None, ints(7, 4), num_heads=N)
    check('MultiHeadAttention', q, k, v, None, None, floats(1, N, S, 7), num_heads=N)
    check('MultiHeadAttention', q, floats(B, S, D), floats(B, S, D), None, None, None, floats(B, N, 6, 8), floats(B, N, 6, 8), outputs=3,
          num_heads=N, unidirectional=1, open_dims={S: 's', 6: 'p'})


def rotary():
    cos, sin = np.cos(floats(16, 4)), np.sin(floats(16, 4))
    places = np.arange(S, dtype=np.int64)[None].repeat(B, 0)
    for interleaved in (0, 1):
        check('RotaryEmbedding', floats(B, S, D), places, cos, sin, interleaved=interleaved, open_dims={B: 'b', S: 's'})
        check('RotaryEmbedding', floats(B, S, D), np.array([3]), cos, sin, interleaved=interleaved)
        check('RotaryEmbedding', floats(B, N, S, 8), places, cos, sin, interleaved=interleaved)
        check('RotaryEmbedding', floats(B, S, N * 12), places, cos, sin, interleaved=interleaved, num_heads=N, rotary_embedding_dim=8)


def group_query():
    heads, shared, size = 4, 2, 16
    cos, sin = np.cos(floats(32, 8)), np.sin(floats(32, 8))

    def case(sequence, past, *more, room=0, lengths=None, packed=False, **attributes):
        """`room`: keys that the cache holds, where that is more than the past."""
        total, held = past + sequence, max(room, past + sequence)
        lengths = lengths or [total] * B
        qkv = [floats(B, sequence, (heads + 2 * shared) * size), None, None] if packed else [
            floats(B, sequence, n * size) for n in (heads, shared, shared)]
        cache = [floats(B, shared, room or past, size) for _ in range(2)]
        new = [n if past == 0 else sequence for n in lengths]
        check('GroupQueryAttention', *qkv, *cache, ints(*lengths) - 1, np.array(max(lengths), np.int32), cos, sin, *more, outputs=3,
              num_heads=heads, kv_num_heads=shared, constants=(7, 8), open_dims={B: 'b', past: 'p'} if past > 2 else {},
              valid=[new, lengths, lengths], **attributes)
    case(5, 0)
    case(5, 0, do_rotary=1)
    case(5, 0, do_rotary=1, rotary_interleaved=1)
    case(5, 0, lengths=[5, 3], do_rotary=1)
    case(8, 0, local_window_size=3)
    case(1, 6, do_rotary=1)
    case(1, 6, lengths=[7, 5], do_rotary=1)
    case(1, 6, packed=True, do_rotary=1)
    case(1, 6, softcap=2.0, scale=0.2)
    case(1, 9, local_window_size=3)
    case(1, 6, smooth_softmax=1)
    case(1, 6, None, None, floats(heads))
    case(1, 6, room=12, do_rotary=1)


def tensors():
    x = floats(3, 4)
    check('CDist', x, floats(5, 4), metric='euclidean', open_dims={3: 'm', 5: 'n'})
    check('CDist', x, floats(5, 4))
    check('ExpandDims', x, np.array(1, np.int32), constants=(1,), open_dims={3: 'm'})
    check('ExpandDims', x, np.array(-1, np.int32), constants=(1,))
    check('GatherND', x, np.array([[0, 1], [2, 3]], np.int64))
    check('GridSample', floats(1, 2, 5, 6), rng.uniform(-1, 1, (1, 3, 4, 2)).astype(np.float32), mode='bicubic', padding_mode='border')
    check('Inverse', floats(2, 3, 3) + 3 * np.eye(3, dtype=np.float32), open_dims={2: 'b'})
    check('Inverse', floats(4, 4) + 3 * np.eye(4, dtype=np.float32))
    bytes_ = rng.integers(0, 256, (1, 6, 7, 3)).astype(np.uint8)
    check('NhwcMaxPool', bytes_, kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    check('Pad', x, np.array([1, 0, 2, 1]), np.array([7], np.float32), constants=(1,), open_dims={3: 'm'})
    check('Pad', x, np.array([[1, 0, 2, 1]]), mode='edge', constants=(1,))
    check('Range', np.array(2, np.int64), np.array(9, np.int64))
    check('Range', np.array(1.5, np.float32), np.array(9, np.float32), np.array(2, np.float32))
    check('Trilu', floats(2, 4, 5), np.array(1, np.int64), upper=0)
    check('Unique', np.array([2, 1, 1, 3, 4, 3], np.float32), outputs=3, open_dims={6: 'n'})


def weights():
    def codes(*shape):
        return rng.integers(0, 256, shape).astype(np.uint8)
    table, at = codes(9, 32), np.array([[0, 3], [8, 3]], np.int64)
    scales = np.abs(floats(9, 4)) / 50
    given = dict(constants=(0, 2, 3), block_size=16, quantize_axis=1, open_dims={2: 'n'})
    check('GatherBlockQuantized', table, at, scales, **given)
    check('GatherBlockQuantized', table, at, scales, codes(9, 2), **given)
    check('GatherBlockQuantized', table, at, np.abs(floats(9, 2)) / 50, bits=8, **given)
    x = floats(3, 40)
    for kind in (0, 1):
        check('MatMulBnb4', x, codes(24 * 40 // 2), np.abs(floats(24 * 40 // 16)), K=40, N=24, block_size=16, quant_type=kind, constants=(1, 2),
              open_dims={3: 'rows'})
    x = floats(3, 64)
    groups = np.arange(64, dtype=np.int32) % 4
    packed, s = codes(24, 4, 8), np.abs(floats(24, 4)) / 20
    check('MatMulNBits', x, packed, s.ravel(), None, groups, K=64, N=24, bits=4, block_size=16, constants=(1, 2, 4), open_dims={3: 'rows'})
    image, w = codes(1, 6, 7, 4), rng.integers(-128, 128, (8, 4, 3, 3)).astype(np.int8)
    scale = np.array(0.02, np.float32)
    check('QLinearConv', image, scale, np.array(120, np.uint8), w, np.array(0.01, np.float32), np.array(0, np.int8), np.array(0.3, np.float32),
          np.array(100, np.uint8), channels_last=1, pads=[1, 1, 1, 1], constants=(1, 2, 3, 4, 5, 6, 7))


for group in (tensors, weights, fused, attention, quantised_attention, multi_head, rotary, group_query):
    group()
print(f'{wrong} of {total} results wrong')
