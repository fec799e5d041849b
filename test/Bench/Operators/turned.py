"""Every kind of operator with a Transpose in front of it or behind: whichever of both lies apart then, elements are read and written in vectors."""
import numpy as np

from .case import add, floats, integers, node, whole

KINDS = []  # (name, nodes from one value to another, the operand's shape, constants, opset, tolerance)
IMAGES, TOKENS = (2, 48, 30, 28), (4, 120, 96)
LAST, HEADS = [0, 2, 3, 1], [0, 2, 1]


def beside(name, make, shape, perm, constants=None, opset=18, tolerance=1e-3):
    """`make`: nodes from 'a' to 'c'. The operator works on `shape`; in front the input has another order, behind the result gets one."""
    KINDS.append((name, make, shape, constants, opset, tolerance))
    back = [int(i) for i in np.argsort(perm)]
    for is_open in (False, True):
        suffix = '_open' if is_open else ''
        add('turned', f'{name}_behind{suffix}', [*make('x', 'c'), node('Transpose', 'c', perm=perm)], dict(x=floats(*shape)), constants, opset, is_open, tolerance)
        add('turned', f'{name}_in_front{suffix}', [node('Transpose', 'x', 'a', perm=back), *make('a', 'c')], dict(x=floats(*shape).transpose(perm)), constants, opset, is_open, tolerance)


def image(name, op, constants=None, inputs='', **attributes):
    beside(name, lambda a, c: [node(op, a + inputs, c, **attributes)], IMAGES, LAST, constants)


def tokens(name, op, constants=None, inputs='', **attributes):
    beside(name, lambda a, c: [node(op, a + inputs, c, **attributes)], TOKENS, HEADS, constants)


image('conv3', 'Conv', dict(w=floats(40, 48, 3, 3, scale=.1)), ',w', pads=[1] * 4)
image('conv5', 'Conv', dict(w=floats(24, 48, 5, 5, scale=.1)), ',w', pads=[2] * 4)
image('conv3_s2', 'Conv', dict(w=floats(64, 48, 3, 3, scale=.1)), ',w', pads=[1] * 4, strides=[2, 2])
image('conv1', 'Conv', dict(w=floats(64, 48, 1, 1, scale=.1)), ',w')
image('depthwise', 'Conv', dict(w=floats(48, 1, 3, 3)), ',w', pads=[1] * 4, group=48)
image('grouped', 'Conv', dict(w=floats(48, 12, 3, 3, scale=.1)), ',w', pads=[1] * 4, group=4)
image('transposed', 'ConvTranspose', dict(w=floats(48, 24, 2, 2, scale=.1)), ',w', strides=[2, 2])
image('maxpool', 'MaxPool', kernel_shape=[2, 2], strides=[2, 2])
image('avgpool', 'AveragePool', kernel_shape=[3, 3], pads=[1] * 4)
image('global', 'GlobalAveragePool')
image('batchnorm', 'BatchNormalization', {k: np.abs(floats(48)) + np.float32(.5) for k in 'sbmv'}, ',s,b,m,v')
image('instancenorm', 'InstanceNormalization', dict(s=floats(48), b=floats(48)), ',s,b')
image('resize', 'Resize', dict(f=np.array([1, 1, 2, 2], np.float32)), ',,f', mode='linear')
image('nearest', 'Resize', dict(f=np.array([1, 1, 2, 2], np.float32)), ',,f')
image('pad', 'Pad', dict(p=whole(0, 0, 1, 2, 0, 0, 1, 2)), ',p')
image('reflect', 'Pad', dict(p=whole(0, 0, 2, 2, 0, 0, 2, 2)), ',p', mode='reflect')
image('slice', 'Slice', dict(b=whole(3, 5), e=whole(25, 27), d=whole(2, 3)), ',b,e,d')
image('gelu', 'Sigmoid')
image('sum', 'ReduceSum', dict(d=whole(1)), ',d')
image('mean_image', 'ReduceMean', dict(d=whole(2, 3)), ',d')
image('max_last', 'ReduceMax', dict(d=whole(3)), ',d')
image('softmax', 'Softmax', axis=-1)
image('softmax_channels', 'Softmax', axis=1)
image('argmax', 'ArgMax', axis=1)
image('cumsum', 'CumSum', dict(d=np.int64(3)), ',d')
image('to_pixels', 'DepthToSpace', blocksize=2)
image('to_channels', 'SpaceToDepth', blocksize=2)
tokens('layernorm', 'LayerNormalization', dict(s=floats(96), b=floats(96)), ',s,b')
tokens('rows_softmax', 'Softmax')
tokens('logsoftmax', 'LogSoftmax')
tokens('product', 'MatMul', dict(w=floats(96, 80, scale=.1)), ',w')
beside('topk', lambda a, c: [node('TopK', f'{a},k', f'{c},i', axis=-1)], TOKENS, HEADS, dict(k=whole(5)))
tokens('gather', 'Gather', dict(i=integers(0, 120, 70)), ',i', axis=1)
tokens('gather_last', 'Gather', dict(i=integers(0, 96, 70)), ',i', axis=2)
tokens('sum_rows', 'ReduceSum', dict(d=whole(2)), ',d')
tokens('logsumexp', 'ReduceLogSumExp', dict(d=whole(2)), ',d')
tokens('l2', 'LpNormalization')
tokens('cumsum_rows', 'CumSum', dict(d=np.int64(1)), ',d')
beside('split', lambda a, c: [node('Split', a, f'{c},r', axis=2, num_outputs=2)], TOKENS, HEADS)
tokens('tile', 'Tile', dict(r=whole(1, 1, 3)), ',r')
tokens('add_rows', 'Add', dict(z=floats(120, 96)), ',z')
tokens('where', 'PRelu', dict(z=floats(96)), ',z')
beside('concat', lambda a, c: [node('Concat', f'{a},z', c, axis=2)], TOKENS, HEADS, dict(z=floats(4, 120, 30)))
beside('concat_first', lambda a, c: [node('Concat', f'{a},z', c, axis=1)], TOKENS, HEADS, dict(z=floats(4, 30, 96)))
beside('both', lambda a, c: [node('Relu', a, 'r'), node('MatMul', 'r,w', 'm'), node('Add', 'm,r', c)], TOKENS, HEADS, dict(w=floats(96, 96, scale=.1)))
beside('excited', lambda a, c: [node('GlobalAveragePool', a, 'g'), node('Sigmoid', 'g', 's'), node('Mul', f'{a},s', c)], IMAGES, LAST)
