//===- ConstantsTest.cpp - Constants in pieces, each once -------------------===//

#include "ArtifactTestUtils.h"
#include "PieceReader.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <gtest/gtest.h>

using namespace llvm;
using namespace lathe::artifact;

/// Pieces of source `number` have its number and their own, and are of all sizes.
static ByteSource counting(uint64_t number, uint64_t pieces) {
  auto make = [number](uint64_t piece, SmallVectorImpl<char> &scratch) {
    scratch.assign(1 + (number * 31 + piece * 1009) % 5000, char(number ^ piece));
    return ArrayRef<char>(scratch);
  };
  return {0, pieces, make};
}

TEST(PieceReader, keepsTheOrderWithAnyNumberOfThreads) {
  std::vector<ByteSource> sources;
  for (uint64_t pieces : {0, 1, 100, 0, 0, 7, 1, 300, 0})
    sources.push_back(counting(sources.size(), pieces));
  for (unsigned threads : {1, 2, 5}) {
    PieceReader reader(sources, threads);
    for (const ByteSource &source : sources)
      for (uint64_t i = 0; i < source.pieces; ++i) {
        SmallVector<char, 0> scratch;
        ASSERT_EQ(source.make(i, scratch), reader.next());
      }
  }
}

TEST(PieceReader, mayEndEarly) {
  std::vector<ByteSource> sources = {counting(1, 1000)};
  PieceReader never(sources, 3), once(sources, 3);
  EXPECT_FALSE(once.next().empty());
}

/// The file's size says which constants are there once.
static uint64_t bytesWith(ArrayRef<std::string> constants, unsigned threads, std::string &bytes) {
  TestFolder folder;
  ArtifactBuilder builder(Machine::X86_64, "test");
  for (const std::string &constant : constants)
    builder.addConstant(ByteSource::own(constant));
  ArtifactBuilder::Options options;
  options.externalData = true;
  options.threads = threads;
  Error error = builder.write(folder.file("a.so"), options);
  EXPECT_FALSE(bool(error)) << toString(std::move(error));
  auto buffer = MemoryBuffer::getFile(folder.file("a.so.data"), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  EXPECT_TRUE(bool(buffer));
  bytes = buffer ? (*buffer)->getBuffer().str() : "";
  return bytes.size();
}

TEST(Constants, equalOnesAreThereOnce) {
  const size_t size = 3 << 18;
  std::string zeros(size, '\0'), late = zeros, early = zeros, shorter = zeros.substr(128);
  late[size - 1] = 1;
  early[5] = 1;
  for (unsigned threads : {1, 4}) {
    std::string bytes;
    EXPECT_EQ(4 * size - 128, bytesWith({zeros, late, zeros, early, late, shorter, early, zeros}, threads, bytes));
    EXPECT_EQ(zeros + late + early + shorter, bytes);
    EXPECT_EQ(2 * size, bytesWith({late, early, early}, threads, bytes)) << "the last one is taken back";
    EXPECT_EQ(late + early, bytes);
  }
}

TEST(OutputFile, takesThePlaceOfAnyFile) {
  TestFolder folder;
  ArtifactBuilder builder(Machine::X86_64, "test");
  std::string path = folder.file("a.so"), target = folder.file("target");
  auto write = [&] { return toString(builder.write(path)); };
  auto regular = [&] { return sys::fs::is_regular_file(path) && !sys::fs::is_symlink_file(path); };
  EXPECT_EQ("", write());
  EXPECT_EQ("", write());
  ASSERT_FALSE(sys::fs::remove(path));
  ASSERT_FALSE(sys::fs::create_link(target, path));
  EXPECT_EQ("", write());
  EXPECT_TRUE(regular());
  EXPECT_FALSE(sys::fs::exists(target));
  ASSERT_FALSE(sys::fs::remove(path));
  ASSERT_FALSE(sys::fs::create_directory(path));
  EXPECT_NE("", write());
  ASSERT_FALSE(sys::fs::remove(path));
  std::error_code error;
  for (sys::fs::directory_iterator it(sys::path::parent_path(path), error), end; it != end && !error; it.increment(error))
    ADD_FAILURE() << it->path() << " is left";
}
