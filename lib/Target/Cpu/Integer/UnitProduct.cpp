//===- UnitProduct.cpp - Products of matrices of bytes by the matrix unit ---===//

#include "UnitProduct.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

/// Of a block of packed rows: a part of the second-level cache, which each panel reads again.
constexpr int64_t blockBytes = 512 << 10;
/// A block has at least as many rows as hide the traffic of a panel, and at most as many as leave several blocks to the threads.
constexpr int64_t fewestBlockRows = 64, mostBlockRows = 256, otherwise = 128;
/// Panels that a thread takes at least: packing its rows takes about as long as one.
constexpr int64_t panelsPerPacking = 8;

static int64_t rowsOfBlock(const IntegerShape &shape) {
  std::optional<int64_t> depth = shape.product.reduced.extent().constant(), rows = shape.product.rows.extent().constant();
  int64_t most = depth ? std::clamp(blockBytes / std::max<int64_t>(*depth, 1), fewestBlockRows, mostBlockRows) : otherwise;
  if (!rows)
    return most;
  int64_t blocks = std::max<int64_t>(1, (*rows + most - 1) / most); // of one size
  return std::max<int64_t>(1, (*rows + blocks - 1) / blocks);
}

bool UnitEmitter::serves(const IntegerShape &shape) {
  std::optional<int64_t> rows = shape.product.rows.extent().constant();
  return !shape.product.rows.empty() && !(rows && *rows < fewestRows);
}

UnitEmitter::UnitEmitter(KernelFunction &f, const IntegerShape &shape, bool rowsSigned, bool columnsSigned)
    : IntegerEmitter(f, shape, MatrixUnit::groupRows), rowsSigned(rowsSigned), columnsSigned(columnsSigned), unit(v), packed(v),
      blockRows(rowsOfBlock(shape)) {
  packed.place(f.scratch, words);
  line = word(f.scratch, body.emitExpr(packedWords()));
  room = word(f.scratch, body.emitExpr(rowWords()));
}

KernelPlan UnitEmitter::plan() const { return planOfBlocks(blocks(), panelColumns / 8, rowWords(), panelsPerPacking); }

void UnitEmitter::emit() {
  auto pack = [&](const BodyEmitter &point, Value first, Value count) {
    packed.pack(packer, point, first, count, line, blockRows);
    unit.configure(packed.height(), packed.depth());
  };
  eachBlock(blocks(), pack, [&](const BodyEmitter &point, Value batch, Value panel, Value first, Value count) { emitPanel(point, batch, panel, first, count); });
  unit.release();
}

void UnitEmitter::emitPanel(const BodyEmitter &point, Value batch, Value panelIndex, Value first, Value count) {
  ColumnPanel panel = panelAt(point, batch, panelIndex, room);
  Value firstColumn = v.mul(panelIndex, panelColumns), groups = packed.groups();
  Value groupRows = v.mul(packed.height(), MatrixUnit::tilesOfGroup);
  forWidth(panelIndex, [&](unsigned width) {
    v.loop(v.i(0), groups, 1, [&](Value group) {
      Value before = v.mul(group, groupRows), row = v.add(first, before), here = v.min(groupRows, v.sub(count, before));
      epilogue.request(point, row, here, firstColumn, width);
      multiply(panel, group, groups, width);
      epilogue.emit(point, row, here, firstColumn, width);
    });
  });
}

/// The sums of a group of rows with a panel of columns, into the epilogue's buffer.
void UnitEmitter::multiply(const ColumnPanel &panel, Value group, Value groups, unsigned width) {
  Value firstTile = v.mul(group, MatrixUnit::tilesOfGroup);
  auto rows = [&](unsigned tile, Value step) { return packed.tileAt(v.add(firstTile, tile), step); };
  auto columns = [&](Value step) {
    requestStep(panel, group, groups, step, packed.steps());
    return word(panel.words, v.mul(packed.firstWord(step), panelColumns));
  };
  unit.multiply({MatrixUnit::ofBytes(rowsSigned, columnsSigned), v.i(MatrixUnit::rowBytes), rows, columns}, packed.steps(), width, epilogue.buffer(), packed.height());
}
