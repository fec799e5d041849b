/*===- Driver.c - What the runtime takes from libcuda.so.1 ------------------===*/
#include "Driver.h"

LatheStatus latheCudaOpenDriver(LatheContext *context, LatheCudaDriver *driver) {
  driver->library = dlopen("libcuda.so.1", LATHE_RTLD_NOW);
  if (!driver->library)
    return latheFail(context, LATHE_UNSUPPORTED, "no CUDA driver on this machine (%s)", dlerror());
#define LATHE_FIND(symbol, name, parameters)                                                                                   \
  if (!(driver->name = (CUresult(*) parameters)dlsym(driver->library, #symbol)))                                               \
    return latheFail(context, LATHE_UNSUPPORTED, "the CUDA driver is too old: it has no %s", #symbol);
#define LATHE_TRY(symbol, name, parameters) driver->name = (CUresult(*) parameters)dlsym(driver->library, #symbol);
  LATHE_CUDA_FUNCTIONS(LATHE_FIND)
  LATHE_CUDA_OPTIONAL(LATHE_TRY)
#undef LATHE_FIND
#undef LATHE_TRY
  return LATHE_OK;
}

LatheStatus latheCudaCheck(LatheContext *context, const LatheCudaDriver *driver, CUresult result, const char *what) {
  if (!result)
    return LATHE_OK;
  const char *reason = NULL;
  if (driver->errorString(result, &reason) || !reason)
    reason = "unknown error";
  return latheFail(context, LATHE_FAILED, "CUDA device %d: %s fails: %s (%d)", context->device.device_id, what, reason, result);
}
