//===- RunPasses.cpp - Passes, and what is left where one fails ------------===//

#include "RunPasses.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
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

namespace {
/// Remembers the module in front of the last pass that began.
class LastForm : public PassInstrumentation {
public:
  explicit LastForm(std::string &form) : form(form) {}
  void runBeforePass(Pass *pass, Operation *op) override {
    auto module = dyn_cast<ModuleOp>(op);
    if (!module)
      module = op->getParentOfType<ModuleOp>();
    std::string passes;
    llvm::raw_string_ostream os(passes);
    pass->printAsTextualPipeline(os);
    if (op != module)
      passes = op->getName().getStringRef().str() + "(" + passes + ")";
    form = "// lathe-opt --pass-pipeline='builtin.module(" + passes + ")'\n" + (module ? pipeline::textOf(module) : "");
  }

private:
  std::string &form;
};
} // namespace

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
  // Printing in front of every pass is too slow to do it always: where one fails they run again, on what there was
  // before.
  OwningOpRef<ModuleOp> before = module.clone();
  PassManager pm(module.getContext());
  build(pm);
  if (observer)
    pm.addInstrumentation(std::make_unique<PassTimes>(*observer));
  bool isDone;
  std::string said = saidBy(pm, module, isDone);
  if (isDone)
    return Error::success();
  return withForm(bug("{0}: {1}", stage, said.empty() ? "a pass failed" : said), [&] {
    std::string form;
    PassManager again(before->getContext());
    build(again);
    again.addInstrumentation(std::make_unique<LastForm>(form));
    saidBy(again, *before, isDone);
    return form;
  });
}

/// The file's name, or nothing where it could not be written.
static std::string writeForm(StringRef output, StringRef form) {
  std::string beside = output.empty() ? "lathe.reproducer.mlir" : (output + ".reproducer.mlir").str();
  llvm::SmallString<128> elsewhere;
  llvm::sys::path::system_temp_directory(/*ErasedOnReboot=*/true, elsewhere);
  llvm::sys::path::append(elsewhere, llvm::sys::path::filename(beside));
  for (StringRef path : {StringRef(beside), StringRef(elsewhere)}) {
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    if (error)
      continue;
    os << form;
    os.close();
    if (!os.has_error())
      return path.str();
    os.clear_error();
  }
  return {};
}

Error pipeline::writeReproducer(Error error, StringRef output) {
  return llvm::handleErrors(std::move(error), [&](std::unique_ptr<BugError> e) -> Error {
    std::string file = e->form.empty() ? std::string() : writeForm(output, e->form);
    if (!file.empty())
      e->message += "; please report this with " + file;
    return Error(std::move(e));
  });
}
