//===- AlignedCopies.cpp - Operands copied to where bulk copies fetch them --===//

#include "AlignedCopies.h"
#include "CopyEmitter.h"
#include <array>

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

constexpr unsigned threads = 256, warps = threads / 32;
constexpr int64_t alignment = 128; ///< of a copy: a line of the cache
/// Clocks of one processor. Tiles of any layout take some six times as long for elements that come one by one as groups of warps for
/// what bulk copies bring, which is a clock for so many products. A copy is read and written.
constexpr int64_t productsPerClock = 2048, clocksSaved = 5, productsOfClockTurned = 3, bytesPerClock = 16, launchClocks = 4096, usualProcessors = 128;

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
