"""The kernels of another architecture, run in an emulator of it."""
import pathlib
import subprocess

import numpy as np
from compiled import kernels_of

DRIVER = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
typedef void (*kernel)(void *const *, const int64_t *, int64_t, int64_t, void *);
typedef void (*planner)(const int64_t *, int64_t *);
%(declarations)s
static const kernel kernels[] = {%(kernels)s};
static const planner planners[] = {%(planners)s};
/* index, elements, bytes of each, then a file for each operand and one for the result */
int main(int argc, char **argv) {
  int64_t n = atol(argv[2]), bytes = n * atol(argv[3]), plan[8];
  void *buffers[4];
  for (int i = 4; i < argc; ++i) {
    buffers[i - 4] = malloc(bytes);
    FILE *f = i + 1 < argc ? fopen(argv[i], "rb") : NULL;
    if (f && fread(buffers[i - 4], 1, bytes, f) != (size_t)bytes)
      return 1;
  }
  planners[atoi(argv[1])](&n, plan);
  kernels[atoi(argv[1])](buffers, &n, 0, plan[0], aligned_alloc(64, (plan[1] + 127) & ~63));
  FILE *f = fopen(argv[argc - 1], "wb");
  return fwrite(buffers[argc - 5], 1, bytes, f) != (size_t)bytes;
}
"""


def build_neon(functions, folder, foreign):
    """{"neon": {name: callable}}; `foreign` is where the architecture's C library lies."""
    folder = pathlib.Path(folder)
    command = ["lathe-kernel", "-", "-o", str(folder / "k"), "--arch=aarch64", "--variant=neon"]
    made = subprocess.run(command, input=kernels_of(functions), text=True, check=True, capture_output=True)
    symbols = [line.split()[1:] for line in made.stdout.splitlines()]
    (folder / "driver.c").write_text(DRIVER % {
        "declarations": "\n".join(f"void {fn}(void *const *, const int64_t *, int64_t, int64_t, void *);\n"
                                  f"void {plan}(const int64_t *, int64_t *);" for fn, plan in symbols),
        "kernels": ", ".join(fn for fn, _ in symbols), "planners": ", ".join(plan for _, plan in symbols)})
    lib = f"{foreign}/lib"
    subprocess.run(["clang-19", "--target=aarch64-linux-gnu", "-fuse-ld=lld-19", "-nostdlib", "-O1", "-isystem", f"{foreign}/include",
                    f"{lib}/crt1.o", f"{lib}/crti.o", str(folder / "driver.c"), *map(str, sorted(folder.glob("k.*.o"))), f"-L{lib}",
                    "-lc", f"{lib}/crtn.o", "-o", str(folder / "driver")], check=True)

    def caller(index):
        def call(*arrays):
            files = [str(folder / f"buffer{i}") for i in range(len(arrays))]
            for path, array in zip(files[:-1], arrays):
                array.tofile(path)
            subprocess.run(["qemu-aarch64", "-L", foreign, str(folder / "driver"), str(index), str(len(arrays[0])),
                            str(arrays[0].itemsize), *files], check=True)
            arrays[-1][:] = np.fromfile(files[-1], arrays[-1].dtype)
        return call

    return {"neon": {f.name: caller(i) for i, f in enumerate(functions)}}
