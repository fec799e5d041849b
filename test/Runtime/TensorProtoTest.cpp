//===- TensorProtoTest.cpp - ONNX's test data, sound and damaged -----------===//
#include "TensorProto.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace lathe::tool;

TEST(TensorProto, readsRawAndTypedData) {
  // dims 2, data_type FLOAT, raw_data 1.0 -2.0
  const std::string raw("\x08\x02\x10\x01\x4a\x08\0\0\x80\x3f\0\0\0\xc0", 14);
  auto tensor = parseTensorProto(raw, "x.pb");
  ASSERT_TRUE(bool(tensor)) << toString(tensor.takeError());
  EXPECT_EQ(elementAt(tensor->data(), tensor->dtype, 1).number.real(), -2.0);
  // dims 3, data_type FLOAT16, int32_data (packed) 0x3c00 0 0xc000
  const std::string half("\x08\x03\x10\x0a\x2a\x06\x80\x78\x00\x80\x80\x03", 12);
  tensor = parseTensorProto(half, "x.pb");
  ASSERT_TRUE(bool(tensor)) << toString(tensor.takeError());
  EXPECT_EQ(elementAt(tensor->data(), tensor->dtype, 0).number.real(), 1.0);
  EXPECT_EQ(elementAt(tensor->data(), tensor->dtype, 2).number.real(), -2.0);
  // dims 3, data_type INT4, int32_data: two elements in the first byte, low bits first
  const std::string nibbles("\x08\x03\x10\x16\x2a\x03\xf1\x01\x07", 9);
  tensor = parseTensorProto(nibbles, "x.pb");
  ASSERT_TRUE(bool(tensor)) << toString(tensor.takeError());
  EXPECT_EQ(elementAt(tensor->data(), tensor->dtype, 0).number.real(), 1.0);
  EXPECT_EQ(elementAt(tensor->data(), tensor->dtype, 1).number.real(), -1.0);
  EXPECT_EQ(elementAt(tensor->data(), tensor->dtype, 2).number.real(), 7.0);
}

TEST(TensorProto, damagedDataIsAnError) {
  const std::string whole("\x08\x02\x10\x01\x4a\x08\0\0\x80\x3f\0\0\0\xc0", 14);
  for (size_t n = 0; n < whole.size(); ++n) {
    auto tensor = parseTensorProto(StringRef(whole).take_front(n), "x.pb");
    EXPECT_FALSE(bool(tensor)) << n;
    consumeError(tensor.takeError());
  }
  for (const char *bytes : {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "not a tensor", "\x0b\x08"}) {
    auto tensor = parseTensorProto(bytes, "x.pb");
    EXPECT_FALSE(bool(tensor));
    consumeError(tensor.takeError());
  }
  // dims 2^62, 2^62
  auto huge = parseTensorProto(StringRef("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x08\x80\x80\x80\x80\x80\x80\x80\x80\x40\x10\x01", 22), "x.pb");
  ASSERT_FALSE(bool(huge));
  EXPECT_NE(toString(huge.takeError()).find("is impossible"), std::string::npos);
}
