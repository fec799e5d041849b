//===- RunKernel.cpp - A kernel's CUDA code, emulated -----------------------===//

#include "RunKernel.h"
#include "Emulator.h"
#include "lathe/Artifact/Format.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace lathe;

llvm::Expected<std::vector<int64_t>> emulator::planOf(cuda::DeviceCode &code, const std::vector<int64_t> &sizes,
                                                      int64_t processors) {
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = cuda::planLlvm(*code.host, *context);
  if (!module)
    return module.takeError();
  std::vector<int64_t> words(LATHE_CUDA_PLAN_WORDS);
  words[LATHE_CUDA_PROCESSORS] = processors;
  if (llvm::Error e = runPlan(std::move(*module), std::move(context), sizes, words))
    return std::move(e);
  return words;
}

static emulator::TensorMap mapOf(const int64_t *words, const std::vector<char *> &buffers, uint64_t scratch) {
  emulator::TensorMap map{};
  size_t buffer = words[LATHE_CUDA_MAP_BUFFER];
  map.base = (buffer < buffers.size() ? buffers[buffer] : reinterpret_cast<char *>(scratch)) + words[LATHE_CUDA_MAP_OFFSET];
  int64_t type = words[LATHE_CUDA_MAP_TYPE]; // CUtensorMapDataType: bytes, f32, or halves
  map.elementBytes = type == 0 ? 1 : type == 7 ? 4 : 2;
  map.rank = words[LATHE_CUDA_MAP_RANK];
  map.swizzle = words[LATHE_CUDA_MAP_SWIZZLE];
  for (unsigned i = 0; i < 5; ++i) {
    map.dims[i] = words[LATHE_CUDA_MAP_DIMS + i];
    map.strides[i] = words[LATHE_CUDA_MAP_STRIDES + i];
    map.box[i] = words[LATHE_CUDA_MAP_BOX + i];
  }
  map.pixels = words[LATHE_CUDA_MAP_WINDOW];
  for (unsigned i = 0; i < 3; ++i) {
    map.lower[i] = words[LATHE_CUDA_MAP_LOWER + i];
    map.upper[i] = words[LATHE_CUDA_MAP_UPPER + i];
    map.steps[i] = words[LATHE_CUDA_MAP_STEPS + i];
  }
  return map;
}

std::set<std::string> emulator::calledBy(const cuda::DeviceCode &code, const std::vector<int64_t> &plan) {
  std::set<std::string> called{code.entries.at(plan[LATHE_CUDA_ENTRY])};
  for (int64_t i = 0; i < plan[LATHE_CUDA_FOLLOWING]; ++i)
    called.insert(code.entries.at(plan[LATHE_CUDA_FOLLOWING0 + i * LATHE_CUDA_FOLLOWING_WORDS]));
  return called;
}

void emulator::keepEntries(mlir::ModuleOp device, const std::set<std::string> &wanted) {
  for (auto f : llvm::make_early_inc_range(device.getOps<mlir::LLVM::LLVMFuncOp>()))
    if (f->hasAttr(mlir::NVVM::NVVMDialect::getKernelFuncAttrName()) && !wanted.count(f.getName().str()))
      f.erase();
}

llvm::Error emulator::runKernel(cuda::DeviceCode &code, unsigned sm, const std::vector<int64_t> &sizes,
                                const std::vector<char *> &buffers, const cuda::CudaOptions &options,
                                int64_t processors, std::optional<Beside> beside) {
  auto plan = planOf(code, sizes, processors);
  if (!plan)
    return plan.takeError();
  const std::vector<int64_t> &p = *plan;
  std::vector<char> scratch(p[LATHE_CUDA_SCRATCH] + 16, 0x7f); // not zero: nothing may rely on it
  Launch launch{};
  launch.entry = code.entries.at(p[LATHE_CUDA_ENTRY]);
  for (unsigned i = 0; i < 3; ++i)
    launch.grid[i] = p[LATHE_CUDA_GRID + i];
  bool isEmpty = !launch.grid[0] || !launch.grid[1] || !launch.grid[2];
  if (isEmpty && !beside)
    return llvm::Error::success();
  launch.cluster = std::max<int64_t>(1, p[LATHE_CUDA_CLUSTER]);
  if (p[LATHE_CUDA_PERSISTENT]) // a small machine, so that blocks take several tiles
    launch.grid[0] = std::min(launch.grid[0], (launch.cluster > 1 ? 2 * launch.cluster : 3u) * unsigned(p[LATHE_CUDA_PERSISTENT]));
  launch.threads = p[LATHE_CUDA_BLOCK];
  launch.shared = p[LATHE_CUDA_SHARED];
  for (char *b : buffers)
    launch.arguments.push_back(reinterpret_cast<uint64_t>(b));
  launch.arguments.insert(launch.arguments.end(), sizes.begin(), sizes.end());
  launch.scratch = (reinterpret_cast<uint64_t>(scratch.data()) + 15) & ~uint64_t(15);
  std::vector<Launch> launches(1, launch);
  for (int64_t i = 0; i < p[LATHE_CUDA_MAPS]; ++i)
    launches[0].maps.push_back(mapOf(p.data() + LATHE_CUDA_MAP0 + i * LATHE_CUDA_MAP_WORDS, buffers, launch.scratch));
  for (int64_t i = 0; i < p[LATHE_CUDA_FOLLOWING]; ++i) {
    const int64_t *w = p.data() + LATHE_CUDA_FOLLOWING0 + i * LATHE_CUDA_FOLLOWING_WORDS;
    launch.entry = code.entries.at(w[0]);
    launch.cluster = 1;
    launch.grid[0] = w[1];
    launch.grid[1] = launch.grid[2] = 1;
    launch.threads = w[2];
    launch.shared = w[3];
    launch.together = p[LATHE_CUDA_FLAGS] & LATHE_CUDA_TOGETHER && i + 1 == p[LATHE_CUDA_FOLLOWING];
    launches.push_back(launch);
    launches.back().maps = launches[0].maps; // as the runtime hands them on: behind what the launch looks at
  }
  std::set<std::string> wanted = calledBy(code, p);
  if (beside)
    wanted.merge(beside->entries(p));
  keepEntries(*code.device, wanted);
  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = cuda::deviceLlvm(*code.device, sm, *context, options);
  if (!module)
    return module.takeError();
  if (llvm::Error e = beside ? beside->take(**module) : llvm::Error::success())
    return e;
  return isEmpty ? llvm::Error::success() : emulate(std::move(*module), std::move(context), launches);
}
