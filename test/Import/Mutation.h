//===- Mutation.h - Imports of damaged models ------------------------------===//
//
// What the mutation tests of all formats share: what may come of an import, and the command line
//   [--seeds FOLDER] [--count N] [--first N] [--every N]
// which takes the seeds of another folder, more mutations, or goes on from one of them; every Nth goes the whole way,
// through the compiler to a run (WholeWay.h).
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TEST_IMPORT_MUTATION_H
#define LATHE_TEST_IMPORT_MUTATION_H

#include "MutationLimits.h"
#include "WholeWay.h"
#include "lathe/Pipeline/Compile.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <gtest/gtest.h>
#include <string>

namespace lathe::test {

struct MutationFlags {
  std::string seedFolder = LATHE_SEED_FOLDER;
  unsigned count = 400, first = 0, every = 4;
};
inline MutationFlags mutationFlags;

/// Makes mutation after mutation; `import` makes the one of a number and imports it. A user's mistake and what is unsupported are fine, in
/// the importer and behind it; `judge` gets the message of any other error.
inline void importMutations(llvm::function_ref<llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>(unsigned, mlir::MLIRContext &)> import,
                            llvm::function_ref<void(const std::string &)> judge) {
  unsigned imported = 0;
  WholeWay behind;
  mlir::DialectRegistry registry;
  registerAllLatheDialects(registry);
  MutationLimits limits;
  for (unsigned i = mutationFlags.first; i < mutationFlags.first + mutationFlags.count; ++i) {
    MutationLimits::Watch watch(limits, i);
    SCOPED_TRACE("mutation " + std::to_string(i));
    mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
    context.loadAllAvailableDialects();
    auto module = import(i, context);
    llvm::Error error = module ? llvm::Error::success() : module.takeError();
    imported += bool(module);
    if (module && i % mutationFlags.every == 0)
      error = behind.go(**module, i);
    llvm::handleAllErrors(
        std::move(error), [](const UserError &) {}, [](const UnsupportedError &) {},
        [&](const llvm::ErrorInfoBase &e) { judge(e.message()); });
  }
  limits.report(imported);
  llvm::errs() << behind.compiled() << " went on to an artifact, " << behind.ran() << " of them to a run\n";
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
    else if (flag == "--every")
      mutationFlags.every = std::max(1ul, std::stoul(argv[i + 1]));
  }
  return RUN_ALL_TESTS();
}

} // namespace lathe::test

#endif // LATHE_TEST_IMPORT_MUTATION_H
