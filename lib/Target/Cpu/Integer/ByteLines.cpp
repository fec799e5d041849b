//===- ByteLines.cpp - The roles of axes in a depthwise sum of bytes -------===//

#include "ByteLines.h"
#include "lathe/Lower/BodySlices.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::AxisSet;
using lower::BodyInfo;

/// Taps of a line.
constexpr int64_t mostTaps = 64;

/// A plain load of signed bytes, and bytes that have all of the summed axes, too.
bool ByteLines::findFactors(const BodyInfo &info) {
  arith::MulIOp mul = lower::productOfBytes(info);
  sum = mul ? lower::onlySum(info) : kernel::ReduceOp();
  for (unsigned side = 0; mul && side < 2; ++side) {
    Operation *mine = mul->getOperand(side).getDefiningOp(), *other = mul->getOperand(1 - side).getDefiningOp();
    kernel::LoadOp filter = isa<arith::ExtSIOp>(mine) ? lower::plainLoad(mine->getOperand(0)) : kernel::LoadOp();
    image = other->getOperand(0);
    imageSigned = isa<arith::ExtSIOp>(other);
    weight = filter ? filter.getResult() : Value();
    result = sum.getResult();
    if (filter && !filter->hasAttr("packed") && findSlides(info))
      return true;
  }
  return false;
}

bool ByteLines::findSlides(const BodyInfo &info) {
  AxisSet reduced = info.axesOf(sum.getAxes()), ofImage = info.axesOf(image), ofFilter = info.axesOf(weight);
  slides = slidesOf(info, sum, AxisGroup::of(info, ofImage & ~ofFilter & ~reduced), reduced, lower::opsBelow(image));
  if (slides.empty() || slides.size() > 2 || (ofImage & ofFilter & reduced) != reduced)
    return false;
  outer = lower::allAxes(info) & ~reduced;
  for (const Slide &s : slides) {
    outer &= ~(AxisSet(1) << *s.row);
    if (!s.tap)
      continue;
    reduced &= ~(AxisSet(1) << *s.tap);
    if (info.extents[*s.tap].constant().value_or(mostTaps + 1) > mostTaps)
      return false;
  }
  // The words of four results are in one lane of a register.
  return !reduced && 3 * (x().stride + x().dilation) < laneBytes;
}

std::optional<ByteLines> ByteLines::of(const BodyInfo &info) {
  ByteLines s;
  if (!s.findFactors(info) || !lower::storesFollow(s.sum, info))
    return std::nullopt;
  return s;
}

AxisSet ByteLines::axes() const {
  AxisSet all = outer;
  for (const Slide &s : slides)
    all |= AxisSet(1) << *s.row | (s.tap ? AxisSet(1) << *s.tap : 0);
  return all;
}
