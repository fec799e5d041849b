//===- FragmentEpilogue.cpp - Sums of matrix instructions to memory ----------===//

#include "FragmentEpilogue.h"

using namespace mlir;
using namespace lathe::cuda;

static void putChunk(DeviceBuilder &d, Value buffer, Value lane, ArrayRef<Value> sums) {
  Value row = d.shr(lane, 2), column = d.mul(d.bitAnd(lane, 3), 2);
  Type pair = d.vector(2, d.f32Type());
  for (unsigned i = 0; i + 1 < sums.size(); i += 2) {
    Value v = d.insert(d.insert(d.real(pair, 0), sums[i], 0), sums[i + 1], 1);
    Value index = d.add(d.mul(d.add(row, i / 2 % 2 * 8), epiloguePitch), d.add(column, i / 4 * 8));
    d.store(v, d.at(buffer, index, d.f32Type()), 8);
  }
}

namespace {
/// A chunk of columns of 16 rows, back from shared memory.
struct Chunk {
  KernelFrame &frame;
  ProductEpilogue &epilogue;
  const FragmentRows &rows;
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
    Value v = d.load(d.vector(4, d.f32Type()), d.at(buffer, d.add(d.mul(row, epiloguePitch), readColumn), d.f32Type()), 16);
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
      Value v = d.load(d.f32Type(), d.at(buffer, index, d.f32Type()), 4);
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

namespace {
/// Columns of 16 rows that turn as what the epilogue makes of them: half of the bytes or less, and a warp stores runs of 16 bytes.
struct RoundedChunk {
  KernelFrame &frame;
  ProductEpilogue &epilogue;
  const FragmentRows &rows;
  Value buffer;
  unsigned first, columns;

  void store(ArrayRef<Value> sums);

private:
  unsigned bytes() const { return 16 / epilogue.roundedGroup(); }
  /// Lines begin 16 bytes apart from a multiple of the banks, so that what the eight rows of a fragment write lies in different ones.
  Value at(Value row, Value column) {
    DeviceBuilder &d = frame.d;
    return d.byteAt(buffer, d.add(d.mul(row, columns * bytes() + 16), d.mul(column, bytes())));
  }
  void putPairs(ArrayRef<Value> sums);
};
} // namespace

void RoundedChunk::putPairs(ArrayRef<Value> sums) {
  DeviceBuilder &d = frame.d;
  Value row = d.shr(rows.lane, 2), column = d.mul(d.bitAnd(rows.lane, 3), 2);
  Type word = d.b.getIntegerType(16 * bytes());
  for (unsigned i = 0; i + 1 < sums.size(); i += 2) {
    Value r = d.add(row, d.i32(i / 2 % 2 * 8)), c = d.add(column, i / 4 * 8);
    Value n = d.wide(d.add(rows.column, d.add(c, first)));
    Value pair = epilogue.computePair(epilogue.atRow(d.wide(d.add(rows.row, r))), n, {sums[i], sums[i + 1]});
    if (!isa<VectorType>(pair.getType()))
      pair = d.splat(pair, 2);
    d.store(d.bitcast(pair, word), at(r, c), 2 * bytes());
  }
}

void RoundedChunk::store(ArrayRef<Value> sums) {
  DeviceBuilder &d = frame.d;
  d.ptx("bar.warp.sync 0xffffffff;");
  putPairs(sums);
  d.ptx("bar.warp.sync 0xffffffff;");
  unsigned group = epilogue.roundedGroup(), ofRow = columns / group, together = 32 / ofRow;
  Value row = d.div(rows.lane, ofRow), column = d.mul(d.rem(rows.lane, ofRow), group);
  Type type = epilogue.storedType();
  for (unsigned r = 0; r < 16; r += together) {
    Value of = d.add(row, d.i32(r)), v = d.load(d.vector(group, type), at(of, column), 16);
    Value n = d.wide(d.add(rows.column, d.add(column, first)));
    epilogue.storeGroup(epilogue.atRow(d.wide(d.add(rows.row, of))), n, v);
  }
}

/// Through shared memory as f32.
static void storeChunks(Chunk chunk, ArrayRef<Value> sums, void (Chunk::*store)()) {
  DeviceBuilder &d = chunk.frame.d;
  for (unsigned c = 0; c < sums.size() * 2; c += epilogueColumns, chunk.first += epilogueColumns) {
    d.ptx("bar.warp.sync 0xffffffff;");
    putChunk(d, chunk.buffer, chunk.rows.lane, sums.slice(c / 2, epilogueColumns / 2));
    d.ptx("bar.warp.sync 0xffffffff;");
    (chunk.*store)();
  }
}

void lathe::cuda::storeFragmentRows(KernelFrame &frame, ProductEpilogue &epilogue, const FragmentRows &rows,
                                     ArrayRef<Value> sums) {
  DeviceBuilder &d = frame.d;
  Value buffer = d.b.create<LLVM::IntToPtrOp>(d.loc, d.pointer(Shared), rows.buffer);
  Value readRow = d.shr(rows.lane, 3), readColumn = d.mul(d.bitAnd(rows.lane, 7), 4);
  unsigned all = sums.size() * 2, columns = 0;
  for (unsigned c = 0; c < all; c += columns) {
    columns = std::min(all - c, 2 * epilogueColumns);
    ArrayRef<Value> part = sums.slice(c / 2, columns / 2);
    Chunk chunk{frame, epilogue, rows, buffer, readRow, readColumn, c};
    Value rowsFit = d.less(d.add(rows.row, 15), rows.rowLimit);
    Value columnsFit = d.less(d.add(rows.column, c + columns - 1), rows.columnLimit);
    auto storeWhole = [&] {
      if (epilogue.roundedGroup())
        RoundedChunk{frame, epilogue, rows, buffer, c, columns}.store(part);
      else
        storeChunks(chunk, part, &Chunk::storeWhole);
    };
    auto storePart = [&] {
      d.when(d.less(d.add(rows.column, c), rows.columnLimit), [&] { storeChunks(chunk, part, &Chunk::storePart); });
    };
    epilogue.byWidth([&] { d.branch(d.both(rowsFit, columnsFit), storeWhole, storePart); }, storePart);
  }
}
