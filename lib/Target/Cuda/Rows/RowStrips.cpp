//===- RowStrips.cpp - Threads that compute neighbours along a line --------===//
//
// Windows of neighbours overlap. A thread computes a strip of them: what the window finds along the line is written out, and an element that several
// points find is read once (StripReader.h). Other axes of the window are loops, in which all points of the strip are summed up together.
//
//===----------------------------------------------------------------------===//

#include "RowStrips.h"
#include "../Combine.h"
#include "lathe/Lower/ContractionRoles.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

StripEmitter::StripEmitter(KernelFrame &frame, const schedule::ThreadRows &schedule, lower::RowAxes axes, ArrayRef<Operation *> roots)
    : EntryEmitter(frame), s(schedule), axes(axes), roots(roots), reader(frame, schedule), none(frame.info.axes.size(), 0) {
  if (s.lane >= 0)
    hooks.setLane(info.axes[s.lane], s.width);
  hooks.readTogetherBy([this](kernel::LoadOp load, Value predicate, Value fill) { return reader.read(load, predicate, fill); });
}

void StripEmitter::emit() {
  auto sized = [&](Value v) { return s.narrow ? v : d.wide(v); };
  Value row = d.add(d.mul(sized(d.blockId()), int64_t(s.threads)), sized(d.threadId()));
  Value count = frame.size(extentOf(info, axes.rows & ~(AxisSet(1) << s.strip.axis)) * stripsAlong(info, s.strip));
  if (lower::contains(axes.rows, s.lane))
    count = d.div(count, s.width);
  if (s.narrow)
    count = d.narrow(count);
  d.when(d.less(row, count), [&] {
    BodyEmitter origin = bindStrip(s.narrow ? d.wide(row) : row);
    reader.enter(origin);
    for (const std::vector<lower::RowPass> &level : rowLevels(info, axes, roots))
      for (const lower::RowPass &pass : level)
        pass.inner ? reduce(pass, origin) : store(pass.roots);
    reader.leave();
  });
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

/// Binds the points of a strip, the lane axis running fastest. Returns what they are counted from: the strip's axis has the strip's number there, and
/// lanes their first one.
BodyEmitter StripEmitter::bindStrip(Value index) {
  std::vector<unsigned> order = lower::axesIn(info, axes.rows & ~(s.lane >= 0 ? AxisSet(1) << s.lane : AxisSet(0)));
  if (lower::contains(axes.rows, s.lane))
    order.push_back(s.lane);
  Values extents;
  for (unsigned axis : order) {
    Value e = frame.size(axis == s.strip.axis ? stripsAlong(info, s.strip) : info.extents[axis]);
    extents.push_back(int(axis) == s.lane ? d.div(e, s.width) : e);
  }
  Values indices = delinearize(d, index, extents);
  BodyEmitter origin = base;
  points.assign(s.strip.points, base);
  within.assign(s.strip.points, Value());
  const Expr &extent = info.extents[s.strip.axis];
  bool whole = Expr::mod(extent, Expr(int64_t(s.strip.points))).isZero() ||
               (llvm::isPowerOf2_32(s.strip.points) && frame.known.divisorOf(extent, s.strip.points) == s.strip.points);
  for (auto [axis, i] : llvm::zip(order, indices)) {
    Value at = int(axis) == s.lane ? d.mul(i, s.width) : i;
    origin.bindAxis(info.axes[axis], at);
    for (auto [number, point] : llvm::enumerate(points)) {
      if (axis == s.strip.axis) {
        Value place = d.add(d.mul(at, int64_t(s.strip.points)), int64_t(number));
        point.bindAxis(info.axes[axis], place);
        within[number] = whole ? Value() : d.less(place, frame.size(extent));
      } else if (int(axis) == s.lane) {
        point.bindLane(info.axes[axis], at, s.width);
      } else {
        point.bindAxis(info.axes[axis], at);
      }
    }
  }
  return origin;
}

/// What the difference of two indices is at least and at most; nothing where sizes are open.
static std::optional<std::pair<int64_t, int64_t>> rangeOf(const lower::BodyInfo &info, const Expr &e, const schedule::Strip &strip) {
  auto [varying, least] = schedule::splitConstant(e);
  int64_t most = least;
  for (const Expr::Term &t : varying.terms()) {
    std::optional<unsigned> axis = t.atoms.size() == 1 && t.atoms[0].kind == shape::Atom::Kind::Symbol ? info.axisIndex(t.atoms[0].name) : std::nullopt;
    std::optional<int64_t> extent = !axis ? std::nullopt : (*axis == strip.axis ? stripsAlong(info, strip) : info.extents[*axis]).constant();
    if (!extent || *extent < 1)
      return std::nullopt;
    (t.coefficient < 0 ? least : most) += t.coefficient * (*extent - 1);
  }
  return std::pair(least, most);
}

/// What a comparison of indices gives at this point and these places of all strips; nothing where it is not the same in all.
std::optional<bool> StripEmitter::decided(arith::CmpIOp compare, unsigned point, ArrayRef<int64_t> taps) const {
  std::optional<Expr> sides[2];
  for (auto [side, v] : llvm::zip(sides, compare->getOperands())) {
    IntegerAttr number;
    if (matchPattern(v, m_Constant(&number)))
      side = Expr(number.getInt());
    else if (auto index = v.getDefiningOp<kernel::IndexOp>(); index && index.getIndices().empty())
      side = info.exprOf(index);
  }
  if (!sides[0] || !sides[1])
    return std::nullopt;
  std::map<std::string, Expr> at = {{info.axes[s.strip.axis], Expr::symbol(info.axes[s.strip.axis]) * Expr(int64_t(s.strip.points)) + Expr(int64_t(point))}};
  for (unsigned axis : lower::axesIn(info, s.strip.written))
    at.insert({info.axes[axis], Expr(taps[axis])});
  auto range = rangeOf(info, (*sides[0] - *sides[1]).substitute(at), s.strip);
  if (!range)
    return std::nullopt;
  auto [least, most] = *range;
  auto known = [](bool always, bool never) { return always ? std::optional(true) : never ? std::optional(false) : std::nullopt; };
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt:
    return known(most < 0, least >= 0);
  case arith::CmpIPredicate::sle:
    return known(most <= 0, least > 0);
  case arith::CmpIPredicate::sgt:
    return known(least > 0, most <= 0);
  case arith::CmpIPredicate::sge:
    return known(least >= 0, most < 0);
  default:
    return std::nullopt;
  }
}

/// What is read next is for this point and these places along the axes; borders that no strip reaches there are known.
void StripEmitter::goTo(BodyEmitter &at, unsigned point, AxisSet axes, ArrayRef<int64_t> taps) {
  reader.goTo(point, taps);
  for (Operation *op : info.ops)
    if (auto compare = dyn_cast<arith::CmpIOp>(op); compare && !(info.axesOf(compare.getResult()) & s.strip.written & ~axes))
      if (std::optional<bool> is = decided(compare, point, taps))
        at.bindValue(compare.getResult(), d.i1(*is));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

void StripEmitter::reduce(const lower::RowPass &pass, const BodyEmitter &origin) {
  Values sums;
  for (unsigned point = 0; point < points.size(); ++point)
    for (Operation *root : pass.roots) {
      auto r = cast<kernel::ReduceOp>(root);
      bool wide = lower::contains(info.axesOf(r.getValue()), s.lane);
      sums.push_back(identityOf(d, r.getKind(), wide ? d.vector(s.width, r.getType()) : r.getType()));
    }
  sums = overLoops(pass, pass.inner & ~s.strip.written, origin, points, sums);
  Value *sum = sums.data();
  for (BodyEmitter &point : points)
    for (Operation *root : pass.roots)
      point.bindValue(root->getResult(0), *sum++);
}

Values StripEmitter::overLoops(const lower::RowPass &pass, AxisSet loops, const BodyEmitter &origin, ArrayRef<BodyEmitter> at, ValueRange sums) {
  if (!loops)
    return overTaps(pass, at, sums);
  StringRef axis = info.axes[llvm::countr_zero(loops)];
  return d.loop(d.i64(0), frame.size(info.extents[llvm::countr_zero(loops)]), d.i64(1), sums, [&](Value i, ValueRange carried) {
    BodyEmitter inside = origin;
    inside.bindAxis(axis, i);
    std::vector<BodyEmitter> there(at.begin(), at.end());
    for (BodyEmitter &point : there)
      point.bindAxis(axis, i);
    reader.enter(inside);
    Values out = overLoops(pass, loops & (loops - 1), inside, there, carried);
    reader.leave();
    return out;
  });
}

/// Taps in the order of the axes; at each, all points.
Values StripEmitter::overTaps(const lower::RowPass &pass, ArrayRef<BodyEmitter> at, ValueRange before) {
  Values sums(before);
  for (const SmallVector<int64_t> &taps : tapsOf(info, s.strip)) {
    // A reduction along some of the axes has its values once.
    bool repeats = llvm::any_of(lower::axesIn(info, s.strip.written & ~pass.inner), [&](unsigned axis) { return taps[axis] != 0; });
    Value *sum = sums.data();
    for (auto [number, point] : llvm::enumerate(at)) {
      if (repeats)
        break;
      BodyEmitter here = point;
      for (unsigned axis : lower::axesIn(info, s.strip.written & pass.inner))
        here.bindAxis(info.axes[axis], d.i64(taps[axis]));
      goTo(here, number, s.strip.written & pass.inner, taps);
      for (Operation *root : pass.roots) {
        auto r = cast<kernel::ReduceOp>(root);
        Value v = here.emit(r.getValue());
        *sum = combine(d, r.getKind(), *sum, isa<VectorType>(sum->getType()) ? here.splat(v) : v);
        ++sum;
      }
    }
  }
  return sums;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// All values come before the first store: what is stored might be what another point reads, for all that the compiler knows.
void StripEmitter::store(ArrayRef<Operation *> stores) {
  std::vector<Values> values;
  for (auto [number, point] : llvm::enumerate(points)) {
    goTo(point, number, 0, none);
    values.emplace_back();
    for (Operation *op : stores)
      values.back().push_back(point.emit(cast<kernel::StoreOp>(op).getValue()));
  }
  for (auto [i, op] : llvm::enumerate(stores)) {
    auto store = cast<kernel::StoreOp>(op);
    Values own;
    for (const Values &v : values)
      own.push_back(v[i]);
    if (storeTogether(store, own))
      continue;
    for (auto [number, point] : llvm::enumerate(points))
      storeOnce(d, info, axes.rows, store, own[number], point, within[number]);
  }
}

/// Neighbours that lie side by side as wide accesses.
bool StripEmitter::storeTogether(kernel::StoreOp store, ArrayRef<Value> values) {
  std::optional<Expr::Linear> linear = info.exprOf(store).linearIn(info.axes[s.strip.axis]);
  Type element = store.getValue().getType();
  bool plain = s.width == 1 && !store.getPredicate() && store.getIndices().empty() && !element.isInteger(1);
  if (!plain || !linear || !linear->coefficient.isOne() || info.domainOf(store) != axes.rows)
    return false;
  auto [offset, first] = schedule::splitConstant(offsetInStrip(info, store, s.strip));
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8);
  int64_t widest = frame.known.divisorOf(offset, std::max(1u, 16 / bytes));
  if (within[0]) // a line that ends in the strip ends between accesses
    widest = frame.known.divisorOf(info.extents[s.strip.axis], widest);
  Value start = reader.origin().emitExpr(offset), ref = frame.refs[cast<BlockArgument>(store.getRef()).getArgNumber()];
  for (size_t at = 0; at < values.size();) {
    int64_t width = widest;
    while (width > 1 && ((first + int64_t(at)) % width || at % width || at + width > values.size()))
      width /= 2;
    Value v = values[at];
    if (width > 1) {
      v = d.zero(d.vector(width, element));
      for (int64_t i = 0; i < width; ++i)
        v = d.insert(v, values[at + i], i);
    }
    auto put = [&] { d.store(v, d.at(ref, d.add(start, first + int64_t(at)), element), bytes * width); };
    within[at] ? d.when(within[at], put) : put();
    at += width;
  }
  return true;
}
