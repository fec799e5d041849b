//===- TfIdf.cpp - Counts of n-grams ---------------------------------------===//
//
// The pool is a tree of prefixes. Each item of a row becomes its number among the pool's items; a window goes down the tree item by item, each time
// by looking its place and the next item up among the pairs that continue there; where it ends says to which of the result's columns it adds one.
// The work grows with the windows and the logarithm of the pool.
//
//===----------------------------------------------------------------------===//

#include "Dictionary.h"
#include "lathe/Dialect/Lathe/Scatter.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

namespace {

class TfIdf {
public:
  explicit TfIdf(Node &n) : n(n) {}
  void build();

private:
  void readAttributes();
  void countGrams(int64_t length, llvm::ArrayRef<int64_t> grams, llvm::ArrayRef<int64_t> columns);
  void addPlaces(Value ends, llvm::ArrayRef<SmallVector<int64_t>> columnsOf);
  Value walk(int64_t length, int64_t distance, llvm::ArrayRef<SmallVector<int64_t>> levels);
  Value counted();
  Value weighted(Value counts);

  Node &n;
  std::string mode;
  SmallVector<int64_t> pool, starts, indexes;
  int64_t shortest = 1, longest = 1, skips = 0, width = 0;
  Expr rows, items;
  std::map<int64_t, int64_t> numbers;  ///< of the pool's items
  Value x;                             ///< [rows, items], each item's number, one more than the last where the pool has none
  SmallVector<Value> places;           ///< [rows, windows] each: columns to add one to, the width for none
};

void TfIdf::readAttributes() {
  if (n.attribute("pool_strings"))
    failUnsupported("n-grams of strings");
  mode = n.text("mode", "");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF")
    failWrong("attribute 'mode' is '{0}', expected TF, IDF or TFIDF", mode);
  pool = n.integers("pool_int64s");
  starts = n.integers("ngram_counts");
  indexes = n.integers("ngram_indexes");
  shortest = n.requiredInteger("min_gram_length");
  longest = n.requiredInteger("max_gram_length");
  skips = n.requiredInteger("max_skip_count");
  if (shortest < 1 || longest < shortest || longest > 64 || skips < 0 || skips > 1024)
    failWrong("n-grams of {0} to {1} items with {2} skipped", shortest, longest, skips);
  for (int64_t i : indexes) {
    if (i < 0 || i > (1 << 24))
      failWrong("attribute 'ngram_indexes' holds {0}", i);
    width = std::max(width, i + 1);
  }
  int64_t before = 0;
  for (int64_t s : starts) {
    if (s < before || s > int64_t(pool.size()))
      failWrong("attribute 'ngram_counts' holds {0} for {1} items", s, pool.size());
    before = s;
  }
}

/// Down the tree of all n-grams of a length: level i has the pairs of a place and an item that its places are, as numbers.
Value TfIdf::walk(int64_t length, int64_t distance, llvm::ArrayRef<SmallVector<int64_t>> levels) {
  Expr windows = n.simplify(Expr::max(items - Expr((length - 1) * distance), Expr(0)));
  if (windows.isZero())
    return {};
  Value place;
  for (int64_t j = 0; j < length; ++j) {
    Value key = n.g.slice(x, 1, Expr(j * distance), windows);
    if (place)
      key = n.g.add(n.g.binary<ir::MulOp>(place, double(numbers.size() + 1)), key);
    place = placeAmong(n, key, levels[j]);
  }
  return place;
}

/// `columnsOf`: of each place at the tree's end.
void TfIdf::addPlaces(Value ends, llvm::ArrayRef<SmallVector<int64_t>> columnsOf) {
  size_t most = 0;
  for (const SmallVector<int64_t> &columns : columnsOf)
    most = std::max(most, columns.size());
  for (size_t round = 0; round < most; ++round) {
    SmallVector<int64_t> table;
    for (const SmallVector<int64_t> &columns : columnsOf)
      table.push_back(round < columns.size() ? columns[round] : width);
    table.push_back(width);
    places.push_back(n.g.gather(n.g.integers(table), ends, 0));
  }
}

void TfIdf::countGrams(int64_t length, llvm::ArrayRef<int64_t> grams, llvm::ArrayRef<int64_t> columns) {
  SmallVector<SmallVector<int64_t>> levels(length), columnsOf;
  std::vector<std::map<int64_t, int64_t>> known(length);
  for (size_t i = 0; i < columns.size(); ++i) {
    int64_t place = 0;
    for (int64_t j = 0; j < length; ++j) {
      int64_t key = (j ? place * int64_t(numbers.size() + 1) : 0) + numbers[grams[i * length + j]];
      auto [at, added] = known[j].try_emplace(key, levels[j].size());
      if (added)
        levels[j].push_back(key);
      place = at->second;
    }
    columnsOf.resize(levels.back().size());
    columnsOf[place].push_back(columns[i]);
  }
  for (int64_t distance = 1; distance <= (length == 1 ? 1 : skips + 1); ++distance)
    if (Value ends = walk(length, distance, levels))
      addPlaces(ends, columnsOf);
}

/// [rows, width]; a column behind them takes what is no n-gram.
Value TfIdf::counted() {
  Type f32 = n.g.b.getF32Type();
  if (places.empty())
    return n.g.splat(0, {rows, Expr(width)}, f32);
  Value at = places.size() == 1 ? places.front() : n.g.concat(places, 1);
  Value counts = n.g.splat(0, {rows, Expr(width + 1)}, f32);
  counts = ir::scatterAlong(n.g, ir::ScatterKind::Add, counts, at, n.g.splat(1, n.dims(at), f32), 1);
  return n.g.slice(counts, 1, Expr(0), Expr(width));
}

Value TfIdf::weighted(Value y) {
  SmallVector<float> weights;
  if (const AttributeProto *a = n.attribute("weights"))
    weights.assign(a->floats().begin(), a->floats().end());
  Value weight;
  if (!weights.empty()) {
    // One weight per n-gram, in the order of their indexes.
    SmallVector<float> byPlace(width, 0);
    for (size_t i = 0; i < indexes.size() && i < weights.size(); ++i)
      byPlace[indexes[i]] = weights[i];
    auto type = RankedTensorType::get({width}, n.g.b.getF32Type());
    weight = n.g.broadcastTo(n.constant(mlir::DenseElementsAttr::get(type, llvm::ArrayRef<float>(byPlace))), n.dims(y));
  }
  if (mode == "IDF")
    y = n.g.cast(n.g.compare(ir::CompareKind::GT, y, n.g.splatLike(0, y)), n.element(y));
  return weight && mode != "TF" ? n.g.mul(y, weight) : y;
}

void TfIdf::build() {
  readAttributes();
  Value input = n.in(0);
  n.requireInteger(input);
  if (n.rank(input) > 2)
    failWrong("operand {0} must have rank 0, 1 or 2", describe(input.getType()));
  Dims dims = n.dims(input);
  rows = dims.size() == 2 ? dims[0] : Expr(1);
  items = dims.empty() ? Expr(1) : n.simplify(dims.back());
  SmallVector<int64_t> distinct;
  for (int64_t item : pool)
    if (numbers.try_emplace(item, distinct.size()).second)
      distinct.push_back(item);
  x = placeAmong(n, n.g.cast(n.reshape(input, {rows, items}), n.g.b.getI64Type()), distinct);
  size_t gram = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    int64_t end = i + 1 < starts.size() ? starts[i + 1] : int64_t(pool.size()), size = i + 1;
    int64_t count = (end - starts[i]) / size;
    if (gram + count > indexes.size())
      failWrong("{0} indexes for {1} n-grams", indexes.size(), gram + count);
    if (count && size >= shortest && size <= longest)
      countGrams(size, llvm::ArrayRef(pool).slice(starts[i], count * size), llvm::ArrayRef(indexes).slice(gram, count));
    gram += count;
  }
  Dims out{Expr(width)};
  if (dims.size() == 2)
    out.insert(out.begin(), dims[0]);
  n.out(n.reshape(weighted(counted()), out));
}

} // namespace

void tfIdfVectorizer(Node &n) { TfIdf(n).build(); }

} // namespace lathe::onnx
