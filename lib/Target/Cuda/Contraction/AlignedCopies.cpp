//===- AlignedCopies.cpp - Operands copied to where bulk copies fetch them --===//

#include "AlignedCopies.h"
#include <array>

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

constexpr unsigned threads = 256, warps = threads / 32;
constexpr int64_t pieceBytes = 16, piecesOfWarp = 256; ///< of a line
constexpr int64_t turnedLines = 128, turnedDepths = 32; ///< of a warp that turns bytes: four lines of a lane
constexpr int64_t alignment = 128;                     ///< of a copy: a line of the cache
/// Clocks of one processor. Tiles of any layout take some six times as long for elements that come one by one as groups of warps for
/// what bulk copies bring, which is a clock for so many products. A copy is read and written.
constexpr int64_t productsPerClock = 2048, clocksSaved = 5, productsOfClockTurned = 3, bytesPerClock = 16, launchClocks = 4096, usualProcessors = 128;

static int64_t elementBytes(const OperandMap &map) { return map.spec.element.getIntOrFloatBitWidth() / 8; }
static int64_t elementsOfPiece(const OperandMap &map) { return pieceBytes / elementBytes(map); }
static Expr piecesOf(const OperandMap &map) { return Expr::ceildiv(map.spec.dims[0], elementsOfPiece(map)); }
static Expr linesOf(const OperandMap &map) {
  Expr lines(1);
  for (const Expr &e : llvm::drop_begin(map.spec.dims))
    lines = lines * e;
  return lines;
}
/// A warp's share: of one line.
static Expr unitsOfLine(const OperandMap &map) { return Expr::ceildiv(piecesOf(map), piecesOfWarp); }
static Expr unitsOf(const OperandMap &map) {
  if (!map.isTurned)
    return linesOf(map) * unitsOfLine(map);
  Expr batches(1);
  for (const Expr &e : llvm::drop_begin(map.spec.dims, 2))
    batches = batches * e;
  return batches * Expr::ceildiv(map.spec.dims[0], turnedDepths) * Expr::ceildiv(map.spec.dims[1], turnedLines);
}

static Value liesAsItIs(DeviceBuilder &d, AlignedCopies::Sizes size, const OperandMap &map) {
  Value all = d.i1(map.needs.has_value());
  if (map.needs)
    for (const auto &[e, by] : map.needs->conditions())
      all = d.both(all, d.equal(d.rem(size(e), by), 0));
  return all;
}

//===----------------------------------------------------------------------===//
// Whether, and where
//===----------------------------------------------------------------------===//

/// In products' parts of a clock. A tile is filled up, and has what takes as long as some of the depth before and behind.
Expr AlignedCopies::saved() const {
  const GemmProblem &p = bulk.p;
  auto filled = [](const Expr &e, int64_t to) { return Expr::ceildiv(e, to) * Expr(to); };
  constexpr int64_t tileLines = 64, step = 32, around = 64;
  Expr products = p.batch * filled(p.m, tileLines) * filled(p.n, tileLines) * (filled(p.k, step) + Expr(around));
  // Bytes that are only to be turned, tiles of any layout turn as they multiply, by the slower of the two instructions.
  bool turned = llvm::all_of(std::array{&bulk.a, &bulk.b}, [](const OperandMap *map) { return !mayCopy(*map) || (map->isTurned && map->inPieces); });
  return turned && mayBe() ? Expr::floordiv(products, productsOfClockTurned) : products * Expr(clocksSaved);
}

constexpr int64_t priceOfByte = 2 * productsPerClock / bytesPerClock, priceOfLaunch = launchClocks * productsPerClock; ///< for each processor

std::optional<bool> AlignedCopies::alwaysPay() const {
  std::optional<int64_t> gained = saved().constant();
  int64_t copied = 0;
  for (const OperandMap *map : {&bulk.a, &bulk.b}) {
    if (map->needs && !map->needs->conditions().empty())
      return std::nullopt;
    std::optional<int64_t> bytes = map->needs ? 0 : bytesOf(*map).constant();
    if (!bytes || !gained)
      return std::nullopt;
    copied += *bytes;
  }
  return *gained > priceOfByte * copied + priceOfLaunch * usualProcessors;
}

Value AlignedCopies::lie(PlanFunction &plan) const {
  auto size = [&](const Expr &e) { return plan.size(e); };
  return plan.d.both(liesAsItIs(plan.d, size, bulk.a), liesAsItIs(plan.d, size, bulk.b));
}

Value AlignedCopies::pay(PlanFunction &plan) const {
  Value copied = bytes(plan.d, [&](const Expr &e) { return plan.size(e); });
  Value price = plan.d.add(plan.d.mul(copied, priceOfByte), plan.d.mul(plan.processors(), priceOfLaunch));
  return plan.d.less(price, plan.size(saved()));
}

Expr AlignedCopies::bytesOf(const OperandMap &map) const {
  return Expr::ceildiv(linesOf(map) * piecesOf(map) * Expr(pieceBytes), alignment) * Expr(alignment);
}

/// Of the operands whose copies come first.
Value AlignedCopies::bytesBefore(DeviceBuilder &d, Sizes size, const OperandMap &map) const {
  if (&map == &bulk.a || !mayCopy(bulk.a))
    return d.i64(0);
  return d.select(liesAsItIs(d, size, bulk.a), d.i64(0), size(bytesOf(bulk.a)));
}

Value AlignedCopies::bytes(DeviceBuilder &d, Sizes size) const {
  Value own = mayCopy(bulk.b) ? d.select(liesAsItIs(d, size, bulk.b), d.i64(0), size(bytesOf(bulk.b))) : d.i64(0);
  return d.add(bytesBefore(d, size, bulk.b), own);
}

void AlignedCopies::skipIn(KernelFrame &frame) const {
  if (mayBe())
    frame.skipScratch(bytes(frame.d, [&](const Expr &e) { return frame.size(e); }));
}

void AlignedCopies::setMaps(PlanFunction &plan) const {
  DeviceBuilder &h = plan.d;
  auto size = [&](const Expr &e) { return plan.size(e); };
  for (const OperandMap *map : {&bulk.a, &bulk.b}) {
    if (!mayCopy(*map))
      continue;
    Value lies = liesAsItIs(h, size, *map);
    auto set = [&](unsigned word, const Expr &there, Value inCopy) {
      plan.setOfMap(map == &bulk.a ? 0 : 1, word, h.select(lies, size(there), inCopy));
    };
    unsigned scratch = kernel::GenericOp(bulk.p.shape.info.kernel).getBody().getNumArguments();
    set(LATHE_CUDA_MAP_BUFFER, Expr(map->spec.buffer), plan.constant(scratch));
    set(LATHE_CUDA_MAP_OFFSET, Expr(0), bytesBefore(h, size, *map));
    Expr stride = piecesOf(*map) * Expr(pieceBytes);
    for (size_t dim = 1; dim < map->spec.dims.size(); stride = stride * map->spec.dims[dim++])
      set(LATHE_CUDA_MAP_STRIDES + dim, map->spec.strides[dim], size(stride));
  }
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

namespace {
class CopyEmitter : public EntryEmitter {
public:
  CopyEmitter(const BulkProblem &bulk, KernelFrame &frame) : EntryEmitter(frame), bulk(bulk) {}
  /// Units from `unit` (i64) on are other operands'.
  void copy(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> lineAxes, Value unit, Value at);
  /// The same where the operand's lines lie side by side.
  void copyTurned(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> lineAxes, Value unit, Value at);

private:
  Values words(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> lineAxes, Value batch, Value line, Value depth);
  void storeTurned(const OperandMap &map, ArrayRef<Value> words, Value place, Value line, Value depth);
  Value startOf(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> inner, ArrayRef<unsigned> outer, Value line);
  Value piece(const ProductOperand &o, Value start, Value first, Value length, unsigned elements, unsigned width);
  const BulkProblem &bulk;
};
} // namespace

/// Where in the operand a line of the copy begins.
Value CopyEmitter::startOf(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> inner, ArrayRef<unsigned> outer, Value line) {
  Values extents;
  std::vector<unsigned> axes;
  for (unsigned i : llvm::reverse(map.batchAxes))
    axes.push_back(bulk.p.shape.batchAxes[i]);
  llvm::append_range(axes, outer);
  for (unsigned a : axes)
    extents.push_back(frame.size(info.extents[a]));
  BodyEmitter point = base;
  for (auto [axis, i] : llvm::zip(axes, delinearize(d, line, extents)))
    point.bindAxis(info.axes[axis], i);
  for (unsigned axis : bulk.p.shape.batchAxes) // the others make no difference
    if (!llvm::is_contained(axes, axis))
      point.bindAxis(info.axes[axis], d.i64(0));
  return point.emitExpr(atZero(info, o.offset, inner));
}

/// Behind the line's end nobody looks: its last elements stand there again.
Value CopyEmitter::piece(const ProductOperand &o, Value start, Value first, Value length, unsigned elements, unsigned width) {
  Value buffer = frame.refs[cast<BlockArgument>(o.ref).getArgNumber()], out = d.real(d.vector(elements, o.type), 0);
  Values read;
  for (unsigned i = 0; i < elements; i += width) {
    Value at = d.add(start, d.minU(d.add(first, i), d.sub(length, d.i64(width))));
    read.push_back(d.load(d.vector(width, o.type), d.at(buffer, at, o.type), width * o.type.getIntOrFloatBitWidth() / 8));
  }
  for (unsigned i = 0; i < elements; ++i)
    out = d.insert(out, width == 1 ? read[i] : d.extract(read[i / width], i % width), i);
  return out;
}

void CopyEmitter::copy(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> lineAxes, Value unit, Value at) {
  ArrayRef<unsigned> depthAxes = bulk.p.shape.depthAxes, inner = map.byColumns ? lineAxes : depthAxes;
  ArrayRef<unsigned> outer = map.byColumns ? depthAxes : lineAxes;
  unsigned elements = elementsOfPiece(map);
  unsigned width = std::min(frame.known.divisorOf(atZero(info, o.offset, inner), elements), frame.known.divisorOf(map.spec.dims[0], elements));
  Value each = frame.size(unitsOfLine(map)), line = d.div(unit, each), lane = d.wide(d.bitAnd(d.threadId(), 31));
  Value pieces = frame.size(piecesOf(map)), from = d.mul(d.rem(unit, each), piecesOfWarp);
  Value to = d.minU(d.add(from, piecesOfWarp), pieces), length = frame.size(map.spec.dims[0]);
  Value start = startOf(map, o, inner, outer, line), copied = d.byteAt(frame.scratch(), at);
  d.loop(d.add(from, lane), to, d.i64(32), [&](Value i) {
    Value place = d.byteAt(copied, d.mul(d.add(d.mul(line, pieces), i), pieceBytes));
    d.store(piece(o, start, d.mul(i, elements), length, elements, width), place, pieceBytes);
  });
}

/// Four lines at each of a unit's depths. Behind the last line or depth nobody looks: they stand there again.
Values CopyEmitter::words(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> lineAxes, Value batch, Value line, Value depth) {
  std::vector<unsigned> inner(lineAxes);
  llvm::append_range(inner, bulk.p.shape.depthAxes);
  Expr step = *bulk.p.shape.stepAlong(o.offset, bulk.p.shape.depthAxes);
  auto isMultiple = [&](const Expr &e) { return frame.known.divisorOf(e, 4) == 4; };
  unsigned width = isMultiple(step) && isMultiple(map.spec.dims[1]) && isMultiple(atZero(info, o.offset, inner)) ? 4 : 1;
  Value start = startOf(map, o, inner, {}, batch), buffer = frame.refs[cast<BlockArgument>(o.ref).getArgNumber()];
  Value depths = frame.size(map.spec.dims[0]), lines = frame.size(map.spec.dims[1]), across = frame.size(step);
  Values out;
  for (unsigned k = 0; k < turnedDepths; ++k) {
    Value row = d.add(start, d.mul(d.minU(d.add(depth, k), d.sub(depths, d.i64(1))), across));
    if (width == 4) {
      out.push_back(d.load(d.i32Type(), d.at(buffer, d.add(row, line), o.type), 4));
      continue;
    }
    Value word = d.zero(d.vector(4, o.type));
    for (unsigned i = 0; i < 4; ++i)
      word = d.insert(word, d.load(o.type, d.at(buffer, d.add(row, d.minU(d.add(line, i), d.sub(lines, d.i64(1)))), o.type), 1), i);
    out.push_back(d.bitcast(word, d.i32Type()));
  }
  return out;
}

void CopyEmitter::storeTurned(const OperandMap &map, ArrayRef<Value> words, Value place, Value line, Value depth) {
  SmallVector<Values> lines(4);
  for (unsigned k = 0; k < words.size(); k += 4)
    for (auto [own, word] : llvm::zip(lines, d.turnBytes(words.slice(k, 4))))
      own.push_back(word);
  Value stride = frame.size(piecesOf(map) * Expr(pieceBytes)), depths = frame.size(map.spec.dims[0]);
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned k = 0; k < turnedDepths; k += pieceBytes) {
      Value at = d.add(depth, k), inside = d.both(d.less(d.add(line, i), frame.size(map.spec.dims[1])), d.less(at, depths));
      Value piece = d.zero(d.vector(4, d.i32Type()));
      for (unsigned w = 0; w < 4; ++w)
        piece = d.insert(piece, lines[i][k / 4 + w], w);
      d.when(inside, [&] { d.store(piece, d.byteAt(place, d.add(d.mul(d.i64(i), stride), at)), pieceBytes); });
    }
}

/// Neighbouring warps read neighbouring lines.
void CopyEmitter::copyTurned(const OperandMap &map, const ProductOperand &o, ArrayRef<unsigned> lineAxes, Value unit, Value at) {
  Value groups = frame.size(Expr::ceildiv(map.spec.dims[1], turnedLines)), chunks = frame.size(Expr::ceildiv(map.spec.dims[0], turnedDepths));
  Value rest = d.div(unit, groups), batch = d.div(rest, chunks), depth = d.mul(d.rem(rest, chunks), turnedDepths);
  Value line = d.add(d.mul(d.rem(unit, groups), turnedLines), d.mul(d.wide(d.bitAnd(d.threadId(), 31)), 4)), lines = frame.size(map.spec.dims[1]);
  d.when(d.less(line, lines), [&] {
    Value stride = frame.size(piecesOf(map) * Expr(pieceBytes)), first = d.add(d.mul(batch, lines), line);
    Value place = d.byteAt(d.byteAt(frame.scratch(), at), d.mul(first, stride));
    storeTurned(map, words(map, o, lineAxes, batch, line, depth), place, line, depth);
  });
}

llvm::Error AlignedCopies::addEntry(Generator &g) const {
  constexpr StringRef name = "gemm_align";
  KernelFrame frame(g.info, g.device, name, threads, g.sm, 0, g.dependent());
  CopyEmitter emitter(bulk, frame);
  DeviceBuilder &d = frame.d;
  auto size = [&](const Expr &e) { return frame.size(e); };
  Value unit = d.add(d.mul(d.wide(d.blockId()), warps), d.wide(d.warpUniform(d.shr(d.threadId(), 5))));
  for (const OperandMap *map : {&bulk.a, &bulk.b}) {
    if (!mayCopy(*map))
      continue;
    bool left = map == &bulk.a;
    Value lies = liesAsItIs(d, size, *map), units = d.select(lies, d.i64(0), size(unitsOf(*map))), now = unit;
    unit = d.sub(now, units);
    const GemmProblem &p = bulk.p;
    d.when(d.both(d.compare(arith::CmpIPredicate::sge, now, d.i64(0)), d.less(now, units)), [&] {
      auto copy = map->isTurned ? &CopyEmitter::copyTurned : &CopyEmitter::copy;
      (emitter.*copy)(*map, left ? p.lhs : p.rhs, left ? p.shape.rowAxes : p.shape.columnAxes, now, bytesBefore(d, size, *map));
    });
  }
  return g.addEntry(frame, name, emitter.error());
}

void AlignedCopies::launchAhead(PlanFunction &plan, unsigned entry, Value copied, const GemmLaunch &product) const {
  DeviceBuilder &h = plan.d;
  auto size = [&](const Expr &e) { return plan.size(e); };
  Value none = plan.constant(0), units = none;
  for (const OperandMap *map : {&bulk.a, &bulk.b})
    if (mayCopy(*map))
      units = h.add(units, h.select(liesAsItIs(h, size, *map), none, size(unitsOf(*map))));
  // A product of nothing has no results.
  Value grid = h.select(h.equal(product.grid, 0), none, h.ceilDiv(units, warps));
  setLaunch(plan, chooseLaunch(h, copied, {plan.constant(entry), grid, plan.constant(threads), none}, product));
  plan.follow(product.entry, h.select(copied, h.minU(product.grid, plan.processors()), none), product.block, product.shared);
}
