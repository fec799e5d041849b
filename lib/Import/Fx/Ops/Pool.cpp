//===- Pool.cpp - Pooling ---------------------------------------------------===//
//
// A window is a handful of shifted, strided reads of the padded input that are combined elementwise; they fuse into one loop.
//
//===----------------------------------------------------------------------===//

#include "Families.h"
#include "lathe/Dialect/Lathe/Windows.h"
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

namespace {
struct Window {
  SmallVector<int64_t> kernel, stride, padding, dilation;
};
} // namespace

constexpr int64_t maxWindow = 256; // reads per result

static llvm::Expected<Window> readWindow(OpContext &c, size_t spatial) {
  Window w{c.integers("kernel_size"), c.integers("stride"), c.integers("padding"), c.integers("dilation")};
  if (w.stride.empty())
    w.stride = w.kernel;
  int64_t reads = 1;
  for (auto *values : {&w.kernel, &w.stride, &w.padding, &w.dilation}) {
    if (values->size() <= 1)
      values->resize(spatial, values->empty() ? (values == &w.padding ? 0 : 1) : (*values)[0]);
    if (values->size() != spatial)
      return c.wrong("a window parameter has {0} values for {1} spatial dimensions", values->size(), spatial);
    for (int64_t v : *values)
      if (v < (values == &w.padding ? 0 : 1) || v > INT32_MAX)
        return c.wrong("a window parameter of {0}", v);
  }
  for (int64_t k : w.kernel)
    if (k > maxWindow || (reads *= k) > maxWindow)
      return c.cannot("a window of more than {0} elements", maxWindow);
  return w;
}

/// Combines the window's reads of the last dimensions; what lies outside the input is `outside`.
template <typename OpT> static llvm::Expected<Value> overWindow(OpContext &c, Value x, const Window &w, double outside) {
  Dims dims = dimsOf(x), padded = dims, low(dims.size(), Expr(0)), sizes = dims;
  size_t spatial = w.kernel.size(), lead = dims.size() - spatial;
  bool pads = false;
  for (size_t i = 0; i < spatial; ++i) {
    low[lead + i] = Expr(w.padding[i]);
    padded[lead + i] = c.g.facts.simplify(dims[lead + i] + Expr(2 * w.padding[i]));
    pads |= w.padding[i] != 0;
    Expr room = c.g.facts.simplify(padded[lead + i] - Expr(w.dilation[i] * (w.kernel[i] - 1) + 1));
    if (!c.g.facts.provablyLessEqual(Expr(0), room))
      return c.wrong("the window may not fit dimension {0} of {1}", lead + i, x.getType());
    sizes[lead + i] = c.g.facts.simplify(Expr::floordiv(room, Expr(w.stride[i])) + Expr(1));
  }
  mlir::OpBuilder &b = c.g.b;
  if (pads)
    x = b.create<PadOp>(c.g.loc, tensorType(padded, elementOf(x)), x, c.g.scalar(outside, elementOf(x)), exprArray(b, low),
                        exprArray(b, low));
  SmallVector<WindowDim> windows;
  for (size_t i = 0; i < spatial; ++i)
    windows.push_back({w.kernel[i], w.stride[i], w.dilation[i], Expr(w.padding[i]), sizes[lead + i]});
  return combineWindows(c.g, x, windows, [&](Value a, Value b) { return c.g.binary<OpT>(a, b); });
}

/// The window of a pool over x, of as many dimensions as the operator's name says.
static llvm::Expected<Window> readPool(OpContext &c, Value x) {
  size_t spatial = c.node.target.find("1d") != std::string::npos ? 1 : 2;
  if (c.flag("ceil_mode"))
    return c.cannot("ceil_mode");
  if (typeOf(x).getRank() < int64_t(spatial) + 1 || !llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.cannot("an input of {0}", x.getType());
  return readWindow(c, spatial);
}

static llvm::Error maxPool(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(w, readPool(c, x));
  Type element = elementOf(x);
  bool half = element.isF16() || element.isBF16(); // the same maxima, without a conversion at each comparison
  LATHE_TRY(r, overWindow<MaxOp>(c, half ? c.g.cast(x, c.g.b.getF32Type()) : x, w, -std::numeric_limits<double>::infinity()));
  return c.give(c.g.cast(r, element));
}

static llvm::Error averagePool(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(w, readPool(c, x));
  bool pads = llvm::any_of(w.padding, [](int64_t p) { return p != 0; });
  if (pads && !c.flag("count_include_pad") && !c.has("divisor_override"))
    return c.cannot("padding that is not counted (count_include_pad=False)");
  double count = 1;
  for (int64_t k : w.kernel)
    count *= k;
  if (c.has("divisor_override"))
    count = c.real("divisor_override");
  Type element = elementOf(x);
  bool half = element.isF16() || element.isBF16();
  LATHE_TRY(sum, overWindow<AddOp>(c, half ? c.g.cast(x, c.g.b.getF32Type()) : x, w, 0));
  return c.give(c.g.cast(c.g.binary<DivOp>(sum, count), element));
}

/// To one element: the mean; else where every window has one size: an average over it.
static llvm::Error adaptiveAverage(OpContext &c) {
  Value x = c.tensor("self");
  Dims want = c.sizes("output_size"), dims = dimsOf(x), split;
  if (want.size() == 1 && c.node.target.find("2d") != std::string::npos)
    want.push_back(want[0]);
  if (want.empty() || dims.size() < want.size() + 1 || !llvm::isa<mlir::FloatType>(elementOf(x)))
    return c.wrong("an output of {0} dimensions from {1}", want.size(), x.getType());
  size_t lead = dims.size() - want.size();
  split.assign(dims.begin(), dims.begin() + lead);
  SmallVector<int64_t> axes;
  for (size_t i = 0; i < want.size(); ++i) {
    auto window = want[i].isZero() ? std::nullopt : Expr::divideExactly(dims[lead + i], want[i]);
    if (!window)
      return c.cannot("{0} elements do not form {1} equal windows", dims[lead + i].str(), want[i].str());
    split.append({want[i], *window});
    axes.push_back(split.size() - 1);
    dims[lead + i] = want[i];
  }
  return c.give(inFloat(c, x, [&](Value v) {
    return c.g.reshape(c.g.mean(c.g.reshape(v, split), axes, false), dims);
  }));
}

llvm::ArrayRef<OpEntry> fx::poolOps() {
  static const char *const largest =
      "self:T kernel_size:I* stride:I*? padding:I*=0 dilation:I*=1 ceil_mode:B=false";
  static const char *const average = "self:T kernel_size:I* stride:I*? padding:I*=0 ceil_mode:B=false "
                                     "count_include_pad:B=true divisor_override:I?";
  static const OpEntry table[] = {
      {"max_pool1d.default", largest, maxPool},
      {"max_pool2d.default", largest, maxPool},
      {"max_pool2d_with_indices.default", largest, maxPool}, // the positions are not given: a node that reads them is refused
      {"avg_pool1d.default", average, averagePool},
      {"avg_pool2d.default", average, averagePool},
      {"adaptive_avg_pool1d.default", "self:T output_size:N*", adaptiveAverage},
      {"adaptive_avg_pool2d.default", "self:T output_size:N*", adaptiveAverage},
      {"_adaptive_avg_pool2d.default", "self:T output_size:N*", adaptiveAverage},
  };
  return table;
}
