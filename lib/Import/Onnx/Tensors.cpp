//===- Tensors.cpp - Tensors of a model as constants -----------------------===//

#include "Tensors.h"
#include "Failure.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Import/Elements.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>

using namespace mlir;
using namespace lathe;
using namespace lathe::onnx;

namespace {
struct TypeRow {
  int32_t dataType;
  const char *name;
  unsigned bits; ///< 0: not representable
  Type (*type)(Builder &); ///< null for the narrow types, which the dialect knows by name
};
} // namespace

static const TypeRow typeTable[] = {
    {TensorProto::FLOAT, "float", 32, [](Builder &b) -> Type { return b.getF32Type(); }},
    {TensorProto::UINT8, "uint8", 8, [](Builder &b) -> Type { return b.getIntegerType(8, false); }},
    {TensorProto::INT8, "int8", 8, [](Builder &b) -> Type { return b.getI8Type(); }},
    {TensorProto::UINT16, "uint16", 16, [](Builder &b) -> Type { return b.getIntegerType(16, false); }},
    {TensorProto::INT16, "int16", 16, [](Builder &b) -> Type { return b.getI16Type(); }},
    {TensorProto::INT32, "int32", 32, [](Builder &b) -> Type { return b.getI32Type(); }},
    {TensorProto::INT64, "int64", 64, [](Builder &b) -> Type { return b.getI64Type(); }},
    {TensorProto::STRING, "string", 0, nullptr},
    {TensorProto::BOOL, "bool", 8, [](Builder &b) -> Type { return b.getI1Type(); }},
    {TensorProto::FLOAT16, "float16", 16, [](Builder &b) -> Type { return b.getF16Type(); }},
    {TensorProto::DOUBLE, "double", 64, [](Builder &b) -> Type { return b.getF64Type(); }},
    {TensorProto::UINT32, "uint32", 32, [](Builder &b) -> Type { return b.getIntegerType(32, false); }},
    {TensorProto::UINT64, "uint64", 64, [](Builder &b) -> Type { return b.getIntegerType(64, false); }},
    {TensorProto::COMPLEX64, "complex64", 0, nullptr},
    {TensorProto::COMPLEX128, "complex128", 0, nullptr},
    {TensorProto::BFLOAT16, "bfloat16", 16, [](Builder &b) -> Type { return b.getBF16Type(); }},
    {TensorProto::FLOAT8E4M3FN, "float8e4m3fn", 8, nullptr},
    {TensorProto::FLOAT8E4M3FNUZ, "float8e4m3fnuz", 8, nullptr},
    {TensorProto::FLOAT8E5M2, "float8e5m2", 8, nullptr},
    {TensorProto::FLOAT8E5M2FNUZ, "float8e5m2fnuz", 8, nullptr},
    {TensorProto::UINT4, "uint4", 4, nullptr},
    {TensorProto::INT4, "int4", 4, nullptr},
    {TensorProto::FLOAT4E2M1, "float4e2m1", 4, nullptr},
    {TensorProto::FLOAT8E8M0, "float8e8m0", 8, nullptr},
    {TensorProto::UINT2, "uint2", 2, nullptr},
    {TensorProto::INT2, "int2", 2, nullptr},
};

static const TypeRow *rowOf(int32_t dataType) {
  for (const TypeRow &row : typeTable)
    if (row.dataType == dataType)
      return &row;
  return nullptr;
}

StringRef onnx::elementTypeName(int32_t dataType) {
  const TypeRow *row = rowOf(dataType);
  return row ? row->name : "undefined";
}

Type onnx::elementType(int32_t dataType, MLIRContext *context) {
  const TypeRow *row = rowOf(dataType);
  if (!row)
    failWrong("element type {0} is not one of the format's", dataType);
  if (!row->bits)
    failUnsupported("element type {0}", row->name);
  if (const ir::NarrowType *narrow = ir::narrowType(row->name))
    return narrow->get(context);
  Builder b(context);
  return row->type(b);
}

int64_t onnx::elementCount(ArrayRef<int64_t> dims, StringRef what) {
  int64_t count = 1;
  for (int64_t d : dims)
    if (d < 0)
      failWrong("{0}: dimension {1} is negative", what, d);
    else if (!multiplyElements(count, d))
      failWrong("{0}: too many elements", what);
  return llvm::is_contained(dims, 0) ? 0 : count;
}

/// Copies a typed field of the message (int32_data also holds the narrower types) into the element's own width.
template <typename To, typename Field> static void narrow(const Field &field, std::vector<char> &out) {
  out.resize(field.size() * sizeof(To));
  for (int i = 0; i < field.size(); ++i) {
    To v = static_cast<To>(field[i]);
    std::memcpy(out.data() + i * sizeof(To), &v, sizeof(To));
  }
}

/// The value from the typed fields, as raw bytes; empty when the message has none.
static std::vector<char> typedData(const TensorProto &t) {
  std::vector<char> out;
  switch (t.data_type()) {
  case TensorProto::FLOAT:
    narrow<float>(t.float_data(), out);
    break;
  case TensorProto::DOUBLE:
    narrow<double>(t.double_data(), out);
    break;
  case TensorProto::INT64:
    narrow<int64_t>(t.int64_data(), out);
    break;
  case TensorProto::UINT64:
    narrow<uint64_t>(t.uint64_data(), out);
    break;
  case TensorProto::UINT32:
    narrow<uint32_t>(t.uint64_data(), out);
    break;
  case TensorProto::INT32:
    narrow<int32_t>(t.int32_data(), out);
    break;
  case TensorProto::INT16:
  case TensorProto::UINT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    narrow<uint16_t>(t.int32_data(), out);
    break;
  default:
    narrow<uint8_t>(t.int32_data(), out);
  }
  return out;
}

static Bytes bytesOf(const TensorProto &t, ModelFile &file) {
  if (t.data_location() == TensorProto::EXTERNAL)
    return file.external(t);
  if (file.hasRaw(t))
    return file.raw(t);
  auto copy = std::make_shared<std::vector<char>>(typedData(t));
  return {llvm::ArrayRef<char>(copy->data(), copy->size()), copy};
}

/// Bools are whole bytes in the file and single bits in an attribute.
static ElementsAttr boolValue(RankedTensorType type, llvm::ArrayRef<char> bytes) {
  SmallVector<bool> values(bytes.begin(), bytes.end());
  return DenseElementsAttr::get(type, values);
}

static bool aligned(const void *p, unsigned to) { return reinterpret_cast<uintptr_t>(p) % to == 0; }

/// The tensor's name as a word, which is what the textual form of a resource's name is.
static std::string resourceName(StringRef name) {
  std::string key = name.empty() || !(llvm::isAlpha(name[0]) || name[0] == '_') ? "_" : "";
  for (char c : name)
    key += llvm::isAlnum(c) || StringRef("_.$").contains(c) ? c : '_';
  return key;
}

/// One byte per element of what the file packs.
static Bytes unpacked(const Bytes &packed, unsigned bits, int64_t count) {
  auto copy = std::make_shared<std::vector<char>>(count);
  for (int64_t i = 0; i < count; ++i)
    (*copy)[i] = char((uint8_t(packed.data[i * bits / 8]) >> (i * bits % 8)) & ((1 << bits) - 1));
  return {llvm::ArrayRef<char>(copy->data(), copy->size()), copy};
}

ElementsAttr onnx::tensorValue(const TensorProto &t, ModelFile &file, MLIRContext *context) {
  const std::string what = llvm::formatv("tensor '{0}'", t.name()).str();
  Type element = elementType(t.data_type(), context);
  if (ir::isNarrow(element))
    element = IntegerType::get(context, 8, IntegerType::Unsigned);
  unsigned bits = rowOf(t.data_type())->bits, width = std::max(1u, bits / 8);
  SmallVector<int64_t> dims(t.dims().begin(), t.dims().end());
  int64_t count = elementCount(dims, what);
  Bytes bytes = bytesOf(t, file);
  size_t expected = (size_t(count) * bits + 7) / 8;
  if (bytes.data.size() != expected)
    failWrong("{0}: {1} elements of {2} are {3} bytes, the file holds {4}", what, count, elementTypeName(t.data_type()),
              expected, bytes.data.size());
  if (bits < 8)
    bytes = unpacked(bytes, bits, count);
  auto type = RankedTensorType::get(dims, element);
  if (element.isInteger(1))
    return boolValue(type, bytes.data);
  if (count == 0)
    return DenseElementsAttr::get(type, ArrayRef<Attribute>());
  if (count < kInlineElements)
    return DenseElementsAttr::getFromRawBuffer(type, bytes.data);
  // Where the format has put them, which is at any address: elements of constants are read byte by byte (ir::rawBytes).
  size_t alignment = aligned(bytes.data.data(), width) ? width : 1;
  AsmResourceBlob blob(bytes.data, alignment, [owner = bytes.owner](void *, size_t, size_t) {}, /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, resourceName(t.name()), std::move(blob));
}
