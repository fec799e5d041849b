"""MODEL SAMPLE: what a model with steps that take turns needs of memory and gives, and the same under a profile, where each step runs by itself."""
import ctypes
import sys

import numpy as np

path, sample = sys.argv[1:]
sys.path.append(sample)
from model import Model, describe  # noqa: E402

Profile = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_char_p, ctypes.c_int64, ctypes.c_int64)


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("device_type", ctypes.c_int32), ("device", ctypes.c_int32), ("threads", ctypes.c_int32),
                ("cached_shapes", ctypes.c_uint32), ("max_level", ctypes.c_uint32), ("profile", Profile), ("user", ctypes.c_void_p)]


def run(x, profile):
    model = Model(path, Options(ctypes.sizeof(Options), 0, 0, 1, 0, 0, profile, None))
    tensor, size = describe(x), ctypes.c_size_t()
    model.check(model.library.lathe_workspace_size(model.context, ctypes.byref(ctypes.pointer(tensor)), ctypes.c_size_t(1), ctypes.byref(size)))
    return model(x), size.value


steps = []
model = Model(path)
info = model.signature.inputs[0]
x = np.random.default_rng(0).standard_normal([info.min[i] for i in range(info.ndim)]).astype(np.float32)
turns, less = run(x, Profile())
alone, more = run(x, Profile(lambda user, step, name, start, end: steps.append(name.decode())))
print("steps:", *steps)
print("equal:", all(np.array_equal(a, b) for a, b in zip(turns, alone)))
print("bytes saved:", more - less)
