"""Compares the tree operators of ai.onnx.ml with ONNX Runtime on made-up forests.     usage: tree_models.py [LATHE]

Regressors with several targets, aggregates and base values, classifiers of two and of more classes, in both forms of two. Exit code 1 when
something differs, 77 when onnxruntime cannot be used."""
import pathlib
import sys
import tempfile

import numpy as np

from verdict import fault, verdict

FEATURES, ROWS = 6, 50


class Forest:
    """Random trees, as the operators' attributes."""

    def __init__(self, seed, trees, depth, prefix, targets, low=-1.0, tracks=False):
        self.random, self.prefix, self.targets, self.low, self.tracks = np.random.RandomState(seed), prefix, targets, low, tracks
        self.nodes, self.weights = [], []
        for tree in range(trees):
            self.count = 0
            self.grow(tree, depth)

    def grow(self, tree, depth):
        node, self.count = self.count, self.count + 1
        if depth == 0 or (node and self.random.uniform() < 0.2):
            self.nodes.append([tree, node, 0, 0.0, "LEAF", 0, 0, 0])
            for target in self.targets:
                self.weights.append((tree, node, target, self.random.uniform(self.low, 1)))
            return node
        mode = self.random.choice(["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"])
        place = len(self.nodes)
        self.nodes.append([tree, node, self.random.randint(FEATURES), float(self.random.randint(-3, 4)), mode, 0, 0,
                           int(self.tracks and self.random.uniform() < 0.5)])
        self.nodes[place][5:7] = [self.grow(tree, depth - 1), self.grow(tree, depth - 1)]
        return node

    def attributes(self):
        names = ["treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true"]
        out = {f"nodes_{name}": list(column) for name, column in zip(names, zip(*self.nodes))}
        for name, column in zip(["treeids", "nodeids", "ids", "weights"], zip(*self.weights)):
            out[f"{self.prefix}_{name}"] = list(column)
        return out


def cases():
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        yield "TreeEnsembleRegressor", Forest(1, 5, 4, "target", [0]), {"n_targets": 1, "aggregate_function": aggregate}
    yield "TreeEnsembleRegressor", Forest(2, 7, 5, "target", [0, 1, 2], tracks=True), {"n_targets": 3, "base_values": [0.5, -1.0, 2.0]}
    for transform in ("NONE", "LOGISTIC", "SOFTMAX"):
        yield "TreeEnsembleClassifier", Forest(3, 6, 4, "class", [0, 1, 2]), {"classlabels_int64s": [7, 3, 5], "post_transform": transform}
    for low, transform in ((0.0, "NONE"), (-1.0, "NONE"), (-1.0, "LOGISTIC")):
        yield "TreeEnsembleClassifier", Forest(5, 4, 3, "class", [0], low=low), {"classlabels_int64s": [4, 9], "post_transform": transform}
        yield "TreeEnsembleClassifier", Forest(6, 4, 3, "class", [1], low=low), {"classlabels_int64s": [4, 9], "post_transform": transform}
    yield "TreeEnsembleClassifier", Forest(7, 4, 3, "class", [0]), {"classlabels_int64s": [4, 9], "post_transform": "LOGISTIC", "base_values": [0.3]}


def model(operator, forest, attributes):
    from onnx import TensorProto, ValueInfoProto, helper
    outputs = ["label", "scores"] if operator.endswith("Classifier") else ["y"]
    node = helper.make_node(operator, ["x"], outputs, domain="ai.onnx.ml", **forest.attributes(), **attributes)
    graph = helper.make_graph([node], "trees", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", FEATURES])],
                              [ValueInfoProto(name=o) for o in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1), helper.make_opsetid("", 17)], ir_version=8)


def main():
    lathe = sys.argv[1] if len(sys.argv) > 1 else "lathe"
    try:
        import onnx
        import onnxruntime
    except ImportError as error:
        print(f"skipped: {error}")
        return 77
    x = np.random.RandomState(0).randint(-4, 5, (ROWS, FEATURES)).astype(np.float32)
    x[::7, 1] = np.nan
    agree, faults = 0, []
    for number, (operator, forest, attributes) in enumerate(cases()):
        made = model(operator, forest, attributes)
        session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        want = dict(zip([o.name for o in session.get_outputs()], session.run(None, {"x": x})))
        with tempfile.TemporaryDirectory() as name:
            wrong = fault(lathe, pathlib.Path(name), made, dict(x=x, **want), "--target", "x86_64:baseline")
        if wrong:
            faults.append(f"case {number}: {operator} {attributes}: {wrong}")
        else:
            agree += 1
    return verdict(agree, "models", faults, "ONNX Runtime")


if __name__ == "__main__":
    sys.exit(main())
