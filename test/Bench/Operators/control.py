"""Bodies that run many times, branches, sequences; operators of newer sets and those that few models have."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from .case import add, floats, integers, node, scale, whole

of = helper.make_tensor_value_info
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def graph(nodes, inputs, outputs, constants=None):
    return helper.make_graph(nodes, 'body', inputs, outputs, [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()])


def other(name, op, inputs, constants=None, opset=22, **more):
    add('other', name, op, inputs, constants, opset=opset, **more)


step = graph([node('MatMul', 's,w', 'm'), node('Add', 'm,e', 'a'), node('Tanh', 'a', 't'), node('Identity', 't', 'o')], [of('s', FLOAT, [4, 64]), of('e', FLOAT, [4, 64])],
             [of('t', FLOAT, [4, 64]), of('o', FLOAT, [4, 64])], dict(w=floats(64, 64, scale=.1)))
other('scan_cell', node('Scan', 's,x', 'f,y', body=step, num_scan_inputs=1), dict(s=floats(4, 64), x=floats(200, 4, 64)))
add_up = graph([node('Add', 's,e', 't'), node('Identity', 't', 'o')], [of('s', FLOAT, [500]), of('e', FLOAT, [500])], [of('t', FLOAT, [500]), of('o', FLOAT, [500])])
other('scan_sum', node('Scan', 's,x', 'f,y', body=add_up, num_scan_inputs=1), dict(s=floats(500), x=floats(300, 500)))
turn = graph([node('Mul', 's,d', 'm'), node('Add', 'm,x', 't'), node('Identity', 'c', 'd2'), node('Identity', 't', 'o')],
             [of('i', INT64, []), of('c', BOOL, []), of('s', FLOAT, [30, 40])], [of('d2', BOOL, []), of('t', FLOAT, [30, 40]), of('o', FLOAT, [30, 40])], dict(d=scale(.9)))
other('loop_of_known_trips', node('Loop', 'n,c,s', 'f,y', body=turn), dict(s=floats(30, 40), x=floats(30, 40)), dict(n=np.int64(200), c=np.bool_(True)))
other('loop_of_open_trips', node('Loop', 'n,c,s', 'f,y', body=turn), dict(n=np.int64(200), s=floats(30, 40), x=floats(30, 40)), dict(c=np.bool_(True)))
until = graph([node('Mul', 's,d', 't'), node('ReduceMax', 't', 'l', keepdims=0), node('Greater', 'l,e', 'g')], [of('i', INT64, []), of('c', BOOL, []), of('s', FLOAT, [300])],
              [of('g', BOOL, []), of('t', FLOAT, [300])], dict(d=scale(.99), e=scale(.01)))
other('loop_until', node('Loop', ',c,s', 'f', body=until), dict(s=np.abs(floats(300)) + scale(1)), dict(c=np.bool_(True)))
pick = graph([node('Gather', 'x,i', 'g', axis=0), node('Relu', 'g', 'o'), node('Identity', 'c', 'c2')], [of('i', INT64, []), of('c', BOOL, [])], [of('c2', BOOL, []), of('o', FLOAT, [700])])
other('loop_over_rows', node('Loop', 'n,c', 'y', body=pick), dict(x=floats(300, 700)), dict(n=np.int64(300), c=np.bool_(True)))
then, otherwise = (graph([node(op, 'x', 'o')], [], [of('o', FLOAT, None)]) for op in ('Relu', 'Sigmoid'))
other('if_of_two', node('If', 'c', then_branch=then, else_branch=otherwise), dict(c=np.bool_(True), x=floats(300, 700)))
other('sequence_split_join', [node('SplitToSequence', 'x', 's', axis=1, keepdims=1), node('ConcatFromSequence', 's', axis=0)], dict(x=floats(60, 50, 40)))
row = graph([node('Softmax', 'e', 'o', axis=-1)], [of('e', FLOAT, None)], [of('o', FLOAT, None)])
other('sequence_map', [node('SplitToSequence', 'x', 's', axis=0, keepdims=0), node('SequenceMap', 's', 'm', body=row), node('ConcatFromSequence', 'm', axis=0, new_axis=1)],
      dict(x=floats(40, 30, 50)))
other('cumprod_long', node('CumProd', 'x,a'), dict(x=scale(1) + floats(30, 3000, scale=.01)), dict(a=np.int64(1)), opset=26)
other('bitwise', [node('BitwiseAnd', 'x,z', 'a'), node('BitwiseXor', 'a,z', 'b'), node('BitwiseNot', 'b')], dict(x=integers(0, 99, 500, 600, kind=np.int32), z=integers(0, 99, 500, 600, kind=np.int32)))
other('compare_or', [node('Less', 'x,z', 'a'), node('GreaterOrEqual', 'x,b', 'c'), node('Or', 'a,c')], dict(x=floats(500, 600), z=floats(500, 600), b=floats(600)))
other('mean_max_min_sum', [node('Mean', 'x,z,w', 'a'), node('Max', 'x,z,a', 'b'), node('Min', 'x,b', 'c'), node('Sum', 'a,b,c')], dict(x=floats(300, 700), z=floats(300, 700), w=floats(700)))
for op, of_it in (('HardSigmoid', {}), ('ThresholdedRelu', dict(alpha=.5)), ('Shrink', dict(lambd=.3, bias=.1)), ('IsInf', {}), ('Tan', {}), ('Acos', {}), ('Sinh', {})):
    other(f'of_{op.lower()}', node(op, 'x', **of_it), dict(x=np.tanh(floats(200, 777))))
other('expand_like', [node('Shape', 'z', 's'), node('ConstantOfShape', 's', 'c', value=numpy_helper.from_array(np.ones(1, np.float32))), node('Mul', 'c,x')], dict(x=floats(700), z=floats(300, 700)))
other('eye', node('EyeLike', 'x', dtype=1), dict(x=floats(500, 501)))
other('centre_crop_pad', node('CenterCropPad', 'x,s', axes=[2, 3]), dict(x=floats(1, 16, 90, 70)), dict(s=whole(64, 100)))
other('affine_grid', node('AffineGrid', 'x,s'), dict(x=floats(4, 2, 3)), dict(s=whole(4, 3, 100, 120)), opset=20)
other('det_5', node('Det', 'x'), dict(x=floats(4000, 5, 5)), tolerance=1e-2)
other('det_60', node('Det', 'x'), dict(x=floats(10, 60, 60, scale=.15)), tolerance=1e-2)
other('deform_conv', node('DeformConv', 'x,w,o', kernel_shape=[3, 3], pads=[1, 1, 1, 1]), dict(x=floats(1, 32, 30, 30), o=floats(1, 18, 30, 30)), dict(w=floats(32, 32, 3, 3, scale=.1)))
other('max_unpool', [node('MaxPool', 'x', 'p,i', kernel_shape=[2, 2], strides=[2, 2]), node('MaxUnpool', 'p,i', kernel_shape=[2, 2], strides=[2, 2])], dict(x=floats(2, 32, 60, 60)))
other('max_roi_pool', node('MaxRoiPool', 'x,r', pooled_shape=[7, 7], spatial_scale=.25), dict(x=floats(1, 64, 50, 50), r=np.concatenate([np.zeros((40, 1)), np.random.default_rng(1).uniform(0, 90, (40, 2)),
      np.random.default_rng(2).uniform(100, 199, (40, 2))], 1).astype(np.float32)))
other('loss_of_logits', node('SoftmaxCrossEntropyLoss', 'x,t'), dict(x=floats(500, 300), t=integers(0, 300, 500)))
other('loss_of_images', node('SoftmaxCrossEntropyLoss', 'x,t,w', ignore_index=3), dict(x=floats(2, 21, 60, 60), t=integers(0, 21, 2, 60, 60), w=np.abs(floats(21))))
other('loss_of_logarithms', node('NegativeLogLikelihoodLoss', 'x,t', reduction='none'), dict(x=floats(500, 300, 4), t=integers(0, 300, 500, 4)))
other('mvn', node('MeanVarianceNormalization', 'x'), dict(x=floats(3, 20, 50, 60)))
other('global_lp', node('GlobalLpPool', 'x', p=2), dict(x=floats(2, 100, 30, 31)))
other('log_of_sum', node('ReduceLogSum', 'x,a', keepdims=0), dict(x=np.abs(floats(300, 20, 40))), dict(a=whole(1)))
other('upsample_9', node('Upsample', 'x,s', mode='nearest'), dict(x=floats(1, 32, 30, 40)), dict(s=np.array([1, 1, 2, 3], np.float32)), opset=9)
other('rmsnorm_23', node('RMSNormalization', 'x,s'), dict(x=floats(300, 768)), dict(s=floats(768)), opset=23)
other('attention_23', node('Attention', 'q,k,v', is_causal=1), dict(q=floats(2, 8, 150, 64), k=floats(2, 8, 150, 64), v=floats(2, 8, 150, 64)), opset=23)
other('attention_23_groups', node('Attention', 'q,k,v,m', q_num_heads=8, kv_num_heads=2), dict(q=floats(2, 90, 512), k=floats(2, 120, 128), v=floats(2, 120, 128), m=floats(90, 120)), opset=23)
other('rotary_23', node('RotaryEmbedding', 'x,c,s'), dict(x=floats(2, 8, 200, 64), c=floats(2, 200, 32), s=floats(2, 200, 32)), opset=23)
other('swish_24', node('Swish', 'x', alpha=1.5), dict(x=floats(300, 700)), opset=24)
other('tensor_scatter', node('TensorScatter', 'x,u,i', axis=2), dict(x=floats(4, 8, 500, 64), u=floats(4, 8, 3, 64), i=integers(0, 400, 4)), opset=24)
other('random_normal', node('RandomNormal', '', shape=[300, 700]), {})
other('uniform_like', node('RandomUniformLike', 'x'), dict(x=floats(300, 700)))
other('multinomial', node('Multinomial', 'x', sample_size=50), dict(x=floats(20, 300)))
other('bernoulli', node('Bernoulli', 'x'), dict(x=np.abs(np.tanh(floats(300, 700)))))
other('mel_weights', node('MelWeightMatrix', 'm,l,r,lo,hi'), dict(m=np.int64(80)), dict(l=np.int64(1024), r=np.int64(16000), lo=scale(20), hi=scale(7600)))
other('reverse_time', node('ReverseSequence', 'x,l', batch_axis=1, time_axis=0), dict(x=floats(100, 20, 64), l=integers(1, 100, 20)))
