"""Makes the sample models and, with ONNX Runtime as the reference, inputs and expected outputs at several sizes.

usage: make.py [DIR]        (needs the Python packages numpy, onnx and onnxruntime)

Writes DIR/NAME.onnx and DIR/NAME.CASE.npz with in0, in1, ... and out0, out1, ...; DIR is this folder when not given. The files are part
of the repository: neither building lathe nor its tests need this script.
"""
import pathlib
import sys

import networks
import numpy as np
import onnxruntime


def ids(random, batch, seq):
    return random.randint(0, networks.VOCAB, (batch, seq)).astype(np.int64)


def bert_case(random, batch, seq):
    mask = np.ones((batch, seq), np.int64)
    mask[-1, seq - seq // 3:] = 0  # the last sentence is shorter
    return {"ids": ids(random, batch, seq), "mask": mask}


def gpt2_case(random, batch, past, seq):
    cache = lambda: random.standard_normal((batch, networks.HEADS, past, networks.DEPTH)).astype(np.float32)
    return {"ids": ids(random, batch, seq), "past_key": cache(), "past_value": cache()}


def llama_case(random, batch, seq):
    return {"ids": ids(random, batch, seq)}


def block_case(random, batch, seq):
    return {"x": random.standard_normal((batch, seq, networks.HIDDEN)).astype(np.float32)}


def cnn_case(random, batch, height, width):
    return {"image": random.standard_normal((batch, 3, height, width)).astype(np.float32)}


MODELS = {
    "tiny_block": (networks.tiny_block, block_case, [(1, 1), (2, 5)]),
    "tiny_bert": (networks.tiny_bert, bert_case, [(1, 1), (2, 7), (3, 33)]),
    "tiny_gpt2": (networks.tiny_gpt2, gpt2_case, [(1, 0, 6), (2, 9, 1), (2, 17, 5)]),
    "tiny_llama": (networks.tiny_llama, llama_case, [(1, 1), (2, 7), (3, 40)]),
    "tiny_cnn": (networks.tiny_cnn, cnn_case, [(1, 32, 32), (3, 17, 26)]),
}


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, (make, case, sizes) in MODELS.items():
        data = make().SerializeToString(deterministic=True)
        (out / f"{name}.onnx").write_bytes(data)
        session = onnxruntime.InferenceSession(data)
        for i, size in enumerate(sizes):
            feed = case(np.random.RandomState(100 + i), *size)
            results = session.run(None, feed)
            arrays = {f"in{j}": v for j, v in enumerate(feed.values())} | {f"out{j}": v for j, v in enumerate(results)}
            np.savez_compressed(out / f"{name}.{'x'.join(map(str, size))}.npz", **arrays)


main()
