"""Arrays that end at an inaccessible page: an access past the end is a crash."""
import ctypes, mmap
import numpy as np


def empty(shape, dtype=np.float32, fill=None):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    pages = (size + 4095) // 4096 * 4096
    m = mmap.mmap(-1, pages + 4096)
    start = ctypes.addressof(ctypes.c_char.from_buffer(m))
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(start + pages), 4096, 0)
    a = np.frombuffer(m, np.uint8, pages)[pages - size:].view(dtype).reshape(shape)
    if fill is not None:
        a[...] = fill
    return a


def copy(values):
    a = empty(values.shape, values.dtype)
    a[...] = values
    return a


def pack(matrix, panel=32):
    """[K][N] as [ceil(N / panel)][K][panel], zero-filled: what kernel.pack makes."""
    k, n = matrix.shape
    out = np.zeros((k, (n + panel - 1) // panel * panel), matrix.dtype)
    out[:, :n] = matrix
    return np.ascontiguousarray(out.reshape(k, -1, panel).transpose(1, 0, 2))
