//===- Diagnostics.h - The three kinds of failure --------------------------===//
//
// A user's mistake, a thing that this version does not support, and a bug in lathe are different types with different exit
// codes. All travel as llvm::Error.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SUPPORT_DIAGNOSTICS_H
#define LATHE_SUPPORT_DIAGNOSTICS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include <string>
#include <vector>

namespace lathe {

enum class ExitCode { Done = 0, UserMistake = 1, Unsupported = 2, Bug = 3 };

/// The user's input is wrong: the model file, a flag, a shape. One line that says what, where and what to do.
class UserError : public llvm::ErrorInfo<UserError> {
public:
  static char ID;
  explicit UserError(std::string message) : message(std::move(message)) {}
  void log(llvm::raw_ostream &os) const override { os << message; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
  std::string message;
};

/// The model is valid but needs what this version lacks. Carries every such node, not just the first.
class UnsupportedError : public llvm::ErrorInfo<UnsupportedError> {
public:
  static char ID;
  explicit UnsupportedError(std::vector<std::string> items) : items(std::move(items)) {}
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
  std::vector<std::string> items;
};

/// lathe broke its own rules.
class BugError : public llvm::ErrorInfo<BugError> {
public:
  static char ID;
  explicit BugError(std::string message, std::string form = "") : message(std::move(message)), form(std::move(form)) {}
  void log(llvm::raw_ostream &os) const override { os << message; }
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
  std::string message;
  std::string form; ///< the intermediate form that it is about, as text; may be empty
};

/// lathe::userError("{0}: input '{1}' has rank {2}", file, name, rank)
template <typename... Ts> llvm::Error userError(const char *format, Ts &&...args) {
  return llvm::make_error<UserError>(llvm::formatv(format, std::forward<Ts>(args)...).str());
}
template <typename... Ts> llvm::Error unsupported(const char *format, Ts &&...args) {
  return llvm::make_error<UnsupportedError>(
      std::vector<std::string>{llvm::formatv(format, std::forward<Ts>(args)...).str()});
}
template <typename... Ts> llvm::Error bug(const char *format, Ts &&...args) {
  return llvm::make_error<BugError>(llvm::formatv(format, std::forward<Ts>(args)...).str());
}

/// Gives bugs that have none yet the form in which they appeared; errors of no type of ours are bugs.
llvm::Error withForm(llvm::Error error, llvm::function_ref<std::string()> form);

/// Prints the error as `error: ...` lines on stderr and says with which code to exit. What has no type of ours is a bug.
ExitCode report(llvm::Error error);

} // namespace lathe

#endif // LATHE_SUPPORT_DIAGNOSTICS_H
