//===- Check.h - One model through all stages ------------------------------===//
#ifndef LATHE_TEST_FUZZ_CHECK_H
#define LATHE_TEST_FUZZ_CHECK_H

#include "Model.h"

namespace lathe::fuzz {

struct Settings {
  std::vector<std::string> levels = {"baseline", "avx2", "avx512"}; ///< of the code, smallest first
  unsigned effort = 0;                                              ///< of code generation
  std::string folder;                                               ///< for artifacts
  unsigned emulatedSm = 0; ///< compute capability for which the kernels are generated and emulated as well; 0: none
  std::optional<int> device; ///< the CUDA device on which the artifact runs, instead of CPU levels
  bool spoil = false; ///< change a number of what the artifact gives: the comparison must see it
};

enum class Outcome { Ok, Refused, Unsure, Known, Differs, Fault, Crash };

/// What came of a model. `stage` is the first that does not compute what the one before it does: import, optimize,
/// fuse, prepare (for the target), emit, cuda (emulated, or on the device).
struct Verdict {
  Outcome outcome = Outcome::Ok;
  std::string stage, message;
  bool isFailure() const { return outcome >= Outcome::Differs; }
};
const char *nameOf(Outcome outcome);

/// Runs it with each of the inputs. `extraSizes`: with up to so many other sizes of open dimensions besides, and
/// numbers from the seed.
Verdict check(const Model &model, const Tensors &inputs, unsigned extraSizes, uint64_t seed, const Settings &settings,
              mlir::MLIRContext &context);

/// An exported program, with in0, in1, ... and, where PyTorch's results are known, out0, out1, ...
Verdict checkProgram(const std::string &path, const Tensors &tensors, const Settings &settings, mlir::MLIRContext &context);

/// Makes the driver's context of a CUDA device for all models of this process: making one takes longer than most models.
llvm::Error holdDevice(int id);

/// An exported program's kernels as they are generated for a GPU of this compute capability, in the emulator. Inputs: in0, in1, ...
Verdict emulateFile(const std::string &path, const Tensors &inputs, unsigned sm, uint32_t seed, mlir::MLIRContext &context);

/// Nothing where they agree; else where they do not.
std::optional<std::string> difference(const std::string &name, const Tensor &got, const Tensor &want, double tolerance);

} // namespace lathe::fuzz

#endif // LATHE_TEST_FUZZ_CHECK_H
