//===- IntegerProduct.cpp - CPU code for products of bytes -----------------===//

#include "UnitProduct.h"
#include "lathe/Lower/CollapseAxes.h"
#include "llvm/ADT/ScopeExit.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

/// Of a block of packed rows: a part of the second-level cache.
constexpr int64_t blockBytes = 192 << 10;
/// A block has at least as many rows as hide the traffic of a panel, and at most as many as leave several blocks to the threads.
constexpr int64_t fewestBlockRows = 48, mostBlockRows = 192, otherwise = 96;
/// Words of the panel that a single tile requests from memory ahead of their use.
constexpr int64_t prefetchWords = 32;
/// The same for the matrix unit, in bytes.
constexpr int64_t unitBytesAhead = 4 << 10;
constexpr int64_t cacheLine = 64;
/// Panels that a thread takes at least: each thread packs its own rows.
constexpr int64_t panelsPerPacking = 4;

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

IntegerEmitter::IntegerEmitter(KernelFunction &f, const IntegerShape &shape, unsigned tileRows)
    : f(f), shape(shape), v(f.b, f.loc, f.isa, shape.product.accumulator), body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks),
      tiles(v, schedule::byteForm(f.isa, shape.pairs.has_value()), !shape.isConvolution()),
      epilogue(v, shape.product, f.info, body, tileRows ? tileRows : tiles.maxRows(), /*grouped=*/true), packer(v, shape, f.info, rowsRef(), refOf(shape.product.rhsRef)) {
  words = body.emitExpr(shape.words());
  panelCount = v.max(body.emitExpr(panels()), v.i(1));
}

Value IntegerEmitter::rowsRef() {
  auto load = shape.rows.getDefiningOp<kernel::LoadOp>();
  return load ? refOf(load.getRef()) : Value();
}

Expr IntegerEmitter::panelWords() const {
  Expr starts(panelColumns);
  return shape.product.packed ? starts : starts + shape.words() * Expr(panelColumns);
}

ColumnPanel IntegerEmitter::panelAt(const BodyEmitter &point, Value batch, Value panelIndex, Value room) {
  Value firstColumn = v.mul(panelIndex, panelColumns), panel, list;
  starts = room;
  if (shape.product.packed) {
    BodyEmitter outside = point;
    Value index = shape.product.batch.empty() ? panelIndex : v.add(v.mul(batch, panelCount), panelIndex);
    panel = word(refOf(shape.product.rhsRef), v.mul(v.mul(index, outside.emitExpr(shape.panelRows())), panelColumns));
    if (shape.pairs.value_or(0) && schedule::byteForm(f.isa, true) == schedule::ByteForm::Pairs)
      list = word(panel, v.mul(words, panelColumns));
  } else {
    panel = word(room, v.i(panelColumns));
    packer.columns(point, firstColumn, panel);
  }
  if (!shape.rowsSigned)
    return {panel, list};
  // Rows were shifted by 128: the sums start at -128 times the column's sum.
  Value shifted = v.intSplat(int32_t(0x80808080)), constant = v.i(0);
  if (!shape.columnsSigned) { // and both were: 128 * 128 for each point of the sum
    BodyEmitter outside = point;
    constant = v.mul(outside.emitExpr(shape.product.reduced.extent()), 128 * 128);
  }
  Value less = v.b.create<vector::SplatOp>(v.loc, v.b.create<arith::TruncIOp>(v.loc, v.b.getI32Type(), constant), v.intVec);
  v.loop(v.i(0), v.i(panelColumns), v.lanes, [&](Value q) {
    auto sums = v.loop(v.i(0), words, 1, {less}, [&](Value w, VectorBuilder::Values s) {
      Value columns = v.b.create<LLVM::LoadOp>(v.loc, v.intVec, word(panel, v.add(v.mul(w, panelColumns), q)), 4);
      return VectorBuilder::Values{dotBytes(v, s[0], shifted, columns)};
    });
    Value start = v.b.create<arith::SubIOp>(v.loc, v.intSplat(0), sums[0]);
    v.b.create<LLVM::StoreOp>(v.loc, start, word(starts, q), 4);
  });
  return {panel, list};
}

/// Panels follow one another in memory: while one is multiplied, each tile requests its part of the next. A single tile reads each word of a
/// panel once, and requests what it is about to read.
Request IntegerEmitter::requestOf(const ColumnPanel &panel, Value tile, Value count, unsigned width) {
  if (!shape.product.packed)
    return {};
  int64_t bytes = quad * panelColumns, perPass = int64_t(tiles.vectorsOf(width)) * v.target.vectorBytes;
  int64_t passes = std::max<int64_t>(1, quad * width / perPass);
  BodyEmitter outside = body;
  Value single = v.less(count, v.i(2)), step = v.select(single, v.i(bytes), v.ceilDiv(v.i(bytes), v.max(v.mul(count, passes), v.i(1))));
  Value stretch = v.mul(words, step), next = v.add(v.mul(outside.emitExpr(shape.panelRows()), bytes), v.mul(v.mul(tile, passes), stretch));
  return {v.at(panel.words, v.select(single, v.i(prefetchWords * bytes), next), v.b.getI8Type()), step, v.select(single, v.i(perPass), stretch)};
}

void IntegerEmitter::emitPlaces(const BodyEmitter &point, const ColumnPanel &panel, Value panelIndex, const PlaceRun &run, Value rowStart) {
  Value firstColumn = v.mul(panelIndex, panelColumns), step = v.i(placeTile->columns());
  BodyEmitter outside = point;
  Value end = v.min(v.i(panelColumns), v.sub(outside.emitExpr(shape.product.columns.extent()), firstColumn));
  Value places = run.pitch ? v.add(v.mul(v.sub(run.lines, 1), run.pitch), run.length) : run.count;
  Value tileCount = placeTile->tilesOf(places), perPart = v.mul(v.ceilDiv(end, step), tileCount), all = v.mul(perPart, run.parts);
  v.loop(v.i(0), end, placeTile->columns(), [&](Value column) {
    Value before = v.add(v.mul(run.part, perPart), v.mul(v.div(column, step), tileCount));
    auto request = [&](Value tile) { return requestOf(panel, v.add(before, tile), all, v.lanes); };
    placeTile->emit(panel, column, run.words, places, words, rowStart, columnStart(), request);
    if (run.pitch)
      placeTile->joinLines(run.lines, run.length, run.pitch);
    epilogue.emitPlaces(point, run.row, run.count, placeTile->sums(), placeTile->pitch(), v.add(firstColumn, column), step);
  });
}

void IntegerEmitter::requestStep(const ColumnPanel &panel, Value tile, Value count, Value step, Value steps) {
  if (!shape.product.packed)
    return;
  Type i8 = v.b.getI8Type();
  BodyEmitter outside = body;
  Value single = v.less(count, v.i(2)), perStep = v.ceilDiv(v.i(MatrixUnit::words * quad * panelColumns), v.max(count, v.i(1)));
  Value ahead = v.select(single, v.i(unitBytesAhead), v.mul(outside.emitExpr(shape.panelRows()), quad * panelColumns));
  Value start = v.at(panel.words, v.add(ahead, v.mul(v.add(v.mul(tile, steps), step), perStep)), i8);
  auto requestTo = [&](unsigned level) {
    return [&, level] { v.loop(v.i(0), perStep, cacheLine, [&](Value line) { v.prefetch(start, line, i8, level); }); };
  };
  v.ifThen(single, requestTo(1), requestTo(2)); // the first cache is full of this panel and of rows
}

void IntegerEmitter::forWidth(Value panelIndex, function_ref<void(unsigned)> emit) {
  std::optional<int64_t> columns = shape.product.columns.extent().constant();
  unsigned rest = columns ? *columns % panelColumns : 0, last = v.lanes;
  while (last < rest)
    last *= 2;
  if (!rest || last >= panelColumns)
    return emit(panelColumns);
  int64_t count = (*columns + panelColumns - 1) / panelColumns;
  if (count == 1)
    return emit(last);
  v.ifThen(v.less(panelIndex, v.i(count - 1)), [&] { emit(panelColumns); }, [&] { emit(last); });
}

//===----------------------------------------------------------------------===//
// Blocks of rows
//===----------------------------------------------------------------------===//

KernelPlan IntegerEmitter::planOfBlocks(const Expr &blocks, int64_t cycles, const Expr &rowWords, int64_t panelsTogether) const {
  KernelPlan plan;
  Expr rows = shape.product.rows.extent();
  plan.items = shape.product.batch.extent() * blocks * panels();
  plan.cost = Expr(cycles) * shape.words() * Expr::ceildiv(rows, Expr::max(blocks, Expr(1)));
  plan.scratchBytes = Expr(quad) * (rowWords + panelWords() + Expr(int64_t(v.lanes)));
  plan.granularity = Expr::max(Expr(1), Expr::min(panels(), Expr(panelsTogether)));
  return plan;
}

void IntegerEmitter::eachBlock(const Expr &blocks, function_ref<void(const BodyEmitter &, Value, Value)> pack,
                               function_ref<void(const BodyEmitter &, Value, Value, Value, Value)> emit) {
  Value rows = body.emitExpr(shape.product.rows.extent()), count = v.max(body.emitExpr(blocks), v.i(1));
  Value low = v.div(rows, count), highBlocks = v.sub(rows, v.mul(low, count));
  v.loop(v.div(f.begin, panelCount), v.ceilDiv(f.end, panelCount), 1, [&](Value block) {
    Value batch = v.div(block, count), number = v.sub(block, v.mul(batch, count)), start = v.mul(block, panelCount);
    BodyEmitter point = body;
    shape.product.batch.bind(v, point, batch, shape.product.batchFlat);
    Value first = v.add(v.mul(number, low), v.min(number, highBlocks));
    Value mine = v.select(v.less(number, highBlocks), v.add(low, 1), low);
    pack(point, first, mine);
    v.loop(v.max(v.sub(f.begin, start), v.i(0)), v.min(v.sub(f.end, start), panelCount), 1,
           [&](Value panel) { emit(point, batch, panel, first, mine); });
  });
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

namespace {
class MatrixEmitter : IntegerEmitter {
public:
  /// `few`: of calls with few rows.
  MatrixEmitter(KernelFunction &f, const IntegerShape &shape, bool few = false);
  void emit();
  KernelPlan plan() const;
  /// Calls have at most so many rows.
  void expectRows(int64_t most) {
    for (int64_t rows = 1; rows <= most; ++rows)
      tiles.allowHeightsOf(epilogue.rowGroups(), rows);
  }
  using IntegerEmitter::error;

private:
  Expr blocks() const { return Expr::ceildiv(shape.product.rows.extent(), Expr(blockRows)); }
  Expr packedWords() const { return packed.size(shape.words(), stride); }
  /// Of the rows, what their sums start with, and lines of rows on the way there.
  Expr rowWords() const { return packedWords() + Expr(stride + WordPacker::lines * (stride + int64_t(v.lanes))); }
  void emitPanel(const BodyEmitter &point, Value batch, Value panelIndex, Value first, Value count);
  void emitRowStarts(Value count);

  int64_t blockRows, stride; ///< of a word's rows, in words
  bool inPlaces;             ///< rows are in the lanes: a block is one tile
  RowGroups packedGroups;
  TiledWords packed;
  Value rowStarts, line, room;
};
} // namespace

/// Blocks of known numbers of rows are of two heights at most.
static std::array<int64_t, 2> blockHeights(int64_t rows, int64_t blockRows) {
  int64_t blocks = std::max<int64_t>(1, (rows + blockRows - 1) / blockRows);
  return {rows / blocks, (rows + blocks - 1) / blocks};
}

static bool fillsLanes(const IntegerShape &shape, int64_t blockRows, int64_t lanes) {
  std::optional<int64_t> words = shape.words().constant(), rows = shape.product.rows.extent().constant();
  if (!rows)
    return schedule::placesPay(words);
  int64_t places = blockHeights(*rows, blockRows)[1];
  return schedule::placesPay(words, places, (places + lanes - 1) / lanes * lanes);
}

static int64_t rowsOfBlock(const IntegerShape &shape) {
  std::optional<int64_t> depth = shape.product.reduced.extent().constant(), rows = shape.product.rows.extent().constant();
  int64_t most = depth ? std::clamp(blockBytes / std::max<int64_t>(*depth, 1), fewestBlockRows, mostBlockRows) : otherwise;
  if (!rows)
    return most;
  int64_t blocks = std::max<int64_t>(1, (*rows + most - 1) / most); // of one size
  return std::max<int64_t>(1, (*rows + blocks - 1) / blocks);
}

MatrixEmitter::MatrixEmitter(KernelFunction &f, const IntegerShape &shape, bool few)
    : IntegerEmitter(f, shape), blockRows(rowsOfBlock(shape)), stride((blockRows + v.lanes - 1) / v.lanes * v.lanes),
      inPlaces(!few && epilogue.takesPlaces() && !tiles.splitsRows() && fillsLanes(shape, blockRows, v.lanes)),
      packedGroups(inPlaces ? RowGroups(v.target, blockRows, false) : epilogue.rowGroups()), packed(v, packedGroups, tiles.splitsRows()) {
  if (inPlaces)
    placeTile.emplace(v, schedule::byteForm(f.isa, shape.pairs.has_value()), stride);
  if (std::optional<int64_t> rows = shape.product.rows.extent().constant()) {
    for (int64_t count : blockHeights(*rows, blockRows))
      inPlaces ? placeTile->allowCountOf(count) : tiles.allowHeightsOf(epilogue.rowGroups(), count);
  }
  packed.place(f.scratch, words);
  rowStarts = word(f.scratch, body.emitExpr(packedWords()));
  line = word(rowStarts, v.i(stride));
  room = word(f.scratch, body.emitExpr(rowWords()));
}

KernelPlan MatrixEmitter::plan() const { return planOfBlocks(blocks(), panelColumns / 2, rowWords(), panelsPerPacking); }

void MatrixEmitter::emit() {
  auto pack = [&](const BodyEmitter &point, Value first, Value count) {
    packer.rows(point, first, count, packed, line, stride + v.lanes);
    emitRowStarts(count);
  };
  eachBlock(blocks(), pack, [&](const BodyEmitter &point, Value batch, Value panel, Value first, Value count) { emitPanel(point, batch, panel, first, count); });
}

/// Columns were shifted by -128: the sums start at 128 times the row's sum.
void MatrixEmitter::emitRowStarts(Value count) {
  if (shape.columnsSigned)
    return;
  Value shift = v.intSplat(int32_t(0x80808080));
  auto sumRows = [&](const TiledWords::Part &tile, Value row) {
    auto sums = v.loop(v.i(0), words, 1, {v.intSplat(0)}, [&](Value w, VectorBuilder::Values s) {
      return VectorBuilder::Values{dotBytes(v, s[0], packed.load(tile, w, row), shift)};
    });
    Value start = v.b.create<arith::SubIOp>(v.loc, v.intSplat(0), sums[0]);
    v.b.create<LLVM::StoreOp>(v.loc, start, word(rowStarts, v.add(tile.first, row)), 4);
  };
  packed.eachTile(count, [&](const TiledWords::Part &tile) {
    packed.eachVector(tile, [&](Value row) { sumRows(tile, row); });
  });
}

void MatrixEmitter::emitPanel(const BodyEmitter &point, Value batch, Value panelIndex, Value first, Value count) {
  ColumnPanel panel = panelAt(point, batch, panelIndex, room);
  if (inPlaces)
    return emitPlaces(point, panel, panelIndex, {{packed.tileAt(v.i(0), v.i(0)), {}, count}, first, count, {}, {}, {}, v.i(0), v.i(1)},
                      shape.columnsSigned ? Value() : rowStarts);
  Value firstColumn = v.mul(panelIndex, panelColumns);
  WordRows at{v.i(1), {}};
  const RowGroups &groups = epilogue.rowGroups();
  Value tileCount = groups.tilesOf(v, count);
  forWidth(panelIndex, [&](unsigned width) {
    groups.each(v, count, [&](const RowGroups::Part &group) {
      Value row = v.add(first, group.first);
      epilogue.request(point, row, group.count, firstColumn, width);
      groups.eachTile(v, group, [&](const RowGroups::Part &tile) {
        Value local = v.add(group.first, tile.first);
        tiles.emit(panel, packed.tileAt(tile.number, local), at, tile.count, words, epilogue.bufferAt(tile.first),
                   shape.columnsSigned ? Value() : word(rowStarts, local), columnStart(), requestOf(panel, tile.number, tileCount, width), width);
      });
      epilogue.emit(point, row, group.count, firstColumn, width);
    });
  });
}

bool lathe::cpu::mayMultiplyByteTiles(const lower::BodyInfo &info) {
  std::optional<IntegerShape> shape = IntegerShape::of(info);
  return shape && (shape->isConvolution() ? stepOfImage(info, *shape).has_value() : UnitEmitter::serves(*shape));
}

static llvm::Expected<bool> outcome(const std::string &error) {
  if (!error.empty())
    return llvm::createStringError(error);
  return true;
}

static llvm::Expected<bool> emitMatrices(KernelFunction &f, const IntegerShape &shape, KernelPlan &plan) {
  bool served = f.isa.multipliesByteTiles() && UnitEmitter::serves(shape), known = shape.product.rows.extent().constant().has_value();
  IntegerShape unshifted = shape.unshifted();
  std::optional<UnitEmitter> unit;
  std::optional<MatrixEmitter> dots;
  if (served)
    unit.emplace(f, unshifted, shape.rowsSigned, shape.columnsSigned);
  if (!served || !known)
    dots.emplace(f, shape, /*few=*/served);
  if (!unit || !dots) {
    unit ? unit->emit() : dots->emit();
    plan = unit ? unit->plan() : dots->plan();
    return outcome(unit ? unit->error() : dots->error());
  }
  // A call decides. Few rows are one block in both ways, with the same items.
  dots->expectRows(UnitEmitter::fewestRows - 1);
  VectorBuilder v(f.b, f.loc, f.isa, shape.product.accumulator);
  Value few = v.less(f.emitExpr(shape.product.rows.extent()), v.i(UnitEmitter::fewestRows));
  v.ifThen(few, [&] { dots->emit(); }, [&] { unit->emit(); });
  plan = unit->plan();
  plan.scratchBytes = Expr::max(plan.scratchBytes, dots->plan().scratchBytes);
  return outcome(unit->error() + dots->error());
}

llvm::Expected<bool> lathe::cpu::emitIntegerProduct(KernelFunction &f, KernelPlan &plan) {
  std::optional<IntegerShape> shape = IntegerShape::of(f.info);
  if (!shape)
    return false;
  if (shape->isConvolution())
    return emitIntegerConvolution(f, *shape, plan);
  // Rows of an image's places are one line: a vector at the end of each line of pixels would be masked.
  OpBuilder copies(f.kernel);
  auto copy = cast<kernel::GenericOp>(copies.clone(*f.kernel));
  auto erase = llvm::make_scope_exit([&] { copy.erase(); });
  std::set<std::string> rows;
  for (unsigned a : shape->product.rows.axes)
    rows.insert(f.info.axes[a]);
  lower::mergeAxes(copy, rows);
  lower::BodyInfo info(copy);
  KernelFunction merged{copy, info, f.isa, f.hooks, f.b, f.loc, f.refs, f.sizes, f.begin, f.end, f.scratch, f.schedule, f.facts, f.run};
  merged.sizes.clear();
  for (const std::string &s : info.sizes)
    merged.sizes.push_back(f.sizes[llvm::find(f.info.sizes, s) - f.info.sizes.begin()]);
  shape = IntegerShape::of(info);
  if (!shape)
    return false;
  return emitMatrices(merged, *shape, plan);
}
