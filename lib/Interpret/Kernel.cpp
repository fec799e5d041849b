//===- Kernel.cpp - kernel.generic -----------------------------------------===//
//
// Each value of the body is computed at every point of the axes that it depends on, in the order of the body. Domains
// that are large are computed in parts, along outer axes that no op removes. Loads are checked against their buffers,
// stores against one another, and at the end every element must have been written.
//
//===----------------------------------------------------------------------===//

#include "KernelFrame.h"
#include "KernelReduce.h"
#include "lathe/Dialect/Kernel/Winograd.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Dialect/Lathe/ElementWalk.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;
using llvm::Error;
using llvm::Expected;
using shape::Expr;

namespace {

/// Buffers of unsigned numbers are read and written as signless ones of the same bits; true is 1 in both.
static void copyBits(Tensor &to, int64_t at, const Tensor &from, int64_t i) {
  if (to.isFloat())
    to.floats[at] = from.floats[i];
  else
    to.ints[at] =
        isa<IntegerType>(to.type.getElementType()) ? ir::wrapTo(from.ints[i], to.type.getElementType()) : from.ints[i];
}

/// A result while it is written.
struct Written {
  Tensor tensor;
  std::vector<char> seen;
};

class KernelRun {
public:
  KernelRun(kernel::GenericOp op, Inputs inputs, Inputs unpacked, KernelFrame frame)
      : op(op), inputs(inputs), unpacked(unpacked), frame(std::move(frame)) {}
  Error run(std::vector<Written> &results);

private:
  AxisSet removedAxes();
  /// Ops that are computed at the points of some axes.
  struct Phase {
    std::vector<Operation *> body;
    AxisSet axes;
  };
  std::vector<Phase> phases();
  Error runPhase(const Phase &phase);
  Error runBody(ArrayRef<Operation *> body);
  Expected<Column> compute(Operation *op);
  Expected<Column> load(kernel::LoadOp op);
  Expected<Column> reduce(kernel::ReduceOp op);
  Expected<Column> scan(kernel::ScanOp op);
  Expected<Column> sort(kernel::SortOp op);
  Expected<Column> transform(kernel::FftOp op);
  Expected<Column> contract(kernel::ContractOp op);
  Expected<Column> attention(kernel::AttentionOp op);
  Error store(kernel::StoreOp op);

  const Column &column(Value v) const { return columns.find(v)->second; }
  AxisSet named(ArrayAttr names) const;
  /// What lies behind a reference; where the access is marked as packed, in the layout that its offsets are for.
  const Tensor &buffer(Value ref, bool packed) const {
    unsigned n = cast<BlockArgument>(ref).getArgNumber();
    return packed && unpacked[n] ? *unpacked[n] : *inputs[n];
  }
  std::vector<Column> expandAll(ValueRange values, const AxisSet &over) const;
  /// What lies at an offset, at each point of the offset's axes.
  Expected<Column> elements(Value ref, StringRef offset, bool packed = false);
  Error outside(Value ref, int64_t offset, const AxisSet &over, int64_t point) const;
  Error undefinedAt(const std::string &user, const AxisSet &over, int64_t point) const;
  std::string refText(Value ref) const;

  kernel::GenericOp op;
  Inputs inputs, unpacked;
  KernelFrame frame;
  std::vector<Written> *results = nullptr;
  llvm::DenseMap<Value, Column> columns;
};

} // namespace

std::string KernelRun::refText(Value ref) const {
  unsigned n = cast<BlockArgument>(ref).getArgNumber();
  return n < inputs.size() ? "operand " + std::to_string(n) : "result " + std::to_string(n - inputs.size());
}

Error KernelRun::outside(Value ref, int64_t offset, const AxisSet &over, int64_t point) const {
  unsigned n = cast<BlockArgument>(ref).getArgNumber();
  int64_t size = n < inputs.size() ? inputs[n]->size() : (*results)[n - inputs.size()].tensor.size();
  return bug("{0} has {1} elements, element {2} is accessed at {3}", refText(ref), size, offset,
             frame.pointText(over, point));
}

Error KernelRun::undefinedAt(const std::string &user, const AxisSet &over, int64_t point) const {
  return bug("{0} uses what a predicate hides, at {1}", user, frame.pointText(over, point));
}

AxisSet KernelRun::named(ArrayAttr names) const {
  AxisSet out;
  for (Attribute a : names)
    if (std::optional<unsigned> axis = frame.axisOf(cast<StringAttr>(a).getValue()))
      out.push_back(*axis);
  llvm::sort(out);
  return out;
}

std::vector<Column> KernelRun::expandAll(ValueRange values, const AxisSet &over) const {
  std::vector<Column> out;
  for (Value v : values)
    out.push_back(frame.expand(column(v), over));
  return out;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Where one of the columns has no value; empty when all have one everywhere.
static std::vector<char> undefinedIn(ArrayRef<Column> columns) {
  std::vector<char> out;
  for (const Column &c : columns) {
    out.resize(std::max(out.size(), c.undefined.size()));
    for (size_t i = 0; i < c.undefined.size(); ++i)
      out[i] |= c.undefined[i];
  }
  return out;
}

static void setOne(Tensor &t, int64_t i) {
  if (t.isFloat())
    t.floats[i] = 1;
  else
    t.ints[i] = 1;
}

Expected<Column> KernelRun::load(kernel::LoadOp op) {
  Expr offset = op.getOffsetExpr();
  AxisSet over = frame.axesOf(offset);
  for (Value v : op->getOperands().drop_front())
    over = unite(over, column(v).axes);
  std::vector<Column> indices = expandAll(op.getIndices(), over);
  Expected<std::vector<int64_t>> offsets = frame.evaluate(offset, over, indices);
  if (!offsets)
    return offsets.takeError();
  const Tensor &from = buffer(op.getRef(), op->hasAttr("packed"));
  Column out{over, Tensor(RankedTensorType::get(frame.shapeOf(over), op.getType())), undefinedIn(indices)}, predicate,
      fill;
  if (op.getPredicate())
    predicate = frame.expand(column(op.getPredicate()), over);
  if (op.getFill())
    fill = frame.expand(column(op.getFill()), over);
  out.undefined.resize(out.tensor.size());
  for (int64_t i = 0, n = out.tensor.size(), size = from.size(); i < n; ++i) {
    int64_t at = (*offsets)[i];
    bool decided = op.getPredicate() && !predicate.isUndefined(i), skipped = decided && !predicate.tensor.ints[i];
    if (skipped && op.getFill()) {
      out.undefined[i] = fill.isUndefined(i);
      out.tensor.copyFrom(fill.tensor, i, i);
    } else if (skipped || (op.getPredicate() && !decided) || out.undefined[i]) {
      out.undefined[i] = 1;
      setOne(out.tensor, i);
    } else if (at < 0 || at >= size) {
      return outside(op.getRef(), at, over, i);
    } else {
      copyBits(out.tensor, i, from, at);
    }
  }
  if (!llvm::is_contained(out.undefined, 1))
    out.undefined.clear();
  return out;
}

Expected<Column> KernelRun::elements(Value ref, StringRef offset, bool packed) {
  Expr e = Expr::parsed(offset);
  AxisSet over = frame.axesOf(e);
  Expected<std::vector<int64_t>> offsets = frame.evaluate(e, over);
  if (!offsets)
    return offsets.takeError();
  const Tensor &from = buffer(ref, packed);
  Type element = cast<kernel::RefType>(ref.getType()).getElementType();
  Column out{over, Tensor(RankedTensorType::get(frame.shapeOf(over), element))};
  for (auto [i, at] : llvm::enumerate(*offsets)) {
    if (at < 0 || at >= from.size())
      return outside(ref, at, over, i);
    copyBits(out.tensor, i, from, at);
  }
  return out;
}

static bool sameElement(const Tensor &a, int64_t i, const Tensor &b, int64_t j) {
  Type e = a.type.getElementType();
  if (!a.isFloat())
    return a.ints[i] == (isa<IntegerType>(e) ? ir::wrapTo(b.ints[j], e) : b.ints[j]);
  return a.floats[i] == b.floats[j] || (std::isnan(a.floats[i]) && std::isnan(b.floats[j]));
}

Error KernelRun::store(kernel::StoreOp op) {
  Expr offset = op.getOffsetExpr();
  AxisSet over = unite(frame.axesOf(offset), column(op.getValue()).axes);
  for (Value v : op.getIndices())
    over = unite(over, column(v).axes);
  if (op.getPredicate())
    over = unite(over, column(op.getPredicate()).axes);
  std::vector<Column> indices = expandAll(op.getIndices(), over);
  Expected<std::vector<int64_t>> offsets = frame.evaluate(offset, over, indices);
  if (!offsets)
    return offsets.takeError();
  Column value = frame.expand(column(op.getValue()), over), predicate;
  if (op.getPredicate())
    predicate = frame.expand(column(op.getPredicate()), over);
  unsigned number = cast<BlockArgument>(op.getRef()).getArgNumber() - inputs.size();
  Written &to = (*results)[number];
  std::vector<char> unknown = undefinedIn(indices);
  for (auto [i, at] : llvm::enumerate(*offsets)) {
    bool placed = unknown.empty() || !unknown[i];
    if (op.getPredicate() && !predicate.isUndefined(i) && !predicate.tensor.ints[i])
      continue;
    if (value.isUndefined(i) || predicate.isUndefined(i) || !placed)
      return undefinedAt("a store to " + refText(op.getRef()), over, i);
    if (at < 0 || at >= to.tensor.size())
      return outside(op.getRef(), at, over, i);
    if (std::optional<kernel::Combiner> combiner = op.getCombiner()) {
      combineAt(*combiner, to.tensor, at, value.tensor, i);
      continue;
    }
    bool update = this->op.getKernelClass() == kernel::KernelClass::Scatter && !op.getIndices().empty();
    if (to.seen[at] && !update && !sameElement(to.tensor, at, value.tensor, i))
      return bug("element {0} of result {1} is written twice, {2} and at {3} {4}", at, number,
                 elementText(to.tensor, at), frame.pointText(over, i), elementText(value.tensor, i));
    to.seen[at] = 1;
    copyBits(to.tensor, at, value.tensor, i);
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

Expected<Column> KernelRun::reduce(kernel::ReduceOp op) {
  AxisSet removed = named(op.getAxes()), all = unite(column(op.getValue()).axes, removed);
  Column value = frame.expand(column(op.getValue()), all);
  if (auto hidden = llvm::find(value.undefined, 1); hidden != value.undefined.end())
    return undefinedAt("a reduction", all, hidden - value.undefined.begin());
  return combineOver(op.getKind(), value, removed, frame);
}

Expected<Column> KernelRun::scan(kernel::ScanOp op) {
  AxisSet along{*frame.axisOf(op.getAxis())}, all = unite(column(op.getValue()).axes, along);
  Column value = frame.expand(column(op.getValue()), all);
  if (auto hidden = llvm::find(value.undefined, 1); hidden != value.undefined.end())
    return undefinedAt("a scan", all, hidden - value.undefined.begin());
  return scanAlong(op, std::move(value), along, frame);
}

Expected<Column> KernelRun::sort(kernel::SortOp op) {
  AxisSet along{*frame.axisOf(op.getAxis())}, to{*frame.axisOf(op.getRankAxis())};
  AxisSet all = unite(column(op.getKey()).axes, along);
  Column key = frame.expand(column(op.getKey()), all);
  if (auto hidden = llvm::find(key.undefined, 1); hidden != key.undefined.end())
    return undefinedAt("a sort", all, hidden - key.undefined.begin());
  if (frame.axes[to[0]].extent > frame.axes[along[0]].extent)
    return bug("a sort gives {0} of {1} keys", frame.axes[to[0]].extent, frame.axes[along[0]].extent);
  return orderAlong(op, key, along, to, frame);
}

Expected<Column> KernelRun::transform(kernel::FftOp op) {
  TransformAxes axes{{*frame.axisOf(op.getAxis())}, {*frame.axisOf(op.getFrequencyAxis())}, {*frame.axisOf(op.getParts())}, {}};
  if (op.getTurnAxis())
    axes.turn = {*frame.axisOf(*op.getTurnAxis())};
  AxisSet all = unite(unite(column(op.getValue()).axes, axes.along), axes.turn);
  if (op.getKind() != kernel::TransformKind::R2C)
    all = unite(all, axes.parts);
  Column value = frame.expand(column(op.getValue()), all);
  if (auto hidden = llvm::find(value.undefined, 1); hidden != value.undefined.end())
    return undefinedAt("a transform", all, hidden - value.undefined.begin());
  return transformAlong(op, value, axes, frame);
}

Expected<Column> KernelRun::contract(kernel::ContractOp op) {
  Expected<Column> a = elements(op.getLhs(), op.getLhsOffset());
  if (!a)
    return a;
  Expected<Column> b = elements(op.getRhs(), op.getRhsOffset(), op.getPacked().has_value());
  if (!b)
    return b;
  if (a->tensor.isFloat() && !b->tensor.isFloat()) { // weights in bytes
    Tensor numbers(RankedTensorType::get(b->tensor.shape(), a->tensor.type.getElementType()));
    numbers.floats.assign(b->tensor.ints.begin(), b->tensor.ints.end());
    b->tensor = std::move(numbers);
  }
  return sumOfProducts(*a, *b, named(op.getAxes()), op.getType(), frame);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

Expected<Column> KernelRun::attention(kernel::AttentionOp op) {
  Expected<Column> q = elements(op.getQ(), op.getQOffset()), k = elements(op.getK(), op.getKOffset()),
                   v = elements(op.getV(), op.getVOffset());
  for (Expected<Column> *c : {&q, &k, &v})
    if (!*c) {
      Error e = c->takeError();
      for (Expected<Column> *other : {&q, &k, &v})
        if (other != c && !*other)
          e = llvm::joinErrors(std::move(e), other->takeError());
      return std::move(e);
    }
  AxisSet key{*frame.axisOf(op.getKeyAxis())}, depth{*frame.axisOf(op.getDepthAxis())};
  Block &region = op.getScore().front();
  Type f32 = Float32Type::get(op.getContext());
  columns[region.getArgument(0)] = sumOfProducts(*q, *k, depth, f32, frame);
  for (Operation &inner : region.without_terminator()) {
    Expected<Column> c = compute(&inner);
    if (!c)
      return c;
    columns[inner.getResult(0)] = std::move(*c);
  }
  // Keys last, a row of them at a time.
  const Column &modified = column(region.getTerminator()->getOperand(0));
  AxisSet all = unite(unite(modified.axes, column(region.getArgument(0)).axes), key), rows = without(all, key);
  Column masked = frame.expand(modified, all);
  if (auto hidden = llvm::find(masked.undefined, 1); hidden != masked.undefined.end())
    return undefinedAt("a score", all, hidden - masked.undefined.begin());
  Tensor scores = std::move(masked.tensor);
  SmallVector<int64_t> rowStrides = stridesIn(all, rows, frame);
  int64_t step = stridesIn(all, key, frame)[0], keys = frame.axes[key[0]].size;
  ir::forEach(frame.shapeOf(rows), [&](int64_t, ArrayRef<int64_t> at) {
    int64_t first = 0;
    for (size_t d = 0; d < at.size(); ++d)
      first += at[d] * rowStrides[d];
    std::vector<double> row(keys);
    for (int64_t i = 0; i < keys; ++i)
      row[i] = scores.floats[first + i * step];
    softmax(row, op.getZeroMasked());
    for (int64_t i = 0; i < keys; ++i)
      scores.floats[first + i * step] = row[i];
  });
  Column out = sumOfProducts({all, std::move(scores)}, *v, key, op.getType(), frame);
  if (keys == 0 && !op.getZeroMasked())
    std::fill(out.tensor.floats.begin(), out.tensor.floats.end(), NAN);
  return out;
}

//===----------------------------------------------------------------------===//
// The body
//===----------------------------------------------------------------------===//

/// Of a select: where the condition has no value, or the one that it chooses.
static std::vector<char> undefinedChoice(ArrayRef<Column> in) {
  std::vector<char> out = undefinedIn(in);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = in[0].isUndefined(i) || in[in[0].tensor.ints[i] ? 1 : 2].isUndefined(i);
  return out;
}

Expected<Column> KernelRun::compute(Operation *op) {
  if (auto l = dyn_cast<kernel::LoadOp>(op))
    return load(l);
  if (auto r = dyn_cast<kernel::ReduceOp>(op))
    return reduce(r);
  if (auto s = dyn_cast<kernel::ScanOp>(op))
    return scan(s);
  if (auto s = dyn_cast<kernel::SortOp>(op))
    return sort(s);
  if (auto t = dyn_cast<kernel::FftOp>(op))
    return transform(t);
  if (auto c = dyn_cast<kernel::ContractOp>(op))
    return contract(c);
  if (auto a = dyn_cast<kernel::AttentionOp>(op))
    return attention(a);
  AxisSet over;
  for (Value v : op->getOperands())
    over = unite(over, column(v).axes);
  if (auto index = dyn_cast<kernel::IndexOp>(op)) {
    over = unite(over, frame.axesOf(index.getIndexExpr()));
    std::vector<Column> indices = expandAll(index.getIndices(), over);
    Column out{over, Tensor(RankedTensorType::get(frame.shapeOf(over), index.getType())), undefinedIn(indices)};
    Expected<std::vector<int64_t>> values = frame.evaluate(index.getIndexExpr(), over, indices);
    if (!values)
      return values.takeError();
    out.tensor.ints = std::move(*values);
    return out;
  }
  std::vector<Column> operands = expandAll(op->getOperands(), over);
  SmallVector<const Tensor *> pointers;
  for (Column &c : operands)
    pointers.push_back(&c.tensor);
  Expected<Tensor> result = runScalarOp(op, pointers, frame.shapeOf(over));
  if (!result)
    return result.takeError();
  Column out{over, std::move(*result), isa<arith::SelectOp>(op) ? undefinedChoice(operands) : undefinedIn(operands)};
  for (size_t i = 0; i < out.undefined.size(); ++i)
    if (out.undefined[i])
      setOne(out.tensor, i);
  return out;
}

Error KernelRun::runBody(ArrayRef<Operation *> body) {
  columns.clear();
  for (Operation *inner : body) {
    if (auto s = dyn_cast<kernel::StoreOp>(inner)) {
      if (Error e = store(s))
        return e;
      continue;
    }
    Expected<Column> c = compute(inner);
    if (!c)
      return c.takeError();
    columns[inner->getResult(0)] = std::move(*c);
  }
  return Error::success();
}

/// What runs one after the other: a scatter's updates once its result is covered.
std::vector<KernelRun::Phase> KernelRun::phases() {
  Phase all;
  for (unsigned i = 0; i < frame.axes.size(); ++i)
    all.axes.push_back(i);
  for (Operation &inner : op.getBody().front())
    all.body.push_back(&inner);
  if (op.getKernelClass() != kernel::KernelClass::Scatter)
    return {all};
  Phase cover, updates;
  kernel::ValueAxes known = kernel::axesOfValues(op);
  for (auto store : op.getBody().front().getOps<kernel::StoreOp>()) {
    Phase &phase = store.getIndices().empty() ? cover : updates;
    llvm::SmallPtrSet<Operation *, 16> slice{store};
    for (Operation *inner : llvm::reverse(all.body))
      if (slice.contains(inner))
        for (Value v : inner->getOperands())
          if (Operation *def = v.getDefiningOp())
            slice.insert(def);
    for (Operation *inner : all.body)
      if (slice.contains(inner))
        phase.body.push_back(inner);
    phase.axes = frame.axesOf(store.getOffsetExpr());
    for (Value v : store->getOperands())
      for (const std::string &axis : known[v])
        phase.axes = unite(phase.axes, {*frame.axisOf(axis)});
  }
  return {cover, updates};
}

AxisSet KernelRun::removedAxes() {
  AxisSet out;
  op.getBody().walk([&](Operation *inner) {
    if (auto r = dyn_cast<kernel::ReduceOp>(inner))
      out = unite(out, named(r.getAxes()));
    Builder b(op.getContext());
    if (auto s = dyn_cast<kernel::ScanOp>(inner))
      out = unite(out, named(b.getStrArrayAttr({s.getAxis()})));
    if (auto s = dyn_cast<kernel::SortOp>(inner))
      out = unite(out, named(b.getStrArrayAttr({s.getAxis(), s.getRankAxis()})));
    if (auto t = dyn_cast<kernel::FftOp>(inner))
      out = unite(out, named(b.getStrArrayAttr({t.getAxis(), t.getFrequencyAxis(), t.getParts()})));
    if (auto c = dyn_cast<kernel::ContractOp>(inner))
      out = unite(out, named(c.getAxes()));
    if (auto a = dyn_cast<kernel::AttentionOp>(inner))
      out = unite(out, named(b.getStrArrayAttr({a.getKeyAxis(), a.getDepthAxis()})));
  });
  return out;
}

Error KernelRun::run(std::vector<Written> &to) {
  results = &to;
  for (const Phase &phase : phases())
    if (Error e = runPhase(phase))
      return e;
  return Error::success();
}

Error KernelRun::runPhase(const Phase &phase) {
  constexpr int64_t limit = 1 << 15; // points at once
  AxisSet removed = removedAxes(), outer;
  int64_t points = 1;
  for (unsigned i : phase.axes)
    points *= frame.axes[i].extent;
  for (unsigned i : phase.axes)
    if (points > limit && !llvm::is_contained(removed, i)) {
      outer.push_back(i);
      points /= frame.axes[i].extent;
      frame.axes[i].size = 1;
    }
  SmallVector<int64_t> extents;
  for (unsigned a : outer)
    extents.push_back(frame.axes[a].extent);
  Error error = Error::success();
  ir::forEach(extents, [&](int64_t, ArrayRef<int64_t> at) {
    for (auto [a, i] : llvm::zip(outer, at))
      frame.axes[a].begin = i;
    if (!error)
      error = runBody(phase.body);
  });
  for (unsigned a : outer)
    frame.axes[a].begin = 0, frame.axes[a].size = frame.axes[a].extent;
  return error;
}

/// Floats of 8 bits are their codes inside of a kernel.
static Tensor asElements(const Tensor &t, Type element) { return fromBytes(RankedTensorType::get(t.type.getShape(), element), toBytes(t).data()); }

Expected<std::vector<Tensor>> interpret::runKernel(kernel::GenericOp op, Inputs given, Inputs unpacked,
                                                   const Sizes &sizes) {
  std::vector<Tensor> codes;
  codes.reserve(given.size());
  SmallVector<const Tensor *> inputs(given);
  for (const Tensor *&input : inputs)
    if (Type element = input->type.getElementType(); ir::isFloat8(element))
      input = &codes.emplace_back(asElements(*input, ir::signless(element)));
  std::vector<Written> results;
  for (Type t : op.getResultTypes()) {
    Expected<RankedTensorType> type = sizes.typeAt(t);
    if (!type)
      return type.takeError();
    Type element = type->getElementType();
    auto inside = RankedTensorType::get(type->getShape(), ir::isFloat8(element) ? ir::signless(element) : element);
    results.push_back({Tensor(inside), std::vector<char>(type->getNumElements())});
  }
  Expected<KernelFrame> frame = KernelFrame::of(op, sizes);
  if (!frame)
    return frame.takeError();
  if (Error e = KernelRun(op, inputs, unpacked, std::move(*frame)).run(results))
    return std::move(e);
  std::vector<Tensor> out;
  for (auto [n, r] : llvm::enumerate(results)) {
    auto missing = llvm::find(r.seen, 0);
    if (missing != r.seen.end())
      return bug("element {0} of result {1} was never written, nor {2} others", missing - r.seen.begin(), n,
                 llvm::count(r.seen, 0) - 1);
    Type element = cast<RankedTensorType>(op.getResult(n).getType()).getElementType();
    out.push_back(ir::isFloat8(element) ? asElements(r.tensor, element) : std::move(r.tensor));
  }
  return out;
}

/// For minimal filtering: the first rows are the taps.
static Tensor packTiles(kernel::PackOp op, const Tensor &source, kernel::Winograd high, kernel::Winograd wide) {
  Tensor out(cast<RankedTensorType>(op.getType()));
  ArrayRef<int64_t> extents = *op.getKExtents(), strides = *op.getKStrides();
  size_t windows = !high.isPlain() + !wide.isPlain();
  SmallVector<int64_t> tapStarts;
  ir::forEach(extents.take_front(windows), [&](int64_t, ArrayRef<int64_t> c) {
    tapStarts.push_back(std::inner_product(c.begin(), c.end(), strides.begin(), int64_t(0)));
  });
  int64_t depth = op.getK() / int64_t(tapStarts.size()), panel = op.getPanel(), places = high.places() * wide.places();
  for (int64_t column = 0; column < int64_t(op.getN()); ++column)
    ir::forEach(extents.drop_front(windows), [&](int64_t at, ArrayRef<int64_t> c) {
      int64_t from = std::inner_product(c.begin(), c.end(), strides.begin() + windows, column * int64_t(op.getNStride()));
      double taps[9], transformed[36];
      for (auto [t, start] : llvm::enumerate(tapStarts))
        taps[t] = source.floats[from + start];
      kernel::transformFilter(high, wide, taps, transformed);
      for (int64_t p = 0; p < places; ++p)
        out.floats[((column / panel * places + p) * depth + at) * panel + column % panel] =
            ir::roundTo(transformed[p], out.type.getElementType());
    });
  return out;
}

Expected<Tensor> interpret::runPack(kernel::PackOp op, const Tensor &source) {
  Tensor out(cast<RankedTensorType>(op.getType()));
  int64_t k = op.getK(), n = op.getN(), panel = op.getPanel(), rows = panel ? panel : 1;
  SmallVector<int64_t> extents{k}, strides{int64_t(op.getKStride())};
  if (op.getKExtents() && op.getKStrides()) {
    extents.assign(op.getKExtents()->begin(), op.getKExtents()->end());
    strides.assign(op.getKStrides()->begin(), op.getKStrides()->end());
  }
  if (auto tile = op->getAttrOfType<DenseI64ArrayAttr>(kernel::winogradName))
    return packTiles(op, source, kernel::Winograd(tile[0]), kernel::Winograd(tile[1]));
  int64_t group = out.type.getRank() == 4 ? out.shape().back() : 1, run = std::max<int64_t>(1, extents.back());
  int64_t perRun = (run + group - 1) / group, groups = group > 1 ? out.shape()[1] : k; // a list behind bytes is for machines
  for (int64_t column = 0; column < n; ++column)
    ir::forEach(extents, [&](int64_t at, ArrayRef<int64_t> c) {
      int64_t place = at / run * perRun + at % run / group, from = column * op.getNStride();
      int64_t to = ((column / rows * groups + place) * rows + column % rows) * group + at % run % group;
      for (size_t d = 0; d < c.size(); ++d)
        from += c[d] * strides[d];
      if (out.isFloat())
        out.floats[to] = ir::roundTo(source.floats[from], out.type.getElementType());
      else
        out.ints[to] = source.ints[from];
    });
  return out;
}
