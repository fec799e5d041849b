//===- HostTensor.cpp - A tensor read from or written to a file ------------===//
#include "HostTensor.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

namespace {
struct SmallFloat {
  uint8_t code;
  const char *name;
  const fltSemantics &(*semantics)();
};
} // namespace

static const fltSemantics &bfloatSemantics() { return APFloat::BFloat(); }

/// The floating-point types narrower than 32 bits that the machine does not compute with, beside IEEE's half.
static const SmallFloat smallFloats[] = {
    {kDLBfloat, "bfloat16", bfloatSemantics},
    {Float8E4M3, "float8_e4m3", APFloat::Float8E4M3},
    {Float8E4M3FN, "float8_e4m3fn", APFloat::Float8E4M3FN},
    {Float8E4M3FNUZ, "float8_e4m3fnuz", APFloat::Float8E4M3FNUZ},
    {Float8E5M2, "float8_e5m2", APFloat::Float8E5M2},
    {Float8E5M2FNUZ, "float8_e5m2fnuz", APFloat::Float8E5M2FNUZ},
    {Float4E2M1, "float4_e2m1fn", APFloat::Float4E2M1FN},
};

static const SmallFloat *findSmallFloat(uint8_t code) {
  for (const SmallFloat &one : smallFloats)
    if (one.code == code)
      return &one;
  return nullptr;
}

std::string lathe::tool::dtypeName(DLDataType type) {
  if (const SmallFloat *small = findSmallFloat(type.code))
    return small->name;
  if (type.code == kDLBool)
    return "bool";
  if (type.code == Float8E8M0)
    return "float8_e8m0";
  static const char *const names[] = {"int", "uint", "float", "handle", "bfloat", "complex"};
  return (type.code < std::size(names) ? names[type.code] : "type") + std::to_string(type.bits);
}

bool lathe::tool::isFloating(DLDataType type) {
  return type.code == kDLFloat || type.code == kDLComplex || type.code == Float8E8M0 || findSmallFloat(type.code);
}

std::optional<uint64_t> lathe::tool::countElements(ArrayRef<int64_t> shape) {
  uint64_t count = 1;
  bool empty = false, overflow = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    empty |= dim == 0;
    overflow |= __builtin_mul_overflow(count, uint64_t(dim), &count) || count > (uint64_t(1) << 58);
  }
  if (empty)
    return 0;
  if (overflow)
    return std::nullopt;
  return count;
}

uint64_t lathe::tool::bytesFor(uint64_t elements, DLDataType type) {
  uint64_t bits = uint64_t(type.bits) * type.lanes;
  return bits % 8 == 0 ? elements * (bits / 8) : (elements * bits + 7) / 8;
}

Expected<HostTensor> HostTensor::create(DLDataType type, ArrayRef<int64_t> shape) {
  std::optional<uint64_t> count = countElements(shape);
  if (!count)
    return userError("a tensor of shape {0} is impossible", shapeText(shape));
  HostTensor result;
  result.dtype = type;
  result.shape = shape.vec();
  uint64_t bytes = (bytesFor(*count, type) + 63) / 64 * 64;
  result.memory.reset(static_cast<char *>(std::aligned_alloc(64, std::max<uint64_t>(bytes, 64))));
  if (!result.memory)
    return userError("out of memory: a tensor of shape {0} needs {1} bytes", shapeText(shape), bytes);
  std::memset(result.memory.get(), 0, std::max<uint64_t>(bytes, 64));
  return result;
}

DLTensor HostTensor::view() { return {memory.get(), {kDLCPU, 0}, int32_t(shape.size()), dtype, shape.data(), nullptr, 0}; }

template <typename T> static T load(const char *data, uint64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

/// The element's bits, also where several share a byte (the first in the low bits).
static uint64_t loadBits(const char *data, unsigned bits, uint64_t index) {
  if (bits < 8)
    return (uint8_t(data[index * bits / 8]) >> (index * bits % 8)) & ((1u << bits) - 1);
  uint64_t value = 0;
  std::memcpy(&value, data + index * (bits / 8), bits / 8);
  return value;
}

static Element integer(uint64_t bits, unsigned width, bool isSigned) {
  Element value;
  value.isInteger = true;
  int64_t extended = width < 64 ? int64_t(bits << (64 - width)) >> (64 - width) : int64_t(bits);
  value.isNegative = isSigned && extended < 0;
  value.magnitude = value.isNegative ? uint64_t(0) - uint64_t(extended) : bits;
  value.number = value.isNegative ? -double(value.magnitude) : double(value.magnitude);
  return value;
}

static Element floating(double real, double imaginary = 0) {
  Element value;
  value.number = {real, imaginary};
  return value;
}

static Element smallFloat(const fltSemantics &semantics, uint64_t bits) {
  APFloat value(semantics, APInt(APFloat::semanticsSizeInBits(semantics), bits));
  bool losesInfo;
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
  return floating(value.convertToDouble());
}

Element lathe::tool::elementAt(const char *data, DLDataType type, uint64_t index) {
  switch (type.code) {
  case kDLFloat:
    if (type.bits == 32)
      return floating(load<float>(data, index));
    if (type.bits == 64)
      return floating(load<double>(data, index));
    return smallFloat(APFloat::IEEEhalf(), load<uint16_t>(data, index));
  case kDLComplex:
    if (type.bits == 64)
      return floating(load<float>(data, 2 * index), load<float>(data, 2 * index + 1));
    return floating(load<double>(data, 2 * index), load<double>(data, 2 * index + 1));
  case Float8E8M0:
    return floating(uint8_t(data[index]) == 255 ? NAN : std::ldexp(1.0, uint8_t(data[index]) - 127));
  default:
    if (const SmallFloat *small = findSmallFloat(type.code))
      return smallFloat(small->semantics(), loadBits(data, type.bits, index));
    return integer(loadBits(data, type.bits, index), type.bits, type.code == kDLInt);
  }
}

std::string lathe::tool::shapeText(ArrayRef<int64_t> shape) {
  if (shape.empty())
    return "scalar";
  std::vector<std::string> dims;
  for (int64_t dim : shape)
    dims.push_back(std::to_string(dim));
  return join(dims, "x");
}
