//===- CudaTensors.h - Tensors on a CUDA device ----------------------------===//
//
// For timing a model as a program on the device would call it: with inputs and outputs that are there already.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TOOLS_CUDATENSORS_H
#define LATHE_TOOLS_CUDATENSORS_H

#include "HostTensor.h"

namespace lathe::tool {

class CudaTensors {
public:
  /// Opens the driver's primary context of the device, the one that artifacts use.
  static llvm::Expected<std::unique_ptr<CudaTensors>> open(int deviceId);
  ~CudaTensors();

  /// A tensor on the device, zeroed or with the values of one on the host. Its memory lives as long as this object, its shape
  /// as long as the caller's.
  llvm::Expected<DLTensor> make(DLDataType type, llvm::MutableArrayRef<int64_t> shape);
  llvm::Expected<DLTensor> upload(HostTensor &tensor);
  llvm::Expected<HostTensor> download(const DLTensor &tensor);

private:
  struct Driver;
  CudaTensors();
  llvm::Error check(int result, const char *what) const;
  std::unique_ptr<Driver> driver;
  int deviceId = 0;
  std::vector<unsigned long long> memory;
};

} // namespace lathe::tool

#endif // LATHE_TOOLS_CUDATENSORS_H
