"""What operators compute in an element type, by numpy: cases(model, kind) adds the nodes for dtypes.py."""
import math

import numpy as np

from text_model import BF16, NUMBERS, as_kind

FLOATS = {np.float16, np.float32, np.float64, BF16}
SIGNED = {np.int8, np.int16, np.int32, np.int64}
UNSIGNED = {np.uint8, np.uint16, np.uint32, np.uint64}
INTEGERS = SIGNED | UNSIGNED
WIDE = {np.int32, np.int64, np.uint32, np.uint64}
NUMERIC = FLOATS | INTEGERS
BOOL = {np.bool_}
ALL = NUMERIC | BOOL

# Shapes of unary operands; of pairs that broadcast.
SHAPES = [(5, 13), (), (0, 4), (1,), (64,)]
PAIRS = [((5, 13), (5, 13)), ((5, 13), (13,)), ((5, 1), (1, 13)), ((), (5, 13)), ((), ()), ((0, 4), (1, 4)), ((0, 4), ()),
         ((2, 1, 3), (5, 1)), ((1, 1), (1,)), ((3, 0), (0,))]


class Maker:
    def __init__(self, model, kind):
        self.model, self.kind, self.made = model, kind, {}

    def operand(self, shape, low=-3.0, high=3.0, seed=0, fixed=False):
        """An input with numbers between these; fixed sizes stay numbers where others are symbols."""
        key = (shape, low, high, seed, fixed)
        if key not in self.made:
            random = np.random.RandomState(len(self.made))
            values = random.uniform(low, high, shape)
            if self.kind in BOOL:
                values = random.uniform(-1, 1, shape) > 0
            elif self.kind in UNSIGNED:
                values = np.floor(np.abs(values))
            elif self.kind in INTEGERS:
                values = np.floor(values)
            name = f"x{len(self.made)}"
            self.made[key] = (name, as_kind(values, self.kind))
            self.model.input(name, self.made[key][1], self.kind, shape if fixed else None)
        return self.made[key]

    def exact(self, function, *arrays):
        """The function, of floats in f64 and rounded once, of integers in their own type."""
        with np.errstate(all="ignore"):
            if self.kind in FLOATS:
                return as_kind(function(*(a.astype(np.float64) for a in arrays)), self.kind)
            return np.asarray(function(*arrays)).astype(arrays[-1].dtype)

    def unary(self, kinds, operator, function, low=-3.0, high=3.0, result=None, **attributes):
        if self.kind not in kinds:
            return
        for shape in SHAPES:
            name, x = self.operand(shape, low, high)
            expected = self.exact(function, x) if result is None else np.asarray(function(x)).astype(result)
            self.model.node(operator, [name], result or self.kind, expected, **attributes)

    def binary(self, kinds, operator, function, low=-3.0, high=3.0, second=None, result=None, **attributes):
        if self.kind not in kinds:
            return
        for left, right in PAIRS:
            (a, x), (b, y) = self.operand(left, low, high), self.operand(right, *(second or (low, high)), seed=1)
            expected = self.exact(function, x, y) if result is None else np.asarray(function(x, y)).astype(result)
            self.model.node(operator, [a, b], result or self.kind, expected, **attributes)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def truncated(x, y):
    """Division that rounds towards zero."""
    q = np.abs(x.astype(object)) // np.maximum(np.abs(y.astype(object)), 1) if x.size and y.size else np.zeros(np.broadcast(x, y).shape)
    return q * np.sign(x.astype(np.int64)) * np.sign(y.astype(np.int64)) if x.dtype.kind == "i" else q


def unaries(m):
    m.unary(NUMERIC, "Abs", np.abs, -120, 120)
    m.unary(FLOATS | SIGNED, "Neg", np.negative, -128, 127)
    m.unary(NUMERIC, "Sign", np.sign)
    m.unary(ALL, "Identity", lambda x: x)
    for operator, function in (("Exp", np.exp), ("Floor", np.floor), ("Ceil", np.ceil), ("Round", np.rint), ("Sin", np.sin),
                               ("Cos", np.cos), ("Atan", np.arctan), ("Sinh", np.sinh), ("Cosh", np.cosh), ("Tanh", np.tanh),
                               ("Asinh", np.arcsinh), ("Erf", erf), ("Sigmoid", sigmoid), ("Softplus", lambda x: np.log1p(np.exp(x))),
                               ("Softsign", lambda x: x / (1 + np.abs(x))), ("Mish", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
                               ("HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
                               ("HardSigmoid", lambda x: np.clip(float(np.float32(0.2)) * x + 0.5, 0, 1)),
                               ("Gelu", lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))))):
        m.unary(FLOATS, operator, function)
    m.unary(FLOATS, "Tan", np.tan, -1, 1)
    m.unary(FLOATS, "Asin", np.arcsin, -1, 1)
    m.unary(FLOATS, "Acos", np.arccos, -1, 1)
    m.unary(FLOATS, "Atanh", np.arctanh, -0.9, 0.9)
    m.unary(FLOATS, "Acosh", np.arccosh, 1.01, 5)
    m.unary(FLOATS, "Log", np.log, 0.1, 9)
    m.unary(FLOATS, "Sqrt", np.sqrt, 0, 9)
    m.unary(FLOATS, "Reciprocal", lambda x: 1 / x, 0.2, 5)
    m.unary(FLOATS | SIGNED, "Relu", lambda x: np.maximum(x, 0))
    m.unary(FLOATS, "LeakyRelu", lambda x: np.where(x < 0, 0.25 * x, x), alpha=0.25)
    m.unary(FLOATS, "ThresholdedRelu", lambda x: np.where(x > 0.5, x, 0), alpha=0.5)
    m.unary(FLOATS, "Elu", lambda x: np.where(x < 0, 0.5 * np.expm1(x), x), alpha=0.5)
    m.unary(FLOATS, "Celu", lambda x: np.where(x < 0, 0.5 * np.expm1(x / 0.5), x), alpha=0.5)
    m.unary(FLOATS, "IsNaN", np.isnan, result=np.bool_)
    m.unary(FLOATS, "IsInf", np.isinf, result=np.bool_)
    m.unary(BOOL, "Not", np.logical_not)
    m.unary(INTEGERS, "BitwiseNot", np.invert)


def binaries(m):
    m.binary(NUMERIC, "Add", np.add, -120, 120)
    m.binary(NUMERIC, "Sub", np.subtract, -120, 120)
    m.binary(NUMERIC, "Mul", np.multiply, -100, 100)
    m.binary(FLOATS, "Div", np.divide, second=(0.5, 2))
    m.binary(INTEGERS, "Div", truncated, -100, 100, second=(1, 9))
    m.binary(SIGNED, "Div", truncated, -100, 100, second=(-9, -1))
    m.binary(INTEGERS, "Mod", np.mod, -100, 100, second=(1, 9))
    m.binary(SIGNED, "Mod", np.mod, -100, 100, second=(-9, -1))
    m.binary(NUMERIC, "Mod", np.fmod, -100, 100, second=(1, 9), fmod=1)
    m.binary(FLOATS, "Pow", np.power, 0.5, 3, second=(-2, 2))
    m.binary({np.int32, np.int64}, "Pow", np.power, -3, 4, second=(0, 5))
    for operator, function in (("Equal", np.equal),):
        m.binary(ALL, operator, function, result=np.bool_)
    for operator, function in (("Less", np.less), ("Greater", np.greater), ("LessOrEqual", np.less_equal),
                               ("GreaterOrEqual", np.greater_equal)):
        m.binary(NUMERIC, operator, function, -120, 120, result=np.bool_)
    m.binary(NUMERIC, "Max", np.maximum, -120, 120)
    m.binary(NUMERIC, "Min", np.minimum, -120, 120)
    for operator, function in (("And", np.logical_and), ("Or", np.logical_or), ("Xor", np.logical_xor)):
        m.binary(BOOL, operator, function)
    for operator, function in (("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)):
        m.binary(INTEGERS, operator, function, -120, 120)
    m.binary(UNSIGNED, "BitShift", np.left_shift, 0, 120, second=(0, 7), direction="LEFT")
    m.binary(UNSIGNED, "BitShift", np.right_shift, 0, 120, second=(0, 7), direction="RIGHT")
    m.binary(FLOATS, "Sum", np.add)
    m.binary(FLOATS, "Mean", lambda x, y: (x + y) / 2)


def selections(m):
    kind, model = m.kind, m.model
    condition = np.random.RandomState(5).uniform(size=(5, 13)) > 0.5
    model.input("condition", condition, np.bool_)
    for shape in ((5, 13), (13,), (5, 1), ()):
        (a, x), (b, y) = m.operand(shape), m.operand((5, 13), seed=1)
        model.node("Where", ["condition", a, b], kind, np.where(condition, x, y))
    if kind in NUMERIC:
        name, x = m.operand((5, 13), -120, 120)
        (low, least), (high, most) = m.operand((), 1, 2, seed=2), m.operand((), 3, 9, seed=3)
        model.node("Clip", [name, low, high], kind, np.clip(x, least, most))
        model.node("Clip", [name, low], kind, np.maximum(x, least))
        model.node("Clip", [name, "", high], kind, np.minimum(x, most))


def movements(m):
    kind, model = m.kind, m.model
    (a, x), (b, y), (e, empty), (s, scalar) = m.operand((5, 13)), m.operand((2, 13), seed=1), m.operand((0, 13)), m.operand(())
    model.node("Concat", [a, b, e], kind, np.concatenate([x, y, empty]), axis=0)
    model.node("Concat", [a, a], kind, np.concatenate([x, x], 1), axis=-1)
    model.node("Transpose", [a], kind, x.T)
    model.node("Transpose", [e], kind, empty.T)
    for shape in ((4, 30), (8, 9), (16, 16), (17, 31), (12, 40), (33, 15)):  # tiles of 4, 8 and 16, and what is left beside them
        t, z = m.operand(shape, seed=shape[0])
        model.node("Transpose", [t], kind, z.T)
    model.node("Reshape", [a, model.integers([13, 5])], kind, x.reshape(13, 5))
    model.node("Reshape", [s, model.integers([1, 1])], kind, scalar.reshape(1, 1))
    model.node("Expand", [s, model.integers([2, 3])], kind, np.broadcast_to(scalar, (2, 3)))
    model.node("Tile", [a, model.integers([2, 1])], kind, np.tile(x, (2, 1)))
    model.node("Slice", [a, model.integers([4, 1]), model.integers([-100, 12]), model.integers([0, 1]), model.integers([-2, 3])], kind,
               x[4::-2, 1:12:3])
    model.node("Slice", [a, model.integers([3]), model.integers([3])], kind, x[3:3])
    model.nodes("Split", [a, model.integers([4, 9])], [(kind, x[:, :4]), (kind, x[:, 4:])], axis=1)
    model.node("Gather", [a, model.integers([[0, -1], [2, 2]])], kind, x[[[0, -1], [2, 2]]], axis=0)
    model.node("Gather", [a, model.integers(3)], kind, x[:, 3], axis=1)
    model.node("Gather", [a, model.integers(np.zeros((0,), int))], kind, x[:0], axis=0)
    model.node("GatherElements", [a, model.integers([[0, 4, -1]])], kind, x[[[0, 4, 4]], [[0, 1, 2]]], axis=0)
    model.node("GatherND", [a, model.integers([[0, 1], [-1, 12]])], kind, x[[0, -1], [1, 12]])
    model.node("Trilu", [a], kind, np.triu(x))
    if kind not in BOOL:
        for shape, equation in (((4, 3, 4), "ibi->bi"), ((3, 4, 4), "...ii->...i"), ((2, 3, 3, 2), "ijji->ij")):
            matrix, elements = m.operand(shape, fixed=True)
            model.node("Einsum", [matrix], kind, np.einsum(equation, elements), equation=equation)
    padded = np.full((7, 14), scalar)
    padded[1:6, 1:] = x
    model.node("Pad", [a, model.integers([1, 1, 1, 0]), s], kind, padded)
    model.node("Pad", [a, model.integers([1, 0, 1, 0])], kind, np.pad(x, ((1, 1), (0, 0)), "edge"), mode="edge")
    model.node("Squeeze", [m.operand((1,))[0]], kind, m.operand((1,))[1].reshape(()))
    model.node("Unsqueeze", [s, model.integers([0])], kind, scalar.reshape(1))
    model.node("Shape", [e], np.int64, np.array([0, 13]))
    model.node("Size", [e], np.int64, np.array(0))
    scattered = x.copy()
    scattered[[4, 1]] = y
    model.node("ScatterND", [a, model.integers([[4], [1]]), b], kind, scattered)
    moved = x.copy()
    np.put_along_axis(moved, np.array([[1] * 13, [0] * 13]), y, 0)
    model.node("ScatterElements", [a, model.integers([[1] * 13, [0] * 13]), b], kind, moved, axis=0)
    if kind in NUMERIC:
        added = m.exact(lambda v, w: np.add.at(v, ([2, 2],), w) or v, x.copy(), y)
        model.node("ScatterND", [a, model.integers([[2], [2]]), b], kind, added, reduction="add")
        most = x.copy()
        np.maximum.at(most, ([2, 2],), y)
        model.node("ScatterND", [a, model.integers([[2], [2]]), b], kind, most, reduction="max")
    model.node("EyeLike", [a], kind, np.eye(5, 13, k=1).astype(x.dtype), k=1)
    on = m.operand((2,), 0, 3)
    hot = np.where(np.arange(4) == np.array([[3], [1]]), on[1][1], on[1][0])
    model.node("OneHot", [model.integers([3, 1]), model.integers(4), on[0]], kind, hot)


def reductions(m):
    kind, model = m.kind, m.model
    sums = FLOATS | WIDE
    functions = [("ReduceSum", np.sum, sums, 0), ("ReduceProd", np.prod, sums, 1), ("ReduceMax", np.max, NUMERIC, None),
                 ("ReduceMin", np.min, NUMERIC, None), ("ReduceMean", np.mean, FLOATS, None),
                 ("ReduceL1", lambda x, **k: np.sum(np.abs(x), **k), sums, 0),
                 ("ReduceSumSquare", lambda x, **k: np.sum(x * x, **k), sums, 0),
                 ("ReduceL2", lambda x, **k: np.sqrt(np.sum(x * x, **k)), FLOATS, 0),
                 ("ReduceLogSumExp", lambda x, **k: np.log(np.sum(np.exp(x), **k)), FLOATS, None)]
    for operator, function, kinds, of_nothing in functions:
        if kind not in kinds:
            continue
        name, x = m.operand((5, 13), -2, 2.5)
        for axes in ((0,), (1,), (0, 1)):
            model.node(operator, [name, model.integers(axes)], kind, m.exact(lambda v: function(v, axis=axes), x), keepdims=0)
            model.node(operator, [name, model.integers(axes)], kind, m.exact(lambda v: function(v, axis=axes, keepdims=True), x))
        name, x = m.operand(())
        model.node(operator, [name], kind, m.exact(lambda v: function(v, axis=()) if kind not in FLOATS else function(v.reshape(1), axis=0), x))
        if of_nothing is not None:
            name, x = m.operand((0, 4))
            model.node(operator, [name, model.integers([0])], kind, np.full(4, of_nothing).astype(x.dtype), keepdims=0)
            model.node(operator, [name, model.integers([1])], kind, np.zeros((0, 1), x.dtype))
    if kind in BOOL:
        name, x = m.operand((5, 13))
        model.node("ReduceMax", [name, model.integers([1])], kind, x.max(1, keepdims=True))
        model.node("ReduceMin", [name, model.integers([0])], kind, x.min(0, keepdims=True))
    if kind in NUMERIC:
        name, x = m.operand((5, 13), -100, 100)
        model.node("ArgMax", [name], np.int64, x.argmax(1), axis=1, keepdims=0)
        model.node("ArgMin", [name], np.int64, x.argmin(0), axis=0, keepdims=0)
        order = np.argsort(-x.astype(np.float64), axis=1, kind="stable")[:, :3]
        model.nodes("TopK", [name, model.integers([3])], [(kind, np.take_along_axis(x, order, 1)), (np.int64, order)], axis=1)
    if kind in FLOATS | WIDE:
        name, x = m.operand((5, 13), -2, 2.5)
        model.node("CumSum", [name, model.integers(1)], kind, m.exact(lambda v: np.cumsum(v, 1), x))
        (a, x), (b, y) = m.operand((5, 13), -2, 2.5), m.operand((13, 6), -2, 2.5)
        model.node("MatMul", [a, b], kind, m.exact(np.matmul, x, y))
        (c, z), (d, w) = m.operand((3, 0)), m.operand((0, 2))
        model.node("MatMul", [c, d], kind, np.zeros((3, 2), x.dtype))
        (g, u) = m.operand((6,), -2, 2.5)
        model.node("Gemm", [a, b, g], kind, m.exact(lambda p, q, r: p @ q + r, x, y, u))
    if kind in FLOATS:
        name, x = m.operand((5, 13))
        soft = m.exact(lambda v: np.exp(v) / np.exp(v).sum(1, keepdims=True), x)
        model.node("Softmax", [name], kind, soft)
        model.node("LogSoftmax", [name], kind, m.exact(lambda v: v - np.log(np.exp(v).sum(1, keepdims=True)), x))


def windows_of(x, kernel, strides, pads, fill):
    """[batch, channels, rows, columns, *kernel] of an image that is filled around."""
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])), constant_values=fill)
    return np.lib.stride_tricks.sliding_window_view(x, kernel, (2, 3))[:, :, ::strides[0], ::strides[1]]


def convolved(x, w, bias, strides, pads, group):
    windows = windows_of(x, w.shape[2:], strides, pads, 0)
    parts = [np.einsum("nchwij,ocij->nohw", v, f) for v, f in zip(np.split(windows, group, 1), np.split(w, group, 0))]
    return np.concatenate(parts, 1) + bias.reshape(1, -1, 1, 1)


def windows(m):
    kind, model = m.kind, m.model
    if kind in FLOATS | {np.int8, np.uint8}:
        name, x = m.operand((2, 4, 9, 11))
        largest_window = windows_of(x.astype(np.float64), (3, 2), (2, 1), (1, 0, 1, 1), -np.inf).max((-2, -1))
        model.node("MaxPool", [name], kind, as_kind(largest_window, kind), kernel_shape=[3, 2], strides=[2, 1], pads=[1, 0, 1, 1])
    if kind not in FLOATS:
        return
    for shape, filters, group, strides, pads in (((2, 4, 9, 11), (6, 4, 3, 3), 1, (1, 1), (1, 1, 1, 1)), ((1, 4, 9, 11), (6, 2, 3, 2), 2, (2, 1), (0, 1, 2, 0)),
                                                 ((1, 8, 7, 7), (8, 1, 3, 3), 8, (1, 1), (1, 1, 1, 1)), ((2, 5, 6, 6), (9, 5, 1, 1), 1, (1, 1), (0, 0, 0, 0))):
        (a, x), (b, w), (c, bias) = m.operand(shape, -1, 1), m.operand(filters, -1, 1, fixed=True), m.operand(filters[:1], -1, 1)
        expected = m.exact(lambda u, v, t: convolved(u, v, t, strides, pads, group), x, w, bias)
        result = model.node("Conv", [a, b, c], kind, expected, group=group, strides=strides, pads=pads)
        model.roundings[result] = 2  # of the sum, and with the bias
    name, x = m.operand((2, 4, 9, 11))
    mean = m.exact(lambda v: windows_of(v, (3, 2), (1, 2), (0, 0, 0, 0), 0).mean((-2, -1)), x)
    model.node("AveragePool", [name], kind, mean, kernel_shape=[3, 2], strides=[1, 2])
    model.node("GlobalAveragePool", [name], kind, m.exact(lambda v: v.mean((2, 3), keepdims=True), x))
    (g, scale), (o, offset) = m.operand((4,), 0.5, 1.5), m.operand((4,), -1, 1)
    (a, mean), (b, variance) = m.operand((4,), -1, 1, seed=4), m.operand((4,), 0.5, 2)
    column = lambda v: v.reshape(1, 4, 1, 1)
    normed = m.exact(lambda v, s, t, e, q: (v - column(e)) / np.sqrt(column(q) + 1e-5) * column(s) + column(t), x, scale, offset, mean, variance)
    model.node("BatchNormalization", [name, g, o, a, b], kind, normed)

    def over(axes):
        def function(v, s, t):
            centered = v - v.mean(axes, keepdims=True)
            return centered / np.sqrt((centered * centered).mean(axes, keepdims=True) + 1e-5) * s + t
        return function

    model.node("InstanceNormalization", [name, g, o], kind, m.exact(lambda v, s, t: over((2, 3))(v, column(s), column(t)), x, scale, offset))
    (g, scale), (o, offset) = m.operand((11,), 0.5, 1.5), m.operand((11,), -1, 1)
    model.node("LayerNormalization", [name, g, o], kind, m.exact(over((3,)), x, scale, offset))


def casts(m):
    for to in NUMBERS:
        for shape in ((5, 13), (), (0, 4)):
            name, x = m.operand(shape, 0 if to in UNSIGNED and m.kind in FLOATS else -100, 100)
            with np.errstate(all="ignore"):
                expected = as_kind(x, to) if to is not np.bool_ else x != 0
            m.model.node("Cast", [name], to, expected, to=NUMBERS[to])
    if m.kind in FLOATS:
        name, x = m.operand((4,), -0.9, 0.9)
        m.model.node("Cast", [name], np.bool_, x != 0, to=9)


def largest(kind):
    return 3.3895313892515355e38 if kind is BF16 else float(np.finfo(kind).max)


def special_floats(m):
    """What happens at the ends: not-a-number, infinities, zeros of both signs, halves, the largest numbers."""
    if m.kind not in FLOATS:
        return
    numbers = as_kind([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 1, -1, 3, largest(m.kind), -largest(m.kind)], m.kind)
    x, model = numbers.reshape(-1, 1), m.model
    model.input("special", x, m.kind)
    model.input("other", numbers, m.kind)

    def add(operator, function, *operands, **attributes):
        names = ["special", "other"][:len(operands)]
        model.node(operator, names, m.kind, m.exact(function, *operands), **attributes)

    for operator, function in (("Abs", np.abs), ("Neg", np.negative), ("Sign", np.sign), ("Floor", np.floor), ("Ceil", np.ceil),
                               ("Round", np.rint), ("Sqrt", np.sqrt), ("Exp", np.exp), ("Log", np.log), ("Tanh", np.tanh),
                               ("Erf", erf), ("Reciprocal", lambda v: 1 / v), ("Relu", lambda v: np.where(v < 0, 0, v)),
                               ("Sinh", np.sinh), ("Cosh", np.cosh), ("Atan", np.arctan), ("Asin", np.arcsin), ("Acos", np.arccos),
                               ("Asinh", np.arcsinh), ("Acosh", np.arccosh), ("Atanh", np.arctanh),
                               ("Sigmoid", sigmoid), ("Softplus", lambda v: np.logaddexp(v, 0)), ("Elu", lambda v: np.where(v < 0, np.expm1(v), v))):
        add(operator, function, x)
    for operator, function in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide), ("Max", np.maximum),
                               ("Min", np.minimum), ("Pow", np.power)):
        add(operator, function, x, numbers)
    for operator, function in (("Less", np.less), ("Greater", np.greater), ("Equal", np.equal), ("LessOrEqual", np.less_equal),
                               ("GreaterOrEqual", np.greater_equal)):
        model.node(operator, ["special", "other"], np.bool_, function(x, numbers))
    model.node("IsNaN", ["special"], np.bool_, np.isnan(x))
    model.node("IsInf", ["special"], np.bool_, np.isinf(x))
    model.node("IsInf", ["special"], np.bool_, x == np.inf, detect_negative=0)
    model.node("Cast", ["special"], np.bool_, x != 0, to=9)
    pairs = np.stack(np.broadcast_arrays(x, numbers), -1)  # all pairs as rows
    model.input("pairs", pairs, m.kind)
    for operator, function in (("ReduceMax", np.max), ("ReduceMin", np.min), ("ReduceSum", np.sum), ("ReduceProd", np.prod)):
        model.node(operator, ["pairs", model.integers([2])], m.kind, m.exact(lambda v: function(v, axis=2), pairs), keepdims=0)


def special_integers(m):
    """The ends of an integer type: arithmetic wraps, and division by zero or of the smallest by -1 does not trap."""
    if m.kind not in INTEGERS:
        return
    info, model = np.iinfo(m.kind), m.model
    numbers = np.array(sorted({info.min, info.min + 1, -1 if info.min else 1, 0, 1, 2, 7, info.max - 1, info.max}), m.kind)
    x = numbers.reshape(-1, 1)
    model.input("special", x, m.kind)
    model.input("other", numbers, m.kind)
    for operator, function in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Max", np.maximum), ("Min", np.minimum)):
        model.node(operator, ["special", "other"], m.kind, m.exact(function, x, numbers))
    for operator, function in (("Less", np.less), ("Greater", np.greater), ("Equal", np.equal), ("LessOrEqual", np.less_equal)):
        model.node(operator, ["special", "other"], np.bool_, function(x, numbers))
    model.node("Abs", ["special"], m.kind, m.exact(np.abs, x))
    model.node("Sign", ["special"], m.kind, m.exact(np.sign, x))
    nonzero = np.array([n for n in numbers.tolist() if n not in (0, -1)], m.kind)
    model.input("nonzero", nonzero, m.kind)
    exact = [[int(abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1) for b in nonzero.tolist()] for a in numbers.tolist()]
    model.node("Div", ["special", "nonzero"], m.kind, np.array(exact, object).astype(m.kind))
    model.node("Mod", ["special", "nonzero"], m.kind, np.array([[a % b for b in nonzero.tolist()] for a in numbers.tolist()], object).astype(m.kind))
    for operator, function in (("ReduceMax", np.max), ("ReduceMin", np.min)):
        model.node(operator, ["other"], m.kind, function(numbers), keepdims=0)
    model.node("ArgMax", ["other"], np.int64, numbers.argmax(), axis=0, keepdims=0)
    for to in INTEGERS | FLOATS:
        model.node("Cast", ["special"], to, as_kind(x, to), to=NUMBERS[to])


def cases(model, kind):
    maker = Maker(model, kind)
    for family in (unaries, binaries, selections, movements, reductions, windows, casts, special_floats, special_integers):
        family(maker)
