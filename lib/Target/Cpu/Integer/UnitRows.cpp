//===- UnitRows.cpp - Packed rows of products by the matrix unit ------------===//

#include "UnitRows.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

constexpr int64_t tileWords = MatrixUnit::rows * MatrixUnit::words;

Expr UnitRows::size(const Expr &wordsOfRow, int64_t rows) {
  int64_t tiles = MatrixUnit::tilesOfGroup * ((rows + MatrixUnit::groupRows - 1) / MatrixUnit::groupRows);
  return Expr::ceildiv(wordsOfRow, Expr(MatrixUnit::words)) * Expr(tiles * tileWords);
}

void UnitRows::place(Value at, Value wordsOfRow) {
  block = at;
  words = wordsOfRow;
  stepCount = v.ceilDiv(words, MatrixUnit::words);
  lastStart = v.max(v.sub(words, MatrixUnit::words), v.i(0));
  skipped = v.sub(v.mul(v.sub(stepCount, 1), MatrixUnit::words), lastStart);
}

Value UnitRows::tileAt(Value tile, Value step) const {
  return v.at(block, v.mul(v.add(v.mul(tile, stepCount), step), tileWords), v.b.getI32Type());
}

void UnitRows::pack(WordPacker &packer, const BodyEmitter &point, Value first, Value rows, Value room, int64_t most) {
  count = rows;
  Value tiles = v.mul(v.ceilDiv(count, MatrixUnit::groupRows), MatrixUnit::tilesOfGroup);
  tileHeight = v.max(v.ceilDiv(count, v.max(tiles, v.i(1))), v.i(1));
  if (packer.rowsAreRuns())
    return copyRuns(packer, point, first);
  int64_t pitch = pitchFor(most, v.lanes);
  packer.evaluate(point, first, count, words, MatrixUnit::words, room, pitch, [&](Value last) { transpose(room, pitch, last); });
}

/// Bytes first .. end - 1 of a vector's 64.
Value UnitRows::bytesBetween(Value first, Value end) {
  Value all = v.i(-1);
  Value from = v.b.create<arith::ShLIOp>(v.loc, all, first);
  Value until = v.b.create<arith::ShRUIOp>(v.loc, all, v.sub(v.i(MatrixUnit::rowBytes), end));
  Value bits = v.b.create<arith::AndIOp>(v.loc, from, until);
  return v.b.create<LLVM::BitcastOp>(v.loc, VectorType::get(MatrixUnit::rowBytes, v.b.getI1Type()), bits);
}

/// A step's bytes of a row are a vector; the last one is masked.
void UnitRows::copyRuns(WordPacker &packer, const BodyEmitter &point, Value first) {
  constexpr int64_t bytes = MatrixUnit::rowBytes;
  auto vector = VectorType::get(bytes, v.b.getI8Type());
  WordPacker::Runs runs = packer.runs(point);
  Value lastStep = v.sub(stepCount, 1), from = v.mul(lastStart, quad);
  auto copyRow = [&](Value tile, Value row, Value start, Value mask, Value none) {
    Value run = v.at(runs.memory, start, v.b.getI8Type());
    auto put = [&](Value step, Value bits) {
      v.b.create<LLVM::StoreOp>(v.loc, bits, v.at(tileAt(tile, step), v.mul(row, MatrixUnit::words), v.b.getI32Type()), bytes);
    };
    v.loop(v.i(0), lastStep, 1, [&](Value step) {
      put(step, v.b.create<LLVM::LoadOp>(v.loc, vector, v.at(run, v.mul(step, bytes), v.b.getI8Type()), 1));
    });
    put(lastStep, v.b.create<LLVM::MaskedLoadOp>(v.loc, vector, v.at(run, from, v.b.getI8Type()), mask, ValueRange{none}, 1));
  };
  v.ifThen(v.less(v.i(0), stepCount), [&] {
    Value mask = bytesBetween(v.mul(skipped, quad), v.sub(runs.length, from));
    Value none = v.b.create<arith::ConstantOp>(v.loc, v.b.getZeroAttr(vector));
    v.loop(v.i(0), v.ceilDiv(count, tileHeight), 1, [&](Value tile) {
      Value before = v.mul(tile, tileHeight), here = v.min(tileHeight, v.sub(count, before));
      v.loop(v.i(0), here, 1, [&](Value row) { copyRow(tile, row, runs.startOf(v.add(first, v.add(before, row))), mask, none); });
    });
  });
}

/// The lines of a step, words with the rows in the lanes, become rows with the words in the lanes.
void UnitRows::transpose(Value room, int64_t pitch, Value last) {
  Value from = v.roundDown(last, MatrixUnit::words), step = v.div(from, MatrixUnit::words), ready = v.add(v.sub(last, from), 1);
  Value before = v.select(v.less(step, v.sub(stepCount, 1)), v.i(0), skipped);
  v.loop(v.i(0), v.ceilDiv(count, tileHeight), 1, [&](Value tile) {
    VectorBuilder::Values lines;
    for (int64_t l = 0; l < MatrixUnit::words; ++l) {
      Value line = v.sub(v.i(l), before), inside = v.min(v.max(line, v.i(0)), v.sub(ready, 1));
      Value at = v.at(room, v.add(v.mul(inside, pitch), v.mul(tile, tileHeight)), v.b.getI32Type());
      Value words = v.b.create<LLVM::LoadOp>(v.loc, v.vec, at, 4);
      lines.push_back(v.select(v.equal(line, inside), words, v.f(0)));
    }
    for (auto [row, words] : llvm::enumerate(v.transpose(lines)))
      v.b.create<LLVM::StoreOp>(v.loc, words, v.at(tileAt(tile, step), v.i(row * MatrixUnit::words), v.b.getI32Type()), MatrixUnit::rowBytes);
  });
}
