"""Operators of exported PyTorch programs, with inputs of some 250,000 elements: name -> (function, inputs)."""
import torch
import torch.nn.functional as F

COUNT = 1 << 18
randn, randint = torch.randn, torch.randint
CASES = {}


def case(name, function, *inputs):
    CASES[name] = (function, inputs)


def places(count, *shape):
    return randint(0, count, shape or (COUNT,))


def scatters():
    for kind in ('sum', 'mean', 'prod', 'amax', 'amin'):
        case('scatter_reduce_' + kind, lambda x, i, s, kind=kind: x.scatter_reduce(0, i, s, kind), randn(COUNT // 4), places(COUNT // 4), randn(COUNT))
    square, at = randn(512, 512), places(512, 512, 512)
    case('scatter_2d', lambda x, i, s: x.scatter(1, i, s), square, at, square)
    case('scatter_add_rows', lambda x, i, s: x.scatter_add(0, i, s), square, at, square)
    rows, some = randn(1000, 256), randn(2000, 256)
    case('index_add', lambda x, i, s: x.index_add(0, i, s), rows, places(1000, 2000), some)
    case('index_add_columns', lambda x, i, s: x.index_add(1, i, s), rows.t().contiguous(), places(1000, 2000), some.t().contiguous())
    case('index_copy', lambda x, i, s: x.index_copy(0, i, s), rows, torch.randperm(1000), rows)
    case('index_fill', lambda x, i: x.index_fill(1, i, 1.0), rows, places(256, 100))
    case('index_put', lambda x, i, j, s: x.index_put((i, j), s), square, places(512), places(512), randn(COUNT))
    case('bincount', lambda i: torch.bincount(i), places(1000))
    case('bincount_computed', lambda x: torch.bincount((x.abs() * 10).long()), randn(COUNT))
    case('bincount_weights', lambda i, w: torch.bincount(i, w), places(1000), randn(COUNT))
    case('bincount_far', lambda i: torch.bincount(i), places(COUNT))
    case('histc', lambda x: torch.histc(x, 100, -3, 3), randn(COUNT))
    case('one_hot', lambda i: F.one_hot(i, 100), places(100, 4096))


def gathers():
    square, table = randn(512, 512), randn(30000, 128)
    case('index_two', lambda x, i, j: x[i, j], square, places(512), places(512))
    case('index_middle', lambda x, i: x[:, i], randn(64, 512, 32), places(512, 300))
    case('index_select', lambda x, i: x.index_select(1, i), randn(1000, 256), places(256, 200))
    case('take', lambda x, i: torch.take(x, i), square, places(COUNT))
    case('gather', lambda x, i: x.gather(0, i), square, places(512, 512, 512))
    case('embedding', lambda w, i: F.embedding(i, w), table, places(30000, 2048))
    case('bag_mean', lambda w, i, o: F.embedding_bag(i, w, o, mode='mean'), table, places(30000, 4096), torch.arange(0, 4096, 16))
    case('bag_max', lambda w, i, o: F.embedding_bag(i, w, o, mode='max'), table, places(30000, 4096), torch.arange(0, 4096, 16))
    case('bag_rows', lambda w, i: F.embedding_bag(i, w, mode='sum'), table, places(30000, 256, 16))


def compactions():
    x, few = randn(COUNT), places(1000)
    case('unique', lambda x: torch.unique(x), few)
    case('unique_inverse', lambda x: torch.unique(x, return_inverse=True), few)
    case('unique_runs', lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), places(3))
    case('nonzero', lambda x: torch.nonzero(x > 0), randn(512, 512))
    case('masked_select', lambda x: x[x > 0], x)
    case('masked_rows', lambda x, m: x[m], randn(4096, 64), randn(4096) > 0)
    case('masked_scatter', lambda x, s: x.masked_scatter(x > 0, s), x, randn(COUNT))
    case('repeat_each', lambda x, r: x.repeat_interleave(r), randn(COUNT // 4), places(8, COUNT // 4))
    case('repeat_rows', lambda x, r: x.repeat_interleave(r, 0), randn(4096, 64), places(4, 4096))


def scans():
    square = randn(512, 512)
    for d in (0, 1):
        for name in ('cumsum', 'cumprod', 'cummax', 'cummin', 'logcumsumexp'):
            case(f'{name}_{d}', lambda x, d=d, name=name: getattr(x, name)(d), square)
    case('cumsum_bool', lambda x: (x > 0).cumsum(-1), square)
    case('cumsum_i64', lambda x: x.cumsum(-1), places(9, 512, 512))
    case('diff', lambda x: x.diff(dim=-1), square)


def along_axes():
    cube, kinds = randn(64, 64, 64), places(9, 64, 64, 64).float()
    of_axis = {'sum': lambda x, d: x.sum(d), 'amax': lambda x, d: x.amax(d), 'std': lambda x, d: x.std(d), 'logsumexp': lambda x, d: x.logsumexp(d),
               'norm': lambda x, d: torch.linalg.vector_norm(x, dim=d), 'argmax': lambda x, d: x.argmax(d), 'prod': lambda x, d: x.prod(d),
               'any': lambda x, d: (x > 2).any(d), 'max': lambda x, d: x.max(d), 'softmax': lambda x, d: x.softmax(d), 'sort': lambda x, d: x.sort(d),
               'topk': lambda x, d: x.topk(5, d), 'median': lambda x, d: x.median(d), 'kthvalue': lambda x, d: x.kthvalue(20, d),
               'quantile': lambda x, d: x.quantile(0.3, d), 'nansum': lambda x, d: x.nansum(d), 'flip': lambda x, d: x.flip(d), 'roll': lambda x, d: x.roll(3, d),
               'normalize': lambda x, d: F.normalize(x, dim=d)}
    for d in range(3):
        for name, f in of_axis.items():
            case(f'{name}_{d}', lambda x, d=d, f=f: f(x, d), cube)
        case(f'mode_{d}', lambda x, d=d: x.mode(d)[0], kinds)
        case(f'concat_{d}', lambda x, y, d=d: torch.cat([x, y], d), cube, cube)
    for name in ('sum', 'std', 'median', 'nanmedian'):
        case(name + '_all', lambda x, name=name: getattr(x, name)(), randn(COUNT))
    case('sort_values', lambda x: torch.msort(x), randn(COUNT))


def searches():
    x = randn(COUNT)
    case('searchsorted', lambda s, x: torch.searchsorted(s, x), randn(1000).sort()[0], x)
    case('searchsorted_rows', lambda s, x: torch.searchsorted(s, x), randn(64, 1000).sort()[0], randn(64, 4096))
    case('bucketize', lambda x, s: torch.bucketize(x, s), x, randn(100).sort()[0])
    case('isin', lambda x, y: torch.isin(x, y), places(1000), places(1000, 50))


def images():
    x, big = randn(2, 64, 56, 56), randn(1, 3, 512, 512)
    case('unfold', lambda x: F.unfold(x, 3, padding=1), randn(2, 32, 56, 56))
    case('fold', lambda x: F.fold(x, (56, 56), 3, padding=1), randn(2, 288, 3136))
    case('maxpool_places', lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), x)
    case('max_unpool', lambda x, i: F.max_unpool2d(x, i, 2), *F.max_pool2d(x, 2, 2, return_indices=True))
    case('maxpool_3d', lambda x: F.max_pool3d(x, 2), randn(1, 16, 32, 32, 32))
    case('maxpool_13', lambda x: F.max_pool2d(x, 13, 1, 6), x)
    case('avgpool_7', lambda x: F.avg_pool2d(x, 7, 1, 3), x)
    case('lppool', lambda x: F.lp_pool2d(x, 2.0, 3, 2), x)
    case('adaptive_average', lambda x: F.adaptive_avg_pool2d(x, (7, 5)), x)
    case('adaptive_maximum', lambda x: F.adaptive_max_pool2d(x, (7, 5), return_indices=True), x)
    case('unshuffle', lambda x: F.pixel_unshuffle(x, 2), x)
    for mode in ('nearest', 'bilinear', 'bicubic'):
        case('larger_' + mode, lambda x, mode=mode: F.interpolate(x, scale_factor=2.0, mode=mode), randn(2, 32, 56, 56))
        case('grid_' + mode, lambda x, g, mode=mode: F.grid_sample(x, g, mode=mode, align_corners=False), randn(2, 32, 56, 56), torch.rand(2, 56, 56, 2) * 2 - 1)
    for mode in ('bilinear', 'bicubic'):
        case('smooth_' + mode, lambda x, mode=mode: F.interpolate(x, size=(100, 100), mode=mode, antialias=True), big)
    case('pad_reflected', lambda x: F.pad(x, (3, 3, 3, 3), mode='reflect'), x)


def transforms():
    case('rfft', lambda x: torch.view_as_real(torch.fft.rfft(x)), randn(64, 4096))
    case('irfft', lambda x: torch.fft.irfft(torch.view_as_complex(x)), randn(64, 2049, 2))
    case('fft_prime', lambda x: torch.view_as_real(torch.fft.fft(x)), randn(64, 1009))


for family in (scatters, gathers, compactions, scans, along_axes, searches, images, transforms):
    family()
