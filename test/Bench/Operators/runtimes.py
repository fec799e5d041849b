"""Operators of ONNX Runtime's own domain: attention of transformers, norms with a sum in front, quantised forms."""
import numpy as np

from .case import add, floats, image, integers, node, scale


def own(name, op, inputs, constants=None, outputs='y', taken=None, tolerance=1e-3, open=False, **attributes):
    """A case of one operator; `taken` has its operands' names where some are absent."""
    names = taken or ','.join([*inputs, *(constants or {})])
    add('runtime', name, node(op, names, outputs, domain='com.microsoft', **attributes), inputs, constants, opset=21, tolerance=tolerance, open=open)


tokens = lambda batch, length, width: floats(batch, length, width)
own('mha_2x128x12x64', 'MultiHeadAttention', dict(q=tokens(2, 128, 768), k=tokens(2, 128, 768), v=tokens(2, 128, 768)), num_heads=12)
own('mha_open', 'MultiHeadAttention', dict(q=tokens(2, 77, 384), k=tokens(2, 77, 384), v=tokens(2, 77, 384)), num_heads=6, open=True)
own('mha_bias', 'MultiHeadAttention', dict(q=tokens(1, 200, 512), k=tokens(1, 200, 512), v=tokens(1, 200, 512)), dict(b=floats(1536)), num_heads=8)
own('mha_padding', 'MultiHeadAttention', dict(q=tokens(4, 60, 256), k=tokens(4, 60, 256), v=tokens(4, 60, 256), m=integers(20, 60, 4, kind=np.int32)), num_heads=8, taken='q,k,v,,m')
own('mha_one_token', 'MultiHeadAttention', dict(q=tokens(1, 1, 768), k=tokens(1, 1, 768), v=tokens(1, 1, 768), pk=floats(1, 12, 511, 64), pv=floats(1, 12, 511, 64)),
    num_heads=12, taken='q,k,v,,,,pk,pv', outputs='y,nk,nv')
own('gqa_prompt', 'GroupQueryAttention', dict(q=tokens(1, 128, 512), k=tokens(1, 128, 128), v=tokens(1, 128, 128), pk=floats(1, 2, 0, 64), pv=floats(1, 2, 0, 64)),
    dict(s=np.array([127], np.int32), t=np.array(128, np.int32)), num_heads=8, kv_num_heads=2, outputs='y,nk,nv')
own('gqa_token', 'GroupQueryAttention', dict(q=tokens(1, 1, 2048), k=tokens(1, 1, 512), v=tokens(1, 1, 512), pk=floats(1, 8, 700, 64), pv=floats(1, 8, 700, 64)),
    dict(s=np.array([700], np.int32), t=np.array(701, np.int32)), num_heads=32, kv_num_heads=8, outputs='y,nk,nv')
own('gqa_token_batch', 'GroupQueryAttention', dict(q=tokens(4, 1, 512), k=tokens(4, 1, 128), v=tokens(4, 1, 128), pk=floats(4, 2, 300, 64), pv=floats(4, 2, 300, 64)),
    dict(s=np.full(4, 300, np.int32), t=np.array(301, np.int32)), num_heads=8, kv_num_heads=2, outputs='y,nk,nv')
own('attention_fused', 'Attention', dict(x=tokens(2, 100, 384)), dict(w=floats(384, 1152, scale=.05), b=floats(1152)), num_heads=6)
own('rotary_4x100', 'RotaryEmbedding', dict(x=floats(4, 100, 768), p=np.tile(np.arange(100), (4, 1))), dict(c=floats(256, 32), s=floats(256, 32)), num_heads=12, rotary_embedding_dim=64)
own('rotary_interleaved', 'RotaryEmbedding', dict(x=floats(2, 8, 200, 64), p=np.tile(np.arange(200), (2, 1))), dict(c=floats(256, 32), s=floats(256, 32)), interleaved=1)
own('skip_layernorm', 'SkipLayerNormalization', dict(x=tokens(4, 128, 768), z=tokens(4, 128, 768)), dict(g=floats(768), b=floats(768), c=floats(768)))
own('skip_layernorm_open', 'SkipLayerNormalization', dict(x=tokens(2, 50, 312), z=tokens(2, 50, 312)), dict(g=floats(312), b=floats(312)), open=True)
own('skip_rmsnorm', 'SkipSimplifiedLayerNormalization', dict(x=tokens(1, 128, 2048), z=tokens(1, 128, 2048)), dict(g=floats(2048)))
own('embed_layernorm', 'EmbedLayerNormalization', dict(i=integers(0, 3000, 4, 128, kind=np.int32), t=integers(0, 2, 4, 128, kind=np.int32)),
    dict(w=floats(3000, 768), p=floats(512, 768), s=floats(2, 768), g=floats(768), b=floats(768)), outputs='y,m')
own('bias_gelu', 'BiasGelu', dict(x=tokens(2, 128, 3072)), dict(b=floats(3072)))
own('fast_gelu', 'FastGelu', dict(x=tokens(2, 128, 1024)), dict(b=floats(1024)))
own('quick_gelu', 'QuickGelu', dict(x=tokens(2, 128, 1024)))
own('fused_matmul_turned', 'FusedMatMul', dict(x=floats(8, 90, 64), z=floats(8, 110, 64)), transB=1, alpha=.125)
own('fused_gemm_relu', 'FusedGemm', dict(x=floats(100, 300)), dict(w=floats(300, 200), b=floats(200)), activation='Relu')
own('fused_conv_relu', 'FusedConv', dict(x=floats(1, 32, 40, 40)), dict(w=floats(48, 32, 3, 3, scale=.1), b=floats(48)), activation='Relu', kernel_shape=[3, 3], pads=[1, 1, 1, 1])
own('dynamic_quantize_matmul', 'DynamicQuantizeMatMul', dict(x=floats(100, 512)), dict(w=integers(-60, 60, 512, 384, kind=np.int8), s=scale(.01), z=np.int8(0)), tolerance=2e-2)
own('integer_to_float', 'MatMulIntegerToFloat', dict(x=image(120, 400)), dict(w=integers(-60, 60, 400, 300, kind=np.int8), s=scale(.02), t=scale(.01), z=np.uint8(120), u=np.int8(0)))
own('qgemm', 'QGemm', dict(x=image(100, 300)), dict(s=scale(.02), z=np.uint8(128), w=integers(-60, 60, 300, 200, kind=np.int8), t=scale(.01), u=np.int8(0),
    b=integers(-900, 900, 200, kind=np.int32), r=scale(.05), v=np.uint8(120)), tolerance=1.01)
own('qattention', 'QAttention', dict(x=image(2, 64, 256)), dict(w=integers(-60, 60, 256, 768, kind=np.int8), b=floats(768), s=scale(.02), t=scale(.01),
    m=np.full((2,), 64, np.int32), z=np.uint8(128), u=np.int8(0)), num_heads=4, tolerance=1e-2)
own('qlinearconcat', 'QLinearConcat', dict(x=image(1, 64, 60, 61), w=image(1, 32, 60, 61)), dict(s=scale(.05), z=np.uint8(120), t=scale(.03), u=np.uint8(128), v=scale(.04), c=np.uint8(10)),
    taken='s,z,x,t,u,w,v,c', axis=1, tolerance=1.01)
own('qlinearsoftmax', 'QLinearSoftmax', dict(x=image(300, 91)), dict(s=scale(.05), z=np.uint8(120), t=scale(1 / 256), u=np.uint8(0)), axis=1, opset=13, tolerance=1.01)
own('qlinearsigmoid', 'QLinearSigmoid', dict(x=image(1, 64, 60, 61)), dict(s=scale(.05), z=np.uint8(120), t=scale(1 / 256), u=np.uint8(0)), tolerance=1.01)
own('qlinearwhere', 'QLinearWhere', dict(c=np.random.default_rng(3).random((200, 700)) > .5, x=image(200, 700), w=image(200, 700)),
    dict(s=scale(.05), z=np.uint8(120), t=scale(.03), u=np.uint8(128), v=scale(.04), d=np.uint8(10)), taken='c,x,s,z,w,t,u,v,d', tolerance=1.01)
own('matmulbnb4', 'MatMulBnb4', dict(x=floats(1, 1024)), dict(w=image(1024 * 512 // 2), a=np.abs(floats(1024 * 512 // 64))), K=1024, N=512, block_size=64, quant_type=1, tolerance=2e-2)
own('gather_4_bits', 'GatherBlockQuantized', dict(w=image(3000, 256), i=integers(0, 3000, 4, 100), s=np.abs(floats(3000, 16)) + scale(.01)), taken='w,i,s', bits=4, block_size=32,
    gather_axis=0, quantize_axis=1)
own('maxpool_nhwc', 'NhwcMaxPool', dict(x=image(1, 60, 60, 64)), kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
own('inverse_20x40', 'Inverse', dict(x=floats(20, 40, 40) + 9 * np.eye(40, dtype=np.float32)), tolerance=1e-2)
own('cdist', 'CDist', dict(x=floats(300, 64), z=floats(200, 64)), metric='euclidean')
weights = dict(w=integers(-60, 60, 1, 64, 1024, kind=np.int8), r=integers(-60, 60, 1, 256, 1024, kind=np.int8))
own('dynamic_quantize_lstm', 'DynamicQuantizeLSTM', dict(x=floats(40, 2, 64)), dict(**weights, ws=np.full(1, .01, np.float32), wz=np.zeros(1, np.int8),
    rs=np.full(1, .01, np.float32), rz=np.zeros(1, np.int8)), taken='x,w,r,,,,,,ws,wz,rs,rz', hidden_size=256, tolerance=5e-2)
