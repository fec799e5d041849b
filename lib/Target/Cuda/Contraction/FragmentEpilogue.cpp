//===- FragmentEpilogue.cpp - Sums of matrix instructions to memory ----------===//

#include "FragmentEpilogue.h"

using namespace mlir;
using namespace lathe::cuda;

/// Of 8 columns a lane has two in each of two rows. Where columns are interleaved, one of them lies beside that of the next 8.
static void putChunk(DeviceBuilder &d, Value buffer, const FragmentRows &rows, ArrayRef<Value> sums) {
  Value row = d.mul(d.shr(rows.lane, 2), rows.interleavedRows ? 2 : 1), column = d.mul(d.bitAnd(rows.lane, 3), rows.interleavedColumns ? 4 : 2);
  Type number = sums[0].getType(), pair = d.vector(2, number);
  unsigned acrossRows = rows.interleavedRows ? 1 : 8;
  for (unsigned i = 0; i + 1 < sums.size(); i += 2) {
    unsigned first = rows.interleavedColumns ? i / 8 * 8 + i / 2 % 2 * 2 + i / 4 % 2 : i, second = first + (rows.interleavedColumns ? 4 : 1);
    unsigned inColumns = rows.interleavedColumns ? i / 8 * 16 + i / 4 % 2 * 2 : i / 4 * 8;
    Value v = d.insert(d.insert(d.zero(pair), sums[first], 0), sums[second], 1);
    Value index = d.add(d.mul(d.add(row, i / 2 % 2 * acrossRows), epiloguePitch), d.add(column, inColumns));
    d.store(v, d.at(buffer, index, number), 8);
  }
}

namespace {
/// A chunk of columns of 16 rows, back from shared memory.
struct Chunk {
  KernelFrame &frame;
  ProductEpilogue &epilogue;
  const FragmentRows &rows;
  Type number;
  Value buffer, readRow, readColumn; ///< the thread's, of four rows
  unsigned first;                    ///< column

  using Group = llvm::function_ref<void(Value row, Value column, ArrayRef<Value>)>;
  /// Calls `f` for each group of columns that go together, of the four rows from r on. Single columns that lie
  /// side by side are the lanes' own: a warp stores a run.
  void visit(Value r, Group f) {
    if (epilogue.width() == 1 && epilogue.storesRuns())
      return visitColumns(r, f);
    DeviceBuilder &d = frame.d;
    Value row = d.add(r, readRow);
    Value v = d.load(d.vector(4, number), d.at(buffer, d.add(d.mul(row, epiloguePitch), readColumn), number), 16);
    for (unsigned i = 0, width = epilogue.width(); i < 4; i += width) {
      Values values;
      for (unsigned l = 0; l < width; ++l)
        values.push_back(d.extract(v, i + l));
      f(d.add(rows.row, row), d.add(rows.column, d.add(readColumn, first + i)), values);
    }
  }
  void visitColumns(Value r, Group f) {
    DeviceBuilder &d = frame.d;
    for (unsigned i = 0; i < 4; ++i) {
      Value row = d.add(r, d.i32(i)), index = d.add(d.mul(row, epiloguePitch), rows.lane);
      Value v = d.load(number, d.at(buffer, index, number), 4);
      f(d.add(rows.row, row), d.add(rows.column, d.add(rows.lane, first)), v);
    }
  }
  void storeWhole();
  void storePart();
};
} // namespace

/// All of it lies inside: what the epilogue reads is on its way for all rows before the first of them is stored.
void Chunk::storeWhole() {
  DeviceBuilder &d = frame.d;
  std::vector<ProductEpilogue::Pending> pending;
  for (unsigned r = 0; r < 16; r += 4)
    visit(d.i32(r), [&](Value row, Value column, ArrayRef<Value> values) {
      pending.push_back(epilogue.compute(epilogue.atRow(d.wide(row)), d.wide(column), values));
    });
  for (ProductEpilogue::Pending &p : pending)
    epilogue.store(p);
}

void Chunk::storePart() {
  DeviceBuilder &d = frame.d;
  d.loop(d.i32(0), d.i32(16), d.i32(4), [&](Value r) {
    visit(r, [&](Value row, Value column, ArrayRef<Value> values) {
      Value inside = d.both(d.less(row, rows.rowLimit), d.less(column, rows.columnLimit));
      d.when(inside, [&] { epilogue.store(epilogue.atRow(d.wide(row)), d.wide(column), values); });
    });
  });
}

void lathe::cuda::storeFragmentRows(KernelFrame &frame, ProductEpilogue &epilogue, const FragmentRows &rows,
                                     ArrayRef<Value> sums) {
  DeviceBuilder &d = frame.d;
  Value buffer = d.b.create<LLVM::IntToPtrOp>(d.loc, d.pointer(Shared), rows.buffer);
  Value readRow = d.shr(rows.lane, 3), readColumn = d.mul(d.bitAnd(rows.lane, 7), 4);
  for (unsigned c = 0; c < sums.size() * 2; c += epilogueColumns) {
    d.ptx("bar.warp.sync 0xffffffff;");
    putChunk(d, buffer, rows, sums.slice(c / 2, epilogueColumns / 2));
    d.ptx("bar.warp.sync 0xffffffff;");
    Chunk chunk{frame, epilogue, rows, sums[0].getType(), buffer, readRow, readColumn, c};
    Value rowsFit = d.less(d.add(rows.row, 15), rows.rowLimit);
    Value columnsFit = d.less(d.add(rows.column, c + epilogueColumns - 1), rows.columnLimit);
    auto storePart = [&] { chunk.storePart(); };
    epilogue.byWidth([&] { d.branch(d.both(rowsFit, columnsFit), [&] { chunk.storeWhole(); }, storePart); }, storePart);
  }
}
