//===- FragmentEpilogue.cpp - Sums of matrix instructions to memory ----------===//

#include "FragmentEpilogue.h"

using namespace mlir;
using namespace lathe::cuda;

namespace {
/// Two neighbouring columns of a row: where a lane has them among its sums, and where they lie from the lane's first row and column on.
struct Pair {
  unsigned first, second, row, column;
};
} // namespace

/// Of 8 columns a lane has two in each of two rows. Where columns are interleaved, one of them lies beside that of the next 8.
static Pair pairAt(const FragmentRows &rows, unsigned i) {
  unsigned row = i / 2 % 2 * (rows.interleavedRows ? 1 : 8);
  if (!rows.interleavedColumns)
    return {i, i + 1, row, i / 4 * 8};
  unsigned first = i / 8 * 8 + i / 2 % 2 * 2 + i / 4 % 2;
  return {first, first + 4, row, i / 8 * 16 + i / 4 % 2 * 2};
}

static std::pair<Value, Value> firstOfLane(DeviceBuilder &d, const FragmentRows &rows) {
  return {d.mul(d.shr(rows.lane, 2), rows.interleavedRows ? 2 : 1), d.mul(d.bitAnd(rows.lane, 3), rows.interleavedColumns ? 4 : 2)};
}

static void putChunk(DeviceBuilder &d, Value buffer, const FragmentRows &rows, ArrayRef<Value> sums) {
  auto [row, column] = firstOfLane(d, rows);
  Type number = sums[0].getType(), pair = d.vector(2, number);
  for (unsigned i = 0; i + 1 < sums.size(); i += 2) {
    Pair at = pairAt(rows, i);
    Value v = d.insert(d.insert(d.zero(pair), sums[at.first], 0), sums[at.second], 1);
    Value index = d.add(d.mul(d.add(row, at.row), epiloguePitch), d.add(column, at.column));
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
  auto [row, column] = firstOfLane(d, rows);
  Type word = d.b.getIntegerType(16 * bytes());
  for (unsigned i = 0; i + 1 < sums.size(); i += 2) {
    Pair of = pairAt(rows, i);
    Value r = d.add(row, of.row), c = d.add(column, of.column), n = d.wide(d.add(rows.column, d.add(c, first)));
    Value pair = epilogue.computePair(epilogue.atRow(d.wide(d.add(rows.row, r))), n, {sums[of.first], sums[of.second]});
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

/// Through shared memory as the sums are.
static void storeChunks(Chunk chunk, ArrayRef<Value> sums, void (Chunk::*store)()) {
  DeviceBuilder &d = chunk.frame.d;
  for (unsigned c = 0; c < sums.size() * 2; c += epilogueColumns, chunk.first += epilogueColumns) {
    d.ptx("bar.warp.sync 0xffffffff;");
    putChunk(d, chunk.buffer, chunk.rows, sums.slice(c / 2, std::min<size_t>(epilogueColumns / 2, sums.size() - c / 2)));
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
    columns = all - c >= 2 * epilogueColumns ? 2 * epilogueColumns : std::min(all - c, epilogueColumns);
    ArrayRef<Value> part = sums.slice(c / 2, columns / 2);
    FragmentRows ofPart = rows;
    if (columns < epilogueColumns) // the lanes of the others have nothing
      ofPart.columnLimit = d.minU(rows.columnLimit, d.add(rows.column, c + columns));
    Chunk chunk{frame, epilogue, ofPart, sums[0].getType(), buffer, readRow, readColumn, c};
    Value rowsFit = d.less(d.add(rows.row, 15), rows.rowLimit);
    Value columnsFit = d.less(d.add(rows.column, c + columns - 1), rows.columnLimit);
    auto storeWhole = [&] {
      if (unsigned group = epilogue.roundedGroup(); group && columns / group > 1)
        RoundedChunk{frame, epilogue, rows, buffer, c, columns}.store(part);
      else
        storeChunks(chunk, part, columns < epilogueColumns ? &Chunk::storePart : &Chunk::storeWhole);
    };
    auto storePart = [&] {
      d.when(d.less(d.add(rows.column, c), rows.columnLimit), [&] { storeChunks(chunk, part, &Chunk::storePart); });
    };
    epilogue.byWidth([&] { d.branch(d.both(rowsFit, columnsFit), storeWhole, storePart); }, storePart);
  }
}
