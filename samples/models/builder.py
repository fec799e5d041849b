"""A little notation for writing ONNX graphs by hand: ops as calls, weights from a seed."""
import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper


class Graph:
    """graph.MatMul(x, w) adds a node and returns its output's name; numpy arrays and numbers become initializers."""

    def __init__(self, name, seed):
        self.name, self.nodes, self.weights, self.inputs, self.outputs = name, [], {}, [], []
        self.random = np.random.RandomState(seed)  # its stream is frozen by numpy's promise

    def input(self, name, dtype, dims):
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), dims))
        return name

    def output(self, value, name, dtype, dims):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), dims))

    def constant(self, value, name=None):
        array = np.asarray(value)
        array = array.astype({"float64": np.float32}.get(array.dtype.name, array.dtype))
        name = name or f"c{len(self.weights)}"
        self.weights[name] = numpy_helper.from_array(array, name)
        return name

    def weight(self, name, *dims, scale=None):
        """Normal with variance 1/fan-in, so that activations keep their size from layer to layer."""
        scale = scale or dims[0] ** -0.5
        return self.constant((self.random.standard_normal(dims) * scale).astype(np.float32), name)

    def __getattr__(self, op):
        def add(*operands, outputs=1, **attributes):
            names = [f"{op.lower()}_{len(self.nodes)}" + (f"_{i}" if i else "") for i in range(outputs)]
            operands = [o if isinstance(o, str) else self.constant(o) for o in operands]
            self.nodes.append(helper.make_node(op, operands, names, name=names[0], **attributes))
            return names[0] if outputs == 1 else names
        return add

    def cast(self, value, dtype):
        return self.Cast(value, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def size(self, value, dim):
        """One dimension of a value as an int64 tensor of one element."""
        return self.Gather(self.Shape(value), np.array([dim], np.int64), axis=0)

    def model(self, opset=17):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, list(self.weights.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8, producer_name="lathe samples")
        checker.check_model(model, full_check=True)
        return model
