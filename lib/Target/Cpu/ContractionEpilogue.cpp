//===- ContractionEpilogue.cpp - From a tile of sums to results ------------===//

#include "ContractionEpilogue.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;

/// Of 4 bytes; narrower ones are requested twice.
constexpr unsigned elementsPerLine = 16;

ContractionEpilogue::ContractionEpilogue(VectorBuilder &v, const ContractionShape &shape, const lower::BodyInfo &info,
                                         lower::BodyEmitter &body, unsigned maxRows)
    : v(v), shape(shape) {
  columns = body.emitExpr(shape.columns.extent());
  tile = v.b.create<LLVM::AllocaOp>(v.loc, LLVM::LLVMPointerType::get(v.b.getContext()), shape.accumulator,
                                    v.i(maxRows * panelColumns), 64);
  for (Operation *op : info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(op))
      stores.push_back(s);
  findRowReads(info);
}

void ContractionEpilogue::findRowReads(const lower::BodyInfo &info) {
  llvm::DenseSet<Operation *> seen;
  SmallVector<Value> work;
  for (kernel::StoreOp s : stores)
    work.push_back(s.getValue());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    Operation *op = value == shape.result ? nullptr : value.getDefiningOp();
    if (!op || !seen.insert(op).second)
      continue;
    work.append(op->operand_begin(), op->operand_end());
    auto load = dyn_cast<kernel::LoadOp>(op);
    if (load && load.getIndices().empty() && shape.rows.isMentionedBy(info.exprOf(load)))
      rowReads.push_back(load);
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
  bool vectors = lanesStayInAxis();
  unsigned width = vectors ? v.lanes : 1;
  auto one = [&](Value c) {
    Value column = v.add(firstColumn, c), offset = v.add(tileRow, c);
    if (vectors) {
      emitVector(point, offset, column, partial ? v.firstLanes(v.sub(columns, column)) : Value());
      return;
    }
    auto scalar = [&] { emitVector(point, offset, column, {}); };
    if (partial)
      v.ifThen(v.less(column, columns), scalar);
    else
      scalar();
  };
  if (panelWidth <= 2 * width) {
    for (unsigned c = 0; c < panelWidth; c += width)
      one(v.i(c));
    return;
  }
  v.loop(v.i(0), v.i(panelWidth), width, one);
}

/// The epilogue of one vector of columns (or of one column), at a row.
void ContractionEpilogue::emitVector(BodyEmitter point, Value tileOffset, Value column, Value mask) {
  bool vectors = lanesStayInAxis();
  if (!shape.columns.empty()) {
    shape.columns.bind(v, point, column, shape.columnsFlat);
    if (vectors) {
      const std::string &lane = shape.columns.info->axes[shape.columns.carrier()];
      point.bindLane(lane, point.axisValue(lane), v.lanes, mask);
    }
  }
  bool asVector = vectors && !shape.columns.empty();
  Value sum = asVector ? v.load(tile, tileOffset) : v.loadScalar(tile, tileOffset);
  point.bindValue(shape.result, sum);
  for (kernel::StoreOp s : stores)
    point.emitStore(s);
}
