"""Operators in the forms that their versions have, for opset_versions.py: cases(make), where
make(operator, opsets, *operands, outputs=1, **attributes) adds one. Operands: an array is an input of the model, Const(array) an
initializer, None an absent one. `opsets` is a pair: the form's first operator set and its last."""
import dataclasses

import numpy as np

LAST = 99


@dataclasses.dataclass
class Const:
    value: np.ndarray


def ints(*values):
    return Const(np.array(values, np.int64))


def scalar(value, kind=np.float32):
    return Const(np.array(value, kind))


def values(*shape, seed=0, kind=np.float32, low=-2.0, high=2.0):
    return np.random.RandomState(seed + len(shape) + sum(shape)).uniform(low, high, shape).astype(kind)


def elementwise(make):
    x, positive = values(2, 3, 4), values(2, 3, 4, low=0.2)
    row, number = values(3, 1, seed=1), values(seed=2)
    for name in ("Abs", "Neg", "Exp", "Ceil", "Floor", "Relu", "Sigmoid", "Tanh", "Softsign", "Softplus", "Elu", "Selu", "HardSigmoid",
                 "LeakyRelu", "Sin", "Cos", "Tan", "Atan", "Identity"):
        make(name, (7, LAST), x)
    for name in ("Log", "Sqrt", "Reciprocal"):
        make(name, (7, LAST), positive)
    for name in ("Asinh", "Sinh", "Cosh", "Erf", "Sign", "IsNaN", "Shrink"):
        make(name, (9, LAST), x)
    for name in ("Asin", "Acos"):
        make(name, (7, LAST), x / 2)
    make("Acosh", (9, LAST), positive + 1)
    make("Atanh", (9, LAST), x / 2.1)
    make("Elu", (7, LAST), x, alpha=0.3)
    make("Selu", (7, LAST), x, alpha=1.5, gamma=0.7)
    make("HardSigmoid", (7, LAST), x, alpha=0.6, beta=0.3)
    make("LeakyRelu", (7, LAST), x, alpha=0.3)
    make("ThresholdedRelu", (10, LAST), x, alpha=0.5)
    make("Shrink", (9, LAST), x, lambd=0.7, bias=0.2)
    make("Celu", (12, LAST), x, alpha=0.4)
    make("Round", (11, LAST), np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49], np.float32))
    make("HardSwish", (14, LAST), x)
    make("Mish", (18, LAST), x)
    make("Gelu", (20, LAST), x)
    make("Gelu", (20, LAST), x, approximate="tanh")
    make("IsInf", (10, LAST), np.array([np.inf, -np.inf, np.nan, 1], np.float32), detect_negative=0)
    make("IsInf", (10, LAST), np.array([np.inf, -np.inf, np.nan, 1], np.float32), detect_positive=0)
    for name in ("Add", "Sub", "Mul", "Div", "Greater", "Less"):
        make(name, (7, LAST), x, row)
        make(name, (7, LAST), number, x)
    for name in ("GreaterOrEqual", "LessOrEqual"):
        make(name, (12, LAST), x, row)
    make("Equal", (7, LAST), np.array([1, 2, 3]), np.array([[1], [3]]))
    make("Equal", (11, LAST), np.array([1, 2, 3], np.float32), np.array([[1], [3]], np.float32))
    for name in ("And", "Or", "Xor"):
        make(name, (7, LAST), np.array([True, False]), np.array([[True], [False]]))
    make("Not", (7, LAST), np.array([True, False]))
    for name in ("Max", "Min", "Sum", "Mean"):
        make(name, (8, LAST), x, row, number)
        make(name, (7, LAST), x, x + 1)
        make(name, (7, LAST), x)
    for name in ("Max", "Min"):
        make(name, (12, LAST), np.array([3, -4, 5], np.int64), np.array([[1], [4]], np.int64))
    make("Pow", (7, LAST), positive, row)
    make("Pow", (12, LAST), positive, np.array([2, 3, 0, -1], np.int64))
    make("Pow", (12, LAST), np.array([2, -3, 4], np.int32), np.array([3.0, 2.0, 0.5], np.float32))
    left, right = np.array([7, -7, 7, -7], np.int32), np.array([3, 3, -3, -3], np.int32)
    make("Mod", (10, LAST), left, right)
    make("Mod", (10, LAST), left, right, fmod=1)
    make("Mod", (10, LAST), left / np.float32(2), right * np.float32(0.7), fmod=1)
    make("BitShift", (11, LAST), np.array([1, 200, 3], np.uint8), np.array([1, 1, 7], np.uint8), direction="LEFT")
    make("BitShift", (11, LAST), np.array([1, 200, 3], np.uint64), np.array([1, 3, 0], np.uint64), direction="RIGHT")
    make("Where", (9, LAST), np.array([[True], [False], [True]]), x, row)
    make("PRelu", (7, LAST), x, row)
    make("PRelu", (7, LAST), x, number)
    make("Clip", (7, 10), x, min=-0.5, max=1.0)
    make("Clip", (7, 10), x, max=1.0)
    make("Clip", (7, LAST), x)
    make("Clip", (11, LAST), x, scalar(-0.5), values(low=1, seed=3))
    make("Clip", (11, LAST), x, None, scalar(0.5))
    make("Clip", (12, LAST), np.array([1, -9, 30], np.int8), scalar(-2, np.int8), scalar(7, np.int8))
    for kind, to in ((np.float32, 6), (np.float32, 9), (np.float32, 10), (np.float32, 11), (np.float32, 7)):
        make("Cast", (7, LAST), values(7, low=-9, high=9).astype(kind), to=to)
    make("Cast", (9, LAST), np.array([True, False]), to=1)
    make("Cast", (7, LAST), np.array([-1, 0, 300], np.int64), to=9)
    make("Dropout", (7, 11), x, ratio=0.4)
    make("Dropout", (12, LAST), x, scalar(0.4))


def views(make):
    x = values(2, 3, 4, 6)
    make("Reshape", (7, LAST), x, ints(0, -1, 4))
    make("Reshape", (14, LAST), values(0, 3), ints(3, 0), allowzero=1)
    make("Flatten", (7, LAST), x)
    make("Flatten", (7, LAST), x, axis=0)
    make("Flatten", (7, LAST), x, axis=4)
    make("Flatten", (11, LAST), x, axis=-2)
    single = values(1, 3, 1, 4)
    make("Squeeze", (7, 12), single, axes=[0, 2])
    make("Squeeze", (11, 12), single, axes=[-2])
    make("Squeeze", (13, LAST), single, ints(-2, 0))
    make("Squeeze", (7, LAST), single)
    make("Unsqueeze", (7, 12), x, axes=[0, 5])
    make("Unsqueeze", (11, 12), x, axes=[-1, 2])
    make("Unsqueeze", (13, LAST), x, ints(-1, 2))
    make("Transpose", (7, LAST), x)
    make("Transpose", (7, LAST), x, perm=[0, 2, 3, 1])
    make("Expand", (8, LAST), values(3, 1), ints(2, 1, 4))
    make("Tile", (7, LAST), values(2, 3), ints(2, 3))
    make("Concat", (7, LAST), x, x, axis=1)
    make("Concat", (11, LAST), x, x, axis=-1)
    make("DepthToSpace", (7, LAST), values(1, 8, 2, 3), blocksize=2)
    make("DepthToSpace", (11, LAST), values(1, 8, 2, 3), blocksize=2, mode="CRD")
    make("SpaceToDepth", (7, LAST), values(1, 2, 4, 6), blocksize=2)
    make("Slice", (7, 9), x, starts=[0, 1, -3], ends=[1, -1, 1000])
    make("Slice", (7, 9), x, starts=[1, -3], ends=[3, 6], axes=[2, 3])
    make("Slice", (10, LAST), x, ints(1, -3), ints(3, 6), ints(2, 3), ints(1, 2))
    make("Slice", (10, LAST), x, ints(-1, 5), ints(-1000, 0), ints(2, 3), ints(-1, -2))
    make("Slice", (11, LAST), x, ints(0), ints(4), ints(-1))
    make("Split", (7, 12), x, axis=3, split=[1, 5], outputs=2)
    make("Split", (7, 17), x, axis=2, outputs=2)
    make("Split", (11, 17), x, axis=-1, outputs=3)
    make("Split", (13, LAST), x, ints(2, 4), axis=-1, outputs=2)
    make("Split", (18, LAST), values(7, 2), num_outputs=3, outputs=3)
    make("Pad", (7, 10), x, pads=[0, 0, 1, 2, 0, 1, 0, 3], value=0.5)
    make("Pad", (7, 10), x, pads=[0, 0, 1, 2, 0, 0, 0, 3], mode="reflect")
    make("Pad", (7, 10), x, pads=[0, 0, 1, 2, 0, 0, 0, 3], mode="edge")
    make("Pad", (7, 10), x, pads=[0, 0, -1, 2, 0, 0, 0, -3])
    make("Pad", (11, LAST), x, ints(0, 0, 1, 2, 0, 1, 0, 3), scalar(1.5))
    make("Pad", (11, LAST), x, ints(0, 0, 1, 2, 0, 1, 0, 3))
    make("Pad", (11, LAST), x, ints(0, 0, 2, 2, 0, 0, 1, 3), mode="reflect")
    make("Pad", (11, LAST), x, ints(0, 0, 1, -2, 0, 1, 0, 3), mode="edge")
    make("Pad", (18, LAST), x, ints(1, 2, 0, 3), scalar(0.0), ints(-1, 1))
    make("Pad", (19, LAST), x, ints(0, 0, 1, 2, 0, 0, 1, 3), mode="wrap")
    make("Shape", (7, LAST), x)
    make("Shape", (15, LAST), x, start=-3, end=-1)
    make("Size", (7, LAST), x)
    make("Gather", (7, LAST), x, np.array([[2, 0], [1, 1]]), axis=1)
    make("Gather", (11, LAST), x, np.array([-1, 0]), axis=-2)
    make("GatherElements", (11, LAST), values(3, 4), np.array([[0, -1], [2, 1]]), axis=1)
    make("GatherND", (11, LAST), values(2, 3, 4), np.array([[0, 1], [1, -1]]))
    make("GatherND", (12, LAST), values(2, 3, 4), np.array([[1], [2]]), batch_dims=1)
    make("Scatter", (9, 10), values(3, 3), np.array([[0, 1, 2]]), values(1, 3), axis=0)
    make("ScatterElements", (11, LAST), values(3, 3), np.array([[0, -1, 2]]), values(1, 3), axis=-1)
    make("ScatterElements", (16, LAST), values(3, 3), np.array([[0, 0, 2]]), values(1, 3), axis=1, reduction="add")
    make("ScatterElements", (18, LAST), values(3, 3), np.array([[0, 0, 2]]), values(1, 3), axis=1, reduction="max")
    make("ScatterND", (11, LAST), values(4, 2), np.array([[3], [0]]), values(2, 2, seed=3))
    make("ScatterND", (16, LAST), values(4, 2), np.array([[3], [3]]), values(2, 2, seed=3), reduction="mul")
    make("Trilu", (14, LAST), values(3, 4), scalar(-1, np.int64), upper=0)
    make("EyeLike", (9, LAST), values(3, 4), k=1)
    make("OneHot", (9, LAST), np.array([0, 2, 1]), scalar(3, np.int64), Const(np.array([-1, 2], np.float32)))
    make("OneHot", (11, LAST), np.array([[0, -1]]), scalar(3, np.int64), Const(np.array([0, 1], np.float32)), axis=-2)
    make("ConstantOfShape", (9, LAST), ints(2, 3))
    make("ReverseSequence", (10, LAST), values(4, 3), np.array([4, 2, 1]), time_axis=0, batch_axis=1)
    for inside, first in ((1, 7), (5, 12)):
        make("TopK", (7, 9), values(3, inside), outputs=2, k=1)
        make("TopK", (10, LAST), values(3, inside), ints(1), outputs=2)
    make("TopK", (7, 9), values(3, 5), outputs=2, k=3, axis=0)
    make("TopK", (11, LAST), values(3, 5), ints(2), outputs=2, axis=0, largest=0)


def reductions(make):
    x, positive = values(2, 3, 4), values(2, 3, 4, low=0.2)
    for name in ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"):
        operand, name = (positive if name == "LogSum" else x), "Reduce" + name
        moved = 13 if name == "ReduceSum" else 18
        make(name, (7, moved - 1), operand, axes=[0, 2], keepdims=0)
        make(name, (11, moved - 1), operand, axes=[-1])
        make(name, (7, LAST), operand)
        make(name, (7, LAST), operand, keepdims=0)
        make(name, (moved, LAST), operand, ints(0, -1), keepdims=0)
        make(name, (moved, LAST), operand, noop_with_empty_axes=1)
        make(name, (moved, LAST), operand, ints(), noop_with_empty_axes=0)
    for name in ("ArgMax", "ArgMin"):
        make(name, (7, LAST), x)
        make(name, (11, LAST), x, axis=-1, keepdims=0)
        make(name, (12, LAST), np.array([[1, 3, 3, 0, 0]], np.float32), axis=1, select_last_index=1)
    for name in ("Softmax", "LogSoftmax", "Hardmax"):
        make(name, (7, LAST), x)
        make(name, (7, LAST), x, axis=1)
        make(name, (7, LAST), x, axis=0)
        make(name, (11, LAST), x, axis=-1)
    for options in ({}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}):
        make("CumSum", (11, LAST), x, scalar(1, np.int64), **options)


def norms(make):
    x, channel = values(2, 4, 5, 3), [values(4, seed=i, low=0.3) for i in range(4)]
    scaled = [Const(c) for c in channel]
    make("BatchNormalization", (7, LAST), x, *scaled)
    make("BatchNormalization", (7, LAST), x, *scaled, epsilon=0.01)
    make("InstanceNormalization", (7, LAST), x, *scaled[:2])
    make("LpNormalization", (7, LAST), x, axis=1, p=1)
    make("LpNormalization", (7, LAST), x)
    make("LRN", (7, LAST), x, size=3)
    make("LRN", (7, LAST), x, size=5, alpha=0.02, beta=0.5, bias=2.0)
    make("MeanVarianceNormalization", (9, LAST), x)
    make("MeanVarianceNormalization", (9, LAST), x, axes=[0, 2])
    make("LayerNormalization", (17, LAST), x, Const(values(3)), Const(values(3, seed=1)))
    make("LayerNormalization", (17, LAST), x, Const(values(5, 3)), axis=-2, epsilon=0.01)
    make("GroupNormalization", (21, LAST), x, *scaled[:2], num_groups=2)
    make("GlobalAveragePool", (7, LAST), x)
    make("GlobalMaxPool", (7, LAST), x)


def products(make):
    a, b = values(3, 4), values(4, 5)
    make("MatMul", (7, LAST), values(2, 1, 3, 4), values(3, 4, 2))
    make("MatMul", (7, LAST), values(4), values(2, 4, 3))
    make("MatMul", (9, LAST), np.array([[1, 2], [3, -4]], np.int32), np.array([[5, 6], [7, 8]], np.int32))
    make("Gemm", (7, LAST), a, b, values(5), alpha=0.5, beta=2.0)
    make("Gemm", (7, LAST), a, values(5, 4), values(3, 1), transB=1)
    make("Gemm", (7, LAST), values(4, 3), b, values(1), transA=1)
    make("Gemm", (11, LAST), a, b)
    make("Einsum", (12, LAST), values(2, 3, 4), values(2, 4, 5), equation="bij,bjk->bik")
    x, w = values(1, 4, 9, 8), values(6, 2, 3, 3)
    make("Conv", (7, LAST), x, w, values(6), group=2, pads=[1, 0, 2, 1], strides=[2, 1], dilations=[1, 2])
    for mode in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        make("Conv", (7, LAST), x, w, group=2, auto_pad=mode, strides=[2, 3])
        make("MaxPool", (7, LAST), x, kernel_shape=[3, 2], auto_pad=mode, strides=[2, 2])
        make("AveragePool", (7, LAST), x, kernel_shape=[3, 2], auto_pad=mode, strides=[2, 2])
    make("ConvTranspose", (7, LAST), x, values(4, 3, 3, 2), strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 2])
    make("ConvTranspose", (7, LAST), x, values(4, 3, 3, 2), strides=[2, 3], group=2)
    make("ConvTranspose", (7, LAST), x, values(4, 3, 3, 2), strides=[2, 3], output_shape=[20, 23])
    make("ConvTranspose", (11, LAST), x, values(4, 3, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER")
    make("ConvTranspose", (11, LAST), x, values(4, 3, 3, 3), strides=[2, 2], auto_pad="SAME_LOWER")


def pools(make):
    x = values(1, 2, 7, 8)
    make("MaxPool", (7, LAST), x, kernel_shape=[3, 3], pads=[1, 1, 0, 2], strides=[2, 2])
    make("MaxPool", (8, LAST), x, kernel_shape=[2, 3], strides=[2, 2], outputs=2)
    make("MaxPool", (8, LAST), x, kernel_shape=[2, 3], strides=[2, 2], storage_order=1, outputs=2)
    make("MaxPool", (10, LAST), x, kernel_shape=[3, 3], strides=[2, 3], ceil_mode=1, pads=[1, 1, 1, 1])
    make("MaxPool", (10, LAST), x, kernel_shape=[3, 3], dilations=[2, 1])
    make("MaxPool", (12, LAST), (x * 9).astype(np.int8), kernel_shape=[2, 2])
    make("AveragePool", (7, LAST), x, kernel_shape=[3, 3], pads=[1, 1, 0, 2], strides=[2, 2])
    make("AveragePool", (7, LAST), x, kernel_shape=[3, 3], pads=[1, 1, 0, 2], strides=[2, 2], count_include_pad=1)
    make("AveragePool", (10, LAST), x, kernel_shape=[3, 3], strides=[2, 3], ceil_mode=1)
    make("AveragePool", (19, LAST), x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1, 1, 1, 1], count_include_pad=1)
    make("AveragePool", (19, LAST), x, kernel_shape=[2, 2], dilations=[2, 3])
    make("LpPool", (7, LAST), x, kernel_shape=[3, 3], strides=[2, 2], p=3)
    make("LpPool", (18, LAST), x, kernel_shape=[2, 2], dilations=[2, 2], p=1)
    make("GlobalLpPool", (7, LAST), x, p=3)
    indices = np.array([[[[5, 7], [13, 15]]]], np.int64)
    make("MaxUnpool", (9, LAST), values(1, 1, 2, 2), indices, kernel_shape=[2, 2], strides=[2, 2])


def images(make):
    x = values(1, 2, 4, 5)
    boxes, batch = np.array([[0.4, 0.7, 3.1, 3.6], [1, 0, 4, 3]], np.float32), np.array([0, 0])
    make("RoiAlign", (10, LAST), x, boxes, batch, output_height=2, output_width=3, sampling_ratio=2)
    make("RoiAlign", (10, LAST), x, boxes, batch, output_height=2, output_width=3, spatial_scale=0.5)
    make("RoiAlign", (10, LAST), x, boxes, batch, output_height=2, output_width=1, mode="max")
    regions = np.array([[0, 0, 0, 3, 3], [0, 1.2, 0.5, 9.9, 2.5], [0, 4, 3, 2, 1], [0, 7, 7, 9, 9], [0, -3, -2.5, 1, 2]], np.float32)
    make("MaxRoiPool", (7, LAST), x, regions, pooled_shape=[2, 3])
    make("MaxRoiPool", (7, LAST), x, regions, pooled_shape=[3, 1], spatial_scale=0.5)
    make("RoiAlign", (16, LAST), x, boxes, batch, output_height=2, output_width=3, sampling_ratio=2,
         coordinate_transformation_mode="output_half_pixel")
    grid = values(1, 3, 3, 2, low=-1.2, high=1.2)
    for padding in ("zeros", "border", "reflection"):
        make("GridSample", (16, 19), x, grid, mode="bilinear", padding_mode=padding)
        make("GridSample", (20, LAST), x, grid, mode="linear", padding_mode=padding, align_corners=1)
    make("GridSample", (20, LAST), x, grid, mode="cubic")
    scales, none = Const(np.array([1, 1, 1.5, 0.8], np.float32)), Const(np.array([], np.float32))
    double = Const(np.array([1, 1, 2, 3], np.float32))
    for mode in ("nearest", "linear"):
        make("Upsample", (7, 8), x, mode=mode, scales=[1.0, 1.0, 2.0, 3.0])
        make("Upsample", (9, 9), x, double, mode=mode)
        make("Resize", (10, 10), x, double, mode=mode)
        make("Resize", (10, 10), x, scales, mode=mode)
    for transform in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        make("Resize", (11, LAST), x, none, scales, mode="linear", coordinate_transformation_mode=transform)
        for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
            make("Resize", (11, LAST), x, none, scales, mode="nearest", coordinate_transformation_mode=transform,
                 nearest_mode=rounding)
    make("Resize", (11, LAST), x, none, none, ints(1, 2, 7, 3), mode="linear")
    make("Resize", (11, LAST), x, none, scales, mode="cubic")
    make("Resize", (11, LAST), x, none, scales, mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1)
    make("Resize", (13, LAST), x, None, scales, mode="nearest")
    make("Resize", (18, LAST), x, None, None, ints(7, 3), mode="linear", axes=[2, 3])
    make("Resize", (18, LAST), x, None, Const(np.array([0.6, 0.6], np.float32)), mode="linear", axes=[2, 3], antialias=1)
    make("Resize", (18, LAST), x, None, None, ints(7, 7), mode="linear", axes=[2, 3], keep_aspect_ratio_policy="not_larger")
    make("AffineGrid", (20, LAST), values(1, 2, 3), ints(1, 2, 3, 4))
    make("CenterCropPad", (18, LAST), x, ints(2, 7), axes=[2, 3])
    make("Col2Im", (18, LAST), values(1, 4, 6), ints(3, 4), ints(2, 2))


def recurrences(make):
    steps, batch, size, hidden = 4, 2, 3, 5
    x = values(steps, batch, size)
    for name, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        w, r = Const(values(1, gates * hidden, size, low=-0.5, high=0.5)), Const(values(1, gates * hidden, hidden, low=-0.5, high=0.5))
        bias = Const(values(1, 2 * gates * hidden, low=-0.5, high=0.5))
        outputs = 3 if name == "LSTM" else 2
        make(name, (7, LAST), x, w, r, bias, hidden_size=hidden, outputs=outputs)
        make(name, (7, LAST), x, w, r, bias, np.array([4, 2], np.int32), hidden_size=hidden, outputs=outputs)
        make(name, (7, LAST), x, w, r, direction="reverse", hidden_size=hidden, outputs=outputs)
        both = [Const(np.concatenate([c.value, c.value * 0.5])) for c in (w, r, bias)]
        make(name, (7, LAST), x, *both, direction="bidirectional", hidden_size=hidden, outputs=outputs)
        make(name, (7, LAST), x, w, r, bias, hidden_size=hidden, outputs=outputs, clip=0.2)
        for function in ("Affine", "Relu", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus"):
            functions = {"RNN": [function], "GRU": ["Sigmoid", function], "LSTM": ["Sigmoid", "Tanh", function]}[name]
            numbers = {} if function in ("Relu", "Softsign", "Softplus") else {"activation_alpha": [0.7]}
            if function in ("Affine", "ScaledTanh", "HardSigmoid"):
                numbers["activation_beta"] = [0.4]
            make(name, (7, LAST), x, w, r, bias, hidden_size=hidden, outputs=outputs, activations=functions, **numbers)
        two = functions[:-1] + ["LeakyRelu"] + functions[:-1] + ["HardSigmoid"]
        make(name, (7, LAST), x, *both, direction="bidirectional", hidden_size=hidden, outputs=outputs, activations=two,
             activation_alpha=[0.3], activation_beta=[0.1])
        if name == "LSTM":
            make(name, (7, LAST), x, w, r, bias, hidden_size=hidden, outputs=outputs, input_forget=1)
    gru = [Const(values(1, 15, s, low=-0.5, high=0.5)) for s in (size, hidden)]
    make("GRU", (7, LAST), x, *gru, hidden_size=hidden, linear_before_reset=1, outputs=2)


def quantized(make):
    x = values(3, 4)
    scale, zero = scalar(0.03), scalar(7, np.uint8)
    make("QuantizeLinear", (10, LAST), x, scale, zero)
    make("QuantizeLinear", (10, LAST), x, scale)
    make("QuantizeLinear", (13, LAST), x, Const(values(3, low=0.01, high=0.1)), Const(np.array([0, 3, -5], np.int8)), axis=0)
    make("DequantizeLinear", (10, LAST), np.array([[0, 7], [200, 255]], np.uint8), scale, zero)
    make("DequantizeLinear", (13, LAST), np.array([[0, 7], [20, -25]], np.int8), Const(np.array([0.1, 0.2], np.float32)),
         Const(np.array([1, -2], np.int8)), axis=1)
    make("DynamicQuantizeLinear", (11, LAST), x, outputs=3)
    a, b = np.arange(12, dtype=np.uint8).reshape(3, 4) * 20, np.arange(8, dtype=np.uint8).reshape(4, 2) * 9
    make("MatMulInteger", (10, LAST), a, b, scalar(12, np.uint8), scalar(3, np.uint8))
    make("QLinearMatMul", (10, LAST), a, scale, zero, b, scalar(0.02), scalar(9, np.uint8), scalar(0.4), scalar(100, np.uint8))
    image, filters = np.arange(32, dtype=np.uint8).reshape(1, 2, 4, 4) * 7, np.arange(8, dtype=np.uint8).reshape(1, 2, 2, 2) * 5
    make("ConvInteger", (10, LAST), image, filters, scalar(4, np.uint8))
    make("QLinearConv", (10, LAST), image, scale, zero, Const(filters), scalar(0.05), scalar(2, np.uint8), scalar(0.9),
         scalar(11, np.uint8))


def losses(make):
    scores, labels = values(3, 5), np.array([4, 0, 2])
    for reduction in ("mean", "sum", "none"):
        make("SoftmaxCrossEntropyLoss", (12, LAST), scores, labels, reduction=reduction)
        make("NegativeLogLikelihoodLoss", (12, LAST), scores, labels, Const(values(5, low=0.1)), reduction=reduction)
    make("SoftmaxCrossEntropyLoss", (12, LAST), scores, labels, ignore_index=0, outputs=2)
    make("Det", (11, LAST), values(2, 3, 3))


def cases(make):
    for family in (elementwise, views, reductions, norms, products, pools, images, recurrences, quantized, losses):
        family(make)
