/* Lesson 2: classify images of two sizes from C. The program is linked against the compiled model and needs nothing else. */
#include "lathe/Runtime/lathe.h"
#include <stdio.h>
#include <stdlib.h>

static DLTensor tensor(void *data, int32_t ndim, int64_t *shape) {
  DLTensor t = {0};
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = ndim;
  t.shape = shape;
  t.dtype.code = kDLFloat;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  return t; /* no strides: contiguous, row by row */
}

/* A made-up picture, the same everywhere. */
static float *picture(int64_t elements) {
  float *data = malloc((size_t)elements * sizeof(float));
  for (int64_t i = 0; data && i < elements; ++i)
    data[i] = (float)(i * 37 % 101) / 50 - 1;
  return data;
}

static int classify(LatheContext *context, int64_t batch, int64_t height, int64_t width) {
  int64_t inShape[] = {batch, 3, height, width}, outShape[2];
  float *data = picture(batch * 3 * height * width);
  if (!data)
    return 1;
  DLTensor image = tensor(data, 4, inShape);
  DLTensor result = tensor(NULL, 2, outShape); /* no data: the library provides the memory, valid until the next run */
  DLTensor *inputs[] = {&image}, *outputs[] = {&result};
  int status = lathe_run(context, inputs, 1, outputs, 1);
  if (status != LATHE_OK)
    fprintf(stderr, "%s\n", lathe_last_error(context));
  for (int64_t i = 0; status == LATHE_OK && i < batch; ++i) {
    for (int64_t c = 0; c < result.shape[1]; ++c)
      printf("%s%.5f", c ? " " : "", ((const float *)result.data)[i * result.shape[1] + c]);
    printf("\n");
  }
  free(data);
  return status;
}

int main(void) {
  LatheContext *context;
  int status = lathe_create(NULL, &context);
  if (status != LATHE_OK)
    fprintf(stderr, "%s\n", lathe_last_error(context));
  if (!status)
    status = classify(context, 1, 32, 32);
  if (!status)
    status = classify(context, 2, 48, 20);
  lathe_destroy(context);
  return status;
}
