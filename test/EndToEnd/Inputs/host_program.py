"""Models whose sizes and control flow depend on data, against ONNX Runtime.

usage: host_program.py LATHE DIR TARGET [CASE ...]
Each case is a graph and the inputs of several runs; every run of the compiled model must give ONNX Runtime's results.
"""
import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
rng = np.random.default_rng(5)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def const(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def graph(nodes, inputs, outputs, constants=(), name="g"):
    return helper.make_graph(nodes, name, inputs, outputs, list(constants))


def f(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def i64(*values):
    return np.array(values, np.int64)


def scalar(v):
    return np.array(v, np.int64)


CASES = {}


def case(make):
    CASES[make.__name__] = make
    return make


@case
def nonzero_chain():
    g = graph([node("NonZero", "x", "at"), node("Transpose", "at", "rows", perm=[1, 0]), node("GatherND", "x rows", "picked"),
               node("Shape", "picked", "n"), node("ConstantOfShape", "n", "zeros"), node("Add", "picked zeros", "y"),
               node("ReduceSum", "y", "s", keepdims=0)],
              [value("x", F, ["a", "b"])], [value("at", I, [2, "n"]), value("y", F, ["n"]), value("s", F, [])])
    sparse = f(4, 5) * (rng.random((4, 5)) < 0.3)
    # Rows of more than eight, all of them true, the last or the first of them alone.
    some = [f(3, 77) * (rng.random((3, 77)) < part) for part in (0.1, 0.5, 1)] + [np.eye(17)[[0, 16]], np.eye(17)[[16, 0]]]
    return g, [{"x": x.astype(np.float32)} for x in (sparse, np.zeros((2, 3)), f(1, 1), *some)]


@case
def compress_and_unique():
    g = graph([node("Greater", "x zero", "mask"), node("Compress", "x mask", "kept", axis=0), node("Floor", "kept", "low"),
               node("Unique", "low", "u first inverse counts"), node("Range", "begin total one", "r"), node("Size", "u", "total")],
              [value("x", F, ["n"])],
              [value("u", F, ["m"]), value("first", I, ["m"]), value("inverse", I, ["k"]), value("counts", I, ["m"]), value("r", I, ["m"])],
              [const("zero", np.float32(0)), const("begin", scalar(0)), const("one", scalar(1))])
    return g, [{"x": f(20) * 3}, {"x": f(1) - 9}, {"x": f(50) * 2}]


@case
def open_borders():
    """Borders of axes of open length: short rows, and rows that are copied in stretches."""
    nodes = [node("Pad", f"x p{k}", f"{mode}{k}", mode=mode) for k in (0, 1) for mode in ("reflect", "edge", "wrap")]
    names = [n.output[0] for n in nodes]
    g = graph(nodes, [value("x", F, ["a", "b"])], [value(n, F, ["c" + n, "d" + n]) for n in names],
              [const("p0", i64(0, 1, 2, 0)), const("p1", i64(1, 4, 0, 3))])
    return g, [{"x": f(*shape)} for shape in ((3, 5), (4, 9), (7, 57), (3, 64), (5, 131), (3, 400))]


@case
def open_repetitions():
    """Operands of which one or all axes are repeated, as it turns out."""
    nodes = [node("Add", "x y", "sum"), node("Where", "c x y", "chosen"), node("Expand", "y s", "wide"), node("Tile", "y r", "tiled")]
    g = graph(nodes, [value("x", F, ["a", "b"]), value("y", F, ["d", "e"]), value("c", B, ["g", "h"])],
              [value(n, F, [n + "0", n + "1"]) for n in ("sum", "chosen", "wide", "tiled")], [const("s", i64(5, 70)), const("r", i64(2, 3))])
    shapes = (((5, 70), (5, 70), (5, 70)), ((5, 1), (1, 70), (5, 70)), ((1, 70), (5, 1), (1, 1)), ((1, 1), (1, 1), (5, 70)), ((5, 70), (1, 1), (5, 1)))
    return g, [{"x": f(*x), "y": f(*y), "c": rng.random(c) < 0.5} for x, y, c in shapes]


@case
def loop_while():
    """Without a trip count: doubles until the sum is large; collects what it saw."""
    body = graph([node("Add", "v v", "next"), node("ReduceSum", "next", "sum", keepdims=0), node("Less", "sum limit", "more"),
                  node("Identity", "next", "seen")],
                 [value("i", I, []), value("c", B, []), value("v", F, None)],
                 [value("more", B, []), value("next", F, None), value("seen", F, [7])])
    g = graph([node("ReduceSum", "x", "start", keepdims=0), node("Less", "start limit", "go"),
               node("Loop", "none go x", "last all", body=body)],
              [value("x", F, [7]), value("limit", F, [])], [value("last", F, [7]), value("all", F, ["t", 7])])
    g.node[2].input[0] = ""  # no trip count
    x = np.abs(f(7))
    return g, [{"x": x, "limit": np.array(1000, np.float32)}, {"x": x, "limit": np.array(-1, np.float32)}, {"x": np.abs(f(7)), "limit": np.array(30, np.float32)}]


@case
def loop_growing():
    """A carried value that grows, a captured one, and a trip count from data."""
    body = graph([node("Unsqueeze", "i axis", "row"), node("Cast", "row", "number", to=F), node("Add", "number w", "one"),
                  node("Concat", "v one", "next", axis=0), node("Identity", "c", "more"), node("ReduceSum", "next", "sum", keepdims=0)],
                 [value("i", I, []), value("c", B, []), value("v", F, None)],
                 [value("more", B, []), value("next", F, None), value("sum", F, None)])
    g = graph([node("Loop", "m yes x", "last sums", body=body)],
              [value("m", I, []), value("x", F, ["n"]), value("w", F, [1])], [value("last", F, ["k"]), value("sums", F, ["t"])],
              [const("yes", np.array(True)), const("axis", i64(0))])
    return g, [{"m": scalar(m), "x": f(n), "w": f(1)} for m, n in ((5, 3), (0, 2), (-4, 2), (1, 1), (12, 1))]


@case
def loop_nested():
    inner = graph([node("Mul", "u scale", "un"), node("Add", "un x", "u2"), node("Identity", "ci", "more_i")],
                  [value("j", I, []), value("ci", B, []), value("u", F, None)], [value("more_i", B, []), value("u2", F, None)], name="inner")
    outer = graph([node("Cast", "i", "fi", to=F), node("Add", "fi half", "scale"), node("Loop", "i yes v", "v2", body=inner),
                   node("Identity", "c", "more_o"), node("ReduceMax", "v2", "top", keepdims=0)],
                  [value("i", I, []), value("c", B, []), value("v", F, None)],
                  [value("more_o", B, []), value("v2", F, None), value("top", F, None)], name="outer")
    g = graph([node("Loop", "m yes x", "last tops", body=outer)], [value("m", I, []), value("x", F, ["a", "b"])],
              [value("last", F, ["a", "b"]), value("tops", F, ["t"])], [const("yes", np.array(True)), const("half", np.float32(0.5))])
    return g, [{"m": scalar(m), "x": f(2, 3)} for m in (4, 1, 0)]


@case
def if_on_data():
    then = graph([node("Slice", "x zero two", "t")], [], [value("t", F, None)], [const("two", i64(2))], "then")
    deep = graph([node("Neg", "x", "d")], [], [value("d", F, None)], name="deep")
    flat = graph([node("Concat", "x x", "e2", axis=0)], [], [value("e2", F, None)], name="flat")
    other = graph([node("Less", "s low", "very"), node("If", "very", "e", then_branch=deep, else_branch=flat)], [],
                  [value("e", F, None)], [const("low", np.float32(-10))], "other")
    g = graph([node("ReduceSum", "x", "s", keepdims=0), node("Greater", "s null", "c"),
               node("If", "c", "y", then_branch=then, else_branch=other), node("Mul", "y y", "z")],
              [value("x", F, ["n"])], [value("z", F, ["m"])], [const("null", np.float32(0)), const("zero", i64(0))])
    return g, [{"x": np.abs(f(5))}, {"x": -np.abs(f(3))}, {"x": -20 - np.abs(f(4))}]


def scan(directions, axes, out_directions, out_axes):
    body = graph([node("Add", "s a", "t"), node("Mul", "t b", "next"), node("Sub", "next w", "y"), node("ReduceSum", "y", "z", keepdims=0)],
                 [value("s", F, None), value("a", F, None), value("b", F, None)],
                 [value("next", F, None), value("y", F, None), value("z", F, None)])
    return graph([node("Scan", "s0 p q", "last ys zs", body=body, num_scan_inputs=2, scan_input_directions=directions,
                       scan_input_axes=axes, scan_output_directions=out_directions, scan_output_axes=out_axes)],
                 [value("s0", F, [3]), value("p", F, ["t", 3]), value("q", F, [3, "t"]), value("w", F, [3])],
                 [value("last", F, [3]), value("ys", F, ["c", "d"]), value("zs", F, ["e"])])


@case
def scan_forward():
    return scan([0, 0], [0, 1], [0, 0], [0, 0]), [{"s0": f(3), "p": f(t, 3), "q": f(3, t), "w": f(3)} for t in (4, 1, 9)]


@case
def scan_backward():
    return scan([1, 0], [0, -1], [1, 0], [1, 0]), [{"s0": f(3), "p": f(t, 3), "q": f(3, t), "w": f(3)} for t in (5, 1)]


@case
def computed_arguments():
    g = graph([node("ReduceMax", "n", "most", keepdims=0), node("Unsqueeze", "most zero", "k"), node("TopK", "x k", "v at", axis=-1),
               node("Slice", "x k big axis1", "rest"), node("OneHot", "n deep values", "hot"), node("Add", "most one", "deep")],
              [value("n", I, ["m"]), value("x", F, ["a", "b"])],
              [value("v", F, ["a", "k"]), value("at", I, ["a", "k"]), value("rest", F, ["a", "r"]), value("hot", F, ["m", "h"])],
              [const("zero", i64(0)), const("big", i64(1 << 40)), const("axis1", i64(1)), const("one", scalar(1)),
               const("values", np.array([0, 1], np.float32))])
    return g, [{"n": i64(*n), "x": f(3, 6)} for n in ((1, 2), (0, 4, 3), (6,))]


@case
def resize_by_data():
    g = graph([node("ReduceMax", "n", "most", keepdims=0), node("Cast", "most", "s", to=F), node("Unsqueeze", "s zero", "s1"),
               node("Concat", "ones s1 s1", "scales", axis=0), node("Resize", "x scales", "y", mode="linear")],
              [value("n", I, ["m"]), value("x", F, [1, 2, "h", "w"])], [value("y", F, [1, 2, "p", "q"])],
              [const("zero", i64(0)), const("ones", np.ones(2, np.float32))])
    g.node[4].input.insert(1, "")  # no region
    return g, [{"n": i64(*n), "x": f(1, 2, 3, 4)} for n in ((2,), (1, 3))]


@case
def sequences():
    """Built, changed, mapped and joined; carried by a loop whose number of iterations is known."""
    double = graph([node("Add", "e e", "d")], [value("e", F, None)], [value("d", F, None)], name="double")
    grow = graph([node("SequenceAt", "parts i", "part"), node("SequenceInsert", "list part where", "list2"), node("Identity", "c", "more")],
                 [value("i", I, []), value("c", B, []), helper.make_tensor_sequence_value_info("list", F, None)],
                 [value("more", B, []), helper.make_tensor_sequence_value_info("list2", F, None)], name="grow")
    g = graph([node("SplitToSequence", "x lengths", "parts", axis=1), node("SequenceLength", "parts", "count"),
               node("SequenceMap", "parts", "mapped", body=double), node("SequenceErase", "mapped minus", "less"),
               node("SequenceEmpty", "", "nothing"), node("Loop", "count yes nothing", "turned", body=grow),
               node("ConcatFromSequence", "turned", "y", axis=1), node("ConcatFromSequence", "less", "z", axis=-1),
               node("SequenceAt", "mapped minus", "u"), node("SequenceConstruct", "u u", "two"),
               node("ConcatFromSequence", "two", "v", axis=0, new_axis=1)],
              [value("x", F, ["n", 6])], [value("y", F, None), value("z", F, None), value("v", F, None), value("count", I, [])],
              [const("lengths", i64(1, 2, 3)), const("minus", scalar(-2)), const("where", scalar(0)), const("yes", np.array(True))])
    del g.node[4].input[:]
    return g, [{"x": f(n, 6)} for n in (1, 5)]


@case
def parts_of_open_sizes():
    """Split, however many parts there are: taken one by one, counted, and joined again."""
    g = graph([node("SplitToSequence", "x", "rows", keepdims=0), node("SequenceAt", "rows one", "r"), node("SequenceAt", "rows minus", "last"),
               node("SequenceAt", "rows at", "any"), node("SequenceLength", "rows", "count"), node("ConcatFromSequence", "rows", "t", axis=1, new_axis=1),
               node("ConcatFromSequence", "rows", "flat", axis=0), node("SplitToSequence", "x three", "threes", axis=1),
               node("SequenceAt", "threes minus", "tail"), node("SequenceAt", "threes zero", "head"), node("SequenceLength", "threes", "count3"),
               node("ConcatFromSequence", "threes", "again", axis=1)],
              [value("x", F, ["a", "b"]), value("at", I, [])],
              [value("r", F, None), value("last", F, None), value("any", F, None), value("count", I, []), value("t", F, None), value("flat", F, None),
               value("tail", F, None), value("head", F, None), value("count3", I, []), value("again", F, None)],
              [const("one", scalar(1)), const("minus", scalar(-1)), const("zero", scalar(0)), const("three", scalar(3))])
    return g, [{"x": f(a, b), "at": scalar(at)} for a, b, at in ((4, 7, 2), (2, 3, 0), (5, 2, 4))]


@case
def sequence_at_any_place():
    g = graph([node("Neg", "x", "m"), node("SequenceConstruct", "x m x", "list"), node("SequenceAt", "list at", "y")],
              [value("x", F, ["a", "b"]), value("at", I, [])], [value("y", F, ["a", "b"])])
    return g, [{"x": f(2, 3), "at": scalar(at)} for at in (0, 1, 2, -1, -2)]


@case
def sequence_that_grows():
    """Appended to in a loop whose trips are a size; joined along a new dimension and along the elements' own."""
    body = graph([node("Gather", "x i", "row", axis=0), node("Add", "v row", "next"), node("SequenceInsert", "list next", "list2"),
                  node("Identity", "c", "more")],
                 [value("i", I, []), value("c", B, []), value("v", F, None), helper.make_tensor_sequence_value_info("list", F, None)],
                 [value("more", B, []), value("next", F, None), helper.make_tensor_sequence_value_info("list2", F, None)], name="body")
    g = graph([node("Shape", "x", "dims"), node("Gather", "dims zero", "trips", axis=0), node("SequenceEmpty", "", "none"),
               node("Loop", "trips yes start none", "sum sums", body=body), node("ConcatFromSequence", "sums", "stacked", axis=1, new_axis=1),
               node("ConcatFromSequence", "sums", "joined", axis=-1), node("SequenceAt", "sums minus", "last")],
              [value("x", F, ["t", 3]), value("start", F, [3])],
              [value("sum", F, [3]), value("stacked", F, None), value("joined", F, None), value("last", F, None)],
              [const("yes", np.array(True)), const("zero", scalar(0)), const("minus", scalar(-1))])
    return g, [{"x": f(t, 3), "start": f(3)} for t in (4, 1, 9)]


@case
def pools_rounded_up():
    """As many places as windows start in front of the padding behind an open size."""
    common = dict(ceil_mode=1, kernel_shape=[3, 2])
    g = graph([node("MaxPool", "x", "m", strides=[2, 2], pads=[1, 0, 1, 1], **common), node("AveragePool", "x", "a", strides=[2, 3], pads=[1, 1, 1, 1], **common),
               node("MaxPool", "x", "d", strides=[2, 2], dilations=[2, 1], pads=[1, 1, 2, 1], **common), node("Neg", "a", "z")],
              [value("x", F, [1, 2, "h", "w"])], [value(k, F, [1, 2, None, None]) for k in "mdz"])
    return g, [{"x": f(1, 2, h, w)} for h, w in ((5, 5), (6, 7), (7, 4), (8, 6), (9, 9), (10, 8))]


@case
def kernels_of_open_sizes():
    """Filters that are inputs: as large as they come."""
    g = graph([node("Conv", "x w", "plain"), node("Conv", "x w bias", "wide", strides=[2, 1], dilations=[1, 2], pads=[1, 0, 2, 1]),
               node("Conv", "x u", "grouped", group=2), node("Conv", "x w", "same", auto_pad="SAME_LOWER", strides=[2, 2])],
              [value("x", F, ["n", 4, "h", "w_"]), value("w", F, [6, 4, "kh", "kw"]), value("u", F, [6, 2, "uh", "uw"]), value("bias", F, [6])],
              [value(k, F, None) for k in ("plain", "wide", "grouped", "same")])
    return g, [{"x": f(n, 4, h, w), "w": f(6, 4, kh, kw), "u": f(6, 2, uh, uw), "bias": f(6)}
               for n, h, w, kh, kw, uh, uw in ((1, 7, 9, 3, 3, 2, 1), (2, 5, 5, 1, 2, 5, 5), (1, 12, 10, 4, 1, 1, 1))]


@case
def many_parts():
    """More parts of sizes from data than a kernel looks through: floats along the first dimension, booleans along the last, twice."""
    nodes = []
    for i in range(20):
        nodes += [node("Greater", "x t%d" % i, "mask%d" % i), node("Compress", "x mask%d" % i, "part%d" % i, axis=0),
                  node("Unsqueeze", "part%d axes" % i, "row%d" % i), node("Concat", "row%d row%d" % (i, i), "pair%d" % i, axis=0),
                  node("Greater", "pair%d zero" % i, "flag%d" % i)]
    for name, part, axis in (("y", "part", 0), ("z", "flag", 1), ("w", "pair", -1)):
        nodes.append(node("Concat", " ".join(part + str(i) for i in range(20)), name, axis=axis))
    nodes += [node("Cast", "z", "numbers", to=F), node("Mul", "numbers w", "v")]
    g = graph(nodes, [value("x", F, ["n"])], [value("y", F, None), value("z", B, None), value("v", F, None)],
              [const("t%d" % i, np.float32(i / 10 - 1)) for i in range(20)] + [const("zero", np.float32(0)), const("axes", i64(0))])
    return g, [{"x": f(7)}, {"x": f(1) - 9}, {"x": f(30)}]


@case
def sequence_from_branch():
    """Which branch made it is known only when the model runs; how many elements it has is known before."""
    then = graph([node("SequenceConstruct", "x y", "s")], [], [helper.make_tensor_sequence_value_info("s", F, None)], name="then")
    other = graph([node("Neg", "x", "m"), node("SequenceConstruct", "m x", "t")], [], [helper.make_tensor_sequence_value_info("t", F, None)],
                  name="other")
    g = graph([node("If", "c", "list", then_branch=then, else_branch=other), node("ConcatFromSequence", "list", "z", axis=0)],
              [value("c", B, []), value("x", F, ["n"]), value("y", F, ["m"])], [value("z", F, None)])
    return g, [{"c": np.array(c), "x": f(3), "y": f(2)} for c in (True, False)]


def recurrence(op, gates, directions, lengths, peepholes=False, **attributes):
    many, inputs, hidden = (2 if directions == "bidirectional" else 1), 5, 8
    weights = [const("w", f(many, gates * hidden, inputs) * 0.5), const("r", f(many, gates * hidden, hidden) * 0.25),
               const("b", f(many, 2 * gates * hidden))]
    operands, values = "x w r b", [value("x", F, ["t", "n", inputs])]
    cell = op == "LSTM"
    outputs = [value("y", F, None), value("h", F, None)] + ([value("c", F, None)] if cell else [])
    made = node(op, operands, "y h c" if cell else "y h", hidden_size=hidden, direction=directions, **attributes)
    made.input.extend(["lens" if lengths else "", "h0"] + (["c0"] if cell else []) + (["p"] if peepholes else []))
    values.append(value("h0", F, [many, "n", hidden]))
    if cell:
        values.append(value("c0", F, [many, "n", hidden]))
    if lengths:
        values.append(value("lens", TensorProto.INT32, ["n"]))
    if peepholes:
        weights.append(const("p", f(many, 3 * hidden)))
    runs = []
    for t, n in ((1, 1), (3, 2), (21, 3)):
        run = {"x": f(t, n, inputs), "h0": f(many, n, hidden)}
        if cell:
            run["c0"] = f(many, n, hidden)
        if lengths:
            run["lens"] = rng.integers(1, t + 1, n).astype(np.int32)
        runs.append(run)
    return graph([made], values, outputs, weights), runs


@case
def lstm():
    return recurrence("LSTM", 4, "bidirectional", True, peepholes=True)


@case
def lstm_reverse():
    return recurrence("LSTM", 4, "reverse", False)


@case
def gru():
    return recurrence("GRU", 3, "bidirectional", True, linear_before_reset=1)


@case
def gru_forward():
    return recurrence("GRU", 3, "forward", False)


@case
def rnn():
    return recurrence("RNN", 1, "bidirectional", False, activations=["Relu", "Tanh"])


@case
def rnn_long():
    """A known length that is too long to be written out."""
    g, runs = recurrence("RNN", 1, "reverse", True)
    g.input[0].type.tensor_type.shape.dim[0].dim_value = 21
    return g, runs[2:]


def from_data(op, operand, constants=(), **attributes):
    """An operator with an operand that is computed from the input n."""
    nodes = [node("Cast", "n", "real", to=TensorProto.DOUBLE), node("Floor", "real", "low"), node("Cast", "low", "m", to=I),
             node(op, operand, "y", **attributes)]
    return graph(nodes, [value("n", I, ["k"]), value("x", F, [2, 6])], [value("y", F, None)], constants)


# Data that gives sizes that cannot be: the run says so and changes nothing. (graph, n)
REFUSED = {
    "topk": (lambda: from_data("TopK", "x m", axis=1), i64(7)),
    "topk_negative": (lambda: from_data("TopK", "x m", axis=1), i64(-1)),
    "reshape": (lambda: from_data("Reshape", "x m"), i64(5, 3)),
    "expand": (lambda: from_data("Expand", "x m"), i64(3, 6)),
    "constant_of_shape": (lambda: from_data("ConstantOfShape", "m"), i64(-2)),
    "huge": (lambda: from_data("ConstantOfShape", "m"), i64(1 << 40, 1 << 40)),
    "tile": (lambda: from_data("Tile", "x m"), i64(-1, 2)),
}


def check_refused(lathe, folder, target, name):
    make, n = REFUSED[name]
    g = make()
    g.input[0].type.tensor_type.shape.dim[0].dim_value = len(n)
    if name.startswith("topk"):
        g.node[3].output.append("at")
    path, so, data = (os.path.join(folder, "refused_" + name + e) for e in (".onnx", ".so", ".npz"))
    onnx.save(helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    subprocess.run([lathe, "compile", path, "-o", so, "--target", target], check=True)
    np.savez(data, in0=n, in1=f(2, 6))
    run = subprocess.run([lathe, "run", so, "--inputs", data], capture_output=True, text=True)
    print("%s: exit %d: %s" % (name, run.returncode, run.stderr.strip()))
    return run.returncode == 1


def check(lathe, folder, target, name):
    g, runs = CASES[name]()
    opset = 17
    model = helper.make_model(g, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    path, so = os.path.join(folder, name + ".onnx"), os.path.join(folder, name + ".so")
    onnx.save(model, path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    subprocess.run([lathe, "compile", path, "-o", so, "--target", target], check=True)
    for number, feed in enumerate(runs):
        want = session.run(None, feed)
        data = os.path.join(folder, "%s.%d.npz" % (name, number))
        np.savez(data, **{"in%d" % k: feed[v.name] for k, v in enumerate(g.input)}, **{"out%d" % k: v for k, v in enumerate(want)})
        subprocess.run([lathe, "run", so, "--inputs", data, "--expect", data, "--rtol", "1e-4", "--atol", "1e-5"], check=True,
                       stdout=subprocess.DEVNULL)
    return len(runs)


def main():
    lathe, folder, target = sys.argv[1:4]
    names = sys.argv[4:] or list(CASES)
    failed = []
    for name in names:
        try:
            print("%s: %d runs agree" % (name, check(lathe, folder, target, name)), flush=True)
        except subprocess.CalledProcessError as e:
            print("%s: %s" % (name, e), flush=True)
            failed.append(name)
    print("%d of %d cases agree" % (len(names) - len(failed), len(names)))
    refused = [name for name in REFUSED if check_refused(lathe, folder, target, name)] if names == list(CASES) else []
    print("%d of %d impossible sizes are refused" % (len(refused), len(REFUSED)))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
