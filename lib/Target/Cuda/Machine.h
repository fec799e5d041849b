//===- Machine.h - What GPUs of a compute capability can do ----------------===//
#ifndef LATHE_LIB_TARGET_CUDA_MACHINE_H
#define LATHE_LIB_TARGET_CUDA_MACHINE_H

#include <string>

namespace lathe::cuda {

/// Code for one compute capability also runs on what the row says of it: its PTX on all later ones, its machine code on later ones
/// of the same generation.
struct Machine {
  unsigned sm;
  const char *suffix;       ///< of the architecture's name, where it has instructions of its own
  const char *ptx;          ///< the version of PTX text
  bool asynchronousCopies;  ///< cp.async of 16 bytes into shared memory
  bool wideProducts;        ///< mma.sync m16n8k16 of f16 and bf16; before, m16n8k8 of f16
  bool warpgroupProducts;   ///< wgmma, and bulk copies by tensor maps that feed it
  bool dependentLaunch;     ///< griddepcontrol
  bool clusters;            ///< of blocks that read one another's shared memory
  unsigned sharedBytes;     ///< that a block may have on every GPU that runs the code
  std::string name() const { return "sm_" + std::to_string(sm) + suffix; }
};

/// The row of a known compute capability; of another one, that of the last one before it.
const Machine &machineOf(unsigned sm);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_MACHINE_H
