//===- Mutation.h - Imports of damaged models ------------------------------===//
//
// What the mutation tests of all formats share: what may come of an import, and the command line
//   [--seeds FOLDER] [--count N] [--first N]
// which takes the seeds of another folder, more mutations, or goes on from one of them.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TEST_IMPORT_MUTATION_H
#define LATHE_TEST_IMPORT_MUTATION_H

#include "MutationLimits.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <gtest/gtest.h>
#include <string>

namespace lathe::test {

struct MutationFlags {
  std::string seedFolder = LATHE_SEED_FOLDER;
  unsigned count = 400, first = 0;
};
inline MutationFlags mutationFlags;

/// Makes mutation after mutation; `import` makes the one of a number and imports it. Any module, a user's mistake and what is
/// unsupported are fine; `judge` gets the message of any other error.
inline void importMutations(llvm::function_ref<llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>(unsigned, mlir::MLIRContext &)> import,
                            llvm::function_ref<void(const std::string &)> judge) {
  unsigned imported = 0;
  MutationLimits limits;
  for (unsigned i = mutationFlags.first; i < mutationFlags.first + mutationFlags.count; ++i) {
    MutationLimits::Watch watch(limits, i);
    SCOPED_TRACE("mutation " + std::to_string(i));
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto module = import(i, context);
    if (module) {
      ++imported;
      continue;
    }
    llvm::handleAllErrors(
        module.takeError(), [](const UserError &) {}, [](const UnsupportedError &) {},
        [&](const llvm::ErrorInfoBase &e) { judge(e.message()); });
  }
  limits.report(imported);
  EXPECT_TRUE(imported || mutationFlags.count < 100) << "not a single mutation was harmless: the seeds no longer import";
}

inline int runMutationTests(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(catch_exceptions, false); // so that one ends the process, which says the number
  for (int i = 1; i + 1 < argc; i += 2) {
    llvm::StringRef flag = argv[i];
    if (flag == "--seeds")
      mutationFlags.seedFolder = argv[i + 1];
    else if (flag == "--count")
      mutationFlags.count = std::stoul(argv[i + 1]);
    else if (flag == "--first")
      mutationFlags.first = std::stoul(argv[i + 1]);
  }
  return RUN_ALL_TESTS();
}

} // namespace lathe::test

#endif // LATHE_TEST_IMPORT_MUTATION_H
