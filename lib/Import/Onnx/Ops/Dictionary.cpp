//===- Dictionary.cpp - Elements looked up among constant keys -------------===//

#include "Dictionary.h"
#include "lathe/Dialect/Lathe/SortedSearch.h"
#include <cmath>

using namespace lathe;
using ir::CompareKind;
using llvm::SmallVector;

namespace lathe::onnx {

/// A table of all places pays up to so many times the keys.
constexpr uint64_t mostOfTable = 4, shortTable = 64;

/// The first of equal keys, in the keys' order.
template <typename T> static SmallVector<int64_t> inOrder(llvm::ArrayRef<T> keys) {
  SmallVector<int64_t> order;
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i] == keys[i])
      order.push_back(i);
  llvm::stable_sort(order, [&](int64_t a, int64_t b) { return keys[a] < keys[b]; });
  order.erase(std::unique(order.begin(), order.end(), [&](int64_t a, int64_t b) { return keys[a] == keys[b]; }), order.end());
  return order;
}

/// One place for all of x.
static Value placeOfAll(Node &n, Value x, int64_t place) { return n.g.broadcastTo(n.g.size(Expr(place)), n.dims(x)); }

/// Of 64 bits in what is between: x may be any number.
static Value placeInTable(Node &n, Value x, llvm::ArrayRef<int64_t> keys, llvm::ArrayRef<int64_t> order) {
  int64_t least = keys[order.front()], most = keys[order.back()], none = keys.size();
  SmallVector<int64_t> table(uint64_t(most) - uint64_t(least) + 1, none);
  for (int64_t i : order)
    table[uint64_t(keys[i]) - uint64_t(least)] = i;
  auto all = [&](int64_t value) { return n.g.broadcastTo(n.constantInteger(value, n.element(x)), n.dims(x)); };
  Value inside = n.g.binary<ir::AndOp>(n.g.compare(CompareKind::GE, x, all(least)), n.g.compare(CompareKind::LE, x, all(most)));
  Value at = n.g.cast(n.g.sub(n.g.select(inside, x, all(least)), all(least)), n.g.b.getI64Type());
  Value found = n.g.gather(n.g.integers(table), at, 0);
  return n.g.select(inside, found, placeOfAll(n, x, none));
}

/// `sorted`: the keys in their order.
static Value placeBySearch(Node &n, Value x, Value sorted, llvm::ArrayRef<int64_t> order, int64_t none) {
  int64_t last = order.size() - 1;
  Value at = n.g.binary<ir::MinOp>(ir::placeInSorted(n.g, sorted, x, false), double(last));
  Value hit = n.g.compare(CompareKind::EQ, n.g.gather(sorted, at, 0), x);
  return n.g.select(hit, n.g.gather(n.g.integers(order), at, 0), placeOfAll(n, x, none));
}

Value placeAmong(Node &n, Value x, llvm::ArrayRef<int64_t> keys) {
  SmallVector<int64_t> order = inOrder(keys);
  if (order.empty())
    return placeOfAll(n, x, keys.size());
  uint64_t span = uint64_t(keys[order.back()]) - uint64_t(keys[order.front()]);
  if (span < mostOfTable * order.size() + shortTable)
    return placeInTable(n, x, keys, order);
  SmallVector<int64_t> sorted;
  for (int64_t i : order)
    sorted.push_back(keys[i]);
  return placeBySearch(n, x, n.g.cast(n.g.integers(sorted), n.element(x)), order, keys.size());
}

Value placeAmong(Node &n, Value x, llvm::ArrayRef<double> keys) {
  SmallVector<int64_t> order = inOrder(keys);
  Value place = placeOfAll(n, x, keys.size());
  if (!order.empty()) {
    SmallVector<double> sorted;
    for (int64_t i : order)
      sorted.push_back(keys[i]);
    Type f64 = n.g.b.getF64Type();
    Value list = n.constant(mlir::DenseElementsAttr::get(RankedTensorType::get({int64_t(sorted.size())}, f64), llvm::ArrayRef<double>(sorted)));
    place = placeBySearch(n, x, n.g.cast(list, n.element(x)), order, keys.size());
  }
  const double *nan = llvm::find_if(keys, [](double k) { return std::isnan(k); });
  if (nan == keys.end())
    return place;
  return n.g.select(n.g.compare(CompareKind::NE, x, x), placeOfAll(n, x, nan - keys.begin()), place);
}

} // namespace lathe::onnx
