//===- RunPasses.cpp - Passes over a module --------------------------------===//

#include "RunPasses.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/Diagnostics.h"
#include <chrono>

using namespace mlir;
using namespace lathe;
using llvm::Error;

std::string pipeline::textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  flags.elideLargeElementsAttrs(16).elideLargeResourceString(16);
  module.print(os, flags);
  os << "\n";
  return text;
}

static std::string saidBy(PassManager &pm, ModuleOp module, bool &isDone) {
  std::string said;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &d) {
    said += (said.empty() ? "" : "; ") + d.str();
    return success();
  });
  isDone = succeeded(pm.run(module));
  return said;
}

namespace {
class PassTimes : public PassInstrumentation {
public:
  explicit PassTimes(Observer &observer) : observer(observer) {}
  void runBeforePass(Pass *, Operation *) override { starts.push_back(std::chrono::steady_clock::now()); }
  void runAfterPass(Pass *pass, Operation *) override {
    std::chrono::duration<double> taken = std::chrono::steady_clock::now() - starts.back();
    starts.pop_back();
    if (!pass->getArgument().empty())
      observer.finishedPass(pass->getArgument(), taken.count());
  }
  void runAfterPassFailed(Pass *, Operation *) override { starts.pop_back(); }

private:
  Observer &observer;
  std::vector<std::chrono::steady_clock::time_point> starts;
};
} // namespace

Error pipeline::runPasses(ModuleOp module, StringRef stage, Observer *observer,
                          llvm::function_ref<void(OpPassManager &)> build) {
  PassManager pm(module.getContext());
  build(pm);
  if (observer)
    pm.addInstrumentation(std::make_unique<PassTimes>(*observer));
  bool isDone;
  std::string said = saidBy(pm, module, isDone);
  if (isDone)
    return Error::success();
  return bug("{0}: {1}", stage, said.empty() ? "a pass failed" : said);
}
