/*===- Signal.c - Waiting for a graph through a word in the host's memory ---===*\
|*
|* The driver notices the end of a stream's work about a microsecond after a write of the device would have reached the host, which is
|* a sixth of what an empty run takes. So a graph ends with such a write, behind all its kernels, and the host watches the word. Only for a
|* while: what takes longer does not feel a microsecond, and a kernel that fails never writes, of which the driver knows the reason.
|*
\*===----------------------------------------------------------------------===*/
#include "Cuda.h"

enum { LATHE_CUDA_WATCH_NS = 500000, LATHE_CUDA_LOOKS_PER_CLOCK = 64 };

/* Programs that have asked the driver to yield or sleep while they wait do not want a processor to spin. */
static bool spins(const LatheCudaDriver *d) {
  unsigned flags = 0;
  return !d->contextFlags(&flags) && !(flags & (CU_CONTEXT_YIELDS | CU_CONTEXT_SLEEPS));
}

void latheCudaOpenSignal(LatheCuda *cuda) {
  const LatheCudaDriver *d = &cuda->driver;
  if (!d->contextFlags || !d->hostAllocate || !d->hostAddress || !d->hostRelease || !d->fill || !spins(d))
    return;
  void *word = NULL;
  if (d->hostAllocate(&word, sizeof(uint32_t), CU_HOST_MAPPED))
    return;
  if (d->hostAddress(&cuda->signalAddress, word, 0)) {
    d->hostRelease(word);
    return;
  }
  cuda->signal = word;
}

void latheCudaCloseSignal(LatheCuda *cuda) {
  if (cuda->signal)
    cuda->driver.hostRelease(cuda->signal);
  cuda->signal = NULL;
}

LatheStatus latheCudaSignalAtEnd(LatheContext *context) {
  LatheCuda *cuda = latheCuda(context);
  if (cuda->signal)
    LATHE_CUDA_TRY(context, cuda->driver.fill(cuda->signalAddress, 1, 1, cuda->stream), "capturing the end of the kernels");
  return LATHE_OK;
}

void latheCudaExpectSignal(LatheCuda *cuda) {
  if (cuda->signal)
    __atomic_store_n(cuda->signal, 0, __ATOMIC_RELEASE);
}

bool latheCudaAwaitSignal(LatheCuda *cuda) {
  if (!cuda->signal)
    return false;
  for (int64_t end = latheNow() + LATHE_CUDA_WATCH_NS; latheNow() < end;)
    for (int i = 0; i < LATHE_CUDA_LOOKS_PER_CLOCK; ++i) {
      if (__atomic_load_n(cuda->signal, __ATOMIC_ACQUIRE))
        return true;
      latheRelax();
    }
  return false;
}
