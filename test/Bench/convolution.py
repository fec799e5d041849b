"""Convolutions (NCHW, computed as reductions of products) against ONNX Runtime and the multiply-add ceiling, one thread.

usage: convolution.py VARIANT C,H,W,O,KERNEL,STRIDE,PAD...     e.g. convolution.py avx512 64,56,56,64,3,1,1"""
import sys
import numpy as np
from kernelbench import Bound, Kernel, compare, peer
from bodies import padded_load
from onnx import helper

variant = sys.argv[1]
rng = np.random.default_rng(0)
for case in sys.argv[2:]:
    c, h, w, o, kernel, stride, pad = map(int, case.split(','))
    oh, ow = ((n + 2 * pad - kernel) // stride + 1 for n in (h, w))
    text = f'''reduction @conv axes(b = "nb", o = "{o}", y = "{oh}", x = "{ow}", c = "{c}", u = "{kernel}", v = "{kernel}") {{
      %f0 = arith.constant 0.0 : f32
      {padded_load('a', c, h, w, stride, pad)}
      %w = kernel.load %in1["{c*kernel*kernel}*o + {kernel*kernel}*c + {kernel}*u + v"] : !kernel.ref<f32> -> f32
      %m = arith.mulf %a, %w : f32
      %s = kernel.reduce add %m over ["c", "u", "v"] : f32
      kernel.store %s, %out0["{o*oh*ow}*b + {oh*ow}*o + {ow}*y + x"] : f32, !kernel.ref<f32> }}'''
    x, weights = (rng.standard_normal(s).astype(np.float32) for s in ((1, c, h, w), (o, c, kernel, kernel)))
    out = np.zeros((1, o, oh, ow), np.float32)
    node = helper.make_node('Conv', ['X', 'W'], ['Y'], strides=[stride] * 2, pads=[pad] * 4)
    run, result = peer([node], {'X': x}, ('Y', 4), {'W': weights})
    compare(case, Bound(Kernel(text, ['f32'] * 2, ['f32'], variant), [x, weights, out], [1]), run,
            2.0 * out.size * c * kernel * kernel, variant)
    assert np.abs(out - result()).max() < 1e-2
