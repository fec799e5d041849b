"""Images that come with their channels side by side, and leave so, as models of other frameworks have them: a Transpose in front and one behind."""
import numpy as np

from .case import add, floats, node, whole


def together(name, nodes, shape, constants=None, **flags):
    """shape: image, channels, and sizes, of the operator's own input `i`; its result is `o`."""
    sizes = len(shape) - 2
    first, last = [0, sizes + 1, *range(1, sizes + 1)], [0, *range(2, sizes + 2), 1]
    nodes = [node('Transpose', 'x', 'i', perm=first), *(nodes if isinstance(nodes, list) else [nodes]), node('Transpose', 'o', perm=last)]
    add('together', 'together_' + name, nodes, dict(x=floats(shape[0], *shape[2:], shape[1])), constants, **flags)


def conv(name, inputs, outputs, kernel, image, groups=1, op='Conv', flags=None, **attributes):
    attributes.setdefault('pads', [k // 2 for k in kernel] * 2)
    shape = (inputs, outputs // groups) if op == 'ConvTranspose' else (outputs, inputs // groups)
    together(name, node(op, 'i,w', 'o', group=groups, **attributes), (1, inputs, *image), dict(w=floats(*shape, *kernel, scale=0.05)), **(flags or {}))


conv('conv3x3', 64, 64, (3, 3), (56, 56))
conv('conv3x3_s2', 64, 64, (3, 3), (56, 56), strides=[2, 2])
conv('conv5x5', 64, 64, (5, 5), (28, 28))
conv('conv1x1', 256, 64, (1, 1), (28, 28))
conv('conv3x3_d2', 64, 64, (3, 3), (29, 29), pads=[2] * 4, dilations=[2, 2])
conv('conv3x3_to_3', 64, 3, (3, 3), (56, 56))
conv('conv3x3_to_1_open', 32, 1, (3, 3), (61, 60), flags=dict(open=True))
conv('conv3x3_8', 8, 8, (3, 3), (56, 56))
conv('conv5x5_to_4', 32, 4, (5, 5), (28, 28))
conv('conv3x3_s2_rgb', 3, 32, (3, 3), (224, 224), pads=[0, 0, 1, 1], strides=[2, 2])
conv('conv3x3_s2_rgb_open', 3, 32, (3, 3), (224, 224), strides=[2, 2], flags=dict(open=True))
conv('conv7x7_s2_rgb', 3, 64, (7, 7), (112, 112), strides=[2, 2])
conv('conv16x16_s16', 3, 384, (16, 16), (224, 224), strides=[16, 16], pads=[0] * 4)
conv('conv3x3_1', 1, 16, (3, 3), (100, 100))
conv('conv1d', 80, 256, (3,), (1000,))
conv('conv1d_s5', 1, 64, (10,), (8000,), strides=[5])
conv('conv3d', 16, 32, (3, 3, 3), (16, 16, 16))
conv('dw3x3', 64, 64, (3, 3), (56, 56), groups=64)
conv('dw5x5_s2_open', 96, 96, (5, 5), (57, 57), groups=96, strides=[2, 2], flags=dict(open=True))
conv('grouped_4', 64, 64, (3, 3), (28, 28), groups=4)
conv('grouped_32', 256, 256, (3, 3), (28, 28), groups=32)
conv('convT_2', 64, 32, (2, 2), (28, 28), op='ConvTranspose', strides=[2, 2], pads=[0] * 4)
conv('convT_4', 64, 32, (4, 4), (28, 28), op='ConvTranspose', strides=[2, 2], pads=[1] * 4)
for kind in ('Max', 'Average'):
    for window, step, channels, size in ((2, 2, 64, 56), (3, 2, 64, 56), (3, 1, 32, 28), (13, 1, 32, 28)):
        together(f'{kind.lower()}_{window}_{step}', node(kind + 'Pool', 'i', 'o', kernel_shape=[window] * 2, strides=[step] * 2, pads=[window // 2 if window > 2 else 0] * 4),
                 (1, channels, size, size), open=window == 13)
for mode, factor in (('nearest', 2.0), ('linear', 2.0), ('linear', 1.75), ('linear', 0.5), ('cubic', 2.0)):
    together(f'{mode}_{factor}', node('Resize', 'i,,s', 'o', mode=mode), (1, 32, 28, 28), dict(s=np.float32([1, 1, factor, factor])), tolerance=2e-3)
together('instance_norm', node('InstanceNormalization', 'i,a,b', 'o'), (1, 64, 56, 56), dict(a=floats(64), b=floats(64)))
together('prelu', node('PRelu', 'i,a', 'o'), (1, 64, 56, 56), dict(a=floats(64, 1, 1)))
together('depth_to_space', node('DepthToSpace', 'i', 'o', blocksize=2), (1, 64, 28, 28))
together('pad', node('Pad', 'i,p', 'o'), (1, 64, 28, 28), dict(p=whole(0, 0, 1, 1, 0, 0, 1, 1)))
together('softmax', node('Softmax', 'i', 'o', axis=1), (1, 21, 56, 56))
together('means', node('GlobalAveragePool', 'i', 'o'), (1, 256, 28, 28))
