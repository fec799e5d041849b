"""Models whose data asks for terabytes, into the current folder."""
import numpy as np
from onnx import TensorProto as T, helper as h


def value(name, kind, shape):
    return h.make_tensor_value_info(name, kind, shape)


def save(name, nodes, inputs, outputs, constants=()):
    graph = h.make_graph(nodes, name, inputs, outputs, list(constants))
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)
    with open(name + ".onnx", "wb") as f:
        f.write(model.SerializeToString())


zero, one = h.make_tensor("zero", T.INT64, [], [0]), h.make_tensor("one", T.INT64, [], [1])

# 2^p elements by their number
save("range", [h.make_node("BitShift", ["u", "p"], ["bit"], direction="LEFT"), h.make_node("Cast", ["bit"], ["n"], to=T.INT64),
               h.make_node("Range", ["zero", "n", "one"], ["y"])],
     [value("p", T.UINT64, [])], [value("y", T.INT64, None)], [zero, one, h.make_tensor("u", T.UINT64, [], [1])])
for p in (4, 40, 61):
    np.savez(f"range-{p}.npz", p=np.array(p, "u8"))

# the product of three sizes, of which no tensor is in memory
save("sum", [h.make_node("Expand", ["x", "shape"], ["large"]), h.make_node("ReduceSum", ["large"], ["y"], keepdims=0)],
     [value("x", T.FLOAT, [1]), value("shape", T.INT64, [3])], [value("y", T.FLOAT, None)])
np.savez("sum-41.npz", x=np.ones(1, "f4"), shape=np.full(3, 1 << 41))

# a tensor between two kernels, of 2^p rows; once more where the number of rows is an input itself
weights = h.make_tensor("w", T.FLOAT, [4, 4], [1.0] * 16)
rows = [h.make_node("Concat", ["n", "four"], ["shape"], axis=0), h.make_node("Expand", ["x", "shape"], ["all"]),
        h.make_node("MatMul", ["all", "w"], ["product"]), h.make_node("ReduceMax", ["product"], ["y"], axes=[0], keepdims=0)]
four = h.make_tensor("four", T.INT64, [1], [4])
save("computed", [h.make_node("BitShift", ["u", "p"], ["bit"], direction="LEFT"), h.make_node("Cast", ["bit"], ["n"], to=T.INT64)] + rows,
     [value("p", T.UINT64, [1]), value("x", T.FLOAT, [1, 4])], [value("y", T.FLOAT, None)],
     [weights, four, h.make_tensor("u", T.UINT64, [1], [1])])
np.savez("computed-40.npz", p=np.array([40], "u8"), x=np.ones((1, 4), "f4"))
save("given", rows, [value("n", T.INT64, [1]), value("x", T.FLOAT, [1, 4])], [value("y", T.FLOAT, None)], [weights, four])
np.savez("given-40.npz", n=np.array([1 << 40]), x=np.ones((1, 4), "f4"))

# a loop that never ends adds a tensor to its result each time
body = h.make_graph([h.make_node("Identity", ["going"], ["still"]), h.make_node("Expand", ["x", "size"], ["row"])], "body",
                    [value("i", T.INT64, []), value("going", T.BOOL, [])],
                    [value("still", T.BOOL, []), value("row", T.FLOAT, None)],
                    [h.make_tensor("size", T.INT64, [1], [1 << 20])])
save("grow", [h.make_node("Less", ["zero", "n"], ["first"]), h.make_node("Loop", ["n", "first"], ["y"], body=body)],
     [value("n", T.INT64, []), value("x", T.FLOAT, [1])], [value("y", T.FLOAT, None)], [zero])
np.savez("grow.npz", n=np.array(1 << 40), x=np.ones(1, "f4"))
