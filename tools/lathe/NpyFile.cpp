//===- NpyFile.cpp - One array in numpy's format ---------------------------===//
//
// A magic number, a version, and a header that is a Python dictionary of three known keys:
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
//
//===----------------------------------------------------------------------===//
#include "NpyFile.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cstring>

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

namespace {
struct Header {
  std::string descr;
  std::optional<bool> fortranOrder;
  std::optional<std::vector<int64_t>> shape;
};

/// Reads the dictionary; any deviation makes `parse` return false.
class HeaderParser {
public:
  explicit HeaderParser(StringRef text) : rest(text) {}

  bool parse(Header &header) {
    if (!accept("{"))
      return false;
    while (!accept("}")) {
      std::string key;
      if (!quoted(key) || !accept(":") || !entry(key, header))
        return false;
      if (!accept(",") && !rest.ltrim().starts_with("}"))
        return false;
    }
    return header.fortranOrder && header.shape && !header.descr.empty();
  }

private:
  bool accept(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  bool quoted(std::string &text) {
    rest = rest.ltrim();
    if (rest.empty() || (rest[0] != '\'' && rest[0] != '"'))
      return false;
    size_t end = rest.find(rest[0], 1);
    if (end == StringRef::npos)
      return false;
    text = rest.slice(1, end).str();
    rest = rest.drop_front(end + 1);
    return true;
  }
  bool entry(StringRef key, Header &header) {
    if (key == "descr")
      return quoted(header.descr);
    if (key == "fortran_order") {
      header.fortranOrder = accept("True");
      return *header.fortranOrder || accept("False");
    }
    return key == "shape" && tuple(header.shape.emplace());
  }
  bool tuple(std::vector<int64_t> &numbers) {
    if (!accept("("))
      return false;
    while (!accept(")")) {
      int64_t number;
      rest = rest.ltrim();
      if (rest.consumeInteger(10, number) || number < 0 || numbers.size() >= 64)
        return false;
      accept("L");
      numbers.push_back(number);
      if (!accept(",") && !rest.ltrim().starts_with(")"))
        return false;
    }
    return true;
  }
  StringRef rest;
};
} // namespace

static std::optional<DLDataType> dtypeOf(StringRef descr) {
  static const std::pair<const char *, DLDataType> types[] = {
      {"b1", {kDLBool, 8, 1}},  {"i1", {kDLInt, 8, 1}},     {"i2", {kDLInt, 16, 1}},     {"i4", {kDLInt, 32, 1}},
      {"i8", {kDLInt, 64, 1}},  {"u1", {kDLUInt, 8, 1}},    {"u2", {kDLUInt, 16, 1}},    {"u4", {kDLUInt, 32, 1}},
      {"u8", {kDLUInt, 64, 1}}, {"f2", {kDLFloat, 16, 1}},  {"f4", {kDLFloat, 32, 1}},   {"f8", {kDLFloat, 64, 1}},
      {"V2", {kDLBfloat, 16, 1}}, {"c8", {kDLComplex, 64, 1}}, {"c16", {kDLComplex, 128, 1}}};
  for (const auto &[name, type] : types)
    if (descr.drop_front(1) == name && (descr[0] == '<' || descr[0] == '|' || (descr[0] == '=')))
      return type;
  return std::nullopt;
}

/// Where the header's text lies, by the file's version.
static bool splitHeader(StringRef bytes, StringRef &header, StringRef &data) {
  if (!bytes.starts_with("\x93NUMPY") || bytes.size() < 10)
    return false;
  unsigned lengthBytes = bytes[6] == 1 ? 2 : 4;
  if (bytes[6] < 1 || bytes[6] > 3 || bytes.size() < 8 + lengthBytes)
    return false;
  uint64_t length = 0;
  for (unsigned i = 0; i < lengthBytes; ++i)
    length |= uint64_t(uint8_t(bytes[8 + i])) << (8 * i);
  if (length > bytes.size() - 8 - lengthBytes)
    return false;
  header = bytes.substr(8 + lengthBytes, length);
  data = bytes.drop_front(8 + lengthBytes + length);
  return true;
}

/// Copies column-major data into row-major order.
static void transpose(StringRef data, HostTensor &tensor) {
  size_t element = tensor.dtype.bits / 8;
  std::vector<uint64_t> index(tensor.shape.size(), 0), stride(tensor.shape.size(), 1);
  for (size_t d = 1; d < stride.size(); ++d)
    stride[d] = stride[d - 1] * tensor.shape[d - 1];
  uint64_t from = 0;
  for (uint64_t i = 0, n = tensor.elements(); i < n; ++i) {
    std::memcpy(tensor.data() + i * element, data.data() + from * element, element);
    for (size_t d = index.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < uint64_t(tensor.shape[d]))
        break;
      from -= stride[d] * index[d];
      index[d] = 0;
    }
  }
}

Expected<HostTensor> lathe::tool::parseNpy(StringRef bytes, StringRef origin) {
  StringRef text, data;
  if (!splitHeader(bytes, text, data))
    return userError("'{0}' is not in numpy's .npy format", origin);
  Header header;
  if (!HeaderParser(text).parse(header))
    return userError("'{0}' has a malformed .npy header", origin);
  std::optional<DLDataType> type = dtypeOf(header.descr);
  if (!type)
    return userError("'{0}' holds elements of type '{1}', which lathe does not read", origin, header.descr);
  std::optional<uint64_t> count = countElements(*header.shape);
  if (!count || bytesFor(*count, *type) != data.size())
    return userError("'{0}' holds {1} bytes of data, its shape {2} does not", origin, data.size(), shapeText(*header.shape));
  Expected<HostTensor> tensor = HostTensor::create(*type, *header.shape);
  if (!tensor)
    return tensor;
  if (*header.fortranOrder && header.shape->size() > 1)
    transpose(data, *tensor);
  else
    std::memcpy(tensor->data(), data.data(), data.size());
  return tensor;
}

Expected<HostTensor> lathe::tool::readNpy(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return userError("cannot read '{0}': {1}", path, buffer.getError().message());
  return parseNpy((*buffer)->getBuffer(), path);
}

static std::string descrOf(DLDataType type) {
  static const std::pair<uint8_t, char> kinds[] = {{kDLInt, 'i'}, {kDLUInt, 'u'}, {kDLFloat, 'f'}, {kDLComplex, 'c'}};
  if (type.code == kDLBool)
    return "|b1";
  for (auto [code, letter] : kinds)
    if (code == type.code && type.bits >= 8)
      return (type.bits == 8 ? "|" : "<") + std::string(1, letter) + std::to_string(type.bits / 8);
  return "|V" + std::to_string(std::max(type.bits / 8, 1));
}

std::string lathe::tool::npyBytes(const DLTensor &tensor) {
  std::string shape;
  for (int32_t d = 0; d < tensor.ndim; ++d)
    shape += std::to_string(tensor.shape[d]) + (tensor.ndim == 1 ? "," : d + 1 < tensor.ndim ? ", " : "");
  std::string header = "{'descr': '" + descrOf(tensor.dtype) + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');
  header.push_back('\n');
  std::string file("\x93NUMPY\x01\x00", 8);
  file += char(header.size() & 255);
  file += char(header.size() >> 8);
  file += header;
  if (uint64_t bytes = bytesFor(*countElements({tensor.shape, size_t(tensor.ndim)}), tensor.dtype))
    file.append(static_cast<const char *>(tensor.data) + tensor.byte_offset, bytes);
  return file;
}

Error lathe::tool::writeNpy(StringRef path, const DLTensor &tensor) {
  std::error_code error;
  raw_fd_ostream out(path, error);
  if (!error) {
    out << npyBytes(tensor);
    out.close();
    error = out.error();
    out.clear_error();
  }
  if (error)
    return userError("cannot write '{0}': {1}", path, error.message());
  return Error::success();
}
