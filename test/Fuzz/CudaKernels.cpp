//===- CudaKernels.cpp - Kernels of a model as a GPU would run them --------===//

#include "CudaKernels.h"
#include "../../tools/lathe-cuda/RunKernel.h"
#include "lathe/Artifact/Format.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace lathe;
using interpret::Tensor;

namespace {
/// Where a GPU's allocations start, and what vectors of a kernel are aligned by.
struct alignas(LATHE_DATA_ALIGN) Line {
  char bytes[LATHE_DATA_ALIGN];
};

/// What a kernel reads and writes, as bytes.
struct Memory {
  std::vector<std::vector<Line>> lines;
  std::vector<char *> buffers;

  Memory(kernel::GenericOp kernel, ArrayRef<const Tensor *> operands, ArrayRef<Tensor> results) {
    for (const Tensor *t : operands) {
      std::vector<char> bytes = interpret::toBytes(*t);
      std::copy(bytes.begin(), bytes.end(), add(bytes.size()));
    }
    for (const Tensor &t : results) { // what is never written shows
      size_t size = interpret::toBytes(t).size();
      std::fill_n(add(size), size, char(0xA5));
    }
    if (auto shared = kernel->getAttrOfType<IntegerAttr>("in_place"))
      buffers[operands.size()] = buffers[shared.getInt()];
  }
  char *add(size_t size) {
    lines.emplace_back(size / sizeof(Line) + 1);
    buffers.push_back(lines.back().front().bytes);
    return buffers.back();
  }
};
/// Whether a rounding of a float may show as a whole number.
bool readsBits(kernel::GenericOp kernel) {
  return kernel.getBody().walk([](arith::BitcastOp) { return WalkResult::interrupt(); }).wasInterrupted();
}
} // namespace

interpret::KernelObserver
fuzz::checkCudaKernels(unsigned sm, std::function<llvm::Error(const std::vector<Tensor> &got, ArrayRef<Tensor> want)> compare) {
  return [=](kernel::GenericOp kernel, ArrayRef<const Tensor *> operands, ArrayRef<int64_t> sizes, ArrayRef<Tensor> results) -> llvm::Error {
    if (readsBits(kernel))
      return llvm::Error::success();
    cuda::CudaOptions options;
    options.sms = {sm};
    llvm::Expected<cuda::DeviceCode> code = cuda::generateDeviceCode(kernel, sm, options);
    if (!code)
      return code.takeError();
    Memory memory(kernel, operands, results);
    if (llvm::Error e = emulator::runKernel(*code, sm, std::vector<int64_t>(sizes), memory.buffers, options))
      return e;
    std::vector<Tensor> got;
    for (auto [i, t] : llvm::enumerate(results))
      got.push_back(interpret::fromBytes(t.type, memory.buffers[operands.size() + i]));
    return compare(got, results);
  };
}
