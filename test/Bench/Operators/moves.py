"""What moves or converts elements: permutations, windows, images of another size, pieces and repetitions, elementwise functions, types."""
import numpy as np

from .case import add, bits, floats, image, integers, node, scale, whole


def unary(name, op, shape=(700, 701), kind=np.float32, make=floats, family='elementwise', opset=17, open=False, tolerance=1e-3, **attributes):
    add(family, name, node(op, 'x', **attributes), dict(x=make(*shape, kind=kind)), opset=opset, open=open, tolerance=tolerance)


def binary(name, op, x, z, family='elementwise', **attributes):
    opset = attributes.pop('opset', 17)
    add(family, name, node(op, 'x,z', **attributes), dict(x=x, z=z), opset=opset)


few = lambda *shape, kind: integers(-99, 100, *shape, kind=kind)
truth = lambda *shape, kind: bits(*shape)
positive = lambda *shape, kind: np.abs(floats(*shape)) + scale(.01)

unary('transpose_021_i8', 'Transpose', (30, 200, 301), np.int8, few, 'permutation', perm=[0, 2, 1])
unary('transpose_5d', 'Transpose', (6, 20, 9, 30, 8), family='permutation', perm=[0, 3, 1, 4, 2])
unary('transpose_f16', 'Transpose', (12, 300, 200), np.float16, family='permutation', perm=[2, 0, 1])
unary('transpose_open', 'Transpose', (20, 111, 222), family='permutation', perm=[0, 2, 1], open=True)
unary('transpose_rows', 'Transpose', (50, 80, 100), family='permutation', perm=[1, 0, 2])
unary('transpose_rgb', 'Transpose', (1, 400, 500, 3), family='permutation', perm=[0, 3, 1, 2])
unary('transpose_i64_2d', 'Transpose', (700, 500), np.int64, few, 'permutation', perm=[1, 0])
unary('space_to_depth_2', 'SpaceToDepth', (1, 32, 120, 120), family='permutation', blocksize=2)
unary('space_to_depth_3', 'SpaceToDepth', (2, 10, 90, 90), family='permutation', blocksize=3)
unary('depth_to_space_crd', 'DepthToSpace', (1, 144, 40, 50), family='permutation', blocksize=3, mode='CRD')


def pool(name, op, shape, kernel, strides, pads=None, kind=np.float32, make=floats, outs='y', **attributes):
    pads = pads or [0] * 2 * len(kernel)
    add('window', name, node(op, 'x', outs, kernel_shape=kernel, strides=strides, pads=pads, **attributes), dict(x=make(*shape, kind=kind)))


pool('maxpool_2_s2', 'MaxPool', (1, 64, 112, 112), [2, 2], [2, 2])
pool('maxpool_3_s2_odd', 'MaxPool', (2, 48, 55, 55), [3, 3], [2, 2])
pool('maxpool_5_s1', 'MaxPool', (1, 128, 40, 40), [5, 5], [1, 1], [2] * 4)
pool('maxpool_13_s1', 'MaxPool', (1, 64, 26, 26), [13, 13], [1, 1], [6] * 4)
pool('maxpool_1d', 'MaxPool', (8, 64, 1001), [3], [2], [1, 1])
pool('maxpool_3d', 'MaxPool', (1, 32, 16, 40, 40), [2, 2, 2], [2, 2, 2])
pool('maxpool_u8', 'MaxPool', (1, 64, 80, 80), [3, 3], [2, 2], [1] * 4, np.uint8, lambda *s, kind: image(*s))
pool('maxpool_index', 'MaxPool', (1, 32, 64, 64), [2, 2], [2, 2], outs='y,i')
pool('avgpool_2_s2', 'AveragePool', (1, 96, 57, 57), [2, 2], [2, 2])
pool('avgpool_7_pad', 'AveragePool', (1, 64, 32, 32), [7, 7], [1, 1], [3] * 4, count_include_pad=1)
pool('avgpool_1d', 'AveragePool', (4, 100, 999), [5], [1], [2, 2])
pool('lppool', 'LpPool', (1, 40, 60, 60), [3, 3], [2, 2], p=2)
add('window', 'lrn', node('LRN', 'x', size=5), dict(x=floats(1, 96, 27, 27)))
add('window', 'col2im', node('Col2Im', 'x,i,b', pads=[1] * 4), dict(x=floats(1, 32 * 9, 40 * 40)), dict(i=whole(40, 40), b=whole(3, 3)), opset=18)
add('window', 'globalmax', node('GlobalMaxPool', 'x'), dict(x=floats(2, 500, 13, 13)))


def resize(name, shape, scales, **attributes):
    add('resize', name, node('Resize', 'x,,s', **attributes), dict(x=floats(*shape)), dict(s=np.array(scales, np.float32)))


resize('linear_down', (1, 32, 120, 120), [1, 1, .5, .5], mode='linear')
resize('linear_1.7', (1, 24, 50, 60), [1, 1, 1.7, 1.7], mode='linear', coordinate_transformation_mode='align_corners')
resize('cubic_2', (1, 16, 60, 60), [1, 1, 2, 2], mode='cubic')
resize('nearest_3', (1, 32, 50, 50), [1, 1, 3, 3], mode='nearest', coordinate_transformation_mode='asymmetric', nearest_mode='floor')
for factor in (2, 5):
    resize(f'nearest_{factor}', (1, 32, 50, 50), [1, 1, factor, factor], mode='nearest', coordinate_transformation_mode='asymmetric', nearest_mode='floor')
# Pyramids of images that are put together, as detectors have them.
add('resize', 'nearest_pyramid', [node('Resize', f'x{n},,s{n}', f'z{n}', mode='nearest', coordinate_transformation_mode='asymmetric', nearest_mode='floor')
                                  for n in range(3)] + [node('Concat', 'z0,z1,z2,x3', axis=1)],
    {f'x{n}': floats(1, 16, 15 * 2 ** n, 20 * 2 ** n) for n in range(4)}, {f's{n}': np.array([1, 1, 8 >> n, 8 >> n], np.float32) for n in range(3)})
resize('nearest_down', (1, 64, 100, 100), [1, 1, .4, .4], mode='nearest')
resize('linear_3d', (1, 8, 10, 30, 30), [1, 1, 2, 2, 2], mode='linear')
add('resize', 'gridsample_nearest', node('GridSample', 'x,g', mode='nearest'), dict(x=floats(1, 20, 90, 90), g=(floats(1, 80, 80, 2) * .4)), opset=16)
add('resize', 'gridsample_border', node('GridSample', 'x,g', padding_mode='border', align_corners=1), dict(x=floats(2, 12, 60, 60), g=floats(2, 70, 70, 2)), opset=16)
add('resize', 'roialign_max', node('RoiAlign', 'x,r,b', mode='max', output_height=5, output_width=5, sampling_ratio=2),
    dict(x=floats(1, 64, 40, 40), r=np.sort(np.abs(floats(60, 2, 2)) * 9, 1).reshape(60, 4), b=np.zeros(60, np.int64)))


def recurrent(name, op, gates, steps, batch, inputs, hidden, directions=1, **attributes):
    if directions == 2:
        attributes['direction'] = 'bidirectional'
    add('recurrence', name, node(op, 'x,w,r,b', hidden_size=hidden, **attributes), dict(x=floats(steps, batch, inputs)),
        dict(w=floats(directions, gates * hidden, inputs, scale=.1), r=floats(directions, gates * hidden, hidden, scale=.1), b=floats(directions, 2 * gates * hidden)))


recurrent('lstm_both_64', 'LSTM', 4, 50, 4, 40, 64, 2)
recurrent('lstm_300', 'LSTM', 4, 30, 1, 100, 300)
recurrent('lstm_256_b6', 'LSTM', 4, 30, 6, 128, 256)
recurrent('gru_100', 'GRU', 3, 60, 1, 60, 100)
recurrent('gru_192_before', 'GRU', 3, 40, 3, 64, 192, linear_before_reset=0)
recurrent('rnn_200', 'RNN', 1, 80, 2, 50, 200)

binary('concat_last_odd', 'Concat', floats(3000, 37), floats(3000, 91), 'piece', axis=1)
binary('concat_first', 'Concat', floats(300, 700), floats(200, 700), 'piece', axis=0)
add('piece', 'concat_5', node('Concat', 'a,b,c,d,e', axis=1), {k: floats(20, 31, 200) for k in 'abcde'})
binary('concat_u8', 'Concat', image(2000, 33), image(2000, 55), 'piece', axis=-1)
binary('concat_open', 'Concat', floats(40, 30, 90), floats(40, 50, 90), 'piece', axis=1)
for mode in ('constant', 'edge', 'reflect'):
    add('piece', f'pad_{mode}', node('Pad', 'x,p', mode=mode), dict(x=floats(20, 60, 71)), dict(p=whole(0, 2, 5, 0, 3, 4)))
add('piece', 'pad_wrap', node('Pad', 'x,p', mode='wrap'), dict(x=floats(20, 60, 71)), dict(p=whole(0, 2, 5, 0, 3, 4)), opset=19)
add('piece', 'pad_i8', node('Pad', 'x,p,v'), dict(x=integers(-9, 9, 64, 90, 95, kind=np.int8)), dict(p=whole(0, 1, 1, 0, 1, 1), v=np.int8(3)))
add('piece', 'slice_back', node('Slice', 'x,a,b,c,d'), dict(x=floats(300, 1001)), dict(a=whole(-1), b=whole(-2000), c=whole(1), d=whole(-1)))
add('piece', 'slice_last', node('Slice', 'x,a,b,c'), dict(x=floats(3000, 130)), dict(a=whole(7), b=whole(118), c=whole(1)))
add('piece', 'slice_every_third', node('Slice', 'x,a,b,c,d'), dict(x=floats(900, 1000)), dict(a=whole(1), b=whole(1000), c=whole(1), d=whole(3)))
add('piece', 'split_3', node('Split', 'x', 'y,z,w', axis=1, num_outputs=3), dict(x=floats(1000, 300)), opset=18)
for name, kind in (('i8', np.int8), ('f16', np.float16), ('f32', np.float32)):
    add('piece', f'tile_17_{name}', node('Tile', 'x,r'), dict(x=few(2000, 17, kind=np.int8).astype(kind)), dict(r=whole(1, 9)))
for length in (5, 12):
    add('piece', f'tile_{length}', node('Tile', 'x,r'), dict(x=floats(3000, length)), dict(r=whole(1, 20)))
add('piece', 'tile_17_bool', node('Tile', 'x,r'), dict(x=bits(2000, 17)), dict(r=whole(1, 9)))
add('piece', 'tile_rows', node('Tile', 'x,r'), dict(x=floats(20, 900)), dict(r=whole(20, 1)))
add('piece', 'expand_last', node('Expand', 'x,s'), dict(x=floats(900, 1)), dict(s=whole(900, 500)))
add('piece', 'expand_first_i64', node('Expand', 'x,s'), dict(x=integers(0, 9, 1, 700)), dict(s=whole(500, 700)))
unary('trilu', 'Trilu', (3, 300, 301), family='piece', upper=0)

binary('add_middle', 'Add', floats(30, 70, 190), floats(70, 1))
binary('mul_first', 'Mul', floats(200, 2000), floats(200, 1))
binary('add_outer', 'Add', floats(900, 1), floats(1, 700))
binary('div_f32', 'Div', floats(700, 701), positive(700, 701, kind=np.float32))
binary('sub_i64', 'Sub', few(500, 501, kind=np.int64), few(500, 501, kind=np.int64))
binary('mul_i32_row', 'Mul', few(700, 900, kind=np.int32), few(900, kind=np.int32))
binary('div_i32', 'Div', few(500, 600, kind=np.int32), integers(1, 50, 500, 600, kind=np.int32))
binary('pow_2', 'Pow', floats(700, 701), np.asarray(scale(2)))
add('elementwise', 'pow_2_known', node('Pow', 'x,z'), dict(x=floats(700, 701)), dict(z=scale(2)))
binary('mod_i32', 'Mod', few(500, 600, kind=np.int32), integers(1, 50, 500, 600, kind=np.int32))
binary('fmod', 'Mod', floats(300, 400), positive(300, 400, kind=np.float32), fmod=1)
binary('equal_i64', 'Equal', few(700, 700, kind=np.int64), few(700, 700, kind=np.int64))
binary('greater', 'Greater', floats(900, 901), floats(900, 901))
binary('and', 'And', bits(1000, 1001), bits(1000, 1001))
binary('bitwise_xor', 'BitwiseXor', few(700, 900, kind=np.int32), few(700, 900, kind=np.int32), opset=18)
binary('prelu', 'PRelu', floats(4, 60, 50, 50), floats(60, 1, 1))
add('elementwise', 'max_3', node('Max', 'a,b,c'), {k: floats(500, 501) for k in 'abc'})
add('elementwise', 'where_row', node('Where', 'c,x,z'), dict(c=bits(800, 1), x=floats(800, 900), z=floats(900)))
add('elementwise', 'clip', node('Clip', 'x,a,b'), dict(x=floats(700, 901)), dict(a=scale(-.5), b=scale(1)))
for op in ('Sigmoid', 'Erf', 'Tanh', 'Exp', 'Softplus', 'HardSwish', 'LeakyRelu', 'Elu', 'Selu', 'Mish', 'Abs', 'Floor', 'Cos', 'Atan', 'Sinh'):
    unary(op.lower(), op, opset=18 if op == 'Mish' else 17)
unary('log', 'Log', make=positive)
unary('sqrt', 'Sqrt', make=positive)
unary('reciprocal', 'Reciprocal', make=positive)
unary('gelu_tanh', 'Gelu', opset=20, approximate='tanh')
unary('round', 'Round')
unary('isnan', 'IsNaN')
unary('neg_i8', 'Neg', kind=np.int8, make=few)
unary('abs_i64', 'Abs', kind=np.int64, make=few)
unary('not', 'Not', make=truth)
unary('sigmoid_f64', 'Sigmoid', (300, 301), np.float64)
unary('relu_open', 'Relu', (20, 70, 333), open=True)

for source, kind, make in (('f32', np.float32, floats), ('f16', np.float16, floats), ('i64', np.int64, few), ('bool', np.bool_, truth), ('f64', np.float64, floats), ('i32', np.int32, few)):
    for target, code in (('f32', 1), ('f16', 10), ('i32', 6), ('i8', 3), ('bool', 9), ('i64', 7)):
        if (source, target) in {('f32', 'f16'), ('f32', 'i32'), ('f32', 'i8'), ('f32', 'bool'), ('f16', 'f32'), ('i64', 'i32'), ('i64', 'f32'), ('bool', 'f32'),
                                ('bool', 'i64'), ('f64', 'f32'), ('i32', 'i64'), ('f32', 'i64')}:
            unary(f'cast_{source}_{target}', 'Cast', (600, 801), kind, make, 'cast', tolerance=2e-3, to=code)

unary('dft_1000', 'DFT', (12, 1000, 1), family='fourier', axis=1, tolerance=5e-2)  # ONNX Runtime's own error
unary('dft_inverse', 'DFT', (30, 256, 2), family='fourier', axis=1, inverse=1, tolerance=1e-2)
unary('dft_onesided', 'DFT', (20, 512, 1), family='fourier', axis=1, onesided=1, tolerance=1e-2)
add('fourier', 'stft_256', node('STFT', 'x,s,w', onesided=1), dict(x=floats(2, 8000, 1)), dict(s=np.int64(100), w=np.hanning(256).astype(np.float32)), tolerance=1e-2)
