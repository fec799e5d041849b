//===- CompareTest.cpp - Outputs against expected values -------------------===//
#include "Compare.h"
#include "gtest/gtest.h"
#include <cmath>
#include <cstring>

using namespace llvm;
using namespace lathe::tool;

template <typename T> static HostTensor tensorOf(DLDataType type, std::vector<T> values, std::vector<int64_t> shape = {}) {
  HostTensor tensor = cantFail(HostTensor::create(type, shape.empty() ? std::vector<int64_t>{int64_t(values.size())} : shape));
  std::memcpy(tensor.data(), values.data(), values.size() * sizeof(T));
  return tensor;
}

static const DLDataType f32 = {kDLFloat, 32, 1}, f64 = {kDLFloat, 64, 1}, i64 = {kDLInt, 64, 1}, bf16 = {kDLBfloat, 16, 1};

static std::string failure(HostTensor got, const HostTensor &want, uint64_t stride = 1, Tolerance tolerance = {}) {
  DLTensor view = got.view();
  Error error = compare("y", view, want, stride, tolerance);
  return error ? toString(std::move(error)) : "";
}

TEST(Compare, withinTheTolerance) {
  EXPECT_EQ(failure(tensorOf<float>(f32, {100.05f, 0}), tensorOf<double>(f64, {100, 1e-6})), "");
  EXPECT_EQ(failure(tensorOf<float>(f32, {100.2f, 0}), tensorOf<float>(f32, {100, 0})),
            "output 'y': 1 of 2 elements differ (rtol 0.001, atol 1e-05), the worst at [0]: 100.199997, expected 100");
  EXPECT_EQ(failure(tensorOf<uint16_t>(bf16, {0x3f80}), tensorOf<float>(f32, {1.007f})), "");
}

TEST(Compare, nanAndInfinityAgreeOnlyWithThemselves) {
  EXPECT_EQ(failure(tensorOf<float>(f32, {NAN, INFINITY, -INFINITY}), tensorOf<float>(f32, {NAN, INFINITY, -INFINITY})), "");
  EXPECT_NE(failure(tensorOf<float>(f32, {NAN}), tensorOf<float>(f32, {1})), "");
  EXPECT_NE(failure(tensorOf<float>(f32, {1}), tensorOf<float>(f32, {NAN})), "");
  EXPECT_NE(failure(tensorOf<float>(f32, {INFINITY}), tensorOf<float>(f32, {-INFINITY})), "");
}

TEST(Compare, largeIntegersExactly) {
  Tolerance exact;
  exact.rtol = 0;
  exact.atol = 0;
  EXPECT_EQ(failure(tensorOf<int64_t>(i64, {INT64_MIN, INT64_MAX}), tensorOf<int64_t>(i64, {INT64_MIN, INT64_MAX}), 1, exact), "");
  EXPECT_NE(failure(tensorOf<int64_t>(i64, {INT64_MAX}), tensorOf<int64_t>(i64, {INT64_MAX - 1}), 1, exact), "");
}

TEST(Compare, shapesTypesAndStrides) {
  EXPECT_EQ(failure(tensorOf<float>(f32, {1, 2}, {2, 1}), tensorOf<float>(f32, {1, 2})), "output 'y' has shape 2x1, expected 2");
  EXPECT_EQ(failure(tensorOf<float>(f32, {1}), tensorOf<int64_t>(i64, {1})), "output 'y' is float32, expected int64");
  EXPECT_EQ(failure(tensorOf<float>(f32, {1, 2, 3, 4, 5}), tensorOf<float>(f32, {1, 3, 5}), 2), "");
  EXPECT_NE(failure(tensorOf<float>(f32, {1, 2, 3, 4, 5}), tensorOf<float>(f32, {1, 3}), 2), "");
  EXPECT_NE(failure(tensorOf<float>(f32, {1, 2, 3, 4, 5}), tensorOf<float>(f32, {1, 3, 6}), 2), "");
}
