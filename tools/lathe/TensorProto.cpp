//===- TensorProto.cpp - ONNX's test data ----------------------------------===//
//
// Reads the few fields of onnx.TensorProto that carry a value straight from protobuf's wire format, so that running an
// artifact needs no protobuf.
//
//===----------------------------------------------------------------------===//
#include "TensorProto.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

namespace {
enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

/// One field of a message: a number (varint and fixed types) or bytes.
struct Field {
  uint32_t number, wire;
  uint64_t value;
  StringRef bytes;
};

class WireReader {
public:
  explicit WireReader(StringRef bytes) : rest(bytes) {}
  bool done() const { return rest.empty(); }
  bool varint(uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest.empty())
        return false;
      uint8_t byte = rest[0];
      rest = rest.drop_front();
      value |= uint64_t(byte & 127) << shift;
      if (byte < 128)
        return true;
    }
    return false;
  }
  bool fixed(unsigned size, uint64_t &value) {
    if (rest.size() < size)
      return false;
    value = 0;
    std::memcpy(&value, rest.data(), size);
    rest = rest.drop_front(size);
    return true;
  }
  bool next(Field &field) {
    uint64_t tag;
    if (!varint(tag))
      return false;
    field = {uint32_t(tag >> 3), uint32_t(tag & 7), 0, {}};
    switch (field.wire) {
    case Varint:
      return varint(field.value);
    case Fixed64:
      return fixed(8, field.value);
    case Fixed32:
      return fixed(4, field.value);
    case Bytes:
      if (!varint(field.value) || field.value > rest.size())
        return false;
      field.bytes = rest.take_front(field.value);
      rest = rest.drop_front(field.value);
      return true;
    }
    return false;
  }

private:
  StringRef rest;
};

/// Fields of TensorProto by number.
enum { Dims = 1, DataType = 2, FloatData = 4, Int32Data = 5, StringData = 6, Int64Data = 7, Name = 8, RawData = 9, DoubleData = 10,
       Uint64Data = 11, ExternalData = 13 };

struct Contents {
  std::vector<int64_t> dims;
  uint64_t dataType = 0;
  std::string name;
  std::optional<StringRef> raw;
  std::vector<uint64_t> numbers; ///< of whichever typed field is there, as bits
  bool hasStrings = false, isExternal = false;
};
} // namespace

/// A repeated number, packed or not.
static bool appendNumbers(const Field &field, unsigned fixedSize, std::vector<uint64_t> &numbers) {
  if (field.wire != Bytes) {
    numbers.push_back(field.value);
    return true;
  }
  for (WireReader reader(field.bytes); !reader.done();) {
    uint64_t value;
    if (!(fixedSize ? reader.fixed(fixedSize, value) : reader.varint(value)))
      return false;
    numbers.push_back(value);
  }
  return true;
}

static bool parseField(const Field &field, Contents &contents) {
  std::vector<uint64_t> dims;
  switch (field.number) {
  case Dims:
    if (!appendNumbers(field, 0, dims))
      return false;
    contents.dims.insert(contents.dims.end(), dims.begin(), dims.end());
    return contents.dims.size() <= 64;
  case DataType:
    contents.dataType = field.value;
    return field.wire == Varint;
  case FloatData:
    return appendNumbers(field, 4, contents.numbers);
  case DoubleData:
    return appendNumbers(field, 8, contents.numbers);
  case Int32Data:
  case Int64Data:
  case Uint64Data:
    return appendNumbers(field, 0, contents.numbers);
  case StringData:
    contents.hasStrings = true;
    return true;
  case Name:
    contents.name = field.bytes.str();
    return field.wire == Bytes;
  case RawData:
    contents.raw = field.bytes;
    return field.wire == Bytes;
  case ExternalData:
    contents.isExternal = true;
    return true;
  }
  return true;
}

/// TensorProto.DataType by number; STRING and unknown ones have no bits.
static DLDataType dtypeOf(uint64_t dataType) {
  static const DLDataType types[] = {
      {0, 0, 1},                {kDLFloat, 32, 1},      {kDLUInt, 8, 1},          {kDLInt, 8, 1},        {kDLUInt, 16, 1},
      {kDLInt, 16, 1},          {kDLInt, 32, 1},        {kDLInt, 64, 1},          {0, 0, 1},             {kDLBool, 8, 1},
      {kDLFloat, 16, 1},        {kDLFloat, 64, 1},      {kDLUInt, 32, 1},         {kDLUInt, 64, 1},      {kDLComplex, 64, 1},
      {kDLComplex, 128, 1},     {kDLBfloat, 16, 1},     {Float8E4M3FN, 8, 1},     {Float8E4M3FNUZ, 8, 1}, {Float8E5M2, 8, 1},
      {Float8E5M2FNUZ, 8, 1},   {kDLUInt, 4, 1},        {kDLInt, 4, 1},           {Float4E2M1, 4, 1},    {Float8E8M0, 8, 1},
      {kDLUInt, 2, 1},          {kDLInt, 2, 1}};
  return dataType < std::size(types) ? types[dataType] : types[0];
}

/// Typed fields hold one element per number, sub-byte types one byte per number, complex types two numbers per element.
static unsigned bytesPerNumber(DLDataType type) {
  unsigned unit = type.bits < 8 ? 1 : type.bits / 8;
  return type.code == kDLComplex ? unit / 2 : unit;
}

/// Is there as much data as the shape says? Asked before memory is taken for it: a few bytes can claim any shape.
static bool holdsShape(const Contents &contents, DLDataType type) {
  std::optional<uint64_t> elements = countElements(contents.dims);
  uint64_t held = contents.raw ? contents.raw->size() : contents.numbers.size() * bytesPerNumber(type);
  return !elements || held == bytesFor(*elements, type); // creating an impossible shape says so
}

static void fill(const Contents &contents, HostTensor &tensor) {
  if (contents.raw) {
    std::memcpy(tensor.data(), contents.raw->data(), tensor.bytes());
    return;
  }
  unsigned unit = bytesPerNumber(tensor.dtype);
  for (size_t i = 0; i < contents.numbers.size(); ++i)
    std::memcpy(tensor.data() + i * unit, &contents.numbers[i], unit);
}

Expected<HostTensor> lathe::tool::parseTensorProto(StringRef bytes, StringRef origin) {
  Contents contents;
  Field field;
  for (WireReader reader(bytes); !reader.done();)
    if (!reader.next(field) || !parseField(field, contents))
      return userError("'{0}' is not an ONNX tensor (a serialized TensorProto)", origin);
  DLDataType type = dtypeOf(contents.dataType);
  if (contents.hasStrings || contents.dataType == 8)
    return unsupported("'{0}' holds strings, which lathe run does not read", origin);
  if (!type.bits)
    return userError("'{0}' is not an ONNX tensor of a known element type (number {1})", origin, contents.dataType);
  if (contents.isExternal)
    return unsupported("'{0}' keeps its data in another file, which lathe run does not read", origin);
  if (!holdsShape(contents, type))
    return userError("'{0}' does not hold as many elements as its shape {1} says", origin, shapeText(contents.dims));
  Expected<HostTensor> tensor = HostTensor::create(type, contents.dims);
  if (!tensor)
    return userError("'{0}': {1}", origin, toString(tensor.takeError()));
  tensor->name = contents.name;
  fill(contents, *tensor);
  return tensor;
}

Expected<HostTensor> lathe::tool::readTensorProto(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return userError("cannot read '{0}': {1}", path, buffer.getError().message());
  return parseTensorProto((*buffer)->getBuffer(), path);
}
