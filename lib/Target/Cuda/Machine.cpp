//===- Machine.cpp - What GPUs of a compute capability can do --------------===//

#include "Machine.h"

using namespace lathe;
using lathe::cuda::Machine;

/// The oldest first. 8.0's machine code runs on 8.6 and 8.9, which have less shared memory than an A100.
constexpr Machine machines[] = {{75, "", "+ptx65", false, false, false, false, false, 64 * 1024},
                                {80, "", "+ptx74", true, true, false, false, false, 99 * 1024},
                                {90, "a", "+ptx84", true, true, true, true, true, 227 * 1024}};

const Machine &cuda::machineOf(unsigned sm) {
  const Machine *found = &machines[0];
  for (const Machine &m : machines)
    if (m.sm <= sm)
      found = &m;
  return *found;
}
