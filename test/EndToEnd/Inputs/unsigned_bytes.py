"""The same model with unsigned bytes in place of signed ones.

On CPUs without dot products of bytes ONNX Runtime adds pairs of products of unsigned and signed bytes in 16 bits, where they saturate
(its documentation on quantisation says so); products of unsigned bytes are exact everywhere. A byte and its zero point that are both 128
more are the same number."""
import numpy as np
import onnx
from onnx import numpy_helper

# Operands and results of each operator with their zero points; results are told by their zero point alone.
OPERANDS = {
    'MatMulInteger': [(0, 2), (1, 3)], 'ConvInteger': [(0, 2), (1, 3)], 'QLinearMatMul': [(0, 2), (3, 5)], 'QLinearConv': [(0, 2), (3, 5)],
    'QGemm': [(0, 2), (3, 5)], 'DynamicQuantizeMatMul': [(1, 3)], 'MatMulIntegerToFloat': [(0, 4), (1, 5)],
    'DynamicQuantizeLSTM': [(1, 9), (2, 11)], 'QAttention': [(0, 6), (1, 7)],
}
RESULT = {'QLinearMatMul': 7, 'QLinearConv': 7, 'QGemm': 8}


def shifted(a):
    return (a.astype(np.int16) + 128).astype(np.uint8)


class _Shift:
    def __init__(self, model, inputs):
        self.graph, self.inputs, self.done = model.graph, dict(inputs), set()
        self.constants = {t.name: t for t in model.graph.initializer}

    def operand(self, name):
        """Whether the value is one of signed bytes, which it no longer is."""
        if name in self.done:
            return True
        value = numpy_helper.to_array(self.constants[name]) if name in self.constants else self.inputs.get(name)
        if value is None or value.dtype != np.int8:
            return False
        if name in self.constants:
            self.constants[name].CopyFrom(numpy_helper.from_array(shifted(value), name))
        else:
            self.inputs[name] = shifted(value)
            next(i for i in self.graph.input if i.name == name).type.tensor_type.elem_type = onnx.TensorProto.UINT8
        self.done.add(name)
        return True

    def zero(self, node, place):
        if len(node.input) > place and node.input[place]:
            self.operand(node.input[place])
            return
        node.input.extend([''] * (place + 1 - len(node.input)))
        node.input[place] = f'{node.name or node.op_type}_zero{place}'
        self.graph.initializer.append(numpy_helper.from_array(np.uint8(128), node.input[place]))


def unsigned(model, inputs):
    """(model, inputs, names of results that are 128 more): `model` is changed."""
    shift, moved = _Shift(model, inputs), set()
    for node in model.graph.node:
        for value, zero in OPERANDS.get(node.op_type, []):
            if shift.operand(node.input[value]):
                shift.zero(node, zero)
        place = RESULT.get(node.op_type)
        if place and len(node.input) > place and node.input[place] and shift.operand(node.input[place]):
            moved.add(node.output[0])
    return model, shift.inputs, moved


def run(session_of, path, inputs):
    """What the model at `path` gives, by the session that `session_of` makes of bytes."""
    model, fed, moved = unsigned(onnx.load(path), inputs)
    results = session_of(model.SerializeToString()).run(None, fed)
    names = [o.name for o in model.graph.output]
    return [(r.astype(np.int16) - 128).astype(np.int8) if n in moved else r for n, r in zip(names, results)]
