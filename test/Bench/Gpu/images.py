"""Windows, resizing, convolutions."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from .case import add, both, f16, f32, t


def conv(name, inputs, outputs, kernel, *shape, function=F.conv2d, kind=torch.bfloat16, variants=add, groups=1, **options):
    weight = (outputs, inputs // groups, *kernel) if function not in (F.conv_transpose2d, F.conv_transpose1d) else (inputs, outputs // groups, *kernel)
    made = torch.randn(weight, generator=torch.Generator().manual_seed(1)).to(kind)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(made, requires_grad=False)

        def forward(self, x):
            return function(x, self.w, groups=groups, **options)

    variants(name, Layer(), t(*shape, kind=kind), fixed=((0, 1),))


add('max_pool_3_s2', lambda x: F.max_pool2d(x, 3, 2, 1), t(64, 64, 112, 112))
both('max_pool_2', lambda x: F.max_pool2d(x, 2), t(64, 128, 112, 112))
add('max_pool_indices', lambda x: F.max_pool2d(x, 2, return_indices=True), t(32, 64, 112, 112, kind=f32))
add('max_pool_5_same', lambda x: F.max_pool2d(x, 5, 1, 2), t(32, 256, 20, 20))
add('max_pool_13_same', lambda x: F.max_pool2d(x, 13, 1, 6), t(32, 256, 20, 20))
add('max_pool_3d', lambda x: F.max_pool3d(x, 2), t(8, 64, 32, 56, 56))
add('avg_pool_3', lambda x: F.avg_pool2d(x, 3, 1, 1), t(64, 128, 56, 56))
add('avg_pool_1d', lambda x: F.avg_pool1d(x, 25, 1, 12), t(64, 64, 8192, kind=f32))
add('adaptive_6', lambda x: F.adaptive_avg_pool2d(x, 6), t(64, 512, 50, 50))
add('global_pool', lambda x: F.adaptive_avg_pool2d(x, 1), t(256, 2048, 7, 7))
both('nearest_2', lambda x: F.interpolate(x, scale_factor=2.0, mode='nearest'), t(16, 256, 64, 64))
both('bilinear_2', lambda x: F.interpolate(x, scale_factor=2.0, mode='bilinear'), t(16, 128, 64, 64, kind=f32))
add('bilinear_down', lambda x: F.interpolate(x, size=(224, 224), mode='bilinear'), t(32, 3, 1080, 1920, kind=f32))
add('bilinear_antialias', lambda x: F.interpolate(x, size=(224, 224), mode='bilinear', antialias=True), t(16, 3, 1080, 1920, kind=f32))
add('bicubic', lambda x: F.interpolate(x, scale_factor=2.0, mode='bicubic'), t(8, 64, 128, 128, kind=f32))
add('grid_sample', lambda x, g: F.grid_sample(x, g.tanh(), align_corners=False), t(16, 64, 128, 128, kind=f32), t(16, 128, 128, 2, kind=f32))
add('lrn', lambda x: F.local_response_norm(x, 5), t(64, 96, 55, 55, kind=f32))
conv('conv3x3_128', 128, 128, (3, 3), 32, 128, 56, 56, padding=1, variants=both)
conv('conv3x3_s2', 128, 256, (3, 3), 32, 128, 56, 56, padding=1, stride=2)
conv('conv3x3_512_7', 512, 512, (3, 3), 32, 512, 7, 7, padding=1)
conv('conv3x3_one', 256, 256, (3, 3), 1, 256, 32, 32, padding=1, variants=both)
conv('conv3x3_f16', 256, 256, (3, 3), 16, 256, 28, 28, padding=1, kind=f16)
conv('conv3x3_f32', 64, 64, (3, 3), 16, 64, 56, 56, padding=1, kind=f32)
conv('conv3x3_dilated', 256, 256, (3, 3), 8, 256, 64, 64, padding=4, dilation=4)
conv('conv3x3_groups', 256, 256, (3, 3), 32, 256, 28, 28, padding=1, groups=32)
conv('conv1x1_256', 256, 1024, (1, 1), 32, 256, 28, 28)
conv('conv1x1_s2', 512, 1024, (1, 1), 32, 512, 28, 28, stride=2)
conv('conv5x5', 48, 64, (5, 5), 32, 48, 56, 56, padding=2)
conv('conv4x4_patch', 3, 96, (4, 4), 64, 3, 224, 224, stride=4)
conv('conv16_patch', 3, 768, (16, 16), 64, 3, 224, 224, stride=16)
conv('conv_dw3_s2', 96, 96, (3, 3), 64, 96, 112, 112, padding=1, stride=2, groups=96)
conv('conv_dw5', 240, 240, (5, 5), 64, 240, 28, 28, padding=2, groups=240)
conv('conv_dw7', 192, 192, (7, 7), 32, 192, 56, 56, padding=3, groups=192)
conv('conv1d_causal', 256, 256, (3,), 16, 256, 8192, padding=2, dilation=2, function=F.conv1d)
conv('conv1d_mel', 80, 512, (3,), 16, 80, 3000, padding=1, function=F.conv1d)
conv('conv3d', 64, 64, (3, 3, 3), 2, 64, 16, 56, 56, padding=1, function=F.conv3d)
conv('conv_up_2', 256, 128, (2, 2), 16, 256, 64, 64, stride=2, function=F.conv_transpose2d)
conv('conv_up_4', 128, 64, (4, 4), 16, 128, 64, 64, stride=2, padding=1, function=F.conv_transpose2d)
conv('conv_up_1d', 256, 128, (16,), 8, 256, 1024, stride=8, padding=4, function=F.conv_transpose1d)
conv('conv_odd', 100, 130, (3, 3), 16, 100, 37, 41, padding=1)
conv('conv_to_rgb', 64, 3, (3, 3), 8, 64, 256, 256, padding=1)

# Images whose lines are torn: each is made in a kernel of its own, in front of a window.
TORN = dict(nearest=(lambda x: F.interpolate(x, scale_factor=2.0, mode='nearest'), 64, (16, 64, 56, 56)), pixels=(lambda x: F.pixel_shuffle(x, 2), 64, (16, 256, 56, 56)),
            depth=(lambda x: F.pixel_unshuffle(x, 2), 256, (16, 64, 112, 112)), turned=(lambda x: x.transpose(2, 3), 64, (16, 64, 112, 112)),
            shuffled=(lambda x: F.channel_shuffle(x, 4), 64, (16, 64, 112, 112)), relu_nearest=(lambda x: F.interpolate(F.silu(x), scale_factor=2.0, mode='nearest'), 64, (16, 64, 56, 56)))
for torn, (before, channels, shape) in TORN.items():
    conv(f'torn_{torn}', channels, 64, (3, 3), *shape, function=lambda x, w, groups, before=before: F.conv2d(before(x), w, padding=1), variants=both)
    conv(f'torn_{torn}_dw', channels, channels, (3, 3), *shape, groups=channels, function=lambda x, w, groups, before=before: F.conv2d(before(x), w, padding=1, groups=groups))
    conv(f'dw_torn_{torn}', shape[1], shape[1], (3, 3), *shape, groups=shape[1], function=lambda x, w, groups, before=before: before(F.conv2d(x, w, padding=1, groups=groups)))
# Rows of windows: the pool is made once, before them.
POOLS = dict(pool=lambda x: F.max_pool2d(x, 3, 2, 1), halves=lambda x: F.avg_pool2d(x, 2))
for pool, make in POOLS.items():
    for name, rows in dict(norm=lambda x: F.group_norm(x, 16), softmax=lambda x: x.softmax(-1), channels=lambda x: x.softmax(1), mean=lambda x: x.mean((2, 3))).items():
        add(f'{pool}_{name}', lambda x, make=make, rows=rows: rows(make(x)), t(32, 64, 112, 112))
