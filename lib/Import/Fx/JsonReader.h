//===- JsonReader.h - Typed access to JSON that may hold anything -----------===//
//
// The first thing that is not as expected is remembered with its place; from then on every access gives an empty value, so a
// reader of a whole structure checks once, at its end.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_JSONREADER_H
#define LATHE_LIB_IMPORT_FX_JSONREADER_H

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace lathe::fx {

/// Parses text after making sure that its nesting cannot exhaust the stack. `what` names it in messages.
llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text, llvm::StringRef what);

class JsonReader {
public:
  using Value = llvm::json::Value;
  using Object = llvm::json::Object;
  using Array = llvm::json::Array;

  explicit JsonReader(std::string what) : what(std::move(what)) {}

  // Required members.
  const Object &object(const Object &in, llvm::StringRef key);
  const Array &array(const Object &in, llvm::StringRef key);
  std::string string(const Object &in, llvm::StringRef key);
  int64_t integer(const Object &in, llvm::StringRef key);

  // Values.
  const Object &asObject(const Value &value, llvm::StringRef where);
  const Array &asArray(const Value &value, llvm::StringRef where);
  std::string asString(const Value &value, llvm::StringRef where);
  int64_t asInteger(const Value &value, llvm::StringRef where);
  /// Numbers, and the strings "Infinity", "-Infinity" and "NaN".
  double asNumber(const Value &value, llvm::StringRef where);
  bool asBool(const Value &value, llvm::StringRef where);

  /// A union is an object with one key: its key and value (nothing, remembered, where it is not).
  std::pair<llvm::StringRef, const Value *> variant(const Value &value, llvm::StringRef where);

  void fail(const llvm::Twine &message);
  bool failed() const { return !message.empty(); }
  llvm::Error takeError();

private:
  std::string what, message;
};

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_JSONREADER_H
