/* Lesson 5: tokens from the compiled decoder, from C.    usage: generate TOKEN ... */
#include "lathe/Runtime/lathe.h"
#include <stdio.h>
#include <stdlib.h>

enum { Length = 64 };

/* Runs an entry point on tokens that stand at `first` and behind it; gives the likeliest next one, or -1. */
static int64_t step(LatheContext *entry, int64_t *tokens, int64_t count, int64_t first) {
  int64_t positions[Length], tokenShape[] = {1, count}, best = 0;
  for (int64_t i = 0; i < count; ++i)
    positions[i] = first + i;
  const DLDataType int64 = {kDLInt, 64, 1};
  DLTensor given = {.data = tokens, .device = {kDLCPU, 0}, .ndim = 2, .dtype = int64, .shape = tokenShape};
  DLTensor where = {.data = positions, .device = {kDLCPU, 0}, .ndim = 1, .dtype = int64, .shape = &tokenShape[1]};
  DLTensor logits = {0}; /* no data: the library provides the memory, valid until the next run */
  DLTensor *inputs[] = {&given, &where}, *outputs[] = {&logits};
  if (lathe_run(entry, inputs, 2, outputs, 1)) {
    fprintf(stderr, "%s\n", lathe_last_error(entry));
    return -1;
  }
  const float *values = logits.data;
  for (int64_t i = 1; i < logits.shape[1]; ++i)
    if (values[i] > values[best])
      best = i;
  return best;
}

int main(int count, char **words) {
  LatheContext *prefill, *decode;
  int64_t prompt[Length], length = count - 1 < Length ? count - 1 : Length;
  for (int64_t i = 0; i < length; ++i)
    prompt[i] = atoi(words[i + 1]);
  if (lathe_create(NULL, &prefill) || lathe_entry(prefill, "decode", &decode)) {
    fprintf(stderr, "%s\n", lathe_last_error(prefill));
    lathe_destroy(prefill);
    return 1;
  }
  int64_t next = step(prefill, prompt, length, 0); /* writes the keys and values of the prompt */
  for (; next >= 0; next = step(decode, &next, 1, length++)) {
    printf("%lld%c", (long long)next, length == Length ? '\n' : ' ');
    if (length == Length)
      break;
  }
  lathe_destroy(prefill); /* and decode, which is a part of it */
  return next < 0;
}
