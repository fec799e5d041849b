/*===- run_raw.c - Runs an artifact on raw files ----------------------------===*\
|*
|* A program that is small enough to be compiled for any machine, for running other machines' artifacts in an emulator.
|*   run_raw MODEL.so OUTPREFIX CODE:BITS:DIMS:FILE ...
|* CODE and BITS are DLPack's; DIMS are separated by x (none for a scalar). Output i goes to OUTPREFIX.i, its dimensions are
|* printed.
|*
\*===----------------------------------------------------------------------===*/
#include "lathe/Runtime/lathe.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 64, mostDims = 8 };

static int64_t shapes[2 * most][mostDims];

static size_t bytesOf(const DLTensor *t) {
  size_t bytes = (t->dtype.bits + 7) / 8;
  for (int32_t i = 0; i < t->ndim; ++i)
    bytes *= (size_t)t->shape[i];
  return bytes;
}

static int readInput(char *text, DLTensor *t, int64_t *shape) {
  t->shape = shape;
  t->device.device_type = kDLCPU;
  t->dtype.lanes = 1;
  t->dtype.code = (uint8_t)strtol(text, &text, 10);
  t->dtype.bits = (uint8_t)strtol(text + 1, &text, 10);
  for (++text; *text && *text != ':' && t->ndim < mostDims; text += *text == 'x')
    shape[t->ndim++] = strtoll(text, &text, 10);
  if (*text != ':')
    return 0;
  FILE *file = fopen(text + 1, "rb");
  size_t bytes = bytesOf(t);
  t->data = malloc(bytes + 1);
  int ok = file && t->data && fread(t->data, 1, bytes, file) == bytes;
  if (file)
    fclose(file);
  return ok;
}

static int writeOutput(const char *prefix, uint32_t i, const DLTensor *t) {
  char path[4096];
  snprintf(path, sizeof path, "%s.%u", prefix, i);
  for (int32_t d = 0; d < t->ndim; ++d)
    printf("%s%lld", d ? "x" : "", (long long)t->shape[d]);
  printf("\n");
  FILE *file = fopen(path, "wb");
  return file && fwrite(t->data, 1, bytesOf(t), file) == bytesOf(t) && !fclose(file);
}

int main(int argc, char **argv) {
  if (argc < 3 || argc - 3 > most)
    return 2;
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  LatheStatus (*create)(const LatheOptions *, LatheContext **) = dlsym(library, "lathe_create");
  LatheStatus (*run)(LatheContext *, DLTensor *const *, size_t, DLTensor *const *, size_t) = dlsym(library, "lathe_run");
  const LatheSignature *(*signature)(LatheContext *) = dlsym(library, "lathe_signature");
  const char *(*lastError)(LatheContext *) = dlsym(library, "lathe_last_error");
  LatheContext *context;
  if (create(NULL, &context)) {
    fprintf(stderr, "%s\n", lastError(context));
    return 1;
  }
  static DLTensor tensors[2 * most];
  DLTensor *inputs[most], *outputs[most];
  uint32_t numInputs = (uint32_t)argc - 3, numOutputs = signature(context)->numOutputs;
  for (uint32_t i = 0; i < numInputs; ++i) {
    inputs[i] = &tensors[i];
    if (!readInput(argv[3 + i], inputs[i], shapes[i])) {
      fprintf(stderr, "cannot read %s\n", argv[3 + i]);
      return 1;
    }
  }
  for (uint32_t i = 0; i < numOutputs && i < most; ++i) {
    outputs[i] = &tensors[most + i];
    outputs[i]->shape = shapes[most + i];
  }
  if (run(context, inputs, numInputs, outputs, numOutputs)) {
    fprintf(stderr, "%s\n", lastError(context));
    return 1;
  }
  for (uint32_t i = 0; i < numOutputs; ++i)
    if (!writeOutput(argv[2], i, outputs[i]))
      return 1;
  return 0;
}
