//===- ConstantTensor.cpp - Constants as numbers ---------------------------===//

#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;

ConstantTensor::ConstantTensor(RankedTensorType type) : type(type) {
  if (isFloat())
    floats.resize(type.getNumElements());
  else
    ints.resize(type.getNumElements());
}

void ConstantTensor::copyFrom(const ConstantTensor &other, int64_t from, int64_t to) {
  if (!floats.empty())
    floats[to] = other.floats[from];
  else
    ints[to] = other.ints[from];
}

bool ir::isUnsignedElement(Type e) { return e.isUnsignedInteger() || e.isInteger(1); }

bool ir::isNumber(Type e) {
  if (e.isF64() || e.isF32() || e.isF16() || e.isBF16() || isFloat8(e))
    return true;
  auto i = dyn_cast<IntegerType>(e);
  return i && (i.getWidth() == 1 || i.getWidth() == 8 || i.getWidth() == 16 || i.getWidth() == 32 || i.getWidth() == 64);
}

double ir::roundTo(double value, Type element) {
  if (element.isF64())
    return value;
  if (element.isF32())
    return static_cast<float>(value);
  APFloat v(value);
  bool lossy;
  v.convert(cast<FloatType>(element).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
  return v.convertToDouble();
}

ir::Wrap::Wrap(Type element) {
  unsigned width = element.getIntOrFloatBitWidth();
  mask = width >= 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  sign = isUnsignedElement(element) ? 0 : uint64_t(1) << (std::min(width, 64u) - 1);
}

int64_t ir::bytesOf(RankedTensorType type) {
  return type.getNumElements() * std::max<int64_t>(1, type.getElementTypeBitWidth() / 8);
}

SmallVector<int64_t> ir::stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int i = int(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

std::optional<ArrayRef<char>> ir::rawBytes(ElementsAttr attr) {
  ArrayRef<char> bytes;
  if (auto dense = dyn_cast<DenseElementsAttr>(attr)) {
    if (dense.isSplat() || attr.getElementType().isInteger(1))
      return std::nullopt;
    bytes = dense.getRawData();
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(attr)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    if (!blob)
      return std::nullopt;
    bytes = blob->getData();
  } else {
    return std::nullopt;
  }
  if (int64_t(bytes.size()) != bytesOf(cast<RankedTensorType>(attr.getType())))
    return std::nullopt;
  return bytes;
}

static double toDouble(APFloat v) {
  bool lossy;
  v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
  return v.convertToDouble();
}

static double decodeFloat(const char *p, Type e) {
  if (e.isF64()) {
    double d;
    std::memcpy(&d, p, 8);
    return d;
  }
  if (e.isF32()) {
    float f;
    std::memcpy(&f, p, 4);
    return f;
  }
  uint16_t bits = 0;
  unsigned width = e.getIntOrFloatBitWidth();
  std::memcpy(&bits, p, width / 8);
  return toDouble(APFloat(cast<FloatType>(e).getFloatSemantics(), APInt(width, bits)));
}

/// Through MLIR's iterators: splats and packed bools.
static ConstantTensor readDense(DenseElementsAttr dense, RankedTensorType type) {
  ConstantTensor t(type);
  Type e = type.getElementType();
  bool isUnsigned = isUnsignedElement(e);
  auto number = [&](const APInt &v) { return isUnsigned ? int64_t(v.getZExtValue()) : v.getSExtValue(); };
  int64_t i = 0;
  if (dense.isSplat() && t.size()) {
    if (t.isFloat())
      t.floats.assign(t.size(), toDouble(dense.getSplatValue<APFloat>()));
    else
      t.ints.assign(t.size(), number(dense.getSplatValue<APInt>()));
    return t;
  }
  if (t.isFloat()) {
    for (const APFloat &v : dense.getValues<APFloat>())
      t.floats[i++] = toDouble(v);
    return t;
  }
  for (const APInt &v : dense.getValues<APInt>())
    t.ints[i++] = number(v);
  return t;
}

std::optional<ConstantTensor> ir::readConstant(ElementsAttr attr) {
  auto type = dyn_cast<RankedTensorType>(attr.getType());
  if (!type || !isNumber(type.getElementType()))
    return std::nullopt;
  Type e = type.getElementType();
  std::optional<ArrayRef<char>> bytes = rawBytes(attr);
  if (!bytes) {
    auto dense = dyn_cast<DenseElementsAttr>(attr);
    return dense ? std::optional<ConstantTensor>(readDense(dense, type)) : std::nullopt;
  }
  ConstantTensor t(type);
  unsigned width = std::max(1u, e.getIntOrFloatBitWidth() / 8);
  std::optional<Wrap> wrap;
  if (!t.isFloat())
    wrap.emplace(e);
  for (int64_t i = 0, n = t.size(); i < n; ++i) {
    const char *p = bytes->data() + i * width;
    if (t.isFloat()) {
      t.floats[i] = decodeFloat(p, e);
      continue;
    }
    uint64_t bits = 0;
    std::memcpy(&bits, p, width);
    t.ints[i] = (*wrap)(static_cast<int64_t>(bits));
  }
  return t;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

ElementsAttr ir::constantFilled(RankedTensorType type, StringRef name, llvm::function_ref<void(MutableArrayRef<char>)> fill) {
  // Attributes are hashed and kept for the context's life; large ones live in a resource instead.
  constexpr int64_t largest = 1 << 16;
  int64_t size = bytesOf(type);
  if (size <= largest) {
    std::vector<char> bytes(size);
    fill(bytes);
    return DenseElementsAttr::getFromRawBuffer(type, bytes);
  }
  AsmResourceBlob blob = HeapAsmResourceBlob::allocate(size, 64);
  fill(blob.getMutableData());
  return DenseResourceElementsAttr::get(type, name, std::move(blob));
}

ElementsAttr ir::constantFromBytes(RankedTensorType type, ArrayRef<char> bytes, StringRef name) {
  return constantFilled(type, name, [&](MutableArrayRef<char> out) { llvm::copy(bytes, out.begin()); });
}

ElementsAttr ir::writeConstant(const ConstantTensor &t, StringRef name) {
  Type e = t.type.getElementType();
  int64_t n = t.size();
  if (e.isInteger(1)) {
    SmallVector<bool> bits(t.ints.begin(), t.ints.end());
    return DenseElementsAttr::get(t.type, ArrayRef<bool>(bits));
  }
  unsigned width = e.getIntOrFloatBitWidth() / 8;
  std::vector<char> bytes(n * width);
  for (int64_t i = 0; i < n; ++i) {
    uint64_t bits;
    if (t.isFloat()) {
      APFloat v(t.floats[i]);
      bool lossy;
      v.convert(cast<FloatType>(e).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
      bits = v.bitcastToAPInt().getZExtValue();
    } else {
      bits = static_cast<uint64_t>(t.ints[i]);
    }
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  bool same = n > 0;
  for (int64_t i = 1; same && i < n; ++i)
    same = std::memcmp(bytes.data(), bytes.data() + i * width, width) == 0;
  if (same)
    return DenseElementsAttr::getFromRawBuffer(t.type, ArrayRef<char>(bytes).take_front(width));
  return constantFromBytes(t.type, bytes, name);
}

std::optional<double> ir::splatValue(Value v) {
  while (Operation *op = v.getDefiningOp()) {
    if (!isa<BroadcastOp, ReshapeOp>(op))
      break;
    v = op->getOperand(0);
  }
  auto c = v.getDefiningOp<ConstantOp>();
  if (!c || !isNumber(elementOf(v)))
    return std::nullopt;
  auto dense = dyn_cast<DenseElementsAttr>(c.getValue());
  if (!dense || dense.empty() || !dense.isSplat())
    return std::nullopt;
  if (isa<FloatType>(elementOf(v)))
    return toDouble(dense.getSplatValue<APFloat>());
  APInt i = dense.getSplatValue<APInt>();
  return isUnsignedElement(elementOf(v)) ? double(i.getZExtValue()) : double(i.getSExtValue());
}
