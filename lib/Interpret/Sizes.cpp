//===- Sizes.cpp - The values of size symbols ------------------------------===//

#include "Sizes.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;
using llvm::Error;
using llvm::Expected;
using shape::Expr;

Sizes::Sizes(ModuleOp module) : module(module) {
  for (ir::SymbolOp s : module.getOps<ir::SymbolOp>()) {
    int64_t max = int64_t(s.getMax());
    ranges[s.getName().str()] = {int64_t(s.getMin()), max < 0 ? INT64_MAX : max};
    if (s.getDefinition())
      definitions.push_back({s.getName().str(), Expr::parsed(*s.getDefinition())});
  }
  define();
}

void Sizes::define() {
  for (size_t round = 0; round <= definitions.size(); ++round)
    for (auto &[name, e] : definitions)
      if (std::optional<int64_t> v = e.evaluate(values))
        values[name] = *v;
}

bool Sizes::inRange(StringRef symbol, int64_t value) const {
  auto it = ranges.find(symbol.str());
  return it == ranges.end() || (value >= it->second.first && value <= it->second.second);
}

void Sizes::assign(StringRef symbol, int64_t value) {
  values[symbol.str()] = value;
  define();
}

Error Sizes::set(StringRef symbol, int64_t value) {
  if (!inRange(symbol, value))
    return userError("size {0} is {1}, which the model does not allow", symbol, value);
  assign(symbol, value);
  return Error::success();
}

Expected<int64_t> Sizes::value(const Expr &e) const {
  if (std::optional<int64_t> v = e.evaluate(values))
    return *v;
  return bug("'{0}' has no value", e.str());
}

Expected<int64_t> Sizes::value(StringRef text) const { return value(Expr::parsed(text)); }

Expected<RankedTensorType> interpret::typeAt(Type type, const std::map<std::string, int64_t> &sizes) {
  SmallVector<int64_t> shape;
  for (const Expr &e : ir::dimsOf(type)) {
    std::optional<int64_t> v = e.evaluate(sizes);
    if (!v)
      return bug("'{0}' has no value", e.str());
    if (*v < 0)
      return bug("a tensor has the negative size {0} = {1}", e.str(), *v);
    shape.push_back(*v);
  }
  return RankedTensorType::get(shape, cast<RankedTensorType>(type).getElementType());
}

Expected<RankedTensorType> Sizes::typeAt(Type type) const { return interpret::typeAt(type, values); }

std::set<std::string> Sizes::roots(const std::set<std::string> &symbols) const {
  std::set<std::string> out = symbols;
  for (size_t before = 0; before != out.size();) {
    before = out.size();
    for (auto &[name, e] : definitions)
      if (out.count(name))
        for (const std::string &s : e.symbols())
          out.insert(s);
  }
  return out;
}

/// One dimension of an input: agrees with what is known, or gives a symbol its value where that is the only one
/// without.
Error Sizes::solve(const Expr &dim, int64_t size, bool &progress, bool &open) {
  if (std::optional<int64_t> v = dim.evaluate(values)) {
    if (*v != size)
      return userError("a dimension is {0}, expected {1} = {2}", size, dim.str(), *v);
    return Error::success();
  }
  std::vector<std::string> unknown;
  for (const std::string &s : dim.symbols())
    if (!values.count(s))
      unknown.push_back(s);
  if (unknown.size() != 1) {
    open = true;
    return Error::success();
  }
  std::optional<Expr::Linear> linear = dim.linearIn(unknown[0]);
  std::optional<int64_t> by = linear ? linear->coefficient.evaluate(values) : std::nullopt;
  std::optional<int64_t> rest = linear ? linear->rest.evaluate(values) : std::nullopt;
  if (!by || !rest || *by == 0 || (size - *rest) % *by)
    return userError("a dimension of {0} does not fit {1}", size, dim.str());
  progress = true;
  return set(unknown[0], (size - *rest) / *by);
}

Error Sizes::bind(func::FuncOp main, ArrayRef<Tensor> inputs) {
  if (inputs.size() != main.getNumArguments())
    return userError("the model takes {0} inputs, not {1}", main.getNumArguments(), inputs.size());
  for (auto [i, t] : llvm::enumerate(main.getArgumentTypes())) {
    auto want = dyn_cast<RankedTensorType>(t);
    if (!want || want.getElementType() != inputs[i].type.getElementType() || want.getRank() != inputs[i].type.getRank())
      return userError("input {0} is {1}, expected {2}", i, inputs[i].type, t);
  }
  for (ir::SymbolOp s : module.getOps<ir::SymbolOp>())
    if (std::optional<ArrayRef<int64_t>> at = s.getElement()) {
      const Tensor &from = inputs[(*at)[0]];
      if ((*at)[1] >= int64_t(from.ints.size()))
        return userError("size {0} is element {1} of an input that has {2}", s.getName(), (*at)[1], from.ints.size());
      if (Error e = set(s.getName(), from.ints[(*at)[1]]))
        return e;
    }
  for (bool progress = true, open = true; progress && open;) {
    progress = open = false;
    for (auto [i, t] : llvm::enumerate(main.getArgumentTypes()))
      for (auto [dim, size] : llvm::zip(ir::dimsOf(t), inputs[i].shape()))
        if (Error e = solve(dim, size, progress, open))
          return e;
    if (open && !progress)
      return userError("the inputs do not say all sizes");
  }
  return checkRelations(std::nullopt);
}

Error Sizes::checkRelations(std::optional<StringRef> scope) {
  for (ir::RelationOp r : module.getOps<ir::RelationOp>()) {
    if (r.getScope() != scope)
      continue;
    std::optional<int64_t> a = Expr::parsed(r.getLeft()).evaluate(values), b = Expr::parsed(r.getRight()).evaluate(values);
    if (!a || !b) // between sizes that are known only later
      continue;
    bool holds = r.getKind() == "eq" ? *a == *b
                 : r.getKind() == "le" || r.getKind() == "holds" ? *a <= *b
                 : r.getKind() == "ne" ? *a != *b
                                       : *a && *b % *a == 0;
    if (!holds)
      return userError("the model needs {0} {1} {2}; it is {3} and {4}", r.getLeft(), r.getKind(), r.getRight(), *a, *b);
  }
  return Error::success();
}
