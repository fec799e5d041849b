//===- NpyFileTest.cpp - numpy's files, sound and damaged ------------------===//
#include "NpyFile.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace lathe::tool;

/// A version 1 file of a header and data.
static std::string npy(const std::string &header, const std::string &data) {
  std::string text = header + "\n";
  return std::string("\x93NUMPY\x01\x00", 8) + char(text.size() & 255) + char(text.size() >> 8) + text + data;
}

static std::string failure(StringRef bytes) {
  Expected<HostTensor> tensor = parseNpy(bytes, "x.npy");
  if (tensor)
    return "";
  return toString(tensor.takeError());
}

TEST(NpyFile, readsValues) {
  auto tensor = parseNpy(npy("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }", std::string("\1\0\2\0\3\0\4\0\5\0\6\0", 12)), "x");
  ASSERT_TRUE(bool(tensor)) << toString(tensor.takeError());
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(elementAt(tensor->data(), tensor->dtype, 4).magnitude, 5u);
}

TEST(NpyFile, turnsColumnsIntoRows) {
  auto tensor = parseNpy(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", "adbecf"), "x");
  ASSERT_TRUE(bool(tensor)) << toString(tensor.takeError());
  EXPECT_EQ(StringRef(tensor->data(), 6), "abcdef");
}

TEST(NpyFile, scalarsAndEmptyArrays) {
  auto scalar = parseNpy(npy("{'descr': '|b1', 'fortran_order': False, 'shape': ()}", "\1"), "x");
  ASSERT_TRUE(bool(scalar));
  EXPECT_TRUE(scalar->shape.empty());
  auto empty = parseNpy(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0)}", ""), "x");
  ASSERT_TRUE(bool(empty));
  EXPECT_EQ(empty->elements(), 0u);
}

TEST(NpyFile, saysWhatIsWrong) {
  EXPECT_EQ(failure(""), "'x.npy' is not in numpy's .npy format");
  EXPECT_EQ(failure("\x93NUMPY\x01"), "'x.npy' is not in numpy's .npy format");
  EXPECT_EQ(failure(StringRef("\x93NUMPY\x01\x00\xff\xff{", 11)), "'x.npy' is not in numpy's .npy format");
  EXPECT_EQ(failure(npy("{'descr': '<f4', 'fortran_order': False}", "")), "'x.npy' has a malformed .npy header");
  EXPECT_EQ(failure(npy("{'descr': '<f4', 'shape': (1,)", "")), "'x.npy' has a malformed .npy header");
  EXPECT_EQ(failure(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "")), "'x.npy' has a malformed .npy header");
  EXPECT_EQ(failure(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", "")),
            "'x.npy' holds elements of type '|O', which lathe does not read");
  EXPECT_EQ(failure(npy("{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "")),
            "'x.npy' holds elements of type '>f4', which lathe does not read");
  EXPECT_EQ(failure(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "abcd")),
            "'x.npy' holds 4 bytes of data, its shape 2 does not");
  EXPECT_EQ(failure(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807)}", "abcd")),
            "'x.npy' holds 4 bytes of data, its shape 9223372036854775807x9223372036854775807 does not");
}

TEST(NpyFile, everyTruncationIsAnError) {
  std::string whole = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, 'x'));
  ASSERT_EQ(failure(whole), "");
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_NE(failure(StringRef(whole).take_front(n)), "") << n;
}

TEST(NpyFile, writesWhatItReads) {
  auto tensor = HostTensor::create({kDLFloat, 32, 1}, {5});
  ASSERT_TRUE(bool(tensor));
  for (int i = 0; i < 5; ++i)
    reinterpret_cast<float *>(tensor->data())[i] = i + 0.5f;
  SmallString<128> path;
  ASSERT_FALSE(sys::fs::createTemporaryFile("lathe", "npy", path));
  ASSERT_FALSE(bool(writeNpy(path, tensor->view())));
  auto back = readNpy(path);
  sys::fs::remove(path);
  ASSERT_TRUE(bool(back)) << toString(back.takeError());
  EXPECT_EQ(back->shape, tensor->shape);
  EXPECT_EQ(elementAt(back->data(), back->dtype, 3).number.real(), 3.5);
}

TEST(NpyFile, aDamagedArchiveIsAnError) {
  SmallString<128> path;
  int fd;
  ASSERT_FALSE(sys::fs::createTemporaryFile("lathe", "npz", fd, path));
  raw_fd_ostream(fd, true) << "PK\3\4 not really";
  auto arrays = readNpz(path);
  sys::fs::remove(path);
  ASSERT_FALSE(bool(arrays));
  EXPECT_NE(toString(arrays.takeError()).find("as an .npz archive"), std::string::npos);
  auto missing = readNpz("/does/not/exist.npz");
  ASSERT_FALSE(bool(missing));
  consumeError(missing.takeError());
}
