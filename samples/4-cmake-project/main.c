/* Lesson 4: two models inside of one program, which needs no file beside it. */
#include "classifier.h"
#include "encoder.h"
#include <stdio.h>

static void describe(const LatheSignature *signature) {
  printf("%s:", signature->modelName);
  for (uint32_t i = 0; i < signature->numInputs; ++i) {
    const LatheTensorInfo *input = &signature->inputs[i];
    printf(" %s[", input->name);
    for (int32_t d = 0; d < input->ndim; ++d)
      printf("%s%s", d ? ", " : "", input->dims[d]);
    printf("]");
  }
  printf("\n");
}

static int classify(void) {
  LatheContext *context;
  int status = classifier_create(NULL, &context);
  static float picture[3 * 32 * 32];
  int64_t shape[] = {1, 3, 32, 32}, outShape[2];
  DLTensor image = {picture, {kDLCPU, 0}, 4, {kDLFloat, 32, 1}, shape, NULL, 0};
  DLTensor result = {NULL, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, outShape, NULL, 0};
  DLTensor *inputs[] = {&image}, *outputs[] = {&result};
  for (int i = 0; i < 3 * 32 * 32; ++i)
    picture[i] = (float)(i * 37 % 101) / 50 - 1;
  if (!status)
    describe(classifier_signature(context));
  if (!status)
    status = classifier_run(context, inputs, 1, outputs, 1);
  if (status)
    fprintf(stderr, "%s\n", classifier_last_error(context));
  for (int64_t c = 0; !status && c < result.shape[1]; ++c)
    printf("%s%.5f", c ? " " : "", ((const float *)result.data)[c]);
  printf("\n");
  classifier_destroy(context);
  return status;
}

int main(void) {
  LatheContext *context;
  int status = encoder_create(NULL, &context);
  if (status)
    fprintf(stderr, "%s\n", encoder_last_error(context));
  else
    describe(encoder_signature(context));
  encoder_destroy(context);
  return status ? status : classify();
}
