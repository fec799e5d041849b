//===- Mutator.h - Damage to exported programs that keeps their form -------===//
//
// Changes JSON as JSON, and bytes. The same seed, the same change.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TEST_IMPORT_FX_MUTATOR_H
#define LATHE_TEST_IMPORT_FX_MUTATOR_H

#include "../ByteMutator.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace lathe::fx::test {
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

class Mutator : public lathe::test::ByteMutator {
public:
  using ByteMutator::ByteMutator;

  void mutateJson(std::string &text) {
    auto value = llvm::json::parse(text);
    if (!value)
      return llvm::consumeError(value.takeError());
    collect(*value);
    for (unsigned n = 1 + pick(3); n > 0; --n)
      mutate(*value);
    text = llvm::formatv("{0}", *value).str();
  }
  void mutateBytes(std::string &bytes) { ByteMutator::mutateBytes(bytes, 4); }
  /// The directory stands at the end, where most of the structure is.
  void mutateArchive(std::string &bytes) {
    size_t from = pick(2) ? bytes.size() - std::min<size_t>(bytes.size(), 400) : 0;
    std::string tail = bytes.substr(from);
    mutateBytes(tail);
    bytes = bytes.substr(0, from) + tail;
  }

private:
  int64_t number() {
    static const int64_t odd[] = {0,  1,  -1, 2,         3,         4,         7,         -2,
                                  12, 64, 28, 1000,      INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
                                  5,  6,  13, int64_t(1) << 40};
    return oneOf<int64_t>(odd);
  }
  Value scalar() {
    switch (pick(6)) {
    case 0:
      return nullptr;
    case 1:
      return pick(2) == 0;
    case 2:
      return 0.5;
    case 3:
      return strings.empty() ? Value("") : Value(strings[pick(strings.size())]);
    default:
      return number();
    }
  }
  void collect(const Value &value) {
    if (auto text = value.getAsString())
      strings.push_back(text->str());
    if (const Array *array = value.getAsArray())
      for (const Value &v : *array)
        collect(v);
    if (const Object *object = value.getAsObject())
      for (const std::string &key : keys(*object)) {
        strings.push_back(key);
        collect(*object->get(key));
      }
  }
  /// Sorted: an object's own order is that of a hash.
  static std::vector<std::string> keys(const Object &object) {
    std::vector<std::string> result;
    for (const auto &entry : object)
      result.push_back(entry.first.str());
    std::sort(result.begin(), result.end());
    return result;
  }

  /// By way of text, and with room for all: copying an Object from which a key was erased reads memory that is not its own
  /// (LLVM 19), and an array that grows copies.
  static void duplicate(Array &array, size_t i) {
    auto copy = llvm::json::parse(llvm::formatv("{0}", array[i]).str());
    if (!copy)
      return llvm::consumeError(copy.takeError());
    Array longer;
    longer.reserve(array.size() + 1);
    for (Value &v : array)
      longer.push_back(std::move(v));
    longer.push_back(std::move(*copy));
    array = std::move(longer);
  }

  /// A json::Value must not be moved into itself.
  static void swap(Array &array, size_t i, size_t j) {
    if (i != j)
      std::swap(array[i], array[j]);
  }

  /// Walks down to a random place and changes what is there.
  void mutate(Value &value) {
    if (Array *array = value.getAsArray(); array && !array->empty()) {
      size_t i = pick(array->size());
      if (pick(6) != 0)
        return mutate((*array)[i]);
      switch (pick(4)) {
      case 0:
        swap(*array, i, array->size() - 1);
        array->pop_back();
        return;
      case 1:
        duplicate(*array, i);
        return;
      case 2:
        swap(*array, i, pick(array->size()));
        return;
      default:
        (*array)[i] = scalar();
        return;
      }
    }
    if (Object *object = value.getAsObject(); object && !object->empty()) {
      std::string key = keys(*object)[pick(object->size())];
      if (pick(8) != 0)
        return mutate(*object->get(key));
      if (pick(3) == 0 || strings.empty()) {
        object->erase(key);
      } else if (pick(2) == 0) {
        (*object)[key] = scalar();
      } else { // under another name
        Value moved = std::move(*object->get(key));
        object->erase(key);
        (*object)[strings[pick(strings.size())]] = std::move(moved);
      }
      return;
    }
    if (auto text = value.getAsString(); text && !text->empty() && pick(3) == 0) {
      std::string changed = text->str();
      mutateBytes(changed);
      value = llvm::json::fixUTF8(changed);
      return;
    }
    value = value.getAsInteger() && pick(4) != 0 ? Value(number()) : scalar();
  }

  std::vector<std::string> strings;
};

} // namespace lathe::fx::test

#endif // LATHE_TEST_IMPORT_FX_MUTATOR_H
