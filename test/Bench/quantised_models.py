"""Models quantised by ONNX Runtime's own tool: time over that of the model in floats, and over ONNX Runtime's of the same file.

usage: quantised_models.py LATHE MODEL.onnx INPUTS.npz [WAY...] [--threads 1] [--rounds 5] [--seconds 0.6]
WAY: static, channels, dynamic (weights of 8 bits; static and channels have seven bits as static7 and channels7), nbits (MatMulNBits, blocks of 32), bf16 (the floats, compiled with
--precision bf16). INPUTS has in0, in1, ...: what the model is run and calibrated with. A line for each way; times are medians of alternating turns."""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization


class Once(quantization.CalibrationDataReader):
    def __init__(self, feed):
        self.left = [feed]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantise(source, target, way, feed):
    narrow = way.endswith('7')
    if way == 'dynamic':
        quantization.quantize_dynamic(source, target, weight_type=quantization.QuantType.QInt8)
    elif way == 'nbits':
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
        tool = MatMulNBitsQuantizer(onnx.load(source), block_size=32, is_symmetric=True)
        tool.process()
        tool.model.save_model_to_file(target, use_external_data_format=False)
    else:
        quantization.quantize_static(source, target, Once(feed), quant_format=quantization.QuantFormat.QDQ, per_channel=way.startswith('channels'),
                                     weight_type=quantization.QuantType.QInt8, reduce_range=narrow)


class Peer:
    def __init__(self, path, feed, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = threads, 3
        self.session, self.feed = onnxruntime.InferenceSession(path, options, providers=['CPUExecutionProvider']), feed

    def results(self):
        return self.session.run(None, self.feed)

    def turn(self, seconds):
        self.results()
        times, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            self.results()
            times.append((time.perf_counter() - start) * 1e6)
        return statistics.median(times)


class Mine:
    def __init__(self, lathe, path, data, threads, *flags):
        self.command = [lathe, 'run', path + '.so', '--inputs', data, '--threads', str(threads)]
        start = time.perf_counter()
        subprocess.run([lathe, 'compile', path, '-o', path + ('.bf16' if flags else '') + '.so', *flags], check=True)
        self.seconds = time.perf_counter() - start
        self.command[2] = path + ('.bf16' if flags else '') + '.so'

    def results(self, folder):
        subprocess.run(self.command + ['--output-dir', folder], check=True, capture_output=True)
        return [np.load(os.path.join(folder, n)) for n in sorted(os.listdir(folder))]

    def turn(self, seconds):
        out = subprocess.run(self.command + ['--bench', '--json', '--warmup', '3', '--duration', str(seconds)], check=True, capture_output=True).stdout
        return json.loads(out)['p50_us']


def apart(ours, theirs):
    """Largest difference of outputs of one shape over the largest value."""
    worst = 0
    for o in ours:
        same = [t for t in theirs if t.shape == o.shape]
        worst = max(worst, min(float(np.abs(o.astype(np.float64) - t).max() / (np.abs(t).max() + 1e-30)) for t in same))
    return worst


def main():
    a = argparse.ArgumentParser(usage=__doc__)
    for name in ('lathe', 'model', 'inputs'):
        a.add_argument(name)
    a.add_argument('ways', nargs='*')
    a.add_argument('--threads', type=int, default=1)
    a.add_argument('--rounds', type=int, default=5)
    a.add_argument('--seconds', type=float, default=0.6)
    a = a.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain = os.path.join(folder, 'plain.onnx')
        onnx.save(onnx.load(a.model), plain)
        names = [x.name for x in onnxruntime.InferenceSession(plain, providers=['CPUExecutionProvider']).get_inputs()]
        arrays = np.load(a.inputs)
        feed = {n: arrays[f'in{i}'] for i, n in enumerate(names)}
        data = os.path.join(folder, 'in.npz')
        np.savez(data, **feed)
        floats, other = Mine(a.lathe, plain, data, a.threads), Peer(plain, feed, a.threads)
        exact = other.results()
        for way in a.ways or ['static', 'channels', 'dynamic', 'nbits', 'bf16']:
            path = os.path.join(folder, way + '.onnx')
            if way == 'bf16':
                path, mine, peer = plain, Mine(a.lathe, plain, data, a.threads, '--precision', 'bf16'), other
            else:
                quantise(plain, path, way, feed)
                mine, peer = Mine(a.lathe, path, data, a.threads), Peer(path, feed, a.threads)
            turns = [(mine.turn(a.seconds), floats.turn(a.seconds), peer.turn(a.seconds)) for _ in range(a.rounds)]
            ours, theirs = mine.results(os.path.join(folder, 'out.' + way)), peer.results()
            middle = lambda f: statistics.median(f(*t) for t in turns)
            print(f'{way:9s} {middle(lambda m, f, p: m) / 1e3:8.2f} ms, of floats {middle(lambda m, f, p: m / f):.2f}, of ONNX Runtime {middle(lambda m, f, p: m / p):.2f}, '
                  f'apart {apart(ours, theirs):.1e}, from floats {apart(ours, exact):.1e} (ONNX Runtime {apart(theirs, exact):.1e}); compiled in {mine.seconds:.1f} s', flush=True)


if __name__ == '__main__':
    main()
