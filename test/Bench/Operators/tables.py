"""Tables of features: forests, linear models, labels, words; of the format's domain for classical learning."""
import numpy as np

from .case import add, floats, integers, node, whole


def learned(name, op, x, **attributes):
    add('table', name, node(op, 'x', domain='ai.onnx.ml', **attributes), dict(x=x), opset=17)


def forest(trees, depth, features, targets, seed=5):
    """Complete trees: attributes that both forms of a forest share, and those of its leaves."""
    draw = np.random.default_rng(seed)
    inner, count = 2 ** depth - 1, 2 ** (depth + 1) - 1
    nodes = np.arange(count)
    leaf = nodes >= inner
    of = lambda values: np.tile(values, trees).tolist()
    shared = dict(nodes_treeids=np.repeat(np.arange(trees), count).tolist(), nodes_nodeids=of(nodes), nodes_modes=of(np.where(leaf, 'LEAF', 'BRANCH_LEQ')),
                  nodes_featureids=(draw.integers(0, features, trees * count) * ~np.tile(leaf, trees)).tolist(),
                  nodes_values=draw.standard_normal(trees * count).astype(np.float32).tolist(),
                  nodes_truenodeids=of(np.where(leaf, 0, 2 * nodes + 1)), nodes_falsenodeids=of(np.where(leaf, 0, 2 * nodes + 2)))
    leaves = np.tile(nodes[leaf], trees)
    return shared, np.repeat(np.arange(trees), leaf.sum()).tolist(), leaves.tolist(), draw.integers(0, targets, len(leaves)).tolist(), draw.random(len(leaves)).astype(np.float32).tolist()


def regressor(name, trees, depth, rows, features):
    shared, tree, at, to, weights = forest(trees, depth, features, 1)
    learned(name, 'TreeEnsembleRegressor', floats(rows, features), n_targets=1, target_treeids=tree, target_nodeids=at, target_ids=to, target_weights=weights, **shared)


def classifier(name, trees, depth, rows, features, classes):
    shared, tree, at, to, weights = forest(trees, depth, features, classes)
    add('table', name, node('TreeEnsembleClassifier', 'x', 'l,p', domain='ai.onnx.ml', class_treeids=tree, class_nodeids=at, class_ids=to, class_weights=weights,
                            classlabels_int64s=list(range(classes)), post_transform='SOFTMAX', **shared), dict(x=floats(rows, features)), opset=17)


regressor('forest_100x6', 100, 6, 1000, 30)
regressor('forest_20x10_one', 20, 10, 1, 50)
regressor('forest_500x4', 500, 4, 200, 12)
classifier('forest_classes_60x7', 60, 7, 500, 25, 5)
classifier('forest_two_classes', 200, 5, 100, 25, 3)
learned('scaler', 'Scaler', floats(5000, 40), offset=floats(40).tolist(), scale=floats(40).tolist())
learned('normalizer_l2', 'Normalizer', floats(5000, 40), norm='L2')
learned('normalizer_max', 'Normalizer', floats(5000, 40), norm='MAX')
learned('binarizer', 'Binarizer', floats(5000, 40), threshold=.3)
learned('imputer', 'Imputer', np.where(np.random.default_rng(2).random((5000, 40)) > .9, np.nan, floats(5000, 40)).astype(np.float32), imputed_value_floats=floats(40).tolist(),
        replaced_value_float=float('nan'))
learned('linear_regressor', 'LinearRegressor', floats(5000, 40), coefficients=floats(40 * 3).tolist(), intercepts=floats(3).tolist(), targets=3)
learned('labels_i64', 'LabelEncoder', integers(0, 3000, 300, 200), keys_int64s=list(range(0, 6000, 2)), values_int64s=list(range(3000)), default_int64=-1)
add('table', 'features_taken', node('ArrayFeatureExtractor', 'x,i', domain='ai.onnx.ml'), dict(x=floats(5000, 40)), dict(i=whole(3, 9, 17, 2, 30)))
pool = np.random.default_rng(4).integers(0, 200, 600)
add('table', 'words', node('TfIdfVectorizer', 'x', mode='TFIDF', min_gram_length=1, max_gram_length=2, max_skip_count=1, ngram_counts=[0, 200], ngram_indexes=list(range(400)),
                           pool_int64s=np.concatenate([np.arange(200), np.stack([np.arange(200), (np.arange(200) * 7 + 3) % 200], 1).ravel()]).tolist(), weights=[.5] * 400),
    dict(x=integers(0, 200, 50, 300)))
