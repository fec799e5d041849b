//===- ElementCopy.cpp - Elements of one type as another -------------------===//

#include "ElementCopy.h"
#include "Constants.h"
#include "lathe/Support/HalfFloats.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace lathe;
using pipeline::ElementCopy;

template <typename T> static T same(T x) { return x; }

/// Of elements that lie side by side on both sides a compiler makes vectors.
template <typename In, typename Out, Out (*convert)(In)>
static void runOf(const char *in, int64_t inStep, char *out, int64_t outStep, int64_t count) {
  auto move = [&](int64_t from, int64_t to) {
    In x;
    std::memcpy(&x, in + from * int64_t(sizeof x), sizeof x);
    Out y = convert(x);
    std::memcpy(out + to * int64_t(sizeof y), &y, sizeof y);
  };
  if (inStep == 1 && outStep == 1)
    for (int64_t i = 0; i < count; ++i)
      move(i, i);
  else
    for (int64_t i = 0; i < count; ++i)
      move(i * inStep, i * outStep);
}

ElementCopy::ElementCopy(Type fromType, Type toType)
    : inBytes(elementBytes(fromType)), outBytes(elementBytes(toType)), plain(fromType == toType) {
  if (plain)
    run = inBytes == 1   ? runOf<uint8_t, uint8_t, same>
          : inBytes == 2 ? runOf<uint16_t, uint16_t, same>
          : inBytes == 4 ? runOf<uint32_t, uint32_t, same>
                         : runOf<uint64_t, uint64_t, same>;
  else if (fromType.isF32() && toType.isF16())
    run = runOf<uint32_t, uint16_t, halfBits>;
  else if (fromType.isF32() && toType.isBF16())
    run = runOf<uint32_t, uint16_t, bfloatBits>;
  else {
    from = &cast<FloatType>(fromType).getFloatSemantics();
    to = &cast<FloatType>(toType).getFloatSemantics();
  }
}

static void convert(const char *in, unsigned inBytes, const llvm::fltSemantics &from, char *out, unsigned outBytes, const llvm::fltSemantics &to) {
  APInt bits(inBytes * 8, 0);
  std::memcpy(const_cast<uint64_t *>(bits.getRawData()), in, inBytes);
  APFloat v(from, bits);
  bool lossy;
  v.convert(to, APFloat::rmNearestTiesToEven, &lossy);
  APInt result = v.bitcastToAPInt();
  std::memcpy(out, result.getRawData(), outBytes);
}

void ElementCopy::operator()(const char *in, int64_t inStep, char *out, int64_t outStep, int64_t count) const {
  if (run)
    return run(in, inStep, out, outStep, count);
  for (int64_t i = 0; i < count; ++i)
    convert(in + i * inStep * int64_t(inBytes), inBytes, *from, out + i * outStep * int64_t(outBytes), outBytes, *to);
}
