//===- ContractionEpilogue.cpp - From a tile of sums to results ------------===//

#include "ContractionEpilogue.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Schedule/Rows.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;

/// Of 4 bytes; narrower ones are requested twice.
constexpr unsigned elementsPerLine = 16;

ContractionEpilogue::ContractionEpilogue(VectorBuilder &v, const ContractionShape &shape, const lower::BodyInfo &info,
                                         lower::BodyEmitter &body, unsigned maxRows, bool grouped)
    : v(v), shape(shape), groups(v.target, maxRows, false) {
  columns = body.emitExpr(shape.columns.extent());
  for (Operation *op : info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(op))
      stores.push_back(s);
  findRowReads(info);
  findLines(info);
  lineLength = lines.empty() ? Value() : body.emitExpr(lines.extent());
  groups = RowGroups(v.target, maxRows, grouped && !lines.empty());
  tile = v.b.create<LLVM::AllocaOp>(v.loc, LLVM::LLVMPointerType::get(v.b.getContext()), shape.accumulator,
                                    v.i((groups.most() + v.lanes) * panelColumns), 64); // a vector of rows from any row on
}

void ContractionEpilogue::findRowReads(const lower::BodyInfo &info) {
  SmallVector<Value> stored;
  for (kernel::StoreOp s : stores)
    stored.push_back(s.getValue());
  ops = lower::opsBehind(stored, shape.result);
  for (Operation *op : ops) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (load && load.getIndices().empty() && shape.rows.isMentionedBy(info.exprOf(load)))
      rowReads.push_back(load);
  }
}

/// All results step through the group one by one (or at any one known distance).
bool ContractionEpilogue::storesStep(const AxisGroup &group, const lower::BodyInfo &info, bool byOne) const {
  return llvm::all_of(stores, [&](kernel::StoreOp s) {
    std::optional<shape::Expr> step = group.strideOf(info.exprOf(s));
    return s.getIndices().empty() && step && (step->isOne() || (!byOne && step->constant().value_or(0) > 1));
  });
}

/// True when all results do, and what is read steps one by one, too, or not at all.
bool ContractionEpilogue::areLines(const AxisGroup &group, const lower::BodyInfo &info, bool byOne) const {
  return storesStep(group, info, byOne) && llvm::all_of(ops, [&](Operation *op) {
    if (isa<kernel::IndexOp>(op))
      return !group.isMentionedBy(info.exprOf(op));
    auto load = dyn_cast<kernel::LoadOp>(op);
    std::optional<shape::Expr> step = load ? group.strideOf(info.exprOf(load)) : std::nullopt;
    return !load || (load.getIndices().empty() && step && (step->isOne() || step->isZero()));
  });
}

/// What is computed behind the sums can be with the places of a line in the lanes.
bool ContractionEpilogue::canFollowLines(const AxisGroup &group, const lower::BodyInfo &info) const {
  return llvm::all_of(ops, [&](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (!load)
      return !isa<kernel::IndexOp>(op);
    return load.getIndices().empty() && !load.getPredicate() && group.strideOf(info.exprOf(load)).has_value();
  });
}

/// The longest run of inner row axes. The innermost column axis may count within it (a transposed convolution, a shuffle of
/// channels to pixels).
void ContractionEpilogue::findLines(const lower::BodyInfo &info) {
  if (shape.columns.empty())
    return;
  unsigned last = shape.columns.carrier();
  std::optional<int64_t> within = shape.columnsFlat ? std::nullopt : info.extents[last].constant();
  bool interleaves =
      within && llvm::isPowerOf2_64(*within) && *within > 1 && *within <= v.lanes && shape.columns.axes.back() == last;
  if (!shape.columnsFlat && llvm::any_of(shape.columns.axes, [&](unsigned a) { return !info.extents[a].constant(); }))
    return;
  bool columnsTogether = llvm::all_of(stores, [&](kernel::StoreOp s) {
    std::optional<shape::Expr::Linear> linear = info.exprOf(s).linearIn(info.axes[last]);
    return linear && linear->coefficient.isOne();
  });
  for (bool byOne : {true, false}) {
    if (!byOne && (shape.columnsFlat || columnsTogether))
      return;
    for (size_t outer = 0; outer < shape.rows.axes.size() && lines.empty(); ++outer) {
      auto at = shape.rows.axes.begin() + outer;
      AxisGroup inner(info, {at, shape.rows.axes.end()}), finer = inner;
      finer.axes.push_back(last);
      std::optional<int64_t> extent = inner.extent().constant();
      bool together = byOne && interleaves && areLines(finer, info);
      bool between = together || (byOne && interleaves && storesStep(finer, info) && canFollowLines(inner, info));
      if ((between || areLines(inner, info, byOne)) && !(extent && *extent < v.lanes / 2)) {
        computedFirst = between && !together;
        lines = inner;
        lineAxes = AxisGroup(info, {shape.rows.axes.begin(), at});
        interleaved = between ? *within : 1;
      }
    }
  }
}

void ContractionEpilogue::eachLine(const BodyEmitter &point, Value row, Value count,
                                   function_ref<void(const BodyEmitter &, Value, Value, Value)> body) {
  Value length = v.max(lineLength, v.i(1)), end = v.add(row, count);
  v.loop(v.div(row, length), v.ceilDiv(end, length), 1, [&](Value line) {
    Value start = v.mul(line, length);
    Value from = v.max(v.sub(row, start), v.i(0)), to = v.min(v.sub(end, start), length);
    BodyEmitter outer = point;
    lineAxes.bind(v, outer, line, /*flat=*/false);
    body(outer, from, to, v.sub(start, row));
  });
}

/// Whole vectors, and one under a mask.
static void eachVector(VectorBuilder &v, Value from, Value to, function_ref<void(Value, bool)> body) {
  Value wholeEnd = v.add(from, v.roundDown(v.sub(to, from), v.lanes));
  v.loop(from, wholeEnd, v.lanes, [&](Value place) { body(place, true); });
  v.ifThen(v.less(wholeEnd, to), [&] { body(wholeEnd, false); });
}

void ContractionEpilogue::emitPlaces(const BodyEmitter &point, Value row, Value count, Value sums, Value pitch, Value firstColumn,
                                     Value columnCount) {
  eachLine(point, row, count, [&](const BodyEmitter &outer, Value from, Value to, Value start) {
    v.loop(v.i(0), v.min(columnCount, v.sub(columns, firstColumn)), 1, [&](Value c) {
      Value first = v.add(v.mul(c, pitch), start), column = v.add(firstColumn, c);
      eachVector(v, from, to, [&](Value place, bool whole) {
        emitColumns(outer, {v.load(sums, v.add(first, place))}, place, to, column, whole);
      });
    });
  });
}

/// Places from .. to - 1 of a line; place 0 is the tile's row `tileRow`, which may be negative.
void ContractionEpilogue::emitLine(const BodyEmitter &outer, Value from, Value to, Value tileRow, Value firstColumn, unsigned width) {
  auto vectors = [&](Value place, bool whole) {
    v.loop(v.i(0), v.i(width), v.lanes, [&](Value c) {
      VectorBuilder::Values rows;
      for (unsigned r = 0; r < v.lanes; ++r)
        rows.push_back(v.load(tile, v.add(v.mul(v.add(v.add(tileRow, place), r), panelColumns), c)));
      rows = v.transpose(rows);
      for (unsigned q = 0; q < v.lanes; q += interleaved) {
        Value column = v.add(firstColumn, v.add(c, q));
        v.ifThen(v.less(column, columns), [&] { emitColumns(outer, ArrayRef(rows).slice(q, interleaved), place, to, column, whole); });
      }
    });
  };
  if (v.target.maskedBytes)
    return v.loop(from, to, v.lanes, [&](Value place) { vectors(place, false); });
  // A masked store takes a dozen cycles, one of bytes a branch for each.
  eachVector(v, from, to, vectors);
}

/// Element l of vector h of the result is element (h * lanes + l) / n of operand l % n, of n.
static VectorBuilder::Values interleave(VectorBuilder &v, ArrayRef<Value> values) {
  if (values.size() == 1)
    return {values[0]};
  VectorBuilder::Values halves[2], result;
  for (auto [i, value] : llvm::enumerate(values))
    halves[i % 2].push_back(value);
  for (VectorBuilder::Values &half : halves)
    half = interleave(v, half);
  for (auto [even, odd] : llvm::zip(halves[0], halves[1]))
    for (unsigned first : {0u, v.lanes / 2}) {
      SmallVector<int64_t> mask;
      for (unsigned l = 0; l < v.lanes; ++l)
        mask.push_back(first + l / 2 + (l % 2 ? v.lanes : 0));
      result.push_back(v.shuffle(even, odd, mask));
    }
  return result;
}

/// For each store what it stores, of each column, at a vector of places.
SmallVector<VectorBuilder::Values> ContractionEpilogue::valuesOf(const BodyEmitter &point, ArrayRef<Value> sums, Value place, Value column,
                                                                 Value mask) {
  SmallVector<VectorBuilder::Values> values(stores.size());
  for (auto [i, sum] : llvm::enumerate(sums)) {
    BodyEmitter at = point;
    lines.bind(v, at, place, /*flat=*/true);
    shape.columns.bind(v, at, v.add(column, i), shape.columnsFlat);
    at.bindLane(lines.info->axes[lines.carrier()], place, v.lanes, mask);
    at.bindValue(shape.result, sumOf(sum));
    for (auto [s, store] : llvm::enumerate(stores))
      values[s].push_back(at.emitLanes(store.getValue()));
  }
  return values;
}

/// A vector of places of a line, all of which there are where it is whole, for each of the columns from `column` on, which lie between
/// one another.
void ContractionEpilogue::emitColumns(const BodyEmitter &point, ArrayRef<Value> values, Value place, Value to, Value column, bool whole) {
  const std::string &lane = lines.info->axes[interleaved > 1 ? shape.columns.axes.back() : lines.carrier()];
  SmallVector<VectorBuilder::Values> parts;
  if (computedFirst)
    parts = valuesOf(point, values, place, column, whole ? Value() : v.firstLanes(v.sub(to, place)));
  else
    parts.push_back(VectorBuilder::Values(values));
  for (VectorBuilder::Values &part : parts)
    part = interleave(v, part);
  for (size_t h = 0; h < values.size(); ++h) {
    Value first = v.add(place, h * v.lanes / interleaved);
    auto store = [&] {
      BodyEmitter at = point;
      lines.bind(v, at, first, /*flat=*/true);
      shape.columns.bind(v, at, column, shape.columnsFlat);
      Value base = interleaved > 1 ? v.i(0) : first;
      at.bindLane(lane, base, v.lanes, whole ? Value() : v.firstLanes(v.mul(v.sub(to, first), interleaved)));
      if (!computedFirst)
        at.bindValue(shape.result, sumOf(parts[0][h]));
      for (auto [i, s] : llvm::enumerate(stores)) {
        if (computedFirst)
          at.bindValue(s.getValue(), parts[i][h]);
        at.emitStore(s);
      }
    };
    if (h && !whole)
      v.ifThen(v.less(first, to), store);
    else
      store();
  }
}

void ContractionEpilogue::request(const BodyEmitter &point, Value row, Value count, Value firstColumn, unsigned width) {
  if (rowReads.empty() || !lanesStayInAxis())
    return;
  v.loop(v.i(0), count, 1, [&](Value r) {
    BodyEmitter at = point;
    shape.rows.bind(v, at, v.add(row, r), shape.rowsFlat);
    for (kernel::LoadOp load : rowReads)
      for (unsigned c = 0; c < width; c += elementsPerLine) {
        BodyEmitter vector = at;
        shape.columns.bind(v, vector, v.add(firstColumn, c), shape.columnsFlat);
        v.prefetch(vector.addressOf(load), v.i(0), load.getType());
      }
  });
}

void ContractionEpilogue::emit(const BodyEmitter &point, Value row, Value count, Value firstColumn, unsigned width) {
  if (!lines.empty())
    return eachLine(point, row, count, [&](const BodyEmitter &outer, Value from, Value to, Value start) {
      emitLine(outer, from, to, start, firstColumn, width);
    });
  auto allRows = [&](bool partial) {
    v.loop(v.i(0), count, 1, [&](Value r) {
      BodyEmitter at = point;
      shape.rows.bind(v, at, v.add(row, r), shape.rowsFlat);
      emitRowColumns(at, v.mul(r, panelColumns), firstColumn, width, partial);
    });
  };
  std::optional<int64_t> known = getConstantIntValue(columns);
  if (known && *known % width == 0)
    return allRows(false);
  Value whole = v.less(v.add(firstColumn, width - 1), columns);
  v.ifThen(whole, [&] { allRows(false); }, [&] { allRows(true); });
}

/// True when a vector of columns never straddles two points of an outer column axis.
bool ContractionEpilogue::lanesStayInAxis() const {
  if (shape.columns.empty() || shape.columnsFlat)
    return true;
  std::optional<int64_t> inner = shape.columns.info->extents[shape.columns.carrier()].constant();
  return inner && *inner % v.lanes == 0;
}

void ContractionEpilogue::emitRowColumns(const BodyEmitter &point, Value tileRow, Value firstColumn, unsigned panelWidth,
                                         bool partial) {
  if (!lanesStayInAxis())
    return emitRuns(point, tileRow, firstColumn, panelWidth);
  auto one = [&](Value c) {
    Value column = v.add(firstColumn, c), offset = v.add(tileRow, c);
    auto vector = [&](bool whole) { emitVector(point, offset, column, whole ? Value() : v.firstLanes(v.sub(columns, column))); };
    if (!partial || v.target.maskedBytes)
      return vector(!partial);
    // a masked store takes a dozen cycles, also of nothing
    v.ifThen(v.less(v.add(column, v.lanes - 1), columns), [&] { vector(true); },
             [&] { v.ifThen(v.less(column, columns), [&] { vector(false); }); });
  };
  if (panelWidth <= 2 * v.lanes) {
    for (unsigned c = 0; c < panelWidth; c += v.lanes)
      one(v.i(c));
    return;
  }
  v.loop(v.i(0), v.i(panelWidth), v.lanes, one);
}

/// Whether what is read and written behind the sums steps one by one along the innermost column axis, or not at all: from any lane on, under masks that
/// the machine has.
bool ContractionEpilogue::canStoreInPieces() const {
  const lower::BodyInfo &info = *shape.columns.info;
  unsigned axis = shape.columns.carrier();
  auto steps = [&](Operation *access, ValueRange indices, int64_t least) {
    std::optional<int64_t> step = schedule::stepAlong(info, access, axis);
    return indices.empty() && step && *step >= least && *step <= 1;
  };
  return schedule::masksRest(info, axis, v.target) &&
         llvm::all_of(stores, [&](kernel::StoreOp s) { return !s.getPredicate() && steps(s, s.getIndices(), 1); }) &&
         llvm::all_of(ops, [&](Operation *op) {
           auto load = dyn_cast<kernel::LoadOp>(op);
           return load ? !load.getPredicate() && steps(op, load.getIndices(), 0) : !isa<kernel::IndexOp>(op);
         });
}

/// A vector's part of each run that it meets, under a mask.
void ContractionEpilogue::emitPieces(const BodyEmitter &point, Value tileOffset, Value column, Value length) {
  Value end = v.min(v.add(column, v.lanes), columns), sums = v.load(tile, tileOffset);
  const std::string &lane = shape.columns.info->axes[shape.columns.carrier()];
  v.loop(v.div(column, length), v.ceilDiv(end, length), 1, [&](Value run) {
    Value begin = v.max(v.mul(run, length), column), before = v.sub(begin, column);
    BodyEmitter at = point;
    shape.columns.bind(v, at, begin, /*flat=*/false);
    Value mask = v.lanesFrom(before, v.sub(v.min(v.mul(v.add(run, 1), length), end), column));
    at.bindLane(lane, v.sub(at.axisValue(lane), before), v.lanes, mask);
    at.bindValue(shape.result, sumOf(sums));
    for (kernel::StoreOp s : stores)
      at.emitStore(s);
  });
}

/// Columns of several axes: vectors along the innermost one, and in pieces or singly those of a vector that would reach past its end.
void ContractionEpilogue::emitRuns(const BodyEmitter &point, Value tileRow, Value firstColumn, unsigned panelWidth) {
  BodyEmitter outside = point;
  Value length = v.max(outside.emitExpr(shape.columns.info->extents[shape.columns.carrier()]), v.i(1));
  bool inPieces = canStoreInPieces();
  v.loop(v.i(0), v.i(panelWidth), v.lanes, [&](Value c) {
    Value column = v.add(firstColumn, c), offset = v.add(tileRow, c), last = v.i(v.lanes - 1);
    Value within = v.less(v.add(v.rem(column, length), last), length), exist = v.less(v.add(column, last), columns);
    auto others = [&] {
      if (inPieces)
        return emitPieces(point, offset, column, length);
      v.loop(v.i(0), v.max(v.min(v.sub(columns, column), v.i(v.lanes)), v.i(0)), 1,
             [&](Value l) { emitVector(point, v.add(offset, l), v.add(column, l), {}, /*single=*/true); });
    };
    v.ifThen(v.b.create<arith::AndIOp>(v.loc, within, exist), [&] { emitVector(point, offset, column, {}); }, others);
  });
}

/// What the tile holds, in the type that the body sums in.
Value ContractionEpilogue::sumOf(Value bits) {
  if (!shape.resultType)
    return bits;
  auto vector = dyn_cast<VectorType>(bits.getType());
  Type type = vector ? Type(VectorType::get(vector.getShape(), shape.resultType)) : shape.resultType;
  return v.b.create<arith::BitcastOp>(v.loc, type, bits);
}

BodyEmitter ContractionEpilogue::rowAt(const BodyEmitter &point, Value row) {
  BodyEmitter at = point;
  shape.rows.bind(v, at, row, shape.rowsFlat);
  return at;
}

bool ContractionEpilogue::canTakeSums() const { return lines.empty() && !shape.columns.empty() && !shape.resultType && lanesStayInAxis(); }

bool ContractionEpilogue::takesSums(std::optional<int64_t> depth) const {
  return depth && canTakeSums() && *depth <= schedule::deepestDirect(ops, v.target).value_or(-1);
}

/// The epilogue of one vector of columns (or of one column), at a row.
void ContractionEpilogue::emitVector(const BodyEmitter &point, Value tileOffset, Value column, Value mask, bool single) {
  if (!single && !shape.columns.empty())
    return emitVectorAt(point, column, mask, v.load(tile, tileOffset));
  BodyEmitter at = point;
  if (!shape.columns.empty())
    shape.columns.bind(v, at, column, shape.columnsFlat);
  at.bindValue(shape.result, sumOf(v.loadScalar(tile, tileOffset)));
  for (kernel::StoreOp s : stores)
    at.emitStore(s);
}

void ContractionEpilogue::emitVectorAt(BodyEmitter point, Value column, Value mask, Value sums) {
  shape.columns.bind(v, point, column, shape.columnsFlat);
  const std::string &lane = shape.columns.info->axes[shape.columns.carrier()];
  point.bindLane(lane, point.axisValue(lane), v.lanes, mask);
  point.bindValue(shape.result, sumOf(sums));
  for (kernel::StoreOp s : stores)
    point.emitStore(s);
}
