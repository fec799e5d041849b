//===- JsonReader.cpp - Typed access to JSON that may hold anything ---------===//

#include "JsonReader.h"
#include "lathe/Support/Diagnostics.h"
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

static constexpr unsigned maxDepth = 128; // llvm::json parses, and destroys, by recursion

llvm::Expected<Value> fx::parseJson(llvm::StringRef text, llvm::StringRef what) {
  unsigned depth = 0;
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        inString = false;
    } else if (c == '"') {
      inString = true;
    } else if (c == '[' || c == '{') {
      if (++depth > maxDepth)
        return userError("{0}: the JSON is nested more than {1} deep", what, maxDepth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  auto value = llvm::json::parse(text);
  if (!value)
    return userError("{0}: {1}", what, llvm::toString(value.takeError()));
  return value;
}

void JsonReader::fail(const llvm::Twine &text) {
  if (message.empty())
    message = text.str();
}

llvm::Error JsonReader::takeError() {
  return message.empty() ? llvm::Error::success() : userError("{0}: {1}", what, message);
}

static const Object emptyObject;
static const Array emptyArray;

const Object &JsonReader::object(const Object &in, llvm::StringRef key) {
  if (const Object *found = in.getObject(key))
    return *found;
  fail("'" + key + "' is missing or no object");
  return emptyObject;
}
const Array &JsonReader::array(const Object &in, llvm::StringRef key) {
  if (const Array *found = in.getArray(key))
    return *found;
  fail("'" + key + "' is missing or no list");
  return emptyArray;
}
std::string JsonReader::string(const Object &in, llvm::StringRef key) {
  if (auto found = in.getString(key))
    return found->str();
  fail("'" + key + "' is missing or no string");
  return "";
}
int64_t JsonReader::integer(const Object &in, llvm::StringRef key) {
  if (auto found = in.getInteger(key))
    return *found;
  fail("'" + key + "' is missing or no integer");
  return 0;
}

const Object &JsonReader::asObject(const Value &value, llvm::StringRef where) {
  if (const Object *found = value.getAsObject())
    return *found;
  fail(where + " is no object");
  return emptyObject;
}
const Array &JsonReader::asArray(const Value &value, llvm::StringRef where) {
  if (const Array *found = value.getAsArray())
    return *found;
  fail(where + " is no list");
  return emptyArray;
}
std::string JsonReader::asString(const Value &value, llvm::StringRef where) {
  if (auto found = value.getAsString())
    return found->str();
  fail(where + " is no string");
  return "";
}
int64_t JsonReader::asInteger(const Value &value, llvm::StringRef where) {
  if (auto found = value.getAsInteger())
    return *found;
  fail(where + " is no integer");
  return 0;
}
double JsonReader::asNumber(const Value &value, llvm::StringRef where) {
  if (auto found = value.getAsNumber())
    return *found;
  if (auto text = value.getAsString()) {
    if (*text == "Infinity")
      return std::numeric_limits<double>::infinity();
    if (*text == "-Infinity")
      return -std::numeric_limits<double>::infinity();
    if (*text == "NaN")
      return std::numeric_limits<double>::quiet_NaN();
  }
  fail(where + " is no number");
  return 0;
}
bool JsonReader::asBool(const Value &value, llvm::StringRef where) {
  if (auto found = value.getAsBoolean())
    return *found;
  fail(where + " is no boolean");
  return false;
}

std::pair<llvm::StringRef, const Value *> JsonReader::variant(const Value &value, llvm::StringRef where) {
  const Object &object = asObject(value, where);
  if (object.size() == 1)
    return {object.begin()->first, &object.begin()->second};
  fail(where + " is no union of one member");
  return {"", nullptr};
}
