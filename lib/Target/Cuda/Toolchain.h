//===- Toolchain.h - ptxas and libdevice -----------------------------------===//
//
// Both come from a CUDA toolkit that is looked for when CUDA code is asked for: --cuda-path, CUDA_HOME, CUDA_PATH, the
// folder of the ptxas in PATH, /usr/local/cuda.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_TOOLCHAIN_H
#define LATHE_LIB_TARGET_CUDA_TOOLCHAIN_H

#include "llvm/Support/Error.h"
#include <string>

namespace lathe::cuda {

struct Toolchain {
  std::string ptxas, libdevice;
};

llvm::Expected<Toolchain> findToolchain(const std::string &cudaPath);

/// What ptxas says of its version: "release 13.0, V13.0.88".
llvm::Expected<std::string> versionOf(const Toolchain &toolchain);

/// Runs ptxas: PTX text to a cubin. A warning about lost wgmma overlap (C7510) or about an ignored register directive is a
/// bug of the generator and reported as one.
llvm::Expected<std::string> assemble(llvm::StringRef ptx, unsigned sm, const Toolchain &toolchain);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_TOOLCHAIN_H
