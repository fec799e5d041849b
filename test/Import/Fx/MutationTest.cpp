//===- MutationTest.cpp - Damaged programs must not bring the importer down --===//
//
// Changes the JSON of the lit tests in this folder (its structure and its bytes) and the bytes of archives made of it, and
// imports the result. Any module or error is fine; a crash, a hang or an internal error is not, but for the one that says
// that the file describes another result than its node gives: that may be the file's fault as well.
//   FxMutationTest [--seeds FOLDER] [--count N] [--first N]
// takes the tests of another folder, more mutations, or goes on from one of them.
//
//===----------------------------------------------------------------------===//

#include "lathe/Import/Fx/ImportFx.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace lathe;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

static std::string seedFolder = LATHE_SEED_FOLDER;
static unsigned mutationCount = 400, firstMutation = 0;

namespace {

using Members = std::map<std::string, std::string>;

class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}

  size_t pick(size_t n) { return n ? random() % n : 0; }

  void mutateJson(std::string &text) {
    auto value = llvm::json::parse(text);
    if (!value)
      return llvm::consumeError(value.takeError());
    collect(*value);
    for (unsigned n = 1 + pick(3); n > 0; --n)
      mutate(*value);
    text = llvm::formatv("{0}", *value).str();
  }
  void mutateBytes(std::string &bytes) {
    for (unsigned n = 1 + pick(4); n > 0 && !bytes.empty(); --n)
      bytes[pick(bytes.size())] = char(pick(256));
    if (pick(8) == 0)
      bytes.resize(pick(bytes.size() + 1));
  }
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
    return odd[pick(std::size(odd))];
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

  std::mt19937 random;
  std::vector<std::string> strings;
};

void append16(std::string &to, uint16_t v) { to.append({char(v), char(v >> 8)}); }
void append32(std::string &to, uint32_t v) {
  append16(to, uint16_t(v));
  append16(to, uint16_t(v >> 16));
}

/// The members as a ZIP file, stored.
std::string archiveOf(const Members &members) {
  std::string file, directory;
  for (const auto &[name, data] : members) {
    std::string path = "model/" + name, common;
    for (uint16_t v : {20, 0, 0, 0, 0}) // version, flags, method, time, date
      append16(common, v);
    append32(common, 0); // nobody checks the sum of stored members
    append32(common, data.size());
    append32(common, data.size());
    append16(common, path.size());
    append16(common, 0);
    append32(directory, 0x02014b50);
    append16(directory, 20);
    directory += common;
    for (int i = 0; i < 3; ++i)
      append16(directory, 0);
    append32(directory, 0);
    append32(directory, file.size());
    directory += path;
    append32(file, 0x04034b50);
    file += common + path + data;
  }
  uint32_t start = file.size();
  file += directory;
  append32(file, 0x06054b50);
  append32(file, 0);
  append16(file, members.size());
  append16(file, members.size());
  append32(file, directory.size());
  append32(file, start);
  append16(file, 0);
  return file;
}

/// The parts of a lit test after "//--- NAME".
Members partsOf(llvm::StringRef text) {
  Members parts;
  while (true) {
    auto [before, after] = text.split("//--- ");
    if (after.empty())
      return parts;
    auto [name, rest] = after.split('\n');
    llvm::StringRef content = rest.substr(0, rest.find("//--- "));
    name = name.trim();
    if (name == "model.json")
      name = "model/models/model.json";
    if (name.consume_front("model/"))
      parts[name.str()] = content.str();
    text = rest;
  }
}

std::vector<Members> loadSeeds() {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(seedFolder, error), end; it != end && !error; it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".test"))
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  std::vector<Members> seeds;
  for (const std::string &path : paths)
    if (auto buffer = llvm::MemoryBuffer::getFile(path))
      // Not the test of deep nesting: copying such a json::Value exhausts the stack by itself.
      if (Members parts = partsOf((*buffer)->getBuffer()); !parts.empty() && !(*buffer)->getBuffer().contains("[[[[[[[[")) {
        if (parts.size() > 1)
          parts["archive_format"] = "pt2";
        seeds.push_back(std::move(parts));
      }
  return seeds;
}

/// The file of one mutation: an archive, or JSON alone.
std::pair<std::string, std::string> fileOf(Mutator &mutator, Members members) {
  for (auto &[name, data] : members)
    if (llvm::StringRef(name).ends_with(".json") && mutator.pick(members.size() > 1 ? 2 : 8) != 0)
      mutator.mutateJson(data);
  std::string &program = members["models/model.json"];
  if (mutator.pick(8) == 0)
    mutator.mutateBytes(program);
  if (members.size() == 1 && mutator.pick(4) != 0)
    return {".json", program};
  members["archive_format"] = "pt2";
  std::string archive = archiveOf(members);
  if (mutator.pick(2) == 0)
    mutator.mutateArchive(archive);
  return {".pt2", archive};
}

TEST(FxMutation, NothingInAFileBringsTheImporterDown) {
  std::vector<Members> seeds = loadSeeds();
  ASSERT_FALSE(seeds.empty()) << "no seeds in " << seedFolder;
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fx-mutation", folder));
  unsigned imported = 0;
  for (unsigned i = firstMutation; i < firstMutation + mutationCount; ++i) {
    Mutator mutator(i);
    auto [extension, bytes] = fileOf(mutator, seeds[mutator.pick(seeds.size())]);
    std::string path = (folder + "/mutated" + extension).str();
    {
      std::error_code error;
      llvm::raw_fd_ostream(path, error) << bytes;
      ASSERT_FALSE(error);
    }
    SCOPED_TRACE("mutation " + std::to_string(i));
    if (mutationCount > 1000)
      llvm::errs() << "\r" << i;
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto module = importFx(path, ImportOptions(), context);
    if (module) {
      ++imported;
      continue;
    }
    llvm::handleAllErrors(
        module.takeError(), [](const UserError &) {}, [](const UnsupportedError &) {},
        [](const llvm::ErrorInfoBase &e) {
          if (!llvm::StringRef(e.message()).contains(" as built and "))
            ADD_FAILURE() << e.message();
        });
  }
  llvm::sys::fs::remove_directories(folder);
  EXPECT_GT(imported, 0u) << "not a single mutation was harmless: the seeds no longer import";
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    llvm::StringRef flag = argv[i];
    if (flag == "--seeds")
      seedFolder = argv[i + 1];
    else if (flag == "--count")
      mutationCount = std::stoul(argv[i + 1]);
    else if (flag == "--first")
      firstMutation = std::stoul(argv[i + 1]);
  }
  return RUN_ALL_TESTS();
}
