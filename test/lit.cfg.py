# lit: the tests in readable text. A test names its commands in RUN lines; FileCheck reads what they print.
import ctypes
import glob
import os
import shutil
import subprocess
import sys
import lit.formats

config.name = "lathe"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test", ".textproto", ".json"]
config.excludes = ["Inputs", "Bench", "Device"]
# Long tests begin first: .lit_test_times.txt in that folder has the seconds of those, for a build folder without times of its own.
config.test_source_root = os.path.join(config.lathe_source, "test")
config.test_exec_root = os.path.join(config.lathe_binary, "test")
# The Python that scripts/setup furnished; where it could not, the one that runs the tests.
venv = os.path.join(config.lathe_source, "build", "python")
python = os.path.join(venv, "bin", "python3")
if not os.path.exists(python):
    python = sys.executable
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.lathe_binary, "bin"), "/usr/lib/llvm-19/bin", os.path.dirname(python), os.environ["PATH"]])
toolkits = [os.environ.get("CUDA_HOME"), "/usr/local/cuda"] + glob.glob(os.path.join(venv, "lib/python3*/site-packages/nvidia/cu*"))
toolkit = next((t for t in toolkits if t and os.path.exists(os.path.join(t, "bin", "ptxas"))), "/usr/local/cuda")
config.environment["CUDA_HOME"] = toolkit
config.environment["OPENBLAS_NUM_THREADS"] = "1"  # the cores are busy with other tests, which numpy's threads would wait for
ptxas = os.path.join(toolkit, "bin", "ptxas")
if os.path.exists(ptxas):
    config.available_features.add("ptxas")
config.substitutions.append(("%ptxas", ptxas))
foreign = "/usr/aarch64-linux-gnu"  # Debian's libc6-dev-arm64-cross
if shutil.which("qemu-aarch64") and os.path.exists(os.path.join(foreign, "lib", "crt1.o")):
    config.available_features.add("qemu-aarch64")
config.substitutions.append(("%foreign", foreign))
riscv = "/usr/riscv64-linux-gnu"  # Debian's libc6-dev-riscv64-cross
if shutil.which("qemu-riscv64") and os.path.exists(os.path.join(riscv, "lib", "crt1.o")):
    config.available_features.add("qemu-riscv64")
config.substitutions.append(("%riscv", riscv))
config.substitutions.append(("%python", python))
config.substitutions.append(("%node_tests", os.path.join(config.test_exec_root, "onnx-node-tests")))  # of ONNX, which several tests run
# Code for the machine's best variant alone, which is the one that a run takes.
sys.path.insert(0, os.path.join(config.test_source_root, "Target", "Cpu"))
from levels import variants
config.substitutions.append(("%best", "x86_64:" + variants()[-1]))
for library in ("liblapack.so.3", "libopenblas.so.0"):  # that the runtime looks for
    try:
        ctypes.CDLL(library)
        config.available_features.add("lapack")
    except OSError:
        pass
for package in ("numpy", "onnx", "onnxruntime"):
    if subprocess.run([python, "-c", "import " + package], capture_output=True).returncode == 0:
        config.available_features.add(package)
