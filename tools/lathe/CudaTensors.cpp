//===- CudaTensors.cpp - Tensors on a CUDA device --------------------------===//
#include "CudaTensors.h"
#include "lathe/Support/Diagnostics.h"
#include <dlfcn.h>

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

/// The few functions of the driver's interface, with its types spelled out: handles are pointers, results are ints.
struct CudaTensors::Driver {
  void *library = nullptr;
  void *context = nullptr;
  int (*init)(unsigned) = nullptr;
  int (*deviceGet)(int *, int) = nullptr;
  int (*retain)(void **, int) = nullptr;
  int (*release)(int) = nullptr;
  int (*setCurrent)(void *) = nullptr;
  int (*allocate)(unsigned long long *, size_t) = nullptr;
  int (*free)(unsigned long long) = nullptr;
  int (*clear)(unsigned long long, unsigned char, size_t) = nullptr;
  int (*upload)(unsigned long long, const void *, size_t) = nullptr;
  int (*download)(void *, unsigned long long, size_t) = nullptr;
  int (*errorName)(int, const char **) = nullptr;

  bool resolve() {
    auto find = [this](const char *name, auto &function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      return function != nullptr;
    };
    return find("cuInit", init) && find("cuDeviceGet", deviceGet) && find("cuDevicePrimaryCtxRetain", retain) &&
           find("cuDevicePrimaryCtxRelease_v2", release) && find("cuCtxSetCurrent", setCurrent) &&
           find("cuMemAlloc_v2", allocate) && find("cuMemFree_v2", free) && find("cuMemsetD8_v2", clear) &&
           find("cuMemcpyHtoD_v2", upload) && find("cuMemcpyDtoH_v2", download) && find("cuGetErrorName", errorName);
  }
};

CudaTensors::CudaTensors() : driver(std::make_unique<Driver>()) {}

CudaTensors::~CudaTensors() {
  if (driver->context) {
    driver->setCurrent(driver->context);
    for (unsigned long long one : memory)
      driver->free(one);
    driver->release(deviceId);
  }
  if (driver->library)
    dlclose(driver->library);
}

Error CudaTensors::check(int result, const char *what) const {
  if (!result)
    return Error::success();
  const char *name = nullptr;
  driver->errorName(result, &name);
  return userError("CUDA device {0}: {1}: {2}", deviceId, what, name ? name : "unknown error");
}

Expected<std::unique_ptr<CudaTensors>> CudaTensors::open(int deviceId) {
  std::unique_ptr<CudaTensors> tensors(new CudaTensors);
  Driver &driver = *tensors->driver;
  tensors->deviceId = deviceId;
  driver.library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver.library || !driver.resolve())
    return unsupported("there is no usable CUDA driver: {0}", driver.library ? "libcuda.so.1 is too old" : dlerror());
  int device = 0;
  if (Error error = tensors->check(driver.init(0), "starting the driver"))
    return std::move(error);
  if (Error error = tensors->check(driver.deviceGet(&device, deviceId), "finding the device"))
    return std::move(error);
  if (Error error = tensors->check(driver.retain(&driver.context, device), "opening its context"))
    return std::move(error);
  if (Error error = tensors->check(driver.setCurrent(driver.context), "using its context"))
    return std::move(error);
  return std::move(tensors);
}

Expected<DLTensor> CudaTensors::make(DLDataType type, MutableArrayRef<int64_t> shape) {
  uint64_t bytes = bytesFor(countElements(shape).value_or(0), type);
  unsigned long long address = 0;
  if (Error error = check(driver->allocate(&address, std::max<uint64_t>(bytes, 1)), "allocating a tensor"))
    return std::move(error);
  memory.push_back(address);
  if (Error error = check(driver->clear(address, 0, std::max<uint64_t>(bytes, 1)), "clearing a tensor"))
    return std::move(error);
  return DLTensor{reinterpret_cast<void *>(address), {kDLCUDA, deviceId}, int32_t(shape.size()), type, shape.data(), nullptr, 0};
}

Expected<DLTensor> CudaTensors::upload(HostTensor &tensor) {
  Expected<DLTensor> made = make(tensor.dtype, tensor.shape);
  if (!made)
    return made;
  auto address = reinterpret_cast<unsigned long long>(made->data);
  if (Error error = check(driver->upload(address, tensor.data(), tensor.bytes()), "copying an input"))
    return std::move(error);
  return made;
}

Expected<HostTensor> CudaTensors::download(const DLTensor &tensor) {
  Expected<HostTensor> host = HostTensor::create(tensor.dtype, {tensor.shape, size_t(tensor.ndim)});
  if (!host)
    return host;
  auto address = reinterpret_cast<unsigned long long>(tensor.data) + tensor.byte_offset;
  if (Error error = check(driver->setCurrent(driver->context), "using its context"))
    return std::move(error);
  if (Error error = check(driver->download(host->data(), address, host->bytes()), "copying an output"))
    return std::move(error);
  return host;
}
