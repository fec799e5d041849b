"""Lesson 3: a compiled model as a Python callable, with numpy and the standard library alone."""
import copy
import ctypes

import numpy as np

KINDS = {"i": 0, "u": 1, "f": 2, "V": 4, "c": 5, "b": 6}  # DLPack's type codes for numpy's kinds; a bfloat16 is a raw V2
NAMES = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex"}


class DType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("dtype", DType), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class TensorInfo(ctypes.Structure):
    """LatheTensorInfo of lathe.h."""
    _fields_ = [("name", ctypes.c_char_p), ("dtype", DType), ("ndim", ctypes.c_int32), ("min", ctypes.POINTER(ctypes.c_int64)),
                ("max", ctypes.POINTER(ctypes.c_int64)), ("dims", ctypes.POINTER(ctypes.c_char_p))]

    def __str__(self):
        dtype = "bool" if self.dtype.code == 6 else f"{NAMES[self.dtype.code]}{self.dtype.bits}"
        return f"{self.name.decode()}: {dtype}[{', '.join(self.dims[i].decode() for i in range(self.ndim))}]"


class Signature(ctypes.Structure):
    _fields_ = [("abi", ctypes.c_uint32), ("model", ctypes.c_char_p), ("num_inputs", ctypes.c_uint32), ("num_outputs", ctypes.c_uint32),
                ("inputs", ctypes.POINTER(TensorInfo)), ("outputs", ctypes.POINTER(TensorInfo)), ("threads", ctypes.c_uint32),
                ("entry", ctypes.c_char_p)]


def describe(array):
    shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
    dtype = DType(KINDS[array.dtype.kind], array.dtype.itemsize * 8, 1)
    return Tensor(array.ctypes.data, 1, 0, array.ndim, dtype, shape, None, 0)


class Model:
    """Model("net.so")(array, ...) -> [array, ...]"""
    first = None  # of an entry point: the model that it belongs to

    def __init__(self, path, options=None):
        """`options`: LatheOptions of lathe.h as a ctypes structure."""
        self.library = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
        self.library.lathe_last_error.restype = self.library.lathe_entry_name.restype = ctypes.c_char_p
        self.library.lathe_signature.restype = ctypes.POINTER(Signature)
        self.library.lathe_destroy.restype = None
        self.context = ctypes.c_void_p()
        self.check(self.library.lathe_create(options and ctypes.byref(options), ctypes.byref(self.context)))
        self.signature = self.library.lathe_signature(self.context).contents
        count = self.library.lathe_entry_count(self.context)
        self.entries = [self.library.lathe_entry_name(self.context, i).decode() for i in range(count)]

    def __del__(self):
        if not self.first:
            self.library.lathe_destroy(self.context)

    def entry(self, name):
        """Another entry point of an artifact of several models, with the same states."""
        context = ctypes.c_void_p()
        self.check(self.library.lathe_entry(self.context, name.encode(), ctypes.byref(context)))
        other = copy.copy(self)
        other.first, other.context = self, context
        other.signature = self.library.lathe_signature(context).contents
        return other

    def check(self, status):
        if status:
            raise ValueError(self.library.lathe_last_error(self.context).decode())

    def __call__(self, *arrays):
        arrays = [np.asarray(a, order="C") for a in arrays]
        inputs = [describe(a) for a in arrays]
        results = [self.signature.outputs[i] for i in range(self.signature.num_outputs)]
        shapes = (ctypes.c_int64 * sum(r.ndim for r in results))()
        pointers = (ctypes.POINTER(Tensor) * len(inputs))(*map(ctypes.pointer, inputs))
        size = ctypes.c_size_t
        self.check(self.library.lathe_output_shapes(self.context, pointers, size(len(inputs)), shapes, size(len(shapes))))
        kinds, at, outputs = {code: kind for kind, code in KINDS.items()}, 0, []
        for r in results:
            outputs.append(np.empty(shapes[at:at + r.ndim], f"{kinds[r.dtype.code]}{r.dtype.bits // 8}"))
            at += r.ndim
        described = [describe(o) for o in outputs]  # the caller's memory: nothing is copied
        targets = (ctypes.POINTER(Tensor) * len(described))(*map(ctypes.pointer, described))
        self.check(self.library.lathe_run(self.context, pointers, size(len(inputs)), targets, size(len(described))))
        return outputs
