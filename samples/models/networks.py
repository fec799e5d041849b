"""Five small networks, each of an architecture that people use, with sizes left open where users leave them open."""
import numpy as np
from builder import Graph

HIDDEN, HEADS, DEPTH, VOCAB, POSITIONS = 32, 4, 8, 64, 64
f32, i64 = np.float32, np.int64


def linear(g, x, name, inner, outer, bias=True):
    y = g.MatMul(x, g.weight(name + ".weight", inner, outer))
    return g.Add(y, g.weight(name + ".bias", outer, scale=0.1)) if bias else y


def layer_norm(g, x, name):
    """Spelled out, as exporters did before the operator existed."""
    centred = g.Sub(x, g.ReduceMean(x, axes=[-1], keepdims=1))
    variance = g.ReduceMean(g.Pow(centred, f32(2)), axes=[-1], keepdims=1)
    y = g.Div(centred, g.Sqrt(g.Add(variance, f32(1e-5))))
    gain = g.Add(g.weight(name + ".gain", HIDDEN, scale=0.1), f32(1))
    return g.Add(g.Mul(y, gain), g.weight(name + ".bias", HIDDEN, scale=0.1))


def split_heads(g, x, heads=HEADS):
    return g.Transpose(g.Reshape(x, np.array([0, 0, heads, DEPTH], i64)), perm=[0, 2, 1, 3])


def merge_heads(g, x):
    return g.Reshape(g.Transpose(x, perm=[0, 2, 1, 3]), np.array([0, 0, HIDDEN], i64))


def attend(g, q, k, v, mask):
    scores = g.Div(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), f32(DEPTH ** 0.5))
    return merge_heads(g, g.MatMul(g.Softmax(g.Add(scores, mask), axis=-1), v))


def causal_mask(g, seq, total):
    """0 where key <= query + total - seq, very negative elsewhere: [seq, total], from sizes known when it runs."""
    rows = g.Range(g.Squeeze(g.Sub(total, seq)), g.Squeeze(total), i64(1))
    columns = g.Range(i64(0), g.Squeeze(total), i64(1))
    seen = g.LessOrEqual(g.Unsqueeze(columns, np.array([0], i64)), g.Unsqueeze(rows, np.array([1], i64)))
    return g.Where(seen, f32(0), f32(-1e9))


def tiny_bert():
    """Encoder with a padding mask: two layers, GELU through erf, norm after each block, a pooled output."""
    g = Graph("tiny_bert", 1)
    ids, mask = g.input("ids", i64, ["batch", "seq"]), g.input("mask", i64, ["batch", "seq"])
    positions = g.Slice(np.arange(POSITIONS, dtype=i64), np.array([0], i64), g.size(ids, 1), np.array([0], i64))
    x = g.Add(g.Gather(g.weight("token", VOCAB, HIDDEN, scale=1), ids), g.Gather(g.weight("position", POSITIONS, HIDDEN, scale=1), positions))
    x = layer_norm(g, x, "embedding")
    hidden = g.Mul(g.Sub(f32(1), g.cast(g.Unsqueeze(mask, np.array([1, 2], i64)), f32)), f32(-1e9))
    for i in range(2):
        q, k, v = (split_heads(g, linear(g, x, f"{i}.{part}", HIDDEN, HIDDEN)) for part in "qkv")
        x = layer_norm(g, g.Add(x, linear(g, attend(g, q, k, v, hidden), f"{i}.out", HIDDEN, HIDDEN)), f"{i}.norm1")
        h = linear(g, x, f"{i}.up", HIDDEN, 4 * HIDDEN)
        h = g.Mul(g.Mul(h, g.Add(g.Erf(g.Div(h, f32(2 ** 0.5))), f32(1))), f32(0.5))
        x = layer_norm(g, g.Add(x, linear(g, h, f"{i}.down", 4 * HIDDEN, HIDDEN)), f"{i}.norm2")
    first = g.Gather(x, i64(0), axis=1)
    pooled = g.Tanh(g.Gemm(first, g.weight("pool.weight", HIDDEN, HIDDEN), g.weight("pool.bias", HIDDEN, scale=0.1), transB=1))
    g.output(x, "last_hidden", f32, ["batch", "seq", HIDDEN])
    g.output(pooled, "pooled", f32, ["batch", HIDDEN])
    return g.model()


def tiny_gpt2():
    """Decoder with a key-value cache: its length `past` may be 0; GELU through tanh, norm before each block, tied embeddings."""
    g = Graph("tiny_gpt2", 2)
    ids = g.input("ids", i64, ["batch", "seq"])
    past_k = g.input("past_key", f32, ["batch", HEADS, "past", DEPTH])
    past_v = g.input("past_value", f32, ["batch", HEADS, "past", DEPTH])
    past, seq = g.size(past_k, 2), g.size(ids, 1)
    total = g.Add(past, seq)
    token = g.weight("token", VOCAB, HIDDEN, scale=1)
    positions = g.Range(g.Squeeze(past), g.Squeeze(total), i64(1))
    x = g.Add(g.Gather(token, ids), g.Gather(g.weight("position", POSITIONS, HIDDEN, scale=1), positions))
    h = layer_norm(g, x, "norm1")
    q, k, v = g.Split(linear(g, h, "qkv", HIDDEN, 3 * HIDDEN), np.array([HIDDEN] * 3, i64), axis=2, outputs=3)
    k = g.Concat(past_k, split_heads(g, k), axis=2)
    v = g.Concat(past_v, split_heads(g, v), axis=2)
    x = g.Add(x, linear(g, attend(g, split_heads(g, q), k, v, causal_mask(g, seq, total)), "out", HIDDEN, HIDDEN))
    h = linear(g, layer_norm(g, x, "norm2"), "up", HIDDEN, 4 * HIDDEN)
    inner = g.Mul(f32((2 / np.pi) ** 0.5), g.Add(h, g.Mul(f32(0.044715), g.Pow(h, f32(3)))))
    h = g.Mul(g.Mul(f32(0.5), h), g.Add(f32(1), g.Tanh(inner)))
    x = layer_norm(g, g.Add(x, linear(g, h, "down", 4 * HIDDEN, HIDDEN)), "norm3")
    g.output(g.MatMul(x, g.Transpose(token, perm=[1, 0])), "logits", f32, ["batch", "seq", VOCAB])
    g.output(k, "present_key", f32, ["batch", HEADS, "past + seq", DEPTH])
    g.output(v, "present_value", f32, ["batch", HEADS, "past + seq", DEPTH])
    return g.model()


def rotate(g, x, cos, sin):
    half = DEPTH // 2
    low = g.Slice(x, np.array([0], i64), np.array([half], i64), np.array([3], i64))
    high = g.Slice(x, np.array([half], i64), np.array([2 ** 31], i64), np.array([3], i64))
    return g.Add(g.Mul(x, cos), g.Mul(g.Concat(g.Neg(high), low, axis=-1), sin))


def rms_norm(g, x, name):
    mean = g.ReduceMean(g.Mul(x, x), axes=[-1], keepdims=1)
    y = g.Mul(x, g.Reciprocal(g.Sqrt(g.Add(mean, f32(1e-6)))))
    return g.Mul(y, g.Add(g.weight(name, HIDDEN, scale=0.1), f32(1)))


def repeat_heads(g, x, times):
    """Grouped-query attention: each key-value head serves `times` query heads. The sizes come from the tensor itself."""
    shape = g.Shape(x)
    batch, seq = g.Gather(shape, np.array([0], i64)), g.Gather(shape, np.array([2], i64))
    groups, depth = np.array([HEADS // times], i64), np.array([DEPTH], i64)
    wide = g.Concat(batch, groups, np.array([times], i64), seq, depth, axis=0)
    x = g.Expand(g.Unsqueeze(x, np.array([2], i64)), wide)
    return g.Reshape(x, g.Concat(batch, np.array([HEADS], i64), seq, depth, axis=0))


def tiny_llama():
    """Decoder with RMS norm, rotary positions, grouped keys and values, a gated MLP."""
    g = Graph("tiny_llama", 3)
    ids = g.input("ids", i64, ["batch", "seq"])
    seq = g.size(ids, 1)
    x = g.Gather(g.weight("token", VOCAB, HIDDEN, scale=1), ids)
    frequency = (10000.0 ** (-np.arange(0, DEPTH, 2) / DEPTH)).astype(f32)
    positions = g.cast(g.Range(i64(0), g.Squeeze(seq), i64(1)), f32)
    angle = g.MatMul(g.Unsqueeze(positions, np.array([1], i64)), frequency[None, :])
    angle = g.Concat(angle, angle, axis=1)
    cos, sin = g.Cos(angle), g.Sin(angle)
    mask = causal_mask(g, seq, seq)
    for i in range(2):
        h = rms_norm(g, x, f"{i}.norm1")
        q = split_heads(g, linear(g, h, f"{i}.q", HIDDEN, HIDDEN, bias=False))
        k, v = (split_heads(g, linear(g, h, f"{i}.{part}", HIDDEN, HIDDEN // 2, bias=False), HEADS // 2) for part in "kv")
        q, k = rotate(g, q, cos, sin), repeat_heads(g, rotate(g, k, cos, sin), 2)
        x = g.Add(x, linear(g, attend(g, q, k, repeat_heads(g, v, 2), mask), f"{i}.out", HIDDEN, HIDDEN, bias=False))
        h = rms_norm(g, x, f"{i}.norm2")
        gate = linear(g, h, f"{i}.gate", HIDDEN, 88, bias=False)
        h = g.Mul(g.Mul(gate, g.Sigmoid(gate)), linear(g, h, f"{i}.up", HIDDEN, 88, bias=False))
        x = g.Add(x, linear(g, h, f"{i}.down", 88, HIDDEN, bias=False))
    g.output(linear(g, rms_norm(g, x, "norm"), "head", HIDDEN, VOCAB, bias=False), "logits", f32, ["batch", "seq", VOCAB])
    return g.model()


def convolution(g, x, name, inner, outer, kernel, **attributes):
    groups = attributes.get("group", 1)
    fan_in = inner // groups * kernel * kernel
    w = g.weight(name + ".weight", outer, inner // groups, kernel, kernel, scale=fan_in ** -0.5)
    norm = [g.constant((1 + 0.1 * g.random.standard_normal(outer)).astype(f32)) if i in (0, 3) else
            g.constant((0.1 * g.random.standard_normal(outer)).astype(f32)) for i in range(4)]
    return g.BatchNormalization(g.Conv(x, w, kernel_shape=[kernel, kernel], pads=[kernel // 2] * 4, **attributes), *norm)


def tiny_cnn():
    """Images of any size: convolutions, one of them depthwise, batch norms, a residual, a pooled classifier."""
    g = Graph("tiny_cnn", 4)
    x = g.input("image", f32, ["batch", 3, "height", "width"])
    x = g.Relu(convolution(g, x, "stem", 3, 16, 3, strides=[2, 2]))
    x = g.MaxPool(x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    h = g.HardSwish(convolution(g, x, "expand", 16, 32, 1))
    h = g.HardSwish(convolution(g, h, "depthwise", 32, 32, 5, group=32))
    x = g.Add(x, convolution(g, h, "project", 32, 16, 1))
    x = g.Flatten(g.GlobalAveragePool(g.Relu(x)), axis=1)
    x = g.Gemm(x, g.weight("classes.weight", 10, 16, scale=0.5), g.weight("classes.bias", 10, scale=0.1), transB=1)
    g.output(g.Softmax(x, axis=1), "probabilities", f32, ["batch", 10])
    return g.model()


def tiny_block():
    """The smallest thing that shows every stage (docs/Flow.md): a projection with bias and residual, then a norm."""
    g = Graph("tiny_block", 5)
    x = g.input("x", f32, ["batch", "seq", HIDDEN])
    g.output(layer_norm(g, g.Add(linear(g, x, "project", HIDDEN, HIDDEN), x), "norm"), "y", f32, ["batch", "seq", HIDDEN])
    return g.model()
