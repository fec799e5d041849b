"""Runs exported programs on devices, many in one process: to start a process on a GPU takes longer than most programs do. What is compiled on
one machine can run on another, which needs no compiler.

usage: fx_devices.py compile FOLDER FAMILY... [--lathe PATH] [--target cuda:sm90] [--jobs N]     writes FOLDER/FAMILY.PLACE.so
       fx_devices.py run FOLDER FAMILY... [--devices cuda:0,cuda:1]     prints what differs; exit code 1 when something does"""
import argparse
import ctypes
import json
import multiprocessing
import pathlib
import queue
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from fx_programs import array, call, given, load, write_archive
from verdict import verdict

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "samples/3-from-python"))
from model import KINDS, Model, Tensor, describe  # noqa: E402

CPU, CUDA = 1, 2  # DLPack's device types
TIMEOUT = 120     # seconds for a program


class Options(ctypes.Structure):
    """LatheOptions of lathe.h."""
    _fields_ = [("size", ctypes.c_uint32), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("threads", ctypes.c_int32),
                ("cached_shapes", ctypes.c_uint32), ("max_level", ctypes.c_uint32), ("profile", ctypes.c_void_p), ("user", ctypes.c_void_p)]


def place_of(device):
    kind, _, number = device.partition(":")
    return {"cpu": CPU, "cuda": CUDA}[kind], int(number or 0)


def outputs_of(model, arrays):
    """In the library's memory, which is the host's: sizes that only a run tells need no other way."""
    arrays = [np.asarray(a, order="C") for a in arrays]
    inputs, outputs = [describe(a) for a in arrays], [Tensor() for _ in range(model.signature.num_outputs)]
    pointers = [(ctypes.POINTER(Tensor) * len(t))(*map(ctypes.pointer, t)) for t in (inputs, outputs)]
    size = ctypes.c_size_t
    model.check(model.library.lathe_run(model.context, pointers[0], size(len(inputs)), pointers[1], size(len(outputs))))
    return [taken(output) for output in outputs]


def taken(tensor):
    kind = {code: kind for kind, code in KINDS.items()}[tensor.dtype.code]
    result = np.empty(tensor.shape[:tensor.ndim], f"{kind}{tensor.dtype.bits // 8}")
    if result.size:
        ctypes.memmove(result.ctypes.data, tensor.data + tensor.byte_offset, result.nbytes)
    return (result.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if kind == "V" else result


def difference(got, want, tolerance):
    """Says how they differ, if they do; as `lathe run --expect` sees it, but integers have to be equal."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"is {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    same = got == want
    if want.dtype.kind == "f":
        g, w = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.isfinite(g) & np.isfinite(w) & (np.abs(g - w) <= tolerance + tolerance * np.abs(w))
        same = same | (np.isnan(g) & np.isnan(w)) | near
    if same.all():
        return None
    at = tuple(int(i) for i in np.argwhere(~same)[0])
    return f"{np.sum(~same)} of {same.size} elements differ (tolerance {tolerance}), the first at {list(at)}: {got[at]}, expected {want[at]}"


def unrefused(model, arrays, i):
    try:
        outputs_of(model, arrays)
        yield f"run {i} is not refused"
    except ValueError as error:
        if "do not satisfy" not in str(error):
            yield f"run {i}: {error}"


def faults_of(case, artifact, device):
    kind, number = place_of(device)
    options = Options(ctypes.sizeof(Options), kind, number)
    model = None
    for i, run in enumerate(case["runs"]):
        if not model or not case.get("steps"):  # steps see what those before have left in the states
            model = Model(artifact, options)
        arrays = [given(t) for t in run["in"]]
        if run.get("refused"):
            yield from unrefused(model, arrays, i)
            continue
        got, want = outputs_of(model, arrays), [array(t) for t in run["out"]]
        if len(got) != len(want):
            yield f"run {i}: {len(got)} outputs, expected {len(want)}"
        for k, (g, w) in enumerate(zip(got, want)):
            said = difference(g, w, case["tolerance"])
            if said:
                yield f"run {i}: output {k}: {said}"


def hold(device):
    """The driver's context of a GPU for as long as the process lives: each artifact would make one otherwise."""
    kind, number = place_of(device)
    if kind != CUDA:
        return
    cuda, found, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_void_p()
    for status in (cuda.cuInit(0), cuda.cuDeviceGet(ctypes.byref(found), number), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), found)):
        if status:
            raise OSError(f"{device}: CUDA's error {status}")


def serve(pipe, device):
    """A process of a device: gets programs, tells their faults and whether it is of further use. After an error it is not: one of a
    device stays with its process."""
    try:
        hold(device)
        while True:
            case, artifact = pipe.recv()
            pipe.send((list(faults_of(case, artifact, device)), True))
    except EOFError:
        pass
    except Exception as error:
        pipe.send(([str(error)], False))


class Worker:
    def __init__(self, device):
        spawn = multiprocessing.get_context("spawn")
        self.pipe, there = spawn.Pipe()
        self.process = spawn.Process(target=serve, args=(there, device), daemon=True)
        self.process.start()
        there.close()

    def ask(self, case, artifact):
        try:
            self.pipe.send((case, artifact))
            return self.pipe.recv() if self.pipe.poll(TIMEOUT) else ([f"takes more than {TIMEOUT} s"], False)
        except (EOFError, OSError):
            self.process.join()
            return [f"ends its process with status {self.process.exitcode}"], False

    def end(self):
        self.pipe.close()
        self.process.kill()
        self.process.join()


def through(device, waiting, folder):
    """Takes programs that wait until there are none; yields the faults of each."""
    worker = None
    while True:
        try:
            family, place, case = waiting.get_nowait()
        except queue.Empty:
            break
        artifact = folder / f"{family}.{place}.so"
        worker = worker or Worker(device)
        faults, useful = worker.ask(case, str(artifact)) if artifact.exists() else (["was not compiled"], True)
        if not useful:
            worker.end()
            worker = None
        yield [f"{family}: {case['name']} on {device}: {fault}" for fault in faults]
    if worker:
        worker.end()


def run(options, cases):
    waiting, devices = queue.SimpleQueue(), options.devices.split(",")
    for case in cases:
        waiting.put(case)
    with ThreadPoolExecutor(len(devices)) as pool:
        parts = list(pool.map(lambda device: list(through(device, waiting, options.folder)), devices))
    found = [faults for part in parts for faults in part]
    return verdict(sum(not f for f in found), "programs", [fault for f in found for fault in f], "PyTorch")


def compile_all(options, cases):
    options.folder.mkdir(parents=True, exist_ok=True)

    def refusal(item):
        family, place, case = item
        artifact = options.folder / f"{family}.{place}.so"
        artifact.unlink(missing_ok=True)  # of an earlier compiler, should this one refuse
        with tempfile.TemporaryDirectory() as temporary:
            archive = pathlib.Path(temporary) / "case.pt2"
            write_archive(case, archive)
            code, text = call(options.lathe, "compile", archive, "-o", artifact, "-O", "1", "--target", options.target, *case["flags"])
        return [f"{family}: {case['name']}: lathe compile exits with {code}: {text}"] if code else []
    with ThreadPoolExecutor(options.jobs) as pool:
        refused = [text for texts in pool.map(refusal, cases) for text in texts]
    for text in refused:
        print(text)
    print(f"{len(cases) - len(refused)} programs are compiled, {len(refused)} are not")
    return 1 if refused else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("compile", "run"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("families", nargs="+")
    parser.add_argument("--lathe", default="lathe")
    parser.add_argument("--target", default="cuda:sm90", help="as lathe compile's")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--devices", default="cuda:0", help="each gets the next program when it is free")
    options = parser.parse_args()
    cases = list(load(options.families))
    return compile_all(options, cases) if options.action == "compile" else run(options, cases)


if __name__ == "__main__":
    sys.exit(main())
