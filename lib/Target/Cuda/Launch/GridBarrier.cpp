//===- GridBarrier.cpp - Blocks of a launch that wait for one another -------===//

#include "GridBarrier.h"

using namespace lathe;
using namespace lathe::cuda;

void cuda::arriveAtGrid(DeviceBuilder &d, Value counter) {
  d.barrier();
  d.when(d.equal(d.threadId(), 0), [&] { d.ptx("red.release.gpu.global.add.u32 [$0], 1;", "l,~{memory}", counter); });
}

void cuda::awaitGrid(DeviceBuilder &d, Value counter, Value target) {
  d.when(d.equal(d.threadId(), 0), [&] {
    d.ptx("{ .reg .pred p; .reg .u32 v; waiting: ld.acquire.gpu.global.u32 v, [$0]; setp.lt.u32 p, v, $1; @p bra "
          "waiting; }",
          "l,r,~{memory}", {counter, target});
  });
  d.barrier();
}
