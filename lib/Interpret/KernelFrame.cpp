//===- KernelFrame.cpp - Values over a kernel's axes -----------------------===//

#include "KernelFrame.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;
using llvm::Expected;
using shape::Atom;
using shape::Expr;

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

AxisSet interpret::unite(const AxisSet &a, const AxisSet &b) {
  AxisSet out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

AxisSet interpret::without(const AxisSet &a, const AxisSet &b) {
  AxisSet out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

Expected<KernelFrame> KernelFrame::of(kernel::GenericOp kernel, const Sizes &sizes) {
  KernelFrame frame;
  frame.sizes = &sizes;
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i) {
    Expected<int64_t> extent = sizes.value(kernel.getAxisExtent(i));
    if (!extent)
      return extent.takeError();
    if (*extent < 0)
      return bug("axis {0} has the negative extent {1}", kernel.getAxisName(i), *extent);
    frame.axes.push_back({kernel.getAxisName(i).str(), *extent, 0, *extent});
  }
  return frame;
}

std::optional<unsigned> KernelFrame::axisOf(StringRef name) const {
  for (unsigned i = 0; i < axes.size(); ++i)
    if (axes[i].name == name)
      return i;
  return std::nullopt;
}

AxisSet KernelFrame::axesOf(const Expr &e) const {
  AxisSet out;
  for (const std::string &s : e.symbols())
    if (std::optional<unsigned> axis = axisOf(s))
      out.push_back(*axis);
  llvm::sort(out);
  return out;
}

SmallVector<int64_t> KernelFrame::shapeOf(const AxisSet &set) const {
  SmallVector<int64_t> shape;
  for (unsigned a : set)
    shape.push_back(axes[a].size);
  return shape;
}

std::string KernelFrame::pointText(const AxisSet &over, int64_t point) const {
  std::vector<std::string> parts;
  for (unsigned a : llvm::reverse(over)) {
    parts.insert(parts.begin(), axes[a].name + " = " + std::to_string(axes[a].begin + point % axes[a].size));
    point /= axes[a].size;
  }
  return parts.empty() ? "the one point" : llvm::join(parts, ", ");
}

SmallVector<int64_t> interpret::stridesIn(const AxisSet &axes, const AxisSet &over, const KernelFrame &frame) {
  SmallVector<int64_t> strides = ir::stridesOf(frame.shapeOf(axes)), out;
  for (unsigned a : over) {
    auto it = llvm::find(axes, a);
    out.push_back(it == axes.end() ? 0 : strides[it - axes.begin()]);
  }
  return out;
}

Column KernelFrame::expand(const Column &column, const AxisSet &over) const {
  if (column.axes == over)
    return column;
  SmallVector<int64_t> shape = shapeOf(over), strides = stridesIn(column.axes, over, *this), at(over.size(), 0);
  Column out{over, Tensor(RankedTensorType::get(shape, column.tensor.type.getElementType()))};
  int64_t from = 0, n = out.tensor.size();
  if (!column.undefined.empty())
    out.undefined.resize(n);
  for (int64_t i = 0; i < n; ++i) {
    out.tensor.copyFrom(column.tensor, from, i);
    if (column.isUndefined(from))
      out.undefined[i] = 1;
    for (int d = int(over.size()) - 1; d >= 0; --d) {
      from += strides[d];
      if (++at[d] < shape[d])
        break;
      from -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
  return out;
}

//===----------------------------------------------------------------------===//
// Expressions over many points
//===----------------------------------------------------------------------===//

namespace {
/// A polynomial with numbered symbols, for many evaluations. Overflow and division by zero give nothing.
class Polynomial {
public:
  Polynomial(const Expr &e, const std::map<std::string, unsigned> &slots);
  bool evaluate(const int64_t *values, int64_t &out) const;

private:
  struct Factor {
    Atom::Kind kind;
    unsigned slot;
    std::vector<Polynomial> operands;
    bool evaluate(const int64_t *values, int64_t &out) const;
  };
  std::vector<std::pair<int64_t, std::vector<Factor>>> terms;
};
} // namespace

Polynomial::Polynomial(const Expr &e, const std::map<std::string, unsigned> &slots) {
  for (const Expr::Term &term : e.terms()) {
    terms.push_back({term.coefficient, {}});
    for (const Atom &atom : term.atoms) {
      Factor f{atom.kind, atom.kind == Atom::Kind::Symbol ? slots.at(atom.name) : 0, {}};
      for (const Expr &o : atom.operands)
        f.operands.push_back(Polynomial(o, slots));
      terms.back().second.push_back(std::move(f));
    }
  }
}

bool Polynomial::Factor::evaluate(const int64_t *values, int64_t &out) const {
  if (kind == Atom::Kind::Symbol) {
    out = values[slot];
    return true;
  }
  int64_t a, b;
  if (!operands[0].evaluate(values, a) || !operands[1].evaluate(values, b))
    return false;
  if (kind == Atom::Kind::Min || kind == Atom::Kind::Max) {
    out = kind == Atom::Kind::Min ? std::min(a, b) : std::max(a, b);
    return true;
  }
  if (b == 0 || (b == -1 && a == INT64_MIN))
    return false;
  int64_t q = a / b, r = a % b;
  if (r != 0 && (r < 0) != (b < 0))
    --q, r += b;
  out = kind == Atom::Kind::FloorDiv ? q : r;
  return true;
}

bool Polynomial::evaluate(const int64_t *values, int64_t &out) const {
  out = 0;
  for (const auto &[coefficient, factors] : terms) {
    int64_t product = coefficient, v;
    for (const Factor &f : factors)
      if (!f.evaluate(values, v) || __builtin_mul_overflow(product, v, &product))
        return false;
    if (__builtin_add_overflow(out, product, &out))
      return false;
  }
  return true;
}

Expected<std::vector<int64_t>> KernelFrame::evaluate(const Expr &e, const AxisSet &over,
                                                     ArrayRef<Column> indirect) const {
  if (e.isUnknown())
    return bug("an expression of a kernel is unknown");
  std::map<std::string, unsigned> slots;
  std::vector<int64_t> values;
  for (const std::string &s : e.symbols()) {
    slots[s] = values.size();
    values.push_back(0);
    if (shape::kindOf(s) == shape::SymbolKind::Indirect || axisOf(s))
      continue;
    Expected<int64_t> v = sizes->value(Expr::symbol(s));
    if (!v)
      return v.takeError();
    values.back() = *v;
  }
  std::vector<std::pair<int64_t *, const int64_t *>> read; // indirect indices that occur
  for (auto [n, t] : llvm::enumerate(indirect))
    if (auto it = slots.find(Expr::indirect(n).str()); it != slots.end())
      read.push_back({&values[it->second], t.tensor.ints.data()});
  SmallVector<int64_t> shape = shapeOf(over);
  SmallVector<int64_t *> counters;
  int64_t unused = 0, n = ShapedType::getNumElements(shape);
  for (unsigned a : over) {
    auto it = slots.find(axes[a].name);
    counters.push_back(it == slots.end() ? &unused : &values[it->second]);
    *counters.back() = axes[a].begin;
  }
  Polynomial p(e, slots);
  std::vector<int64_t> out(n);
  SmallVector<int64_t> at(over.size(), 0);
  for (int64_t i = 0; i < n; ++i) {
    for (auto [to, from] : read)
      *to = from[i];
    if (!p.evaluate(values.data(), out[i]))
      return bug("'{0}' has no value at {1}", e.str(), pointText(over, i));
    for (int d = int(over.size()) - 1; d >= 0; --d) {
      ++*counters[d];
      if (++at[d] < shape[d])
        break;
      *counters[d] -= shape[d];
      at[d] = 0;
    }
  }
  return out;
}
