//===- SortWords.cpp - What is sorted on a GPU ------------------------------===//

#include "SortWords.h"
#include "lathe/Lower/SortKey.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

Expr cuda::rowsOf(const lower::BodyInfo &info, kernel::SortOp op) {
  Expr rows(1);
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (info.axes[a] != op.getAxis() && info.axes[a] != op.getRankAxis())
      rows = rows * info.extents[a];
  return rows;
}

SortWordEmitter::SortWordEmitter(KernelFrame &frame, kernel::SortOp op)
    : EntryEmitter(frame), op(op), axis(*info.axisIndex(op.getAxis())), rankAxis(*info.axisIndex(op.getRankAxis())),
      keyBytes(lower::sortKeyBytes(op)) {
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (a != axis && a != rankAxis)
      rowAxes.push_back(a);
}

SortWord SortWordEmitter::wordAt(const BodyEmitter &row, Value index) {
  BodyEmitter point = row;
  point.bindAxis(info.axes[axis], index);
  Value key = lower::sortKey(d.b, d.loc, op, point.emit(op.getKey()));
  if (isWide())
    return {key, d.narrow(index)};
  return {d.bitOr(d.shl(d.b.create<arith::ExtUIOp>(d.loc, d.i64Type(), key), 32), index), {}};
}

Value SortWordEmitter::keyDigit(const SortWord &w, Value shift) {
  return d.narrow(d.bitAnd(d.b.create<arith::ShRUIOp>(d.loc, w.high, shift), radixDigits - 1));
}

BodyEmitter SortWordEmitter::resultAt(const BodyEmitter &row, const SortWord &w, Value rank) {
  BodyEmitter point = row;
  point.bindAxis(info.axes[rankAxis], rank);
  point.bindValue(op.getResult(), isWide() ? d.wide(w.low) : d.bitAnd(w.high, 0xffffffff));
  return point;
}

void SortWordEmitter::storeResult(const BodyEmitter &row, const SortWord &w, Value rank) {
  BodyEmitter point = resultAt(row, w, rank);
  for (Operation *o : info.ops)
    if (auto s = dyn_cast<kernel::StoreOp>(o))
      point.emitStore(s);
}

void SortWordEmitter::storeResults(const BodyEmitter &row, ArrayRef<SortWord> words, ValueRange ranks, ValueRange exist) {
  std::vector<BodyEmitter> points;
  for (auto [w, rank] : llvm::zip(words, ranks)) {
    points.push_back(resultAt(row, w, rank));
    for (Operation *o : info.ops)
      if (auto s = dyn_cast<kernel::StoreOp>(o))
        points.back().emit(s.getValue());
  }
  for (auto [point, exists] : llvm::zip(points, exist))
    d.when(exists, [&, &point = point] {
      BodyEmitter inside = point;
      for (Operation *o : info.ops)
        if (auto s = dyn_cast<kernel::StoreOp>(o))
          inside.emitStore(s);
    });
}
