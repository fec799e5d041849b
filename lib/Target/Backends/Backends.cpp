//===- Backends.cpp - The backends that there are --------------------------===//

#include "lathe/Target/Backend.h"
#include "lathe/Target/CpuTarget.h"
#include "lathe/Target/CudaTarget.h"

using namespace lathe;
using namespace lathe::target;

llvm::ArrayRef<const Backend *> target::backends() {
  static const Backend *const all[] = {&cpu::backend(), &cuda::backend()};
  return all;
}

const std::string &target::usualHost() {
  static const std::string arch = "x86_64";
  return arch;
}

const Backend *target::findBackend(llvm::StringRef arch) {
  for (const Backend *backend : backends())
    for (const Architecture &a : backend->architectures())
      if (a.name == arch)
        return backend;
  return nullptr;
}
