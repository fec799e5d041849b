//===- MutationTest.cpp - Damaged programs must not bring the importer down --===//
//
// Changes the JSON of the lit tests in this folder (its structure and its bytes) and the bytes of archives made of it, and
// imports the result. Any module or error is fine; a crash, much time or memory (MutationLimits.h) or an internal error is not,
// but for the one that says that the file describes another result than its node gives: that may be the file's fault as well.
//   FxMutationTest [--seeds FOLDER] [--count N] [--first N]
// takes the tests of another folder, or the .pt2 files there, more mutations, or goes on from one of them.
//
//===----------------------------------------------------------------------===//

#include "../Mutation.h"
#include "Archive.h"
#include "Mutator.h"
#include "lathe/Import/Fx/ImportFx.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace lathe;
using fx::test::Mutator;

namespace {

using Members = std::map<std::string, std::string>;

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

/// The members of a .pt2 file; none where it cannot be read, or where copying it for every mutation would take all the time.
Members membersOf(llvm::StringRef path) {
  Members members;
  uint64_t size = 0;
  if (llvm::sys::fs::file_size(path, size) || size > (4 << 20))
    return {};
  auto archive = fx::Archive::open(path);
  if (!archive)
    return llvm::consumeError(archive.takeError()), Members();
  for (const std::string &name : (*archive)->names()) {
    auto member = (*archive)->read(name);
    if (!member)
      return llvm::consumeError(member.takeError()), Members();
    members[name].assign(member->data.begin(), member->data.end());
  }
  return members;
}

std::vector<Members> loadSeeds() {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(test::mutationFlags.seedFolder, error), end; it != end && !error; it.increment(error))
    if (llvm::StringRef(it->path()).ends_with(".test") || llvm::StringRef(it->path()).ends_with(".pt2"))
      paths.push_back(it->path());
  std::sort(paths.begin(), paths.end());
  std::vector<Members> seeds;
  for (const std::string &path : paths)
    if (llvm::StringRef(path).ends_with(".pt2")) {
      if (Members members = membersOf(path); !members.empty())
        seeds.push_back(std::move(members));
    } else if (auto buffer = llvm::MemoryBuffer::getFile(path))
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
  ASSERT_FALSE(seeds.empty()) << "no seeds in " << test::mutationFlags.seedFolder;
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("fx-mutation", folder));
  auto import = [&](unsigned seed, mlir::MLIRContext &context) -> llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> {
    Mutator mutator(seed);
    auto [extension, bytes] = fileOf(mutator, seeds[mutator.pick(seeds.size())]);
    std::string path = (folder + "/mutated" + extension).str();
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << bytes;
    EXPECT_FALSE(error) << path;
    return importFx(path, ImportOptions(), context);
  };
  test::importMutations(import, [](const std::string &message) { ADD_FAILURE() << message; });
  llvm::sys::fs::remove_directories(folder);
}

} // namespace

int main(int argc, char **argv) { return test::runMutationTests(argc, argv); }
