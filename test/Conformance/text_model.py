"""Writes an ONNX model as text, from nodes and arrays; needs numpy alone.

bfloat16, which numpy has not, is the class BF16: arrays of it are float32 with values that a bfloat16 has."""
import numpy as np


ESCAPED = np.array([f"\\{byte:03o}" for byte in range(256)], "S4")  # bytes in text


class BF16:
    """Stands for the type where a numpy type is expected."""


NUMBERS = {np.float32: 1, np.uint8: 2, np.int8: 3, np.uint16: 4, np.int16: 5, np.int32: 6, np.int64: 7, np.bool_: 9, np.float16: 10,
           np.float64: 11, np.uint32: 12, np.uint64: 13, BF16: 16}
NAMES = {kind: "bfloat16" if kind is BF16 else np.dtype(kind).name for kind in NUMBERS}


def bfloat(values):
    """The nearest values that a bfloat16 has, ties to even."""
    bits = np.asarray(values, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(values), np.float32(np.nan), rounded).astype(np.float32)


def as_kind(values, kind):
    with np.errstate(all="ignore"):
        return bfloat(values) if kind is BF16 else np.asarray(values).astype(kind)


def stored(values, kind):
    """As files hold it: a bfloat16 as its bits."""
    if kind is not BF16:
        return values
    return (np.array(values, np.float32, order="C").view(np.uint32) >> 16).astype(np.uint16)


def loaded(array, kind):
    if kind is not BF16:
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def attribute(name, value):
    if isinstance(value, float):
        return f'attribute {{ name: "{name}" type: FLOAT f: {value!r} }}'
    if isinstance(value, str):
        return f'attribute {{ name: "{name}" type: STRING s: "{value}" }}'
    if isinstance(value, int):
        return f'attribute {{ name: "{name}" type: INT i: {value} }}'
    return f'attribute {{ name: "{name}" type: INTS ' + " ".join(f"ints: {v}" for v in value) + " }"


def value_info(field, name, kind, shape):
    dims = " ".join(f'dim {{ dim_param: "{d}" }}' if isinstance(d, str) else f"dim {{ dim_value: {d} }}" for d in shape)
    return f'  {field} {{ name: "{name}" type {{ tensor_type {{ elem_type: {NUMBERS[kind]} shape {{ {dims} }} }} }} }}\n'


class TextModel:
    def __init__(self, opset):
        self.opset, self.lines, self.count = opset, [], 0
        self.feeds, self.outputs = {}, []  # name -> (array, kind);  (name, kind, expected)
        self.roundings = {}                # of an output, where it is more than one

    def input(self, name, array, kind, dims=None):
        self.feeds[name] = (array, kind)
        self.lines.append(value_info("input", name, kind, dims or array.shape))
        return name

    def constant(self, name, array, kind):
        data = ESCAPED[np.ravel(stored(array, kind)).view(np.uint8)].tobytes().decode()
        dims = " ".join(f"dims: {d}" for d in array.shape)
        self.lines.append(f'  initializer {{ name: "{name}" {dims} data_type: {NUMBERS[kind]} raw_data: "{data}" }}\n')
        return name

    def integers(self, values):
        """A constant of int64."""
        name = f"c{self.count}"
        self.count += 1
        data = " ".join(f"int64_data: {v}" for v in np.ravel(values))
        dims = " ".join(f"dims: {d}" for d in np.shape(values))
        self.lines.append(f'  initializer {{ name: "{name}" {dims} data_type: 7 {data} }}\n')
        return name

    def node(self, operator, operands, kind, expected, **attributes):
        """A node whose one result is an output of the model."""
        return self.nodes(operator, operands, [(kind, expected)], **attributes)[0]

    def nodes(self, operator, operands, results, **attributes):
        """A node whose results are outputs of the model: [(kind, expected)]."""
        names = [f"{operator}{self.count}.{i}" for i in range(len(results))]
        self.count += 1
        operands, made = " ".join(f'input: "{o}"' for o in operands), " ".join(f'output: "{o}"' for o in names)
        said = " ".join(attribute(name, value) for name, value in attributes.items())
        self.lines.append(f'  node {{ {operands} {made} op_type: "{operator}" {said} }}\n')
        for name, (kind, expected) in zip(names, results):
            self.lines.append(value_info("output", name, kind, np.shape(expected)))
            self.outputs.append((name, kind, expected))
        return names

    def text(self):
        return f"ir_version: 8\nopset_import {{ version: {self.opset} }}\ngraph {{\n  name: \"g\"\n" + "".join(self.lines) + "}\n"
