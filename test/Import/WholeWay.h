//===- WholeWay.h - From an imported module to a run -----------------------===//
#ifndef LATHE_TEST_IMPORT_WHOLEWAY_H
#define LATHE_TEST_IMPORT_WHOLEWAY_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "mlir/IR/BuiltinOps.h"

namespace lathe::test {

/// What a mutation test does behind the importer: the passes, code for one level without optimisation, the artifact, opened and run on
/// made-up inputs.
class WholeWay {
public:
  WholeWay();
  WholeWay(const WholeWay &) = delete;
  ~WholeWay();

  /// What the compiler or the artifact refuses is its error. Not run is what loops, or computes more than `mostWork` points: what a
  /// file asks for may take any time.
  llvm::Error go(mlir::ModuleOp module, unsigned mutation);
  unsigned compiled() const { return numCompiled; }
  unsigned ran() const { return numRan; }

  static constexpr double mostWork = 2e7;

private:
  llvm::Error run(mlir::ModuleOp kernels);

  llvm::SmallString<128> folder;
  std::string artifact;
  unsigned numCompiled = 0, numRan = 0;
};

} // namespace lathe::test

#endif // LATHE_TEST_IMPORT_WHOLEWAY_H
