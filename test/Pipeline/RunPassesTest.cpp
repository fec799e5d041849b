//===- RunPassesTest.cpp - What is left where a pass fails ------------------===//

#include "RunPasses.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Pipeline/Compile.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace lathe;

namespace {

/// Fails where there are no constants any more.
struct NeedConstants : PassWrapper<NeedConstants, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(NeedConstants)
  StringRef getArgument() const override { return "need-constants"; }
  void runOnOperation() override {
    bool found = false;
    getOperation().walk([&](ir::ConstantOp) { found = true; });
    if (found)
      return;
    getOperation().emitError("there are no constants");
    signalPassFailure();
  }
};

struct RunPassesTest : testing::Test {
  RunPassesTest() : context(registry(), MLIRContext::Threading::DISABLED) {
    context.loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(R"(
      func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
        %0 = lathe.constant dense<1.0> : tensor<2xf32>
        %1 = lathe.neg %x : tensor<2xf32>
        return %1 : tensor<2xf32>
      })",
                                         &context);
  }
  static DialectRegistry registry() {
    DialectRegistry r;
    registerAllLatheDialects(r);
    return r;
  }
  llvm::Error run() {
    return pipeline::runPasses(*module, "stage", nullptr, [](OpPassManager &pm) {
      pm.addPass(std::make_unique<NeedConstants>());
      pm.addPass(createCanonicalizerPass()); // drops the constant that nobody reads
      pm.addPass(std::make_unique<NeedConstants>());
    });
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

TEST_F(RunPassesTest, theFormIsTheOneInFrontOfThePass) {
  llvm::handleAllErrors(run(), [](const BugError &e) {
    EXPECT_EQ(e.message, "stage: there are no constants");
    EXPECT_EQ(e.form.rfind("// lathe-opt --pass-pipeline='builtin.module(need-constants)'\n", 0), 0u) << e.form;
    EXPECT_EQ(e.form.find("lathe.constant"), std::string::npos) << e.form;
    EXPECT_NE(e.form.find("lathe.neg"), std::string::npos) << e.form;
  });
}

TEST_F(RunPassesTest, theMessageNamesTheFile) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("lathe-test", folder));
  std::string output = (folder + "/model.so").str(), file = output + ".reproducer.mlir";
  llvm::handleAllErrors(pipeline::writeReproducer(run(), output), [&](const BugError &e) {
    EXPECT_NE(e.message.find(file), std::string::npos) << e.message;
    auto bytes = llvm::MemoryBuffer::getFile(file);
    ASSERT_TRUE(bool(bytes));
    EXPECT_EQ((*bytes)->getBuffer(), e.form);
    EXPECT_TRUE(bool(parseSourceString<ModuleOp>((*bytes)->getBuffer(), &context)));
  });
  llvm::sys::fs::remove_directories(folder);
}

TEST_F(RunPassesTest, mistakesOfTheUserHaveNoFile) {
  bool asked = false;
  auto form = [&] {
    asked = true;
    return std::string("form");
  };
  std::string said = toString(pipeline::writeReproducer(withForm(userError("wrong"), form), "/nowhere/model.so"));
  EXPECT_EQ(said, "wrong");
  EXPECT_FALSE(asked);
}

/// What no type of ours says is not the user's mistake.
TEST_F(RunPassesTest, untypedErrorsAreBugs) {
  EXPECT_EQ(report(llvm::createStringError(llvm::inconvertibleErrorCode(), "something")), ExitCode::Bug);
  EXPECT_EQ(report(userError("something")), ExitCode::UserMistake);
  EXPECT_EQ(report(unsupported("something")), ExitCode::Unsupported);
  bool wasBug = false;
  llvm::handleAllErrors(withForm(llvm::createStringError(llvm::inconvertibleErrorCode(), "something"),
                                 [] { return std::string("form"); }),
                        [&](const BugError &e) { wasBug = e.message == "something" && e.form == "form"; });
  EXPECT_TRUE(wasBug);
}
