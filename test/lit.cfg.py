# lit: the tests in readable text. A test names its commands in RUN lines; FileCheck reads what they print.
import importlib.util
import os
import shutil
import lit.formats

config.name = "lathe"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test", ".textproto", ".json"]
config.excludes = ["Inputs", "Bench", "Device"]
config.test_source_root = os.path.join(config.lathe_source, "test")
config.test_exec_root = os.path.join(config.lathe_binary, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.lathe_binary, "bin"), "/usr/lib/llvm-19/bin", os.environ["PATH"]])
ptxas = os.path.join(os.environ.get("CUDA_HOME", "/usr/local/cuda"), "bin", "ptxas")
if os.path.exists(ptxas):
    config.available_features.add("ptxas")
config.substitutions.append(("%ptxas", ptxas))
foreign = "/usr/aarch64-linux-gnu"  # Debian's libc6-dev-arm64-cross
if shutil.which("qemu-aarch64") and os.path.exists(os.path.join(foreign, "lib", "crt1.o")):
    config.available_features.add("qemu-aarch64")
config.substitutions.append(("%foreign", foreign))
config.substitutions.append(("%python", "python3"))
for package in ("numpy", "onnx", "onnxruntime"):
    if importlib.util.find_spec(package):
        config.available_features.add(package)
