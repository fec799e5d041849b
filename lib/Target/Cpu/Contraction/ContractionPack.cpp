//===- ContractionPack.cpp - Panels of an operand that is not constant -----===//

#include "ContractionPack.h"
#include <functional>

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using shape::Expr;
using Values = VectorBuilder::Values;

namespace {
struct Packer {
  VectorBuilder &v;
  const ContractionShape &shape;
  const lower::BodyEmitter &base;
  Value rhs, first, columns, depth, panel, from;
  bool columnsFlat = false, depthFlat = false;

  Value offsetAt(Value k, Value column) {
    lower::BodyEmitter point = base;
    shape.reduced.bind(v, point, from ? v.add(from, k) : k, depthFlat);
    shape.columns.bind(v, point, column, columnsFlat);
    return point.emitExpr(shape.rhs);
  }
  Value lastColumn() { return v.max(v.sub(columns, 1), v.i(0)); }
  void requestRow(Value k);
  void copyRows();
  void transposeRows();
  bool columnsAreRuns() const;
  void copyRuns();
  void copyPieces(Value q, Value length);
  void gather(Value q);
};
} // namespace

Expr lathe::cpu::panelElements(const VectorBuilder &v, const ContractionShape &shape) {
  return (shape.reduced.extent() + v.lanes) * panelColumns; // a transposed block may write past the last row
}

/// Requests a row some rows ahead: a panel's part of each row is a few lines, and of long rows each lies in another page, where processors do not look
/// ahead by themselves.
void Packer::requestRow(Value k) {
  constexpr int64_t rowsAhead = 16, bytesOfLine = 64;
  if (!depthFlat)
    return;
  int64_t elements = bytesOfLine * 8 / std::max(8u, shape.rhsType.getIntOrFloatBitWidth());
  Value row = v.at(rhs, offsetAt(v.add(k, rowsAhead), first), shape.rhsType);
  for (int64_t at = 0; at < panelColumns; at += elements)
    v.prefetch(row, v.i(at), shape.rhsType, 2);
}

/// Columns lie side by side: rows of the panel are copied.
void Packer::copyRows() {
  auto copy = [&](bool partial) {
    v.loop(v.i(0), depth, 1, [&](Value k) {
      Value from = offsetAt(k, first);
      requestRow(k);
      for (unsigned q = 0; q < panelColumns; q += v.lanes) {
        Value mask = partial ? v.firstLanes(v.sub(v.sub(columns, first), q)) : Value();
        Value row = v.loadConverted(v.at(rhs, from, shape.rhsType), v.i(q), shape.rhsType, mask);
        v.store(row, panel, v.add(v.mul(k, panelColumns), q));
      }
    });
  };
  Value whole = v.less(v.add(first, panelColumns - 1), columns);
  v.ifThen(whole, [&] { copy(false); }, [&] { copy(true); });
}

/// The reduced points of a column lie side by side: square blocks are transposed in registers.
void Packer::transposeRows() {
  Value last = lastColumn();
  v.loop(v.i(0), v.i(panelColumns), v.lanes, [&](Value q) {
    Values starts;
    for (unsigned l = 0; l < v.lanes; ++l)
      starts.push_back(offsetAt(v.i(0), v.min(v.add(v.add(first, q), l), last)));
    auto block = [&](Value k, Value mask) {
      Values rows;
      for (Value s : starts)
        rows.push_back(v.loadConverted(rhs, v.add(s, k), shape.rhsType, mask));
      rows = v.transpose(rows);
      Value to = v.add(v.mul(k, panelColumns), q);
      for (unsigned l = 0; l < v.lanes; ++l)
        v.store(rows[l], panel, v.add(to, l * panelColumns));
    };
    Value whole = v.roundDown(depth, v.lanes);
    v.loop(v.i(0), whole, v.lanes, [&](Value k) { block(k, {}); });
    v.ifThen(v.less(whole, depth), [&] { block(whole, v.firstLanes(v.sub(depth, whole))); });
  });
}

/// Of several axes, do columns lie side by side along the last one?
bool Packer::columnsAreRuns() const {
  if (shape.columns.empty())
    return false;
  std::optional<Expr::Linear> along = shape.rhs.linearIn(shape.columns.info->axes[shape.columns.axes.back()]);
  return along && along->coefficient.isOne();
}

/// A vector's part of each run that it meets, under a mask; zeros where there is no column.
void Packer::copyPieces(Value q, Value length) {
  Value column = v.add(first, q), end = v.min(v.add(column, v.lanes), columns), run = v.div(column, length);
  auto piece = [&](Value run, bool isFirst) {
    Value begin = v.max(v.mul(run, length), column), before = v.sub(begin, column);
    Value mask = v.lanesFrom(before, v.sub(v.min(v.mul(v.add(run, 1), length), end), column));
    v.loop(v.i(0), depth, 1, [&](Value k) {
      Value to = v.add(v.mul(k, panelColumns), q), row = v.loadConverted(rhs, v.sub(offsetAt(k, begin), before), shape.rhsType, mask);
      v.store(isFirst ? row : v.select(mask, row, v.load(panel, to)), panel, to);
    });
  };
  piece(run, true);
  v.loop(v.add(run, 1), v.ceilDiv(end, length), 1, [&](Value next) { piece(next, false); });
}

/// A vector that ends where its run does or before is copied, another one in pieces; gathered where the machine has no masks for them.
void Packer::copyRuns() {
  lower::BodyEmitter outside = base;
  Value length = v.max(outside.emitExpr(shape.columns.info->extents[shape.columns.axes.back()]), v.i(1));
  v.loop(v.i(0), v.i(panelColumns), v.lanes, [&](Value q) {
    Value column = v.add(first, q), place = v.rem(column, length);
    auto copy = [&] {
      v.loop(v.i(0), depth, 1, [&](Value k) {
        v.store(v.loadConverted(rhs, offsetAt(k, column), shape.rhsType), panel, v.add(v.mul(k, panelColumns), q));
      });
    };
    auto each = [&] {
      if (v.target.maskedMemory && (v.target.maskedBytes || shape.rhsType.getIntOrFloatBitWidth() >= 32))
        return copyPieces(q, length);
      v.loop(v.i(0), v.i(v.lanes), 1, [&](Value l) { gather(v.add(q, l)); });
    };
    Value within = v.less(v.add(place, v.lanes - 1), length), exist = v.less(v.add(column, v.lanes - 1), columns);
    v.ifThen(v.b.create<arith::AndIOp>(v.loc, within, exist), copy, each);
  });
}

/// A column of the panel; past the last one, that again.
void Packer::gather(Value q) {
  Value column = v.min(v.add(first, q), lastColumn());
  v.loop(v.i(0), depth, 1, [&](Value k) {
    v.storeScalar(v.loadScalar(rhs, offsetAt(k, column), shape.rhsType), panel, v.add(v.mul(k, panelColumns), q));
  });
}

void lathe::cpu::emitPackPanel(VectorBuilder &v, const ContractionShape &shape, const lower::BodyEmitter &base, Value rhs,
                               Value first, Value columns, Value depth, Value panel, Value from) {
  std::optional<Expr> columnStride = shape.columns.strideOf(shape.rhs), depthStride = shape.reduced.strideOf(shape.rhs);
  Packer p{v, shape, base, rhs, first, columns, depth, panel, from, columnStride.has_value(), depthStride.has_value()};
  if (columnStride && columnStride->isOne())
    p.copyRows();
  else if (depthStride && depthStride->isOne())
    p.transposeRows();
  else if (p.columnsAreRuns())
    p.copyRuns();
  else
    v.loop(v.i(0), v.i(panelColumns), 1, [&](Value q) { p.gather(q); });
}

//===----------------------------------------------------------------------===//
// A computed operand
//===----------------------------------------------------------------------===//

WindowOrder lathe::cpu::windowOrder(const ContractionShape &shape) {
  const lower::BodyInfo &info = *shape.reduced.info;
  lower::AxisSet indexed = 0;
  for (Operation *op : info.ops)
    if (isa<kernel::IndexOp>(op))
      indexed |= info.axesOf(info.exprOf(op));
  WindowOrder order;
  for (bool isTap : {true, false}) {
    for (unsigned a : shape.reduced.axes)
      if (bool(indexed >> a & 1) == isTap)
        order.axes.push_back(a);
    order.taps = isTap ? order.axes.size() : order.taps;
  }
  for (unsigned axis : order.axes) {
    Expr stride(1);
    for (unsigned a : shape.reduced.axes)
      stride = a > axis ? stride * info.extents[a] : stride;
    order.strides.push_back(stride);
  }
  return order;
}

void lathe::cpu::emitWindowLoops(VectorBuilder &v, const ContractionShape &shape, const WindowOrder &order, const lower::BodyEmitter &point,
                                 size_t from, size_t to, Value k, llvm::function_ref<void(const lower::BodyEmitter &, Value)> inside) {
  if (from == to)
    return inside(point, k);
  const lower::BodyInfo &info = *shape.reduced.info;
  unsigned axis = order.axes[from];
  lower::BodyEmitter outer = point;
  Value step = outer.emitExpr(order.strides[from]), extent = outer.emitExpr(info.extents[axis]);
  bool isPart = order.begin && from == order.taps;
  v.loop(isPart ? order.begin : v.i(0), isPart ? order.end : extent, 1, [&](Value x) {
    lower::BodyEmitter at = outer;
    at.bindAxis(info.axes[axis], x);
    emitWindowLoops(v, shape, order, at, from + 1, to, v.add(k, v.mul(x, step)), inside);
  });
}

void lathe::cpu::emitComputePanel(VectorBuilder &v, const ContractionShape &shape, const lower::BodyEmitter &base,
                                  Value first, Value columns, Value panel) {
  WindowOrder order = windowOrder(shape);
  const std::string &lane = shape.reduced.info->axes[shape.columns.carrier()];
  auto rows = [&](bool partial) {
    emitWindowLoops(v, shape, order, base, 0, order.axes.size(), v.i(0), [&](const lower::BodyEmitter &point, Value k) {
      for (unsigned q = 0; q < panelColumns; q += v.lanes) {
        lower::BodyEmitter at = point;
        Value column = v.add(first, q);
        at.bindLane(lane, column, v.lanes, partial ? v.firstLanes(v.sub(columns, column)) : Value());
        v.store(at.emitLanes(shape.rhsValue), panel, v.add(v.mul(k, panelColumns), q));
      }
    });
  };
  Value whole = v.less(v.add(first, panelColumns - 1), columns);
  v.ifThen(whole, [&] { rows(false); }, [&] { rows(true); });
}
