"""Runs ONNX's node tests through `lathe compile` and `lathe run`.

usage: node_tests.py [--part N] [--only SUBSTRING] [--jobs N] [--lathe PATH] [--open] [--kept FOLDER] [--target T | --compile-only ARGUMENTS]

The tests are those of the environment variable LATHE_ONNX_NODE_TESTS (a folder with a folder per test), of the onnx package
where it carries them, or made by its generator, once where a folder to keep them in is given. With --part N a fixed one of N runs. With --compile-only they are
compiled with these arguments (--target cuda:sm90 --emit ptx), and not run; with several --compile-only each of them with one of these. A test may pass, or
be refused (exit code 2, a line for each node that says what is not supported); it must not give another result, crash, or fail without a
word, unless exclusions.txt says why. With --open every dimension of every input is a symbol of its own, and outputs' shapes are not said; then a run
may also decline sizes, with a reason, before it computes. Prints what went wrong; exit code 1 when something did, 77 when there are no tests.
"""
import argparse
import collections
import concurrent.futures
import fcntl
import hashlib
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def generate(folder):
    """Writes the tests that the package's generator makes; the folder, or None where there is no generator."""
    try:
        from onnx import TensorProto, numpy_helper
        from onnx.backend.test.case.node import collect_testcases
        cases = collect_testcases(None)
    except Exception as error:  # the generator needs more packages than reading models does
        print(f"the onnx package's generator: {error}")
        return None
    for case in cases:
        tensors = [(place, values, prefix) for inputs, outputs in case.data_sets
                   for place, values, prefix in ((case.model.graph.input, inputs, "input"), (case.model.graph.output, outputs, "output"))]
        if any(not info.type.HasField("tensor_type") for place, _, _ in tensors for info in place):
            continue  # sequences and optionals have files of another kind
        data = folder / case.name / "test_data_set_0"
        data.mkdir(parents=True)
        (data.parent / "model.onnx").write_bytes(case.model.SerializeToString())
        for place, values, prefix in tensors[:2]:
            for i, (info, value) in enumerate(zip(place, values)):
                proto = value if isinstance(value, TensorProto) else numpy_helper.from_array(value, info.name)
                (data / f"{prefix}_{i}.pb").write_bytes(proto.SerializeToString())
    return folder


def generated(kept, version):
    """As generate, once for each version of the package: the folder `kept` has them from then on. Whoever comes meanwhile waits."""
    kept.mkdir(parents=True, exist_ok=True)
    done = kept / version
    with open(kept / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            with tempfile.TemporaryDirectory(dir=kept) as half:
                if not generate(pathlib.Path(half) / "tests"):
                    return None
                (pathlib.Path(half) / "tests").rename(done)
    return done


def package_tests(scratch, kept=None):
    """The folder with the tests, or None."""
    given = os.environ.get("LATHE_ONNX_NODE_TESTS")
    if given:
        return pathlib.Path(given)
    try:
        import onnx
    except ImportError:
        return None
    carried = pathlib.Path(onnx.__file__).parent / "backend/test/data/node"
    if any(carried.glob("*/model.onnx")):
        return carried
    return generated(pathlib.Path(kept), onnx.__version__) if kept else generate(pathlib.Path(scratch) / "tests")


def exclusions():
    """(prefix, reason) of each line."""
    lines = (HERE / "exclusions.txt").read_text().splitlines()
    return [tuple(part.strip() for part in line.split(":", 1)) for line in lines if line.strip() and line[0] != "#"]


def drawn(name, count):
    """Always the same of so many numbers; of tests whose names stand side by side often not the same."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % count


def call(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
    except subprocess.TimeoutExpired:
        return -1, "no answer in two minutes"
    return done.returncode, (done.stderr.strip() or done.stdout.strip())


def opened(path, scratch):
    """The model with sizes that only a run knows."""
    import onnx
    model = onnx.load(path)
    fixed = {i.name for i in model.graph.initializer}
    for number, value in enumerate(model.graph.input):
        dims = value.type.tensor_type.shape.dim if value.type.HasField("tensor_type") and value.name not in fixed else []
        for axis, dim in enumerate(dims):
            dim.Clear()
            dim.dim_param = f"s{number}_{axis}"
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    out = os.path.join(scratch, "open.onnx")
    onnx.save(model, out)
    return out


def run(lathe, folder, target, cache, compile_only, open_sizes):
    """(verdict, message)"""
    with tempfile.TemporaryDirectory() as scratch:
        artifact = os.path.join(scratch, "t.so")
        model = opened(folder / "model.onnx", scratch) if open_sizes else str(folder / "model.onnx")
        how = compile_only if compile_only is not None else ["--target", target, "--cache-dir", cache]  # the same kernels come again and again
        code, said = call([lathe, "compile", model, "-o", artifact, *how])
        if code == 2 and said and all(line.startswith("unsupported:") for line in said.splitlines()):
            return "refused", said
        if code:
            return "crash", f"compile: exit {code}: {said}"
        if compile_only is not None:
            return "pass", ""
        for data in sorted(folder.glob("test_data_set_*")):
            code, said = call([lathe, "run", artifact, "--test-data", str(data)])
            if open_sizes and code == 1 and "error: " in said:
                return "declined", said
            if code:
                return "wrong" if code > 0 and said else "crash", f"{data.name}: exit {code}: {said}"
    return "pass", ""


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--part", type=int, default=1)
    parser.add_argument("--compile-only", action="append")
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--kept")
    parser.add_argument("--target", default="host")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--lathe", default="lathe")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        tests = package_tests(scratch, options.kept)
        if not tests:
            print("skipped: no ONNX node tests here (set LATHE_ONNX_NODE_TESTS, or install onnx with its test generator)")
            return 77
        names = sorted(p.parent.name for p in tests.glob("*/model.onnx") if options.only in p.parent.name)
        excluded = exclusions()
        names = [n for n in names if not any(n.startswith(prefix) for prefix, _ in excluded)]
        names = [n for n in names if drawn(n, options.part) == 0]
        count = collections.Counter()
        ways = [shlex.split(way) for way in options.compile_only or []] or [None]
        cache = os.path.join(scratch, "cache")
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for name, (verdict, said) in zip(names, pool.map(lambda n: run(options.lathe, tests / n, options.target, cache, ways[drawn(n, len(ways))], options.open), names)):
                count[verdict] += 1
                if verdict in ("wrong", "crash", "declined") or (options.only and verdict != "pass"):
                    print(f"{verdict}: {name}: {said}")
    declined = f", {count['declined']} declined" if options.open else ""
    print(f"{len(names)} tests: {count['pass']} pass, {count['refused']} refused{declined}, {count['wrong']} wrong, {count['crash']} crash")
    return 1 if count["wrong"] or count["crash"] or not count["pass"] else 0


if __name__ == "__main__":
    sys.exit(main())
