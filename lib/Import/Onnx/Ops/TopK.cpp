//===- TopK.cpp - The largest or smallest elements -------------------------===//

#include "Order.h"

using namespace lathe;

namespace lathe::onnx {

Value orderOf(Node &n, Value x, int64_t axis, bool descending, const Expr &count) {
  Expr size = n.dim(x, axis), most(int64_t(1) << 32);
  if (!n.g.facts.provablyLessEqual(size, most))
    n.require(size, "le", most, llvm::formatv("axis {0} has at most 2^32 elements to sort", axis).str());
  return n.g.sort(x, axis, descending, count);
}

void topK(Node &n) {
  Value x = n.in(0);
  n.requireNumber(x);
  n.requireRankAtLeast(x, 1);
  int64_t axis = n.axis(n.integer("axis", -1), n.rank(x));
  Expr size = n.simplify(n.dim(x, axis)),
       count = n.simplify(n.opset() < 10 ? Expr(n.requiredInteger("k")) : n.sizeScalar(1));
  if (n.g.facts.provablyLess(size, count) || n.g.facts.provablyLess(count, Expr(0)))
    failWrong("k is {0}, axis {1} has {2} elements", count.str(), axis, size.str());
  if (!n.g.facts.provablyLessEqual(count, size))
    n.require(count, "le", size,
              llvm::formatv("k = {0} is at most the {1} elements of axis {2}", count.str(), size.str(), axis).str());
  Value order = orderOf(n, x, axis, n.flag("largest", true), count);
  n.out(0, n.g.takeAlong(x, order, axis));
  if (n.numOutputs() > 1)
    n.out(1, order);
}

} // namespace lathe::onnx
