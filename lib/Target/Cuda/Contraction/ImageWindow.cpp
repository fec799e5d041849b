//===- ImageWindow.cpp - Images that windows are read from ------------------===//

#include "ImageWindow.h"
#include "../DeviceHooks.h"
#include "lathe/Dialect/Kernel/Legality.h"
#include "lathe/Dialect/Lathe/Lathe.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

namespace {

/// Corners of the window's first and last place, and distances of its taps, that a map of one to three spatial dimensions takes (CUDA driver API,
/// cuTensorMapEncodeIm2col): 32 bits are shared by the dimensions, half of them by each end.
constexpr int64_t furthest[] = {32767, 127, 15};
constexpr int64_t mostSteps = 8; ///< of a traversal

/// Takes one operand apart.
class WindowReader {
public:
  WindowReader(const GemmProblem &p, const ProductOperand &o, ArrayRef<unsigned> lineAxes)
      : info(p.shape.info), o(o), lineAxes(lineAxes), depthAxes(p.shape.depthAxes) {}
  std::optional<ImageWindow> read();

private:
  bool readConditions();
  bool takeChannels(Expr &offset);
  bool takeDimension(const Expr &coordinate, const Expr &size);
  bool linesAreInOrder() const;
  int64_t reachable() const { return furthest[rank - 1]; }

  const lower::BodyInfo &info;
  const ProductOperand &o;
  ArrayRef<unsigned> lineAxes, depthAxes;
  ImageWindow w;
  std::vector<Expr> notNegative;              ///< what the predicate says
  std::vector<std::optional<unsigned>> lines; ///< of each dimension, and of the images
  size_t rank = 0; ///< spatial dimensions
  size_t dimensionsWithTaps = 0, conditionsMet = 0;
};

} // namespace

bool WindowReader::readConditions() {
  shape::Facts facts;
  kernel::ConditionReader reader(facts);
  for (const kernel::Conjunct &c : reader.conjunctsOf(o.predicate)) {
    if (c.value || c.notNegative.isUnknown())
      return false;
    notNegative.push_back(c.notNegative);
  }
  return true;
}

/// The channel runs along the last axis of the depth, in pieces of 128 bytes, of which more than half are channels. What is left of the offset is a
/// number of pixels.
bool WindowReader::takeChannels(Expr &offset) {
  w.piece = 1024 / o.type.getIntOrFloatBitWidth();
  int64_t aligned = 128 / o.type.getIntOrFloatBitWidth(), pieces = llvm::divideCeil(w.channels, w.piece);
  if (depthAxes.empty() || w.channels % aligned || 2 * w.channels <= pieces * w.piece)
    return false;
  unsigned channel = depthAxes.back();
  std::optional<Expr::Linear> linear = offset.linearIn(info.axes[channel]);
  if (!linear || !linear->coefficient.isOne() || info.extents[channel] != Expr(w.channels))
    return false;
  auto [pixel, rest] = kernel::splitBy(linear->rest, Expr(w.channels));
  w.pieces = Expr(pieces);
  offset = pixel;
  return rest.isZero();
}

/// coordinate = stride * line + dilation * tap + lower.
bool WindowReader::takeDimension(const Expr &coordinate, const Expr &size) {
  ImageWindow::Dimension d;
  d.size = size;
  d.lines = Expr(1);
  Expr rest = coordinate;
  std::optional<unsigned> lineAxis;
  for (const std::string &name : coordinate.symbols()) {
    std::optional<unsigned> axis = info.axisIndex(name);
    std::optional<Expr::Linear> linear = axis ? rest.linearIn(name) : std::nullopt;
    int64_t step = linear ? linear->coefficient.constant().value_or(0) : 0;
    if (step <= 0)
      return false;
    if (llvm::is_contained(lineAxes, *axis) && !lineAxis) {
      lineAxis = axis;
      d.stride = step;
      d.lines = info.extents[*axis];
    } else if (auto tap = llvm::find(depthAxes, *axis); tap != depthAxes.end() && !d.tap && *axis != depthAxes.back()) {
      d.tap = tap - depthAxes.begin();
      d.dilation = step;
    } else {
      return false;
    }
    rest = linear->rest;
  }
  std::optional<int64_t> lower = rest.constant();
  std::optional<int64_t> upper = ((d.lines - Expr(1)) * Expr(d.stride) + Expr(1) + rest - size).constant();
  std::optional<int64_t> taps = d.tap ? info.extents[depthAxes[*d.tap]].constant() : 1;
  if (!lower || !upper || !taps || std::abs(*lower) > reachable() || std::abs(*upper) > reachable())
    return false;
  int64_t reach = (*taps - 1) * d.dilation;
  if (d.stride > mostSteps || reach > reachable())
    return false;
  d.lower = *lower;
  d.upper = *upper;
  bool beginsInside = *lower >= 0, endsInside = *upper + reach <= 0;
  size_t met = 0;
  for (const Expr &c : notNegative) {
    bool begin = c == coordinate, end = c == size - Expr(1) - coordinate;
    met += begin || end;
    beginsInside |= begin;
    endsInside |= end;
  }
  // Past a border that nothing asks about lies the next line, or the next image, not zeros.
  if (!beginsInside || !endsInside)
    return false;
  conditionsMet += met;
  dimensionsWithTaps += d.tap.has_value();
  w.spatial.push_back(d);
  lines.push_back(lineAxis);
  return true;
}

/// Neighbours among the lines are neighbours among the window's places, the innermost dimension first.
bool WindowReader::linesAreInOrder() const {
  std::vector<unsigned> expected;
  for (std::optional<unsigned> axis : llvm::reverse(lines))
    if (axis)
      expected.push_back(*axis);
  return ArrayRef<unsigned>(expected) == lineAxes;
}

std::optional<ImageWindow> WindowReader::read() {
  unsigned operand = o.ref ? cast<BlockArgument>(o.ref).getArgNumber() : 0;
  kernel::GenericOp kernel = info.kernel;
  if (!o.ref || operand >= kernel.getInputs().size() || o.fill || o.type.getIntOrFloatBitWidth() > 32)
    return std::nullopt;
  ir::Dims dims = ir::dimsOf(kernel.getInputs()[operand].getType());
  rank = dims.size() - 2;
  if (dims.size() < 3 || rank > std::size(furthest) || !readConditions())
    return std::nullopt;
  w.images = dims.front();
  w.channels = dims.back().constant().value_or(1);
  Expr offset = o.offset;
  if (!takeChannels(offset))
    return std::nullopt;
  for (size_t i = dims.size() - 2; i > 0; --i) {
    auto [outer, coordinate] = kernel::splitBy(offset, dims[i]);
    // A border of half a dimension, as wide dilations have it, is nearest to a line of its own.
    auto takes = [&, &outer = outer, &coordinate = coordinate](int64_t shift) {
      if (!takeDimension(coordinate - dims[i] * Expr(shift), dims[i]))
        return false;
      offset = outer + Expr(shift);
      return true;
    };
    if (takes(0) || takes(-1) || takes(1))
      continue;
    // Steps that meet no border may go on from one image into the next, as if they were one.
    if (i > 1 || !outer.isZero() || !takeDimension(coordinate, dims[i] * w.images))
      return std::nullopt;
    w.images = Expr(1);
    offset = outer;
  }
  // What is left is the image: an axis of its own, or the only one.
  std::optional<unsigned> image = offset.isZero() ? std::nullopt : info.axisIndex(offset.str());
  if (!offset.isZero() && (!image || info.extents[*image] != w.images))
    return std::nullopt;
  lines.push_back(image);
  if (!linesAreInOrder() || dimensionsWithTaps + 1 != depthAxes.size() || conditionsMet != notNegative.size())
    return std::nullopt;
  return w;
}

std::optional<ImageWindow> cuda::imageWindow(const GemmProblem &p, const ProductOperand &o, ArrayRef<unsigned> lineAxes) {
  return WindowReader(p, o, lineAxes).read();
}

WindowPlace cuda::placeOf(KernelFrame &frame, const GemmProblem &p, const ImageWindow &w, Value line, Value step, Value inside) {
  DeviceBuilder &d = frame.d;
  Values tapExtents;
  ArrayRef<unsigned> depthAxes = p.shape.depthAxes;
  for (unsigned axis : depthAxes.drop_back())
    tapExtents.push_back(d.narrow(frame.size(frame.info.extents[axis])));
  tapExtents.push_back(d.narrow(frame.size(w.pieces)));
  Values taps = delinearize(d, step, tapExtents);
  WindowPlace at;
  at.coordinates.push_back(d.mul(taps.back(), d.i32(w.piece)));
  Value rest = line;
  for (const ImageWindow::Dimension &s : w.spatial) {
    Value count = d.narrow(frame.size(s.lines)), place = d.rem(rest, count);
    rest = d.div(rest, count);
    at.coordinates.push_back(d.add(d.mul(place, d.i32(s.stride)), d.i32(s.lower)));
    at.offsets.push_back(s.tap ? d.mul(taps[*s.tap], d.i32(s.dilation)) : d.i32(0));
  }
  at.coordinates.push_back(inside ? d.select(inside, rest, d.narrow(frame.size(w.images))) : rest);
  return at;
}
