//===- ContractionTile.cpp - Micro-kernels of a contraction ----------------===//

#include "ContractionTile.h"
#include "HalfPairs.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using shape::Expr;
using Values = VectorBuilder::Values;

constexpr unsigned unroll = 4;
/// Rows of the panel that are requested from memory ahead of their use.
constexpr unsigned prefetchRows = 32;
/// Tiles that request a part of the next panel each, at most: a power of two.
constexpr int64_t mostRequesting = 4;
/// Tiles whose reading of a panel makes up for the first one's waiting.
constexpr int64_t manyReaders = 8;
/// Elements of a packed operand that is worth requesting panel by panel.
constexpr int64_t fewestRequested = 1 << 16;
/// Elements of one that does not stay in the second-level cache from call to call. Smaller ones are requested where several tiles
/// read each panel: a single one reads it once, in order, and requests its rows as it goes.
constexpr int64_t fewestStreamed = 1 << 19;
/// Of 4 bytes; narrower ones are requested twice.
constexpr unsigned elementsPerLine = 16;
/// Rows at one open distance that share a register: the second and the third lie once and twice as far behind it as an index register says.
constexpr unsigned rowsPerBase = 3;
/// Points of a sum over lines that are code of their own.
constexpr int64_t mostWrittenOut = 24;
/// Sums in flight that hide the latency of a multiply-add.
constexpr unsigned sumsInFlight = 8;

ContractionTile::ContractionTile(VectorBuilder &v, const ContractionShape &shape, Type panelType, Value lhs)
    : v(v), shape(shape), panelType(panelType), lhs(lhs), prefetched(shape.packed) {}

/// Registers beside the sums: the panel's vectors, one element of the rows, and a product where it is not fused.
static unsigned spareRegisters(const Isa &target) { return target.fma ? 1 : 3; }

unsigned ContractionTile::maxRows() const {
  return std::min(rowLimit, (v.target.registers - 2 - spareRegisters(v.target)) / 2);
}

void ContractionTile::allowHeightsOf(int64_t count) { addEvenHeights(heights, count, maxRows()); }

/// Columns per pass over the rows, in vectors: as many as the registers hold.
unsigned ContractionTile::vectorsFor(unsigned rows, unsigned width) const {
  unsigned all = (width + v.lanes - 1) / v.lanes;
  while (all > 2 && rows * all + (rows > 1 ? all : 1) + spareRegisters(v.target) > v.target.registers)
    all /= 2;
  return all;
}

/// The first half of one vector, and that of another one behind it.
Value ContractionTile::halvesOf(Value first, Value second) {
  SmallVector<int64_t> lanes = llvm::to_vector(llvm::seq<int64_t>(0, v.lanes / 2));
  for (unsigned i = 0; i < v.lanes / 2; ++i)
    lanes.push_back(v.lanes + i);
  return v.shuffle(first, second, lanes);
}

Values ContractionTile::firstSums(unsigned sets, unsigned rows, unsigned vectors, Value column) {
  Values sums(rows * vectors * sets, v.f(0));
  for (unsigned i = 0; sumsBefore && i < rows * vectors; ++i)
    sums[i] = v.load(sumsBefore, v.add(column, i / vectors * panelColumns + i % vectors * v.lanes));
  for (unsigned set = 0; endsInHalf && set < sets; ++set)
    for (unsigned r = 0; r < rows; ++r) {
      Value &half = sums[(set * rows + r + 1) * vectors - 1];
      half = holdsTwo(r, rows, vectors) ? halvesOf(half, sums[(set * rows + r + 2) * vectors - 1]) : narrowed(half, VectorType::get(v.lanes / 2, v.element));
    }
  return sums;
}

/// A vector of a row's sums; behind half a vector come zeros.
Value ContractionTile::finalSum(ArrayRef<Value> sums, unsigned r, unsigned q, unsigned rows, unsigned vectors) {
  bool half = isHalf(q, vectors), second = half && r && holdsTwo(r - 1, rows, vectors);
  if (!half)
    return sums[r * vectors + q];
  Value sum = sums[(r - second) * vectors + q];
  if (sum.getType() != v.vec)
    return widened(sum);
  SmallVector<int64_t> lanes = llvm::to_vector(llvm::seq<int64_t>(second * v.lanes / 2, (second + 1) * v.lanes / 2));
  return widened(v.shuffle(sum, sum, lanes));
}

/// The first lanes of a vector, as many as `type` has.
Value ContractionTile::narrowed(Value vector, Type type) {
  if (vector.getType() == type)
    return vector;
  return v.shuffle(vector, vector, llvm::to_vector(llvm::seq<int64_t>(0, cast<VectorType>(type).getNumElements())));
}

/// A half of a vector, twice.
Value ContractionTile::repeated(Value half) {
  SmallVector<int64_t> lanes;
  for (unsigned i = 0; i < v.lanes; ++i)
    lanes.push_back(i % (v.lanes / 2));
  return v.shuffle(half, half, lanes);
}

/// A half of a vector with zeros behind it.
Value ContractionTile::widened(Value vector) {
  if (vector.getType() == v.vec)
    return vector;
  Value zero = v.b.create<arith::ConstantOp>(v.loc, v.b.getZeroAttr(vector.getType()));
  return v.shuffle(vector, zero, llvm::to_vector(llvm::seq<int64_t>(0, v.lanes)));
}

SmallVector<int64_t> ContractionTile::heightsToEmit() const {
  if (which == Which::Highest)
    return {int64_t(maxRows())};
  SmallVector<int64_t> result(heights.begin(), heights.end());
  for (unsigned r = 1; heights.empty() && r <= maxRows() - (which == Which::Lower); ++r)
    result.push_back(r);
  return result;
}

void ContractionTile::emit(const lower::BodyEmitter &base, Value panel, Value row, Value rows, Value depth, Value tile,
                           unsigned width) {
  v.choose(rows, heightsToEmit(), [&](int64_t r) { emitRows(base, panel, row, r, depth, tile, width); });
}

void ContractionTile::emitRows(const lower::BodyEmitter &base, Value panel, Value row, unsigned rows, Value depth,
                               Value tile, unsigned width) {
  unsigned vectors = vectorsFor(rows, width), all = (width + v.lanes - 1) / v.lanes;
  endsInHalf = width % v.lanes != 0;
  unsigned sets = 1;
  while (rows * vectors * sets < sumsInFlight && sets < unroll)
    sets *= 2;
  auto pass = [&](Value column) {
    Value from = v.at(panel, column, panelType);
    if (nextPanel) { // each pass its part
      aheadElements = panelColumns / ((fewRequest ? 2 : requestingTiles) * (all / vectors));
      aheadStep = fewRequest ? v.select(fewRequest, v.i(aheadElements), v.i(2 * aheadElements / mostRequesting)) : v.i(aheadElements);
      Value part = v.add(v.mul(requesting, all / vectors), v.div(column, vectors * v.lanes));
      ahead = v.at(nextPanel, v.mul(part, v.mul(depth, aheadStep)), panelType);
    }
    if (tileOfRows) // packed from vectors of places, which are constants of outer loops
      v.freeRegisters();
    Values sums = firstSums(sets, rows, vectors, column);
    std::optional<Expr> stride = shape.reduced.strideOf(shape.lhs);
    if (rowsInLines.memory) {
      sums = overLines(0, rowsInLines.memory, from, v.i(0), v.div(depth, v.i(pointsFrom(1))), rows, vectors, sums);
    } else if (packedRow || tileOfRows) {
      lower::BodyEmitter point = base;
      sums = innerLoop(point, row, from, depth, v.i(tileOfRows ? tilePitch : 1), rows, vectors, sums);
    } else if (stride) {
      lower::BodyEmitter point = base;
      shape.reduced.bindFirst(v, point);
      sums = innerLoop(point, row, from, depth, point.emitExpr(*stride), rows, vectors, sums);
    } else {
      sums = sumOver(0, base, row, from, rows, vectors, sums);
    }
    unsigned count = rows * vectors;
    for (unsigned live = sets; live > 1; live /= 2)
      for (unsigned k = 0; k < count * live / 2; ++k)
        sums[k] = v.addf(sums[k], sums[k + count * live / 2]);
    for (unsigned r = 0; r < rows; ++r)
      for (unsigned q = 0; q < vectors; ++q) {
        Value sum = finalSum(sums, r, q, rows, vectors);
        takeSums ? takeSums(r, v.add(column, q * v.lanes), sum) : v.store(sum, tile, v.add(column, r * panelColumns + q * v.lanes));
      }
  };
  if (vectors == all)
    pass(v.i(0));
  else
    v.loop(v.i(0), v.i(width), vectors * v.lanes, pass);
}

/// Has the packed operand so many elements, as far as the sizes are known?
bool ContractionTile::mayHave(int64_t elements) const {
  std::optional<int64_t> depth = shape.reduced.extent().constant(), columns = shape.columns.extent().constant();
  return !depth || !columns || *depth * *columns >= elements;
}

/// A single row reads panel after panel as they lie, which processors look ahead of by themselves. With requests on top products of 1x1280x1280 with
/// weights in the third-level cache take 1.37 times as long, a token of LLaMA from memory 1.12 to 1.19 times (Zen 5), with AVX2 1.18 times (Zen 3). In
/// shorter loads too few of them are in flight. From the second-level cache they take 1.03 times as long in a step of an LSTM (Sapphire Rapids, 1 MB), and
/// 0.90 (Zen 3, 256 KB of 512).
static bool looksAhead(const Isa &target, unsigned rows) { return rows == 1 && target.vectorBytes >= 32; }

/// Processors look some lines ahead along each of several pages: four streams come from memory at 19.8 GB/s where one does at 14.8 (Emerald Rapids), and as fast from
/// the third-level cache.
std::optional<unsigned> ContractionTile::streams() const {
  constexpr unsigned most = 4;
  std::optional<int64_t> depth = shape.reduced.extent().constant(), columns = shape.columns.extent().constant();
  unsigned vectors = panelColumns / v.lanes, fit = std::min(most, v.target.registers / 2 / vectors);
  if (!shape.packed || !depth || !columns || *depth * *columns < fewestStreamed || fit < 2 || !shape.reduced.strideOf(shape.lhs))
    return std::nullopt;
  return llvm::bit_floor(fit);
}

void ContractionTile::emitStreams(const lower::BodyEmitter &base, Value panel, Value depth, unsigned panels, Value tile) {
  lower::BodyEmitter point = base;
  shape.reduced.bindFirst(v, point);
  Value stride = point.emitExpr(*shape.reduced.strideOf(shape.lhs));
  Row row = rowsAt(point, v.i(0), 1).front();
  unsigned vectors = panelColumns / v.lanes;
  Values starts;
  for (unsigned p = 0; p < panels; ++p)
    starts.push_back(v.at(panel, v.mul(v.mul(depth, panelColumns), p), panelType));
  Values sums = v.unrolled(v.i(0), depth, unroll / 2, Values(panels * vectors, v.f(0)), [&](Value k, unsigned u, Values state) {
    Value element = v.loadScalar(v.at(row.start, v.mul(v.add(k, u), stride), shape.lhsType), v.i(row.displacement), shape.lhsType);
    Value spread = v.splat(element);
    for (unsigned i = 0; i < panels * vectors; ++i) {
      Value from = v.at(starts[i / vectors], v.mul(k, panelColumns), panelType);
      state[i] = v.fma(spread, v.loadConverted(from, v.i(u * panelColumns + i % vectors * v.lanes), panelType), state[i]);
    }
    return state;
  });
  for (unsigned i = 0; i < panels * vectors; ++i)
    v.store(sums[i], tile, v.i(i * v.lanes));
}

/// Are a panel's rows requested a little ahead of their use? With sixteen registers a tile has so few rows that loads take two thirds of their slots, and
/// requests on top 3 to 7 % of the time: what many tiles read waits once, or where there are lower tiles, which come first, is requested by these.
bool ContractionTile::requestsRows(unsigned rows) const {
  if (!prefetched || looksAhead(v.target, rows))
    return false;
  if (v.target.registers >= 32)
    return true;
  return readers ? *readers < manyReaders : which == Which::Lower || rows <= maxRows() / 2;
}

/// A single tile reads one panel after the other, as they lie, and requests its rows as it goes.
void ContractionTile::setReaders(int64_t most, int64_t least) {
  readers = most;
  requestingTiles = least > 1 ? llvm::bit_floor(uint64_t(std::min(least, mostRequesting))) : mostRequesting;
}

/// Of an open number of tiles each requests as often as two would; where there are four, some lines are requested twice, for which sixteen registers leave
/// no slots.
void ContractionTile::requestNext(Value panel, Value tile, Value depth, Value tiles) {
  request(v.at(panel, v.mul(depth, panelColumns), panelType), tile, tiles);
}

void ContractionTile::request(Value next, Value tile, Value tiles) {
  if (!shape.packed || !mayHave(fewestRequested))
    return;
  nextPanel = next;
  if (!tiles || readers || v.target.registers < 32) {
    requesting = v.min(tile, v.i(requestingTiles - 1));
    return;
  }
  fewRequest = v.b.createOrFold<arith::AndIOp>(v.loc, v.less(v.i(1), tiles), v.less(tiles, v.i(mostRequesting)));
  requesting = v.min(tile, v.select(fewRequest, v.i(1), v.i(mostRequesting - 1)));
}

/// Loops over the reduced axes from `level` on, each in a loop of its own.
Values ContractionTile::sumOver(size_t level, lower::BodyEmitter point, Value row, Value panel, unsigned rows,
                                unsigned vectors, Values sums) {
  const AxisGroup &reduced = shape.reduced;
  const std::string &axis = reduced.info->axes[reduced.axes[level]];
  Value extent = point.emitExpr(reduced.info->extents[reduced.axes[level]]);
  if (level + 1 < reduced.axes.size()) {
    Expr inner(1);
    for (size_t l = level + 1; l < reduced.axes.size(); ++l)
      inner = inner * reduced.info->extents[reduced.axes[l]];
    Value step = v.mul(point.emitExpr(inner), panelColumns);
    return v.loop(v.i(0), extent, 1, sums, [&](Value x, Values state) {
      lower::BodyEmitter at = point;
      at.bindAxis(axis, x);
      return sumOver(level + 1, at, row, v.at(panel, v.mul(x, step), panelType), rows, vectors, state);
    });
  }
  if (std::optional<Expr::Linear> linear = shape.lhs.linearIn(axis)) {
    lower::BodyEmitter at = point;
    at.bindAxis(axis, v.i(0));
    return innerLoop(at, row, panel, extent, at.emitExpr(linear->coefficient), rows, vectors, sums);
  }
  return v.loop(v.i(0), extent, 1, sums, [&](Value x, Values state) {
    lower::BodyEmitter at = point;
    at.bindAxis(axis, x);
    return innerLoop(at, row, v.at(panel, v.mul(x, panelColumns), panelType), v.i(1), v.i(0), rows, vectors, state);
  });
}

/// Where each row of the tile starts. Rows at one known distance share a base register. Others have one each, which keeps them
/// apart: what is left to derive each row's address from the one before it adds up addresses between the loads, and holds back
/// more loaded elements than there are registers.
SmallVector<ContractionTile::Row> ContractionTile::rowsAt(lower::BodyEmitter point, Value row, unsigned count) const {
  SmallVector<Row> result;
  auto add = [&](Value start, int64_t displacement) { result.push_back({v.at(lhs, start, shape.lhsType), displacement, {}}); };
  if (tileOfRows) {
    for (unsigned r = 0; r < count; ++r)
      result.push_back({tileOfRows, int64_t(r), {}});
    return result;
  }
  if (packedRow) {
    for (unsigned r = 0; r < count; ++r)
      add(v.mul(row, *packedRow), *packedRow * int64_t(r));
    return result;
  }
  std::optional<Expr> stride = shape.rows.strideOf(shape.lhs);
  if (!stride) {
    // One division for the first row; the next ones are carried.
    lower::BodyEmitter at = point;
    shape.rows.bind(v, at, row, /*flat=*/false);
    for (unsigned r = 0; r < count; ++r) {
      if (r)
        shape.rows.advance(v, at);
      add(at.emitExpr(shape.lhs), 0);
      result.back().start = v.apart(result.back().start);
    }
    return result;
  }
  shape.rows.bind(v, point, row, /*flat=*/true);
  Value start = point.emitExpr(shape.lhs);
  std::optional<int64_t> known = stride->constant();
  Value step = known ? Value() : point.emitExpr(*stride);
  for (unsigned r = 0; r < count; ++r) {
    if (known) {
      add(start, *known * int64_t(r));
      continue;
    }
    if (r % rowsPerBase == 0) {
      add(r ? v.add(start, v.mul(step, r)) : start, 0);
      result.back().start = v.apart(result.back().start);
    } else {
      Row of = result[r - r % rowsPerBase];
      of.steps = v.mul(step, r % rowsPerBase);
      result.push_back(of);
    }
  }
  return result;
}

/// A row of the panel, which lies `u` rows behind the pointer.
Values ContractionTile::columnsAt(Value panelRow, unsigned u, unsigned rows, unsigned vectors) {
  Values columns;
  for (unsigned q = 0; q < vectors; ++q) {
    if (requestsRows(rows) && q * v.lanes % elementsPerLine == 0)
      v.prefetch(panelRow, v.i((u + prefetchRows) * panelColumns + q * v.lanes), panelType);
    Value at = v.i(u * panelColumns + q * v.lanes), half = isHalf(q, vectors) ? v.loadPart(panelRow, at, v.lanes / 2) : Value();
    if (half)
      columns.push_back(holdsTwo(0, rows, vectors) ? repeated(half) : half);
    else
      columns.push_back(v.loadConverted(panelRow, at, panelType));
  }
  return columns;
}

/// What point k + u of a pass requests of the next panel.
void ContractionTile::requestPart(Value k, unsigned u, unsigned rows) {
  bool requests = ahead && !looksAhead(v.target, rows) && (rows > maxRows() / 2 || mayHave(fewestStreamed));
  for (unsigned at = u * aheadElements; requests && at < (u + 1) * aheadElements; ++at)
    if (at % elementsPerLine == 0)
      v.prefetch(ahead, v.add(v.mul(k, aheadStep), fewRequest ? v.mul(v.i(u), aheadStep) : v.i(at)), panelType, 2);
}

/// Adds an element of row `r` times the columns to its sums, or for the first of two rows whose halves share a vector keeps it for the second's.
void ContractionTile::addProducts(unsigned r, unsigned rows, Value element, ArrayRef<Value> columns, MutableArrayRef<Value> sums) {
  unsigned vectors = columns.size();
  Value spread = endsInHalf && vectors > 1 ? v.opaque(v.splat(element)) : v.splat(element);
  for (auto [q, column] : llvm::enumerate(columns)) {
    Value &sum = sums[r * vectors + q];
    if (pairs) {
      sum = HalfPairs::dot(v, spread, column, sum);
    } else if (isHalf(q, vectors) && holdsTwo(r, rows, vectors)) {
      firstOfTwo = spread;
    } else if (isHalf(q, vectors) && r && holdsTwo(r - 1, rows, vectors)) {
      Value &both = sums[(r - 1) * vectors + q];
      both = v.fma(halvesOf(firstOfTwo, spread), column, both);
    } else {
      sum = v.fma(narrowed(spread, sum.getType()), narrowed(column, sum.getType()), sum);
    }
  }
}

Values ContractionTile::innerLoop(lower::BodyEmitter &point, Value row, Value panel, Value count, Value stride, unsigned rows,
                                  unsigned vectors, Values sums) {
  SmallVector<Row> starts = rowsAt(point, row, rows);
  if (pairedPanel)
    return overPairs(starts, panel, count, vectors, sums);
  std::optional<int64_t> step = getConstantIntValue(stride);
  unsigned perSet = rows * vectors, sets = sums.size() / perSet;
  return v.unrolled(v.i(0), count, unroll, sums, [&](Value k, unsigned u, Values state) {
    Values columns = columnsAt(v.at(panel, v.mul(k, panelColumns), panelType), u, rows, vectors);
    requestPart(k, u, rows);
    Value moved = v.mul(step ? k : v.add(k, u), stride);
    int64_t fixed = step ? *step * int64_t(u) : 0;
    for (unsigned r = 0; r < rows; ++r) {
      Value base = v.at(starts[r].start, moved, shape.lhsType);
      if (starts[r].steps)
        base = v.at(base, starts[r].steps, shape.lhsType);
      Value element = v.loadScalar(base, v.i(starts[r].displacement + fixed), shape.lhsType);
      addProducts(r, rows, element, columns, MutableArrayRef<Value>(state).slice((u % sets) * perSet, perSet));
    }
    return state;
  });
}

/// Words of the panel, and two elements of each row that lie side by side.
Values ContractionTile::overPairs(ArrayRef<Row> starts, Value panel, Value words, unsigned vectors, Values sums) {
  unsigned rows = starts.size(), perSet = rows * vectors, sets = sums.size() / perSet;
  return v.unrolled(v.i(0), words, unroll / 2, sums, [&](Value k, unsigned u, Values state) {
    Value at = v.at(panel, v.mul(k, panelColumns), panelType);
    Values both = columnsAt(at, u, rows, vectors);
    requestPart(k, u, rows);
    for (unsigned half : {0, 1}) {
      Values columns;
      // Beside the sums sixteen registers have no room for words that wait: they are read again.
      Value again = half && v.target.registers < 32 ? v.opaque(at) : Value();
      for (auto [q, word] : llvm::enumerate(both)) {
        Value mine = again ? v.load(again, v.i(u * panelColumns + q * v.lanes)) : word;
        columns.push_back(HalfPairs::elementsOf(v, mine, half));
      }
      for (unsigned r = 0; r < rows; ++r) {
        Value base = v.at(starts[r].start, v.mul(k, 2), shape.lhsType);
        if (starts[r].steps)
          base = v.at(base, starts[r].steps, shape.lhsType);
        Value element = v.loadScalar(base, v.i(starts[r].displacement + 2 * u + half), shape.lhsType);
        addProducts(r, rows, element, columns, MutableArrayRef<Value>(state).slice((2 * u + half) % sets * perSet, perSet));
      }
    }
    return state;
  });
}

/// Of the summed axes of rows in lines.
int64_t ContractionTile::pointsFrom(size_t level) const {
  int64_t points = 1;
  for (const Lines::Level &l : ArrayRef(rowsInLines.levels).drop_front(level))
    points *= l.extent;
  return points;
}

Value ContractionTile::inLines(Value memory, Value lines, Value elements) {
  return v.at(v.at(memory, v.mul(lines, rowsInLines.pitch), shape.lhsType), elements, shape.lhsType);
}

/// The points of the levels from `level` on, `first` the first of them: written out where they are few, in loops otherwise.
Values ContractionTile::overLines(size_t level, Value memory, Value panel, Value first, Value count, unsigned rows, unsigned vectors, Values sums) {
  const Lines::Level &axis = rowsInLines.levels[level];
  if (getConstantIntValue(count) == std::optional(axis.extent) && pointsFrom(level) <= mostWrittenOut)
    return addPoints(level, memory, panel, first, rows, vectors, sums);
  return v.loop(v.i(0), count, 1, sums, [&](Value x, Values state) {
    Value at = inLines(memory, v.mul(x, axis.lines), axis.lines ? v.i(0) : x), point = v.mul(x, pointsFrom(level + 1));
    Value further = v.at(panel, v.mul(point, panelColumns), panelType);
    if (level + 1 == rowsInLines.levels.size())
      return addPoints(level + 1, at, further, v.add(first, point), rows, vectors, state);
    return overLines(level + 1, at, further, v.add(first, point), v.i(rowsInLines.levels[level + 1].extent), rows, vectors, state);
  });
}

Values ContractionTile::addPoints(size_t level, Value memory, Value panel, Value first, unsigned rows, unsigned vectors, Values sums) {
  unsigned perSet = rows * vectors, sets = sums.size() / perSet;
  for (unsigned k = 0; k < pointsFrom(level); ++k) {
    int64_t lines = 0, elements = 0, rest = k;
    for (size_t l = rowsInLines.levels.size(); l-- > level; rest /= rowsInLines.levels[l].extent) {
      int64_t x = rest % rowsInLines.levels[l].extent;
      rowsInLines.levels[l].lines ? lines += x * rowsInLines.levels[l].lines : elements += x;
    }
    Values columns = columnsAt(panel, k, rows, vectors);
    requestPart(first, k, rows);
    // Rows read what others read at other points: kept for these, it would take the registers of the sums.
    Value at = v.apart(inLines(memory, v.i(lines), v.i(elements)));
    for (unsigned r = 0; r < rows; ++r) {
      Value element = v.loadScalar(at, v.i(r * rowsInLines.rowStep), shape.lhsType);
      addProducts(r, rows, element, columns, MutableArrayRef<Value>(sums).slice((k % sets) * perSet, perSet));
    }
  }
  return sums;
}
