//===- TileLoader.cpp - Tiles of any layout into shared memory -------------===//

#include "TileLoader.h"
#include "ContractionShape.h"
#include "../Float8.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

constexpr int64_t shortRun = 8;

/// The terms of an offset that the depth is in, where no line is in them.
static std::optional<Expr> partOf(const lower::BodyInfo &info, const TileSource &source) {
  auto mentions = [&](const Expr &e, ArrayRef<unsigned> axes) {
    return llvm::any_of(axes, [&](unsigned a) { return e.mentions(info.axes[a]); });
  };
  Expr part(0);
  for (const Expr::Term &term : source.offset.terms()) {
    Expr product(term.coefficient);
    for (const shape::Atom &a : term.atoms)
      product = product * Expr::fromAtom(a);
    if (!mentions(product, source.depthAxes))
      continue;
    if (mentions(product, source.lineAxes))
      return std::nullopt;
    part = part + product;
  }
  return part;
}

TileLoader::TileLoader(KernelFrame &frame, const TileSource &source)
    : frame(frame), d(frame.d), source(source), number(source.number ? source.number : d.f32Type()) {
  if (source.value) {
    element = source.value.getType();
  } else {
    element = cast<kernel::RefType>(source.ref.getType()).getElementType();
    buffer = frame.refs[cast<BlockArgument>(source.ref).getArgNumber()];
    depthStep = stepAlong(frame.info, source.offset, source.depthAxes);
    depthPart = partOf(frame.info, source);
  }
  stored = source.fragments && source.fragment ? source.fragment : element;
  bytes = stored.getIntOrFloatBitWidth() / 8;
  // A window's row is too short a run to go along.
  auto isLong = [](const Expr &length) { return length.constant().value_or(shortRun) >= shortRun; };
  std::optional<Expr> deep = source.value ? std::nullopt : run(source.depthAxes);
  alongDepth = deep && !run(source.lineAxes) && isLong(*deep);
  width = widest(alongDepth ? source.depthAxes : source.lineAxes);
  if (!source.fragments)
    first = frame.sharedArray(source.name, number, source.stages * source.tileDepth * pitch());
  use(d.i32(0));
}

void TileLoader::use(Value stage) {
  if (!source.fragments) {
    shared = d.at(first, d.mul(stage, source.tileDepth * pitch()), number);
    address = d.sharedAddress(shared);
    return;
  }
  address = d.add(source.fragments, d.mul(stage, TileSource::fragmentBytes(source.tileLines, source.tileDepth, bytes)));
  shared = d.b.create<LLVM::IntToPtrOp>(d.loc, d.pointer(Shared), address);
}

std::optional<Expr> TileLoader::run(ArrayRef<unsigned> axes) const {
  return runAlong(frame.info, source.offset, axes);
}

/// Neighbours are one access when its start is always a multiple of its length.
unsigned TileLoader::widest(ArrayRef<unsigned> axes) const {
  std::optional<Expr> length = source.value ? std::nullopt : run(axes);
  // Neighbours are inside together.
  lower::AxisSet inRun = 0;
  for (unsigned a : axes.take_back(runLength(frame.info, source.offset, axes)))
    inRun |= lower::AxisSet(1) << a;
  if (!length || (source.predicate && frame.info.axesOf(source.predicate) & inRun))
    return 1;
  int64_t most = source.fragments ? 16 / bytes : std::min<int64_t>(4, 16 / bytes);
  Expr start = startOf(frame.info, source.offset, axes);
  return std::min(frame.known.divisorOf(*length, most), frame.known.divisorOf(start, most));
}

Values TileLoader::extents(ArrayRef<unsigned> axes) {
  Values out;
  for (unsigned axis : axes)
    out.push_back(frame.size(frame.info.extents[axis]));
  return out;
}

/// Line and depth of the thread's elements. Single elements of lines side by side are taken by a warp for 32 lines at one depth,
/// so that a thread has few depths to take apart and few lines.
TileLoader::Position TileLoader::positionOf(unsigned slot) {
  unsigned warps = frame.threads / 32, groups = source.tileLines / 32;
  Value tid = d.threadId();
  if (!alongDepth && width == 1 && source.tileLines % 32 == 0 && source.tileDepth % warps == 0)
    return {d.rem(tid, 32), d.div(tid, 32), slot % groups * 32, slot / groups * warps};
  unsigned perRun = (alongDepth ? source.tileDepth : source.tileLines) / width, further = slot * frame.threads;
  bool sameInRun = frame.threads % perRun == 0; // all of the thread's are at one place of their runs
  Value i = sameInRun ? tid : d.add(tid, further), inRun = d.mul(d.rem(i, perRun), width), across = d.div(i, perRun);
  unsigned runs = sameInRun ? further / perRun : 0;
  return alongDepth ? Position{across, inRun, runs, 0} : Position{inRun, across, 0, runs};
}

void TileLoader::locate(const lower::BodyEmitter &base, Value first) {
  slots.clear();
  Value lines = frame.size(source.lines);
  Values lineExtents = extents(source.lineAxes);
  for (unsigned slot = 0; slot * frame.threads < source.tileLines * source.tileDepth / width; ++slot) {
    Position at = positionOf(slot);
    Value line = d.add(at.line, at.moreLines), depth = d.add(at.depth, at.moreDepths);
    Value global = d.minU(d.add(first, d.wide(line)), d.sub(lines, d.i64(alongDepth ? 1 : width)));
    lower::BodyEmitter point = base;
    for (auto [axis, v] : llvm::zip(source.lineAxes, delinearize(d, global, lineExtents)))
      point.bindAxis(frame.info.axes[axis], v);
    Value start;
    if (depthStep || depthPart)
      start = d.at(buffer, point.emitExpr(atZero(frame.info, source.offset, source.depthAxes)), element);
    slots.push_back({depth, place(at), point, start});
  }
}

lower::BodyEmitter TileLoader::pointAt(Slot &slot, Value depth) {
  lower::BodyEmitter point = slot.point;
  if (depthStep && !source.predicate)
    return point;
  // A window of constant size is taken apart in 32 bits, which is a fraction of the instructions.
  bool small = source.depth.constant().value_or(INT64_MAX) < INT32_MAX;
  Values sizes = extents(source.depthAxes);
  if (small)
    for (Value &size : sizes)
      size = d.narrow(size);
  for (auto [axis, v] : llvm::zip(source.depthAxes, delinearize(d, small ? d.narrow(depth) : depth, sizes)))
    point.bindAxis(frame.info.axes[axis], d.wide(v));
  return point;
}

Value TileLoader::addressAt(Slot &slot, lower::BodyEmitter &point, Value depth) {
  if (!slot.start)
    return d.at(buffer, point.emitExpr(source.offset), element);
  // What the depth adds is the same for all lines: computed once.
  Value beyond = depthStep ? d.mul(depth, frame.size(*depthStep)) : point.emitExpr(*depthPart);
  return d.at(slot.start, beyond, element);
}

/// Bytes for matrix loads move as words.
Type TileLoader::accessType() {
  bool words = source.fragments && bytes == 1 && stored == element && width % 4 == 0;
  return words ? d.vector(width / 4, d.i32Type()) : d.vector(width, element);
}

Value TileLoader::fillOf(Type type) {
  if (!source.fill)
    return d.zero(type);
  Type scalar = getElementTypeOrSelf(type);
  int64_t byte = source.fill & 0xff;
  Value one = d.constant(scalar, scalar.isInteger(32) ? int32_t(byte * 0x01010101) : int8_t(byte));
  auto vector = dyn_cast<VectorType>(type);
  return vector ? d.splat(one, vector.getNumElements()) : one;
}

/// The slot's elements from a depth (i64) on.
Value TileLoader::loadAt(Slot &slot, Value depth) {
  lower::BodyEmitter point = pointAt(slot, depth);
  if (source.value)
    return point.emit(source.value);
  Type type = accessType();
  Value pointer = addressAt(slot, point, depth);
  unsigned alignment = element.getIntOrFloatBitWidth() / 8 * width;
  if (!source.predicate)
    return d.load(type, pointer, alignment);
  return d.loadIf(point.emit(source.predicate), type, pointer, alignment, fillOf(type));
}

/// Of whole tiles all pieces are inside or none is, and none of those is read: no address needs a bound.
void TileLoader::copy(Value k0) {
  Value depths = frame.size(source.depth), wholeInside = hasWholeTiles() ? d.less(k0, depths) : Value();
  if (source.fill && !border)
    border = frame.constantPiece(source.name + "_border", int8_t(source.fill));
  for (Slot &slot : slots) {
    Value depth = d.add(k0, d.wide(slot.depth)), inside = wholeInside;
    if (!wholeInside) {
      inside = d.less(depth, depths);
      depth = d.minU(depth, d.sub(depths, d.i64(alongDepth ? width : 1)));
    }
    lower::BodyEmitter point = pointAt(slot, depth);
    Value from = addressAt(slot, point, depth), to = d.add(address, d.mul(slot.place.first, bytes));
    to = d.add(to, slot.place.second * bytes);
    if (source.predicate && source.fill) // a piece of the border lies ready
      from = d.select(point.emit(source.predicate), from, border);
    else if (source.predicate)
      inside = d.both(inside, point.emit(source.predicate));
    copyPiece(from, to, inside);
  }
}

/// Zeros where it is not inside. Only whole pieces pass by the first-level cache.
void TileLoader::copyPiece(Value from, Value to, Value inside) {
  unsigned size = width * bytes;
  std::string text = std::string("cp.async.") + (size == 16 ? "cg" : "ca") + ".shared.global [$0], [$1], " + std::to_string(size) + ", $2;";
  d.ptx(text, "r,l,r,~{memory}", {to, from, d.select(inside, d.i32(size), d.i32(0))});
}

/// Past the last tile a prefetch is never used; within it a rest needs zeros.
bool TileLoader::hasWholeTiles() const { return frame.known.divisorOf(source.depth, source.tileDepth) == source.tileDepth; }

Values TileLoader::load(Value k0) {
  Values out;
  Value depths = frame.size(source.depth);
  bool whole = hasWholeTiles();
  for (Slot &slot : slots) {
    Value depth = d.add(k0, d.wide(slot.depth));
    Value inside = d.less(depth, depths);
    depth = d.minU(depth, d.sub(depths, d.i64(alongDepth ? width : 1)));
    Value v = loadAt(slot, depth);
    if (Type as = source.fragments ? stored : number; as != element)
      v = asNumbers(d, v, as, source.format);
    out.push_back(whole ? v : d.select(inside, v, d.zero(v.getType())));
  }
  return out;
}

/// By how many elements, an exclusive or, those of a row are moved.
Value TileLoader::swizzle(Value row) {
  unsigned piecesOfRow = std::min(8u, pitch() * bytes / 16);
  return d.mul(d.bitAnd(d.div(row, rowsOfBanks()), piecesOfRow - 1), 16 / bytes);
}

/// The element in shared memory.
Value TileLoader::place(Value line, Value depth) {
  if (!source.fragments)
    return d.add(d.mul(depth, pitch()), line);
  auto [row, inRow] = alongDepth ? std::pair(line, depth) : std::pair(depth, line);
  return d.add(d.mul(row, pitch()), d.bitXor(inRow, swizzle(row)));
}

/// What is known comes last, where it is a part of the access: rows further on that are swizzled alike.
std::pair<Value, int64_t> TileLoader::place(const Position &at) {
  if (!source.fragments)
    return {place(at.line, at.depth), at.moreDepths * pitch() + at.moreLines};
  auto [rows, inRow] = alongDepth ? std::pair(at.moreLines, at.moreDepths) : std::pair(at.moreDepths, at.moreLines);
  if (inRow || rows % 8)
    return {place(d.add(at.line, at.moreLines), d.add(at.depth, at.moreDepths)), 0};
  return {place(at.line, at.depth), rows * pitch()};
}

void TileLoader::put(ArrayRef<Value> values) {
  for (auto [slot, v] : llvm::zip(slots, values)) {
    Value at = d.add(slot.place.first, slot.place.second);
    if (source.fragments) {
      d.store(v, d.at(shared, at, stored), bytes * width);
      continue;
    }
    if (!alongDepth) {
      d.store(v, d.at(shared, at, number), std::min(16u, numberBytes() * width));
      continue;
    }
    for (unsigned i = 0; i < width; ++i)
      d.store(d.extract(v, i), d.at(shared, d.add(at, i * pitch()), number), numberBytes());
  }
}

Value TileLoader::four(Value depth, Value line) {
  Value index = d.add(d.mul(depth, pitch()), line);
  return d.load(d.vector(4, number), d.at(shared, index, number), 16);
}

static Values loadMatrices(DeviceBuilder &d, Value at, bool transposed) {
  std::string text = std::string("ldmatrix.sync.aligned.m8n8.x4") + (transposed ? ".trans" : "") + ".shared.b16 {$0, $1, $2, $3}, [$4];";
  return d.ptx(text, "=r,=r,=r,=r,r,~{memory}", at, llvm::SmallVector<Type>(4, d.i32Type()), true);
}

/// Bytes whose lines lie side by side. A matrix load turns pairs of bytes: of two neighbouring lines a lane gets what they have at the
/// two depths of a matrix that it is the lane of. Of four depths, two in each of two matrices, it picks one line's bytes and the other's. Which two
/// come first differs between lanes, so that the eight rows of a matrix lie in different banks.
Values TileLoader::turnedMatrices(Value lane, Value line, Value depth, bool linesFirst) {
  Value row = d.bitAnd(lane, 7), matrix = d.shr(lane, 3), quad = d.shr(row, 1);
  Value pair = d.bitXor(d.bitAnd(matrix, 1), d.shr(quad, 1));
  Value inDepth = d.add(d.add(d.mul(d.shr(matrix, 1), 16), d.mul(quad, 4)), d.add(d.mul(pair, 2), d.bitAnd(row, 1)));
  Values pairs = loadMatrices(d, d.add(address, place(line, d.add(depth, inDepth))), /*transposed=*/true);
  Value inOrder = d.less(d.bitAnd(lane, 3), d.i32(2));
  Value even = d.select(inOrder, d.i32(0x6420), d.i32(0x2064)), odd = d.select(inOrder, d.i32(0x7531), d.i32(0x3175));
  Values near = {d.pickBytes(pairs[0], pairs[1], even), d.pickBytes(pairs[0], pairs[1], odd)};
  Values far = {d.pickBytes(pairs[2], pairs[3], even), d.pickBytes(pairs[2], pairs[3], odd)};
  return linesFirst ? Values{near[0], near[1], far[0], far[1]} : Values{near[0], far[0], near[1], far[1]};
}

Values TileLoader::matrices(Value lane, Value line, Value depth, bool linesFirst) {
  if (interleaves())
    return turnedMatrices(lane, line, depth, linesFirst);
  // Each lane says where a row of one of the four lies: lanes 0 to 7 of the first, and so on.
  Value row = d.bitAnd(lane, 7), near = d.mul(d.bitAnd(d.shr(lane, 3), 1), 8), far = d.mul(d.shr(lane, 4), 8);
  Value inLine = linesFirst ? near : far, inDepth = d.mul(linesFirst ? far : near, 2 / bytes);
  if (alongDepth)
    inLine = d.add(inLine, row);
  else
    inDepth = d.add(inDepth, row);
  Value at = d.add(address, d.mul(place(d.add(line, inLine), d.add(depth, inDepth)), bytes));
  return loadMatrices(d, at, /*transposed=*/!alongDepth);
}
