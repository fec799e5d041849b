//===- CudaKernels.cpp - Kernels of a model as a GPU would run them --------===//

#include "CudaKernels.h"
#include "../../tools/lathe-cuda/RunKernel.h"

using namespace mlir;
using namespace lathe;
using interpret::Tensor;

/// Memory that nothing may take for a result: what is never written shows.
static std::vector<char> unwritten(RankedTensorType type) { return std::vector<char>(interpret::toBytes(Tensor(type)).size(), char(0xA5)); }

interpret::KernelRunner fuzz::cudaRunner(unsigned sm) {
  return [sm](kernel::GenericOp kernel, ArrayRef<const Tensor *> operands, ArrayRef<int64_t> sizes,
              ArrayRef<RankedTensorType> results) -> llvm::Expected<std::vector<Tensor>> {
    cuda::CudaOptions options;
    options.sms = {sm};
    llvm::Expected<cuda::DeviceCode> code = cuda::generateDeviceCode(kernel, sm, options);
    if (!code)
      return code.takeError();
    std::vector<std::vector<char>> memory;
    for (const Tensor *t : operands)
      memory.push_back(interpret::toBytes(*t));
    for (RankedTensorType type : results)
      memory.push_back(unwritten(type));
    std::vector<char *> buffers;
    for (std::vector<char> &m : memory)
      buffers.push_back(m.data());
    if (auto shared = kernel->getAttrOfType<IntegerAttr>("in_place"))
      buffers[operands.size()] = buffers[shared.getInt()];
    if (llvm::Error e = emulator::runKernel(*code, sm, std::vector<int64_t>(sizes), buffers, options))
      return std::move(e);
    std::vector<Tensor> out;
    for (auto [i, type] : llvm::enumerate(results))
      out.push_back(interpret::fromBytes(type, buffers[operands.size() + i]));
    return out;
  };
}
