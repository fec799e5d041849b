//===- Tensors.cpp - Tensors as bytes and as text --------------------------===//

#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Interpret/Interpret.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;

static unsigned bytesOf(Type element) { return std::max(1u, ir::bitsOf(element) / 8); }

Tensor interpret::fromBytes(RankedTensorType type, const char *bytes) {
  Tensor t(type);
  Type e = type.getElementType();
  unsigned width = bytesOf(e);
  for (int64_t i = 0, n = t.size(); i < n; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes + i * width, width);
    if (!t.isFloat()) {
      t.ints[i] = isa<IntegerType>(e) ? ir::wrapTo(int64_t(bits), e) : int64_t(bits);
      continue;
    }
    APFloat v(cast<FloatType>(e).getFloatSemantics(), APInt(width * 8, bits));
    bool lossy;
    v.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    t.floats[i] = v.convertToDouble();
  }
  return t;
}

std::vector<char> interpret::toBytes(const Tensor &t) {
  Type e = t.type.getElementType();
  unsigned width = bytesOf(e);
  std::vector<char> bytes(t.size() * width);
  for (int64_t i = 0, n = t.size(); i < n; ++i) {
    uint64_t bits;
    if (t.isFloat()) {
      APFloat v(t.floats[i]);
      bool lossy;
      v.convert(cast<FloatType>(e).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
      bits = v.bitcastToAPInt().getZExtValue();
    } else {
      bits = uint64_t(t.ints[i]);
    }
    std::memcpy(bytes.data() + i * width, &bits, width);
  }
  return bytes;
}

std::string interpret::elementText(const Tensor &t, int64_t i) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Type e = t.type.getElementType();
  if (t.isFloat())
    os << llvm::format(e.isF64() ? "%.17g" : "%.9g", t.floats[i]);
  else if (e.isInteger(1))
    os << (t.ints[i] ? "true" : "false");
  else if (ir::isUnsignedElement(e))
    os << uint64_t(t.ints[i]);
  else
    os << t.ints[i];
  return text;
}
