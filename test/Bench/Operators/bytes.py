"""Products and conversions of bytes. Weights have seven bits: without instructions for four products at a time,
ONNX Runtime's sums of eight bits saturate."""
import numpy as np

from .case import add, floats, image, integers, node, scale


def weights(*shape):
    return integers(-63, 64, *shape, kind=np.int8)


def qconv(name, inputs, outputs, kernel, size, groups=1, **attributes):
    attributes.setdefault('pads', [kernel // 2] * 4)
    add('bytes', name, node('QLinearConv', 'x,sx,zx,w,sw,zw,sy,zy', group=groups, **attributes), dict(x=image(1, inputs, size, size)),
        dict(sx=scale(.02), zx=np.uint8(117), w=weights(outputs, inputs // groups, kernel, kernel), sw=np.abs(floats(outputs)) * scale(.01) + scale(.001),
             zw=np.zeros(outputs, np.int8), sy=scale(.3), zy=np.uint8(128)), tolerance=1.01)


qconv('qconv3x3_28', 96, 96, 3, 28)
qconv('qconv1x1_40', 160, 200, 1, 40)
qconv('qconv3x3_s2', 64, 128, 3, 56, strides=[2, 2])
qconv('qconv7x7_rgb', 3, 32, 7, 160, strides=[2, 2])
qconv('qconv_dw3', 120, 120, 3, 40, groups=120)
qconv('qconv_dw5_s2', 120, 120, 5, 40, groups=120, strides=[2, 2])
qconv('qconv_g8', 128, 128, 3, 28, groups=8)
for rows in (1, 7, 100):
    add('bytes', f'matmulinteger_{rows}', node('MatMulInteger', 'x,w,z'), dict(x=image(rows, 700)), dict(w=weights(700, 900), z=np.uint8(101)))
add('bytes', 'qgemm_tB', [node('QLinearMatMul', 'x,s,z,w,s,o,t,z')], dict(x=image(90, 400)),
    dict(s=scale(.02), z=np.uint8(120), w=weights(400, 300), o=np.int8(0), t=scale(.5)), tolerance=1.01)
add('bytes', 'qdq_matmul', [node('QuantizeLinear', 'x,s,z', 'q'), node('DequantizeLinear', 'q,s,z', 'd'), node('DequantizeLinear', 'w,v,o', 'e'),
                            node('MatMul', 'd,e')], dict(x=floats(60, 500)), dict(s=scale(.03), z=np.uint8(128), w=weights(500, 600), v=scale(.01), o=np.int8(0)))
add('bytes', 'qdq_conv_28', [node('DequantizeLinear', 'x,s,z', 'd'), node('DequantizeLinear', 'w,v,o', 'e'), node('Conv', 'd,e', 'c', pads=[1] * 4),
                             node('QuantizeLinear', 'c,t,z')], dict(x=image(1, 64, 28, 28)),
    dict(s=scale(.03), z=np.uint8(128), w=weights(80, 64, 3, 3), v=scale(.01), o=np.int8(0), t=scale(.4)), tolerance=1.01)
add('bytes', 'quantize', node('QuantizeLinear', 'x,s,z'), dict(x=floats(3, 400, 401)), dict(s=scale(.03), z=np.int8(3)), tolerance=1.01)
add('bytes', 'quantize_axis', node('QuantizeLinear', 'x,s,z', axis=1), dict(x=floats(4, 60, 1111)),
    dict(s=np.abs(floats(60)) + scale(.1), z=np.zeros(60, np.uint8)), tolerance=1.01)
add('bytes', 'dequantize_axis', node('DequantizeLinear', 'x,s,z', axis=0), dict(x=integers(-127, 127, 300, 1001, kind=np.int8)),
    dict(s=np.abs(floats(300)), z=np.zeros(300, np.int8)))
add('bytes', 'dynamic_quantize', node('DynamicQuantizeLinear', 'x', 'y,s,z'), dict(x=floats(301, 999)), tolerance=1.01)
