//===- Calls.cpp - Functions of the runtime --------------------------------===//

#include "Interpreter.h"
#include "lathe/Dialect/Lathe/Fourier.h"
#include "lathe/Support/Diagnostics.h"
#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;
using llvm::Expected;

namespace {
struct Box {
  double y1, x1, y2, x2;
};
} // namespace

static Box boxAt(const Tensor &boxes, int64_t i, bool centered) {
  const double *b = boxes.floats.data() + 4 * i;
  if (centered) // x, y, width, height
    return {b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return {std::min(b[0], b[2]), std::min(b[1], b[3]), std::max(b[0], b[2]), std::max(b[1], b[3])};
}

static bool overlap(Box a, Box b, double limit) {
  double height = std::min(a.y2, b.y2) - std::max(a.y1, b.y1), width = std::min(a.x2, b.x2) - std::max(a.x1, b.x1);
  if (height <= 0 || width <= 0)
    return false;
  double either = (a.y2 - a.y1) * (a.x2 - a.x1) + (b.y2 - b.y1) * (b.x2 - b.x1) - height * width;
  return height * width / either > limit;
}

/// Boxes by falling score, each kept that overlaps none kept before: triples of image, class and box, and how many.
static std::vector<Tensor> nonMaxSuppression(std::vector<Tensor> out, Inputs in, ArrayRef<int64_t> sizes) {
  int64_t classes = sizes[1], boxes = sizes[2], limit = in[2]->ints[0], total = 0;
  for (int64_t s = 0; s < sizes[0] * classes; ++s) {
    std::vector<int64_t> order, kept;
    for (int64_t i = 0; i < boxes; ++i)
      if (in[1]->floats[s * boxes + i] > in[4]->floats[0])
        order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return in[1]->floats[s * boxes + a] > in[1]->floats[s * boxes + b]; });
    auto box = [&](int64_t i) { return boxAt(*in[0], s / classes * boxes + i, sizes[3] != 0); };
    for (int64_t i : order) {
      if (int64_t(kept.size()) >= limit)
        break;
      if (llvm::any_of(kept, [&](int64_t k) { return overlap(box(k), box(i), in[3]->floats[0]); }))
        continue;
      kept.push_back(i);
      int64_t *triple = out[0].ints.data() + 3 * total++;
      triple[0] = s / classes, triple[1] = s % classes, triple[2] = i;
    }
  }
  out[1].ints[0] = total;
  return out;
}

/// By the definition: rows of [parts, length], of which real results are given half.
static std::vector<Tensor> fourier(std::vector<Tensor> out, const Tensor &x, ArrayRef<int64_t> sizes) {
  int64_t n = sizes[1], half = n / 2 + 1, results = out[0].size() / std::max<int64_t>(sizes[0], 1);
  bool isReal = sizes[3] == int64_t(ir::FourierResult::Real);
  int64_t given = isReal ? half : n, wanted = isReal ? n : results / 2;
  for (int64_t row = 0; row < sizes[0]; ++row) {
    const double *re = x.floats.data() + row * sizes[2] * given, *im = sizes[2] == 2 ? re + given : nullptr;
    auto number = [&](int64_t i) { return std::complex<double>(re[i], im ? im[i] : 0); };
    double *to = out[0].floats.data() + row * results;
    for (int64_t k = 0; k < wanted; ++k) {
      std::complex<double> sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        double turn = 2 * M_PI * double(i * k % n) / double(n);
        sum += (i < given ? number(i) : std::conj(number(n - i))) * std::polar(1.0, sizes[4] ? turn : -turn);
      }
      to[k] = sum.real();
      if (!isReal)
        to[wanted + k] = sum.imag();
    }
  }
  return out;
}

Expected<std::vector<Tensor>> interpret::runCall(ir::CallOp op, Inputs in, const Sizes &sizes) {
  std::vector<Tensor> out;
  for (Type t : op.getResultTypes()) {
    Expected<RankedTensorType> type = sizes.typeAt(t);
    if (!type)
      return type.takeError();
    out.emplace_back(*type);
  }
  SmallVector<int64_t> given;
  for (const shape::Expr &e : ir::exprsOf(op.getSizes())) {
    Expected<int64_t> v = sizes.value(e);
    if (!v)
      return v.takeError();
    given.push_back(*v);
  }
  if (op.getFunction() == "compact") { // where a mask is set
    int64_t to = 0;
    for (int64_t i = 0; i < given[0] && to < out[0].size(); ++i)
      if (in[0]->ints[i])
        out[0].ints[to++] = i;
    return out;
  }
  if (op.getFunction() == "coordinates") {
    int64_t to = 0;
    for (int64_t i = 0; i < int64_t(in[0]->ints.size()) && to < given[1]; ++i) {
      if (!in[0]->ints[i])
        continue;
      for (int64_t d = given[0], left = i; d-- > 0; left /= given[2 + d])
        out[0].ints[d * given[1] + to] = left % given[2 + d];
      ++to;
    }
    return out;
  }
  if (op.getFunction() == "copy_first") {
    std::copy_n(in[0]->ints.begin(), given[0], out[0].ints.begin());
    return out;
  }
  if (op.getFunction() == "join") {
    auto join = [&](auto &to, auto of) {
      auto at = to.begin();
      for (int64_t row = 0; row < given[1]; ++row)
        for (const auto &part : in) {
          int64_t width = int64_t(of(*part).size()) / given[1];
          at = std::copy_n(of(*part).begin() + row * width, width, at);
        }
    };
    if (out[0].isFloat())
      join(out[0].floats, [](const Tensor &t) -> auto & { return t.floats; });
    else
      join(out[0].ints, [](const Tensor &t) -> auto & { return t.ints; });
    return out;
  }
  if (op.getFunction() == "order_rows") {
    const int64_t *rows = in[0]->ints.data();
    auto row = [&](int64_t i) { return ArrayRef(rows + i * given[1], given[1]); };
    std::iota(out[0].ints.begin(), out[0].ints.end(), 0);
    std::stable_sort(out[0].ints.begin(), out[0].ints.end(), [&](int64_t a, int64_t b) {
      return std::lexicographical_compare(row(a).begin(), row(a).end(), row(b).begin(), row(b).end());
    });
    return out;
  }
  if (op.getFunction() == "fourier")
    return fourier(std::move(out), *in[0], given);
  if (op.getFunction() == "non_max_suppression")
    return nonMaxSuppression(std::move(out), in, given);
  if (op.getFunction().starts_with("lapack_") || op.getFunction() == "pivot_order")
    return unsupported("linear algebra, which is not interpreted");
  return bug("call of '{0}', which is not known", op.getFunction());
}
