"""Offsets that are no sum of axes where every size is open: products whose rows lie at no one distance, rows that are read at a skew, selections along
axes that few rows lie side by side of, rows of one element."""
from .case import add, floats, node, whole


def opened(family, name, nodes, inputs, constants=None, **more):
    add(family, 'skew_' + name, nodes, inputs, constants, open=True, **{'opset': 18, **more})


opened('product', 'rows_apart', node('Einsum', 'x,z', equation='bdt,de->bte'), dict(x=floats(40, 48, 100), z=floats(48, 56)))
opened('product', 'pixels', node('Einsum', 'x,z', equation='bchw,kc->bkhw'), dict(x=floats(8, 32, 19, 21), z=floats(40, 32)))
opened('product', 'permuted_rows', [node('Transpose', 'x', 't', perm=[2, 3, 0, 1]), node('MatMul', 't,w')], dict(x=floats(19, 32, 8, 19)), dict(w=floats(32, 79)))
shift = [node('Pad', 'x,p', 'a'), node('Shape', 'x', 's'), node('Slice', 's,one,two', 'n'), node('Add', 'n,one', 'm'), node('Concat', 'h,m,n', 'u', axis=0),
         node('Reshape', 'a,u', 'b'), node('Slice', 'b,one,end,one', 'c'), node('Reshape', 'c,s')]
opened('piece', 'relative_positions', shift, dict(x=floats(8, 250, 250)), dict(p=whole(0, 0, 1, 0, 0, 0), one=whole(1), two=whole(2), h=whole(8), end=whole(1 << 40)))
for inner, k in ((1, 5), (3, 5), (7, 1), (7, 5)):
    opened('order', f'topk_{k}_of_{inner}_side_by_side', node('TopK', 'x,k', 'v,i', axis=1), dict(x=floats(900 // inner, 307, inner)), dict(k=whole(k)))
opened('order', 'topk_of_negated', [node('Neg', 'x', 'n'), node('TopK', 'n,k', 'v,i', axis=1)], dict(x=floats(50, 60, 70)), dict(k=whole(3)))
for name, op in (('max', node('ReduceMax', 'x,a')), ('softmax', node('Softmax', 'x', axis=0))):
    opened('reduction', f'{name}_columns_of_one', op, dict(x=floats(900, 401, 1)), dict(a=whole(0)) if name == 'max' else None)
opened('elementwise', 'rows_of_one', node('Mul', 'x,z'), dict(x=floats(300, 401, 1), z=floats(401, 1)), tolerance=1e-5)
