"""Convolutions of each kind."""
import numpy as np

from .case import add, floats, node


def conv(name, inputs, outputs, kernel, image, batch=1, groups=1, kind=np.float32, op='Conv', flags=None, **attributes):
    attributes.setdefault('pads', [k // 2 for k in kernel] * 2)
    shape = (inputs, outputs // groups) if op == 'ConvTranspose' else (outputs, inputs // groups)
    add('convolution', name, node(op, 'x,w,b', group=groups, **attributes), dict(x=floats(batch, inputs, *image, kind=kind)),
        dict(w=floats(*shape, *kernel, kind=kind, scale=0.05), b=floats(outputs, kind=kind)), **(flags or {}))


conv('conv1x1_s2', 256, 512, (1, 1), (28, 28), strides=[2, 2])
conv('conv1x1_98', 98, 98, (1, 1), (31, 31))
conv('conv5x5_48', 48, 64, (5, 5), (27, 27))
conv('conv3x3_open', 40, 72, (3, 3), (45, 61), flags=dict(open=True))
conv('conv3x3_batch', 16, 32, (3, 3), (32, 32), batch=8)
conv('conv3x3_s2', 96, 128, (3, 3), (40, 40), strides=[2, 2])
conv('conv3x3_d2', 64, 64, (3, 3), (33, 33), pads=[2] * 4, dilations=[2, 2])
conv('conv3x3_d3_open', 48, 64, (3, 3), (29, 40), pads=[3] * 4, dilations=[3, 3], flags=dict(open=True))
conv('conv3x3_d2_valid', 64, 48, (3, 3), (37, 37), pads=[0] * 4, dilations=[2, 2])
conv('conv3x3_1x1', 256, 256, (3, 3), (1, 1))
conv('conv1d_k3_3', 256, 256, (3,), (3,))
conv('conv1d_s2_4', 128, 64, (3,), (4,), strides=[2])
conv('conv3x3_valid', 32, 48, (3, 3), (50, 50), pads=[0] * 4)
conv('conv11x11_s4', 3, 64, (11, 11), (224, 224), pads=[2] * 4, strides=[4, 4])
conv('conv7x7_s2_open', 3, 32, (7, 7), (160, 160), strides=[2, 2], flags=dict(open=True))
conv('conv3x3_rgb', 3, 24, (3, 3), (120, 120))
conv('conv1x7', 64, 64, (1, 7), (17, 17))
conv('conv7x1', 64, 64, (7, 1), (17, 17))
conv('conv3x3_to_1', 64, 1, (3, 3), (96, 96))
conv('conv1d_k9', 80, 96, (9,), (700,))
conv('conv1d_d4', 64, 64, (3,), (2000,), pads=[4, 4], dilations=[4])
conv('conv1d_s5', 1, 128, (10,), (16000,), pads=[0, 0], strides=[5])
conv('conv1d_dw31', 144, 144, (31,), (400,), groups=144)
conv('conv3d_3', 8, 16, (3, 3, 3), (12, 40, 40))
conv('conv3d_1', 64, 64, (1, 1, 1), (8, 20, 20))
conv('conv3d_dw', 48, 48, (3, 3, 3), (8, 24, 24), groups=48)
conv('dw3x3_s2', 96, 96, (3, 3), (112, 112), groups=96, strides=[2, 2])
conv('dw7x7_14', 384, 384, (7, 7), (14, 14), groups=384)
conv('dw3x3_open', 100, 100, (3, 3), (37, 53), groups=100, flags=dict(open=True))
conv('dw5x5_s2_odd', 120, 120, (5, 5), (45, 45), groups=120, strides=[2, 2])
conv('grouped_4', 64, 64, (3, 3), (40, 40), groups=4)
conv('grouped_16_s2', 128, 128, (3, 3), (56, 56), groups=16, strides=[2, 2])
conv('grouped_1x1', 240, 240, (1, 1), (28, 28), groups=3)
conv('conv_f16', 32, 48, (3, 3), (40, 40), kind=np.float16, flags=dict(tolerance=3e-2))
conv('convT_3_s2', 64, 32, (3, 3), (40, 40), op='ConvTranspose', strides=[2, 2], output_padding=[1, 1])
conv('convT_2_odd', 48, 24, (2, 2), (51, 37), op='ConvTranspose', strides=[2, 2], pads=[0] * 4)
conv('convT_1d_16', 128, 64, (16,), (300,), op='ConvTranspose', strides=[8], pads=[4, 4])
conv('convT_5_s1', 32, 32, (5, 5), (30, 30), op='ConvTranspose')
conv('convT_2_to_1_open', 16, 1, (2, 2), (240, 320), op='ConvTranspose', strides=[2, 2], pads=[0] * 4, flags=dict(open=True))
conv('convT_4_to_3', 32, 3, (4, 4), (60, 60), op='ConvTranspose', strides=[2, 2], pads=[1] * 4)
conv('conv4x4_s4', 3, 96, (4, 4), (224, 224), strides=[4, 4], pads=[0] * 4)
conv('conv3x3_s2_rgb_open', 3, 32, (3, 3), (224, 224), strides=[2, 2], flags=dict(open=True))
conv('conv1x1_7x7', 320, 1280, (1, 1), (7, 7))
conv('conv_groups_5', 40, 40, (3, 3), (40, 41), groups=5)
conv('dw3x3_times_3_open', 30, 90, (3, 3), (40, 40), groups=30, flags=dict(open=True))


def last(name, inputs, outputs, kernel, image, open):
    """A detector's head: few channels, which go last."""
    nodes = [node('Conv', 'x,w,b', 'z', pads=[k // 2 for k in kernel] * 2), node('Transpose', 'z', perm=[0, 2, 3, 1])]
    add('convolution', name, nodes, dict(x=floats(1, inputs, *image)), dict(w=floats(outputs, inputs, *kernel, scale=0.05), b=floats(outputs)), open=open)


last('conv1x1_to_4_last_open', 32, 4, (1, 1), (115, 155), True)
last('conv3x3_to_3_last', 32, 3, (3, 3), (115, 155), False)
