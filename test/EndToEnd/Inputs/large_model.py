"""Writes a model with weights of more than 2 GiB, in a sparse file, with an input and its results.     usage: large_model.py FOLDER

A table of vectors, of which only a few are not zero, and behind it the matrix that the chosen vectors are multiplied with."""
import sys

import numpy as np

ROWS, WIDTH, RESULTS = 600_000, 1024, 40
folder = sys.argv[1]
random = np.random.RandomState(0)
places = np.array([0, 17, 262_144, 524_289, ROWS - 1], np.int64)  # before, at and after 1 and 2 GiB
vectors = random.uniform(-1, 1, (len(places), WIDTH)).astype(np.float32)
matrix = random.uniform(-1, 1, (WIDTH, RESULTS)).astype(np.float32)
with open(f"{folder}/weights.bin", "wb") as f:
    for place, vector in zip(places, vectors):
        f.seek(int(place) * WIDTH * 4)
        f.write(vector.tobytes())
    f.write(matrix.tobytes())


def external(name, dims, offset):
    entries = (("location", "weights.bin"), ("offset", offset), ("length", 4 * int(np.prod(dims))))
    return (f'  initializer {{ name: "{name}" data_type: 1 data_location: EXTERNAL ' + " ".join(f"dims: {d}" for d in dims) +
            " ".join(f' external_data {{ key: "{key}" value: "{value}" }}' for key, value in entries) + " }\n")


with open(f"{folder}/model.textproto", "w") as f:
    f.write('''ir_version: 8
opset_import { version: 17 }
graph {
  name: "large"
  node { input: "table" input: "at" output: "rows" op_type: "Gather" }
  node { input: "rows" input: "matrix" output: "y" op_type: "MatMul" }
''' + external("table", (ROWS, WIDTH), 0) + external("matrix", (WIDTH, RESULTS), ROWS * WIDTH * 4) + '''
  input { name: "at" type { tensor_type { elem_type: 7 shape { dim { dim_param: "n" } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_param: "n" } dim { dim_value: 40 } } } } }
}
''')
order = [4, 0, 3, 2, 1, 4]
at = np.append(places[order], 1000)
chosen = np.append(vectors[order], np.zeros((1, WIDTH), np.float32), 0).astype(np.float64)
np.savez(f"{folder}/data.npz", at=at, y=(chosen @ matrix).astype(np.float32))
