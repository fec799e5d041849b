//===- TfIdf.cpp - Counts of n-grams ---------------------------------------===//
//
// All windows of a length and a distance are compared with all n-grams of that length at once; a product with a matrix of
// zeros and ones brings the counts to their places in the result.
//
//===----------------------------------------------------------------------===//

#include "Node.h"

using namespace lathe;
using ir::ReduceKind;
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
  Value matches(int64_t length, int64_t distance, llvm::ArrayRef<int64_t> grams);
  Value weighted(Value counts);

  Node &n;
  std::string mode;
  SmallVector<int64_t> pool, starts, indexes;
  int64_t shortest = 1, longest = 1, skips = 0, width = 0, items = 0;
  Value x;      ///< [rows, items] of i64
  Value counts; ///< [rows, width]
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

/// How often each n-gram occurs with the distance between its items, [rows, grams]; null where the rows are too short.
Value TfIdf::matches(int64_t length, int64_t distance, llvm::ArrayRef<int64_t> grams) {
  int64_t windows = items - (length - 1) * distance, count = grams.size() / length;
  if (windows < 1)
    return {};
  Dims cube{n.dim(x, 0), Expr(windows), Expr(count)};
  Value all;
  for (int64_t j = 0; j < length; ++j) {
    SmallVector<int64_t> item;
    for (int64_t i = 0; i < count; ++i)
      item.push_back(grams[i * length + j]);
    Value here = n.g.broadcastTo(n.g.unsqueeze(n.g.slice(x, 1, Expr(j * distance), Expr(windows)), {2}), cube);
    Value same = n.g.compare(ir::CompareKind::EQ, here, n.g.broadcastTo(n.g.integers(item), cube));
    all = all ? n.g.binary<ir::AndOp>(all, same) : same;
  }
  return n.g.reduce(ReduceKind::Sum, n.g.cast(all, n.g.b.getF32Type()), {1}, false);
}

void TfIdf::countGrams(int64_t length, llvm::ArrayRef<int64_t> grams, llvm::ArrayRef<int64_t> columns) {
  Value sum;
  for (int64_t distance = 1; distance <= (length == 1 ? 1 : skips + 1); ++distance)
    if (Value m = matches(length, distance, grams))
      sum = sum ? n.g.add(sum, m) : m;
  if (!sum)
    return;
  Dims places{Expr(int64_t(columns.size())), Expr(width)};
  Value column = n.g.broadcastTo(n.g.unsqueeze(n.g.integers(columns), {1}), places);
  Value toPlaces = n.g.compare(ir::CompareKind::EQ, column, n.g.iota(places, 1, n.g.b.getI64Type()));
  Value placed = n.g.contract(sum, n.g.cast(toPlaces, n.element(sum)), {}, {}, {1}, {0});
  counts = n.g.add(counts, placed);
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
  Expr rows = dims.size() == 2 ? dims[0] : Expr(1), length = dims.empty() ? Expr(1) : n.simplify(dims.back());
  if (!length.constant())
    failUnsupported("rows of the symbolic length {0}", length.str());
  items = *length.constant();
  x = n.g.cast(n.reshape(input, {rows, length}), n.g.b.getI64Type());
  counts = n.g.splat(0, {rows, Expr(width)}, n.g.b.getF32Type());
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
  n.out(n.reshape(weighted(counts), out));
}

} // namespace

void tfIdfVectorizer(Node &n) { TfIdf(n).build(); }

} // namespace lathe::onnx
