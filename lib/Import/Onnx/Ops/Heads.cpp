//===- Heads.cpp - The heads of attentions ---------------------------------===//

#include "../Advice.h"
#include "Heads.h"
#include <cmath>

using namespace lathe;

namespace lathe::onnx {

void requireMatchingHeads(Node &n, Value q, Value k, Value v) {
  Dims dq = n.dims(q), dk = n.dims(k), dv = n.dims(v);
  n.requireEqual(dq[0], dk[0], "the batch of queries and keys");
  n.requireEqual(dk[0], dv[0], "the batch of keys and values");
  n.requireEqual(dk[1], dv[1], "the heads of keys and values");
  n.requireEqual(dk[2], dv[2], "the numbers of keys and values");
  n.requireEqual(dq[3], dk[3], "the sizes of query and key heads");
}

Value repeatHeads(Node &n, Value x, const Expr &heads) {
  Dims d = n.dims(x);
  if (n.g.facts.provablyEqual(d[1], heads))
    return x;
  Expr group = n.exactQuotient(heads, d[1], "the number of query heads");
  Value wide = n.g.broadcastTo(n.g.unsqueeze(x, {2}), {d[0], d[1], group, d[2], d[3]});
  return n.reshape(wide, {d[0], heads, d[2], d[3]});
}

double headScale(Node &n, const Expr &headSize) {
  if (n.hasAttribute("scale"))
    return n.real("scale", 1);
  std::optional<int64_t> size = n.simplify(headSize).constant();
  if (!size)
    failUnsupported("the size of a head is {0}; without attribute 'scale' it must be constant{1}", headSize.str(), adviceFor(n, headSize));
  return 1 / std::sqrt(double(std::max<int64_t>(1, *size)));
}

} // namespace lathe::onnx
