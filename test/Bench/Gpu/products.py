"""Matrix products, attention, recurrences, transforms."""
import torch
import torch.nn as nn
import torch.nn.functional as F

from .case import add, b16, both, f16, f32, f64, i8, t

product = lambda a, b: a @ b
for n in (256, 1000, 2048, 4095):
    both(f'gemm_{n}', product, t(n, n), t(n, n), tolerance=2e-2)
add('gemm_f16', product, t(4096, 4096, kind=f16), t(4096, 4096, kind=f16))
add('gemm_f32_1024', product, t(1024, 1024, kind=f32), t(1024, 1024, kind=f32))
add('gemm_f64', product, t(1024, 1024, kind=f64), t(1024, 1024, kind=f64))
both('gemm_b_transposed', lambda a, b: a @ b.t(), t(2048, 4096), t(4096, 4096), fixed=((0, 1), (1, 1)))
add('gemm_a_transposed', lambda a, b: a.t() @ b, t(4096, 2048), t(4096, 4096))
add('gemm_both_transposed', lambda a, b: a.t() @ b.t(), t(4096, 2048), t(4096, 4096))
add('gemm_deep', product, t(128, 65536), t(65536, 128), tolerance=2e-2)
add('gemm_tall_64', product, t(1 << 20, 64), t(64, 64))
add('gemm_wide_n8', product, t(65536, 1024), t(1024, 8))
both('gemm_rows_16', product, t(16, 4096), t(4096, 14336), fixed=((0, 1), (1, 0), (1, 1)))
both('gemm_rows_100', product, t(100, 4096), t(4096, 4096), fixed=((0, 1), (1, 0), (1, 1)))
add('matvec', lambda a, x: a @ x, t(16384, 8192), t(8192))
add('vecmat', lambda x, a: x @ a, t(8192), t(8192, 16384))
add('matvec_f32', lambda a, x: a @ x, t(8192, 8192, kind=f32), t(8192, kind=f32))
add('dot', lambda x, y: x @ y, t(1 << 25, kind=f32), t(1 << 25, kind=f32))
both('bmm_small', product, t(8192, 32, 32), t(8192, 32, 32))
add('bmm_heads', product, t(512, 128, 64), t(512, 64, 128))
add('bmm_shared', product, t(64, 512, 512), t(512, 512))
add('bmm_f32', product, t(64, 256, 256, kind=f32), t(64, 256, 256, kind=f32))
add('bmm_odd', product, t(100, 197, 65), t(100, 65, 197))
add('linear_relu', lambda x, w, b: F.relu(F.linear(x, w, b)), t(8192, 1024), t(4096, 1024), t(4096))
add('linear_odd', lambda x, w, b: F.linear(x, w, b), t(5000, 1000), t(1001, 1000), t(1001))
add('einsum_bhid', lambda a, b: torch.einsum('bhid,bhjd->bhij', a, b), t(16, 16, 512, 64), t(16, 16, 512, 64))
add('einsum_outer', lambda a, b: torch.einsum('bi,bj->bij', a, b), t(64, 1000), t(64, 1000))
add('einsum_middle', lambda a, b: torch.einsum('bchw,ck->bkhw', a, b), t(16, 256, 56, 56), t(256, 256))
add('pairwise', lambda a, b: ((a[:, None] - b[None]) ** 2).sum(-1), t(2048, 64, kind=f32), t(2048, 64, kind=f32))
add('dynamic_int8', lambda a, b: torch._int_mm(a, b), t(4096, 4096, kind=i8), t(4096, 4096, kind=i8))
add('weight_int8', lambda x, w, s: F.linear(x, w.to(b16) * s[:, None]), t(16, 4096), t(14336, 4096, kind=i8), t(14336), tolerance=2e-2)
sdpa = F.scaled_dot_product_attention
both('attention_64', sdpa, *[t(8, 12, 512, 64)] * 3, fixed=tuple((i, d) for i in range(3) for d in (1, 3)))
add('attention_80', sdpa, *[t(8, 16, 1024, 80)] * 3)
add('attention_96', sdpa, *[t(8, 12, 1024, 96)] * 3)
add('attention_256', sdpa, *[t(4, 8, 1024, 256)] * 3)
add('attention_32_odd', sdpa, *[t(16, 8, 577, 32)] * 3)
add('attention_f16', sdpa, *[t(8, 16, 1024, 64, kind=f16)] * 3)
add('attention_f32', sdpa, *[t(4, 8, 512, 64, kind=f32)] * 3)
add('attention_causal', lambda q, k, v: sdpa(q, k, v, is_causal=True), *[t(4, 32, 2048, 128)] * 3)
add('attention_masked', lambda q, k, v, m: sdpa(q, k, v, m), *[t(8, 12, 512, 64)] * 3, t(8, 1, 1, 512, kind=torch.bool))
add('attention_biased', lambda q, k, v, m: sdpa(q, k, v, m), *[t(4, 12, 1024, 64)] * 3, t(1, 12, 1024, 1024))
add('attention_groups', lambda q, k, v: sdpa(q, k, v, is_causal=True, enable_gqa=True), t(2, 32, 2048, 128), t(2, 8, 2048, 128), t(2, 8, 2048, 128))
add('attention_decode_groups', lambda q, k, v: sdpa(q, k, v, enable_gqa=True), t(8, 32, 1, 128), t(8, 8, 4096, 128), t(8, 8, 4096, 128))
add('attention_decode_one', sdpa, t(1, 32, 1, 128), t(1, 32, 32768, 128), t(1, 32, 32768, 128))
add('attention_cross', sdpa, t(2, 8, 4096, 40), t(2, 8, 77, 40), t(2, 8, 77, 40))
add('attention_alibi', lambda q, k, v, s: (q @ k.transpose(-1, -2) * 0.125 + 0.01 * s[:, None, None] * torch.arange(1024)).softmax(-1) @ v, *[t(4, 16, 1024, 64)] * 3, t(16), tolerance=2e-2)
add('linear_attention', lambda q, k, v: F.elu(q + 1) @ (F.elu(k + 1).transpose(-1, -2) @ v), *[t(8, 16, 4096, 64)] * 3, tolerance=2e-2)


class Recurrence(nn.Module):
    def __init__(self, kind, *sizes, **options):
        super().__init__()
        torch.manual_seed(0)
        self.net = kind(*sizes, batch_first=True, **options).bfloat16()

    def forward(self, x):
        return self.net(x)[0]


add('lstm_512', Recurrence(nn.LSTM, 512, 512), t(32, 256, 512))
add('lstm_1024_long', Recurrence(nn.LSTM, 256, 1024), t(4, 1000, 256))
add('gru_256_both', Recurrence(nn.GRU, 256, 256, bidirectional=True), t(64, 200, 256))
add('rnn_128', Recurrence(nn.RNN, 128, 128), t(128, 300, 128))
add('rfft_rows', lambda x: torch.view_as_real(torch.fft.rfft(x)), t(8192, 4096, kind=f32))
add('fft_1000', lambda x: torch.view_as_real(torch.fft.fft(x)), t(8192, 1000, kind=f32))
add('fft_256', lambda x: torch.view_as_real(torch.fft.fft(x)), t(131072, 256, kind=f32))
add('fft_long', lambda x: torch.view_as_real(torch.fft.fft(x)), t(1, 1 << 20, kind=f32))
add('fft_first_axis', lambda x: torch.view_as_real(torch.fft.fft(x, dim=0)), t(1024, 16384, kind=f32))
add('fft_f64', lambda x: torch.view_as_real(torch.fft.fft(x)), t(8192, 2048, kind=f64), tolerance=1e-9)
add('fft_complex', lambda x: torch.view_as_real(torch.fft.fft(torch.complex(x[..., 0], x[..., 1]))), t(8192, 4096, 2, kind=f32))
add('irfft_rows', lambda x: torch.fft.irfft(torch.complex(x[..., 0], x[..., 1])), t(8192, 2049, 2, kind=f32))
add('fft2_256', lambda x: torch.view_as_real(torch.fft.fft2(x)), t(64, 256, 256, kind=f32))
add('stft', lambda x, w: torch.view_as_real(torch.stft(x, 400, 160, window=w, return_complex=True)), t(16, 480000, kind=f32), t(400, kind=f32))
