"""Labels and n-grams that are looked up among constant keys, few and many, close together and far apart, against dictionaries of Python.

Usage: dictionaries.py [LATHE]     exit code 1 when something differs, 77 when onnx is missing."""
import pathlib
import sys
import tempfile

import numpy as np
from verdict import fault, verdict

rng = np.random.default_rng(5)
MOST = 2 ** 63 - 1


def encoded(keys, x, values, otherwise):
    """The first of equal keys counts; NaN is a key like any other."""
    name = lambda k: 'NaN' if k != k else k
    known = {}
    for k, v in zip(keys, values):
        known.setdefault(name(k), v)
    return np.array([known.get(name(e), otherwise) for e in x.ravel().tolist()], values.dtype).reshape(x.shape)


def labels():
    """(operator, attributes, x, what is expected)"""
    for count in (1, 2, 16, 17, 100, 3000):
        for apart in (1, 3, 2 ** 50):
            keys = rng.integers(-count * apart, count * apart + 1, count)
            x = np.concatenate([rng.choice(keys, 50), rng.integers(-count * apart - 5, count * apart + 5, 47), [-MOST - 1, MOST, 0]]).reshape(4, 25)
            whole, broken = rng.integers(0, 1000, count), rng.integers(0, 1000, count).astype(np.float32) / 4
            yield 'LabelEncoder', dict(keys_int64s=keys.tolist(), values_int64s=whole.tolist(), default_int64=-7), x, encoded(keys.tolist(), x, whole, -7)
            yield 'LabelEncoder', dict(keys_int64s=keys.tolist(), values_floats=broken.tolist(), default_float=.5), x, encoded(keys.tolist(), x, broken, .5)
        keys = (rng.integers(-4 * count, 4 * count, count) / 4).astype(np.float32)
        keys[count // 2:count // 2 + 2] = np.nan
        keys[-1:] = np.inf
        x = np.concatenate([rng.choice(keys, 40), (rng.integers(-4 * count, 4 * count, 45) / 4), [np.nan, np.inf, -np.inf, 0, -0.0]]).astype(np.float32).reshape(3, 30)
        values = rng.integers(0, 1000, count)
        yield 'LabelEncoder', dict(keys_floats=keys.tolist(), values_int64s=values.tolist(), default_int64=-7), x, encoded(keys.tolist(), x, values, -7)
    ends = np.array([5, -MOST - 1, MOST, 0, 1])
    yield 'LabelEncoder', dict(keys_int64s=[-MOST - 1, MOST, 5], values_int64s=[1, 2, 3], default_int64=-1), ends, np.array([3, 1, 2, -1, -1])


def counted(rows, grams, columns, skips, width):
    out = np.zeros((len(rows), width), np.float32)
    for row, counts in zip(rows.tolist(), out):
        for distance in range(1, skips + 2):
            for gram, column in zip(grams, columns):
                if len(gram) == 1 and distance > 1:
                    continue
                reach = (len(gram) - 1) * distance
                counts[column] += sum(all(row[at + i * distance] == item for i, item in enumerate(gram)) for at in range(len(row) - reach))
    return out


def words():
    for mode, skips, (low, high) in (('TF', 0, (1, 1)), ('IDF', 1, (1, 2)), ('TFIDF', 3, (2, 3)), ('TF', 1, (1, 3)), ('TFIDF', 0, (2, 2))):
        for items, shape in ((5, (3, 12)), (40, (2, 60)), (7, (4, 2)), (200, (3, 50))):
            known = rng.integers(-3, 10 ** 12 if items == 200 else 2 * items, items)
            pool, starts, grams = [], [], []
            for length in range(1, high + 1):
                starts.append(len(pool))
                some = list(dict.fromkeys(tuple(rng.choice(known, length).tolist()) for _ in range(items)))
                pool += [item for gram in some for item in gram]
                grams += some
            columns, weights = rng.permutation(len(grams)), rng.integers(1, 9, len(grams)) / 4
            x = rng.choice(np.concatenate([known, [10 ** 15, -99]]), shape)
            asked = [(g, c) for g, c in zip(grams, columns.tolist()) if low <= len(g) <= high]
            want = counted(x, [g for g, _ in asked], [c for _, c in asked], skips, len(grams))
            by_column = np.zeros(len(grams))
            by_column[columns] = weights
            want = (want > 0) * by_column if mode == 'IDF' else want * by_column if mode == 'TFIDF' else want
            yield 'TfIdfVectorizer', dict(mode=mode, min_gram_length=low, max_gram_length=high, max_skip_count=skips, ngram_counts=starts, ngram_indexes=columns.tolist(),
                                          pool_int64s=pool, weights=weights.tolist()), x, want.astype(np.float32)


def model(operator, attributes, x, is_open):
    import onnx
    from onnx import helper
    node = helper.make_node(operator, ['x'], ['y'], domain='ai.onnx.ml' if operator == 'LabelEncoder' else '', **attributes)
    dims = [f'd{i}' for i in range(x.ndim)] if is_open else list(x.shape)
    graph = helper.make_graph([node], 'g', [helper.make_tensor_value_info('x', helper.np_dtype_to_tensor_dtype(x.dtype), dims)], [onnx.ValueInfoProto(name='y')])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17), helper.make_opsetid('ai.onnx.ml', 4)], ir_version=8)


def main():
    lathe = sys.argv[1] if len(sys.argv) > 1 else 'lathe'
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        print(f'skipped: {error}')
        return 77
    agree, faults = 0, []
    with tempfile.TemporaryDirectory() as name:
        for number, (operator, attributes, x, want) in enumerate([*labels(), *words()]):
            made = model(operator, attributes, x, number % 2)
            if wrong := fault(lathe, pathlib.Path(name), made, dict(x=x, y=want), '--target', 'x86_64:baseline+avx512', '-O', '1'):
                faults.append(f'case {number}: {operator} of {list(x.shape)}: {wrong}')
            else:
                agree += 1
    return verdict(agree, 'models', faults, 'dictionaries')


if __name__ == '__main__':
    sys.exit(main())
