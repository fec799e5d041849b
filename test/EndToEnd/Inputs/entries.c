/* Two entry points of a model that is linked in. */
#include "net.h"
#include <stdio.h>

int main(void) {
  LatheContext *first, *scaled;
  if (net_create(NULL, &first) || net_entry(first, "scaled", &scaled))
    return puts(net_last_error(first)), 1;
  float x[] = {1, 2, 3}, factor = 10, y[2], z[2];
  int64_t one[] = {1, 3}, small[] = {1, 1}, two[] = {1, 2};
  const DLDataType f32 = {kDLFloat, 32, 1};
  DLTensor given = {x, {kDLCPU, 0}, 2, f32, one, NULL, 0}, times = {&factor, {kDLCPU, 0}, 2, f32, small, NULL, 0};
  DLTensor sum = {y, {kDLCPU, 0}, 2, f32, two, NULL, 0}, result = {z, {kDLCPU, 0}, 2, f32, two, NULL, 0};
  DLTensor *in[] = {&given}, *out[] = {&sum}, *in2[] = {&times}, *out2[] = {&result};
  if (net_run(first, in, 1, out, 1) || net_run(scaled, in2, 1, out2, 1))
    return puts(net_last_error(scaled)), 1;
  printf("%u %s %g %g %g %g\n", net_entry_count(scaled), net_entry_name(scaled, 1), y[0], y[1], z[0], z[1]);
  net_destroy(first);
  return 0;
}
