//===- Diagnostics.cpp - The three kinds of failure ------------------------===//

#include "lathe/Support/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

using namespace lathe;

char UserError::ID = 0;
char UnsupportedError::ID = 0;
char BugError::ID = 0;

void UnsupportedError::log(llvm::raw_ostream &os) const {
  for (size_t i = 0; i < items.size(); ++i)
    os << (i ? "\n" : "") << items[i];
}

llvm::Error lathe::withForm(llvm::Error error, llvm::function_ref<std::string()> form) {
  return llvm::handleErrors(
      std::move(error), [](std::unique_ptr<UserError> e) { return llvm::Error(std::move(e)); },
      [](std::unique_ptr<UnsupportedError> e) { return llvm::Error(std::move(e)); },
      [&](std::unique_ptr<BugError> e) {
        if (e->form.empty())
          e->form = form();
        return llvm::Error(std::move(e));
      },
      [&](const llvm::ErrorInfoBase &e) { return llvm::make_error<BugError>(e.message(), form()); });
}

/// Of several: our bugs first; what is wrong with a model goes before what is not supported of it.
static int weightOf(ExitCode code) {
  switch (code) {
  case ExitCode::Done:
    return 0;
  case ExitCode::Unsupported:
    return 1;
  case ExitCode::UserMistake:
    return 2;
  case ExitCode::Bug:
    return 3;
  }
  return 3;
}

ExitCode lathe::report(llvm::Error error) {
  ExitCode code = ExitCode::Done;
  auto worst = [&](ExitCode c) { code = weightOf(c) > weightOf(code) ? c : code; };
  llvm::handleAllErrors(
      std::move(error),
      [&](const UserError &e) {
        llvm::errs() << "error: " << e.message << "\n";
        worst(ExitCode::UserMistake);
      },
      [&](const UnsupportedError &e) {
        for (const std::string &item : e.items)
          llvm::errs() << "unsupported: " << item << "\n";
        worst(ExitCode::Unsupported);
      },
      [&](const BugError &e) {
        llvm::errs() << "internal error: " << e.message << "\n";
        worst(ExitCode::Bug);
      },
      [&](const llvm::ErrorInfoBase &e) {
        llvm::errs() << "internal error: " << e.message() << "\n";
        worst(ExitCode::Bug);
      });
  return code;
}
