"""Cases of which every size is open, axes that turn out short, sizes beside powers of two, and types that the other files have not."""
import numpy as np

from .case import add, bits, floats, image, integers, node, rng, whole


def opened(family, name, nodes, inputs, constants=None, **more):
    add(family, 'open_' + name, nodes, inputs, constants, open=True, **{'opset': 18, **more})


for name, shape, perm in (('last_3', (2, 3, 224, 224), (0, 2, 3, 1)), ('last_13', (2, 13, 90, 91), (0, 2, 3, 1)), ('first_5', (2, 100, 101, 5), (0, 3, 1, 2)),
                          ('six', (2, 3, 4, 5, 60, 70), (5, 4, 3, 2, 1, 0)), ('77', (77, 1001), (1, 0)), ('keep_8', (30, 40, 50, 8), (3, 0, 1, 2))):
    opened('permutation', f'transpose_{name}', node('Transpose', 'x', perm=perm), dict(x=floats(*shape)))
for size in (512, 1001):
    for kind in (np.uint8, np.float16):
        add('permutation', f'transpose_{size}_{np.dtype(kind).name}', node('Transpose', 'x', perm=[1, 0]), dict(x=image(size, size).astype(kind)))

for mode in ('reflect', 'edge', 'wrap'):
    opened('piece', f'pad_{mode}_1', node('Pad', 'x,p', mode=mode), dict(x=floats(1, 64, 56, 56)), dict(p=whole(0, 0, 1, 1, 0, 0, 1, 1)), opset=19)
opened('piece', 'pad_reflect_200', node('Pad', 'x,p', mode='reflect'), dict(x=floats(2, 80, 3000)), dict(p=whole(0, 0, 200, 0, 0, 200)))
opened('piece', 'pad_edge_u8', node('Pad', 'x,p', mode='edge'), dict(x=image(1, 3, 480, 640)), dict(p=whole(0, 0, 8, 8, 0, 0, 8, 8)))
add('piece', 'pad_bool', node('Pad', 'x,p'), dict(x=bits(300, 701)), dict(p=whole(3, 3, 3, 3)), opset=18)
for name, shape, to in (('rows', (1, 1001), (300, 1001)), ('columns', (300, 1), (300, 1001)), ('middle', (20, 1, 300), (20, 30, 300)), ('f32', (1, 2, 1, 64, 64), (1, 2, 4, 64, 64))):
    opened('piece', f'expand_{name}', node('Expand', 'x,s'), dict(x=floats(*shape)), dict(s=whole(*to)))
for last in (9, 24):
    opened('piece', f'concat_{last}', node('Concat', 'x,z', axis=1), dict(x=floats(20000, last), z=floats(20000, last + 2)))
opened('piece', 'tile_9', node('Tile', 'x,r'), dict(x=floats(3000, 9)), dict(r=whole(1, 9)))
opened('elementwise', 'where_outer_f64', node('Where', 'c,x,z'), dict(c=bits(300, 1), x=floats(1, 701, kind=np.float64), z=floats(300, 701, kind=np.float64)))
opened('elementwise', 'where_middle_i32', node('Where', 'c,x,z'), dict(c=bits(20, 1, 301), x=integers(0, 9, 20, 77, 301, kind=np.int32), z=integers(0, 9, 77, 1, kind=np.int32)))
for op in ('Xor', 'Equal'):
    add('elementwise', f'{op.lower()}_bool', node(op, 'x,z'), dict(x=bits(300, 1001), z=bits(300, 1001)))
for op in ('Mod', 'Div'):
    add('elementwise', f'{op.lower()}_i8', node(op, 'x,z'), dict(x=integers(-99, 100, 300, 1001, kind=np.int8), z=integers(1, 9, 300, 1001, kind=np.int8)))

for length in (3, 9, 19):
    x = floats(300000 // length, length)
    opened('reduction', f'max_{length}', node('ReduceMax', 'x,a'), dict(x=x), dict(a=whole(1)))
    opened('reduction', f'argmax_{length}', node('ArgMax', 'x', axis=1), dict(x=x))
    opened('reduction', f'logsoftmax_{length}', node('LogSoftmax', 'x', axis=1), dict(x=x))
    opened('order', f'cumsum_{length}', node('CumSum', 'x,a'), dict(x=x), dict(a=np.int64(1)))
add('reduction', 'argmax_long', node('ArgMax', 'x', axis=0), dict(x=floats(1 << 19)))
add('bytes', 'dynamic_quantize_500k', node('DynamicQuantizeLinear', 'x', 'y,s,z'), dict(x=floats(500, 1001)))
add('bytes', 'quantize_i8', node('QuantizeLinear', 'x,s,z'), dict(x=floats(500, 1001)), dict(s=np.float32(.02), z=np.int8(3)))
add('order', 'topk_middle_1_70', node('TopK', 'x,k', 'v,i', axis=1), dict(x=floats(50, 60, 70)), dict(k=whole(1)))
add('order', 'sort_middle_i64', node('TopK', 'x,k', 'v,i', axis=1), dict(x=rng.permutation(40 * 60 * 45).reshape(40, 60, 45)), dict(k=whole(60)))

double = np.array([1, 1, 2, 2], np.float32)
for mode in ('linear', 'cubic', 'nearest'):
    opened('resize', f'{mode}_2', node('Resize', 'x,,s', mode=mode), dict(x=floats(1, 32, 50, 60)), dict(s=double))
opened('resize', 'linear_half', node('Resize', 'x,,s', mode='linear'), dict(x=floats(1, 3, 224, 224)), dict(s=np.array([1, 1, .5, .5], np.float32)))
opened('resize', 'gridsample', node('GridSample', 'x,g', mode='linear'), dict(x=floats(2, 32, 40, 41), g=floats(2, 30, 31, 2, scale=.5)), opset=20)
add('resize', 'roialign_adaptive', node('RoiAlign', 'x,r,b', output_height=7, output_width=7, sampling_ratio=0, spatial_scale=.25),
    dict(x=floats(1, 64, 50, 60), r=(np.sort(rng.random((77, 2, 2)), 1).reshape(77, 4) * 200).astype(np.float32), b=np.zeros(77, np.int64)))
for name, strides in (('s1', [1, 1]), ('s2', [2, 2])):
    opened('window', f'maxpool_3_{name}', node('MaxPool', 'x', kernel_shape=[3, 3], strides=strides, pads=[1] * 4), dict(x=floats(1, 64, 56, 57)))
opened('window', 'avgpool_3_s2', node('AveragePool', 'x', kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), dict(x=floats(1, 64, 112, 113)))

# Rows of a few elements; products with a column; what is interpolated, of open sizes and of bytes; diagonals.
for length in (2, 4, 5, 24):
    x = floats(300000 // length, length)
    opened('reduction', f'softmax_{length}', node('Softmax', 'x', axis=1), dict(x=x))
    opened('reduction', f'sum_{length}', node('ReduceSum', 'x,a'), dict(x=x), dict(a=whole(1)))
    opened('reduction', f'argmax_{length}', node('ArgMax', 'x', axis=1), dict(x=x))
    opened('elementwise', f'mul_column_{length}', node('Mul', 'x,z'), dict(x=x, z=floats(300000 // length, 1)))
for name, shape in (('wide', (3, 200000)), ('tall', (200000, 3))):
    opened('permutation', f'transpose_{name}', node('Transpose', 'x', perm=[1, 0]), dict(x=floats(*shape)))
for mode, scale in (('linear', 1.7), ('cubic', 1.7), ('cubic', .4)):
    opened('resize', f'smooth_{mode}_{scale}', node('Resize', 'x,,s', mode=mode, antialias=1), dict(x=floats(1, 8, 100, 100)), dict(s=np.array([1, 1, scale, scale], np.float32)))
add('resize', 'affinegrid', node('AffineGrid', 't,s'), dict(t=floats(2, 2, 3)), dict(s=whole(2, 3, 200, 201)), opset=20)
# ONNX Runtime cuts off fractions.
add('resize', 'linear_u8', node('Resize', 'x,,s', mode='linear'), dict(x=image(1, 3, 240, 320)), dict(s=np.array([1, 1, 1.5, 1.5], np.float32)), opset=18, tolerance=1.01)
for name, equation, shape in (('diagonal', 'ii->i', (1700, 1700)), ('traces', 'bii->b', (30, 200, 200))):
    add('product', f'einsum_{name}', node('Einsum', 'x', equation=equation), dict(x=floats(*shape)))

# Transforms whose length a run finds; the first few of short rows; rows of a vocabulary; borders of two dimensions; bytes and short rows beside one another.
for name, shape, more in (('400', (20, 400, 1), dict(onesided=1)), ('512', (30, 512, 2), {}), ('1000', (12, 1000, 1), {}), ('997', (5, 997, 2), {}),
                          ('300_inverse', (20, 300, 2), dict(inverse=1)), ('4096', (4, 4096, 1), dict(onesided=1)), ('17', (1000, 17, 2), {})):
    opened('fourier', f'dft_{name}', node('DFT', 'x', axis=1, **more), dict(x=floats(*shape)), opset=17, tolerance=.2)  # ONNX Runtime's own error
opened('fourier', 'stft_400', node('STFT', 'x,s,w', onesided=1), dict(x=floats(1, 16000, 1), w=np.hanning(400).astype(np.float32)), dict(s=np.int64(160)), opset=17, tolerance=.1)
for name, shape, count in (('7_2', (20000, 7), 2), ('64_8', (512, 64), 8)):
    opened('order', f'topk_{name}', node('TopK', 'x,k', 'v,i', axis=1), dict(x=floats(*shape)), dict(k=whole(count)))
opened('order', 'topk_first_5', node('TopK', 'x,k', 'v,i', axis=0), dict(x=floats(500, 300)), dict(k=whole(5)))
opened('order', 'cumsum_long', node('CumSum', 'x,a'), dict(x=floats(2, 300000, scale=.01)), dict(a=np.int64(1)))
for rows, length in ((1, 128256), (8, 32000), (2, 500000)):
    opened('reduction', f'softmax_{length}', node('Softmax', 'x', axis=1), dict(x=floats(rows, length)))
opened('reduction', 'max_33', node('ReduceMax', 'x,a'), dict(x=floats(9001, 33)), dict(a=whole(1)))
opened('reduction', 'argmin_13', node('ArgMin', 'x', axis=1), dict(x=floats(20000, 13)))
opened('piece', 'pad_reflect_2d', node('Pad', 'x,p', mode='reflect'), dict(x=floats(2, 16, 61, 63)), dict(p=whole(0, 0, 2, 3, 0, 0, 1, 2)), opset=19)
opened('piece', 'concat_17', node('Concat', 'x,z', axis=1), dict(x=floats(9000, 17), z=floats(9000, 16)))
opened('piece', 'concat_77_i8', node('Concat', 'x,z', axis=1), dict(x=image(3000, 77).view(np.int8), z=image(3000, 55).view(np.int8)))
opened('piece', 'tile_1', node('Tile', 'x,r'), dict(x=floats(5000, 1)), dict(r=whole(1, 100)))
add('window', 'maxpool_3_35', node('MaxPool', 'x', kernel_shape=[3, 3], pads=[1] * 4), dict(x=floats(1, 48, 35, 35)))
