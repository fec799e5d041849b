"""Programs of PyTorch's own operator database: for each overload that torch.export leaves in, one that has it."""
import itertools
import re
import warnings

import torch

# Operators whose results PyTorch itself leaves open, or that are refused, and why.
LEFT_OUT = {
    r"rand|bernoulli|normal|multinomial|uniform|exponential$|geometric$|cauchy|dropout|rrelu|gumbel|fractional_max_pool": "random numbers",
    r"empty|new_empty": "elements that nobody wrote",
    r"jiterator|sparse|to_sparse|_segment|nested": "not exportable, or sparse",
    r"batch_norm$|_native_batch_norm_legit$|native_batch_norm$|_batch_norm_with_update": "training",
    r"^masked_select$": "PyTorch bounds the number of elements by those of the input before it is broadcast",
    r"^bfloat16$": "the family halves",
    r"histogram|lowrank": "refused",
    r"^linalg\.(?!cross|diagonal|multi_dot|vander|vecdot|vector_norm)|cholesky|^lu|^ormqr|^geqrf|^q?svd|^qr$|^pinverse|^logdet|^triangular_solve|^matrix_exp|nuc$": "the machine's LAPACK: the family matrices",
    r"^(topk|kthvalue|argsort|sort)$": "which of equal elements comes first",
}
REFUSED = {"aten.embedding_renorm_.default", "aten.dropout.default", "aten.chalf.default"}
LARGEST = 400  # elements of a program's inputs


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for v in value:
            yield from tensors_in(v)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def with_tensors(value, tensors):
    """The value with its tensors taken from the iterator."""
    if isinstance(value, torch.Tensor):
        return next(tensors)
    if isinstance(value, (list, tuple)):
        parts = [with_tensors(v, tensors) for v in value]
        return parts if isinstance(value, list) else tuple(parts)
    return {k: with_tensors(v, tensors) for k, v in value.items()} if isinstance(value, dict) else value


def body_of(op, sample):
    spec = [sample.input, tuple(sample.args), dict(sample.kwargs)]

    def body(*tensors):
        first, args, kwargs = with_tensors(spec, iter(tensors))
        return list(tensors_in(op(first, *args, **kwargs)))
    return body, tuple(t.detach().clone().contiguous() for t in tensors_in(spec))


class Program(torch.nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, *args):
        return self.body(*args)


def overloads_of(body, tensors):
    with torch.no_grad():
        program = torch.export.export(Program(body), tensors)
    return {str(n.target) for n in program.graph.nodes if n.op == "call_function" and isinstance(n.target, torch._ops.OpOverload)}


def candidates(op):
    """(body, inputs) of small samples, floats first, the ones with elements and the smallest before others."""
    for dtype in (torch.float32, torch.int64, torch.bool):
        if dtype not in op.dtypes:
            continue
        torch.manual_seed(1)
        found = [body_of(op, s) for s in itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), 12)]
        found = [(body, t) for body, t in found if t and sum(x.numel() for x in t) <= LARGEST and not any(x.is_complex() for x in t)]
        yield from sorted(found, key=lambda f: (min(x.numel() for x in f[1]) == 0, -max(x.dim() for x in f[1]) , sum(x.numel() for x in f[1])))[:4]


def samples(case):
    """`case`: makes one of its name, body and runs."""
    from torch.testing._internal.common_methods_invocations import op_db
    warnings.filterwarnings("ignore")
    seen = set()
    for op in op_db:
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        if any(re.search(pattern, op.name) for pattern in LEFT_OUT):
            continue
        try:
            for body, tensors in candidates(op):
                found = overloads_of(body, tensors)
                new = found - seen
                if new and not found & REFUSED:
                    seen |= new
                    yield case(f"{name}: {' '.join(sorted(new))}", body, [tensors])
        except Exception as e:  # of PyTorch: an operator that it does not export
            print(f"{name}: {type(e).__name__}: {str(e).strip()[:120]}")
