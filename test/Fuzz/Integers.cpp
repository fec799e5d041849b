//===- Integers.cpp - Steps: integers and conversions ----------------------===//

#include "Graph.h"
#include <cmath>

using namespace lathe;
using namespace lathe::fuzz;

static bool isInt(const Value &v) { return v.isInt(); }

static mlir::Type anyType(Graph &g) {
  mlir::Builder &b = g.build;
  return g.rng.of<mlir::Type>({b.getF32Type(), b.getF32Type(), b.getF32Type(), b.getF16Type(), b.getBF16Type(),
                               b.getF64Type(), b.getI64Type(), b.getI32Type(), b.getI16Type(), b.getI8Type(),
                               b.getIntegerType(8, false), b.getIntegerType(16, false), b.getIntegerType(32, false),
                               b.getIntegerType(64, false), b.getI1Type()});
}

static bool cast(Graph &g) {
  auto to = anyType(g);
  // What a float becomes that the integer type cannot hold is open in ONNX.
  auto fits = [&](double v) { return std::fabs(v) < 120 && (v >= 0 || !to.isUnsignedInteger()); };
  auto x = g.pick([&](const Value &v) {
    return mlir::isa<mlir::FloatType>(to) || to.isInteger(1) || llvm::all_of(v.value.floats, fits);
  });
  return x && g.add("Cast", {*x}, {{"to", int64_t(dataTypeOf(to))}});
}

/// Back to a float, so that the graph goes on.
static bool toFloat(Graph &g) {
  auto x = g.pick([](const Value &v) { return !v.isFloat(); });
  return x && g.add("Cast", {*x}, {{"to", int64_t(onnx::TensorProto::FLOAT)}});
}

/// There and back through a type that is for storage.
static bool throughNarrow(Graph &g) {
  auto x = g.pickFloat([](const Value &v) { return !v.element().isF64(); });
  if (!x)
    return false;
  int64_t to = g.rng.of<int64_t>({onnx::TensorProto::FLOAT8E4M3FN, onnx::TensorProto::FLOAT8E5M2,
                                  onnx::TensorProto::FLOAT8E4M3FNUZ, onnx::TensorProto::FLOAT8E5M2FNUZ});
  Name narrow = g.name("n"), back = g.name("t");
  return g.addGroup({makeNode("Cast", {*x}, {narrow}, {{"to", to}}),
                     makeNode("Cast", {narrow}, {back}, {{"to", int64_t(dataTypeOf(g[*x].element()))}})},
                    {back});
}

static bool broadcast(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i)
    if (int64_t x = a[a.size() - i], y = b[b.size() - i]; x != y && x != 1 && y != 1)
      return false;
  return true;
}

static bool arithmetic(Graph &g) {
  auto x = g.pick(isInt);
  if (!x)
    return false;
  auto e = g[*x].element();
  auto y = g.pick([&](const Value &v) { return v.element() == e && broadcast(v.shape(), g[*x].shape()); });
  Name other = y && g.rng.chance(0.5) ? *y : g.random(e, g[*x].rank() ? Shape{g[*x].shape().back()} : Shape{});
  std::string op = g.rng.of<const char *>({"Add", "Sub", "Mul", "Max", "Min", "Div", "Mod", "BitwiseAnd", "BitwiseOr",
                                           "BitwiseXor", "Less", "Equal", "Greater"});
  if (op == "Div" || op == "Mod") { // ONNX leaves division by zero open
    Tensor divisors(mlir::RankedTensorType::get({}, e));
    divisors.ints[0] = g.rng.of<int64_t>({1, 2, 3, 7});
    if (!e.isUnsignedInteger() && g.rng.chance(0.3) && op == "Mod")
      divisors.ints[0] = -divisors.ints[0];
    other = g.constant(divisors);
  }
  return g.add(op, {*x, other});
}

static bool unary(Graph &g) {
  auto x = g.pick(isInt);
  return x && g.add(g.rng.of<const char *>({"Neg", "Abs", "Sign", "BitwiseNot", "Relu", "Identity"}), {*x});
}

static bool shift(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.isInt() && v.element().isUnsignedInteger(); });
  return x && g.add("BitShift", {*x, g.scalar(g[*x].element(), g.rng.range(0, 5))},
                    {{"direction", g.rng.chance(0.5) ? "LEFT" : "RIGHT"}});
}

static bool reduce(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.isInt() && v.rank() > 0; });
  return x && g.add(g.rng.of<const char *>(
                        {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1"}),
                    {*x, g.ints({g.rng.range(0, g[*x].rank() - 1)})}, {{"keepdims", g.rng.range(0, 1)}});
}

static bool product(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.isInt() && v.rank() >= 2; });
  return x && g.add("MatMul", {*x, g.random(g[*x].element(), {g[*x].shape().back(), g.rng.range(1, 6)})});
}

static bool sizes(Graph &g) {
  auto x = g.pick([](const Value &v) { return v.rank() > 0; });
  if (!x)
    return false;
  return g.rng.chance(0.7) ? g.add("Shape", {*x}) : g.add("Size", {*x});
}

static bool source(Graph &g) {
  if (g.rng.chance(0.5)) {
    auto x = g.pick([](const Value &v) { return v.rank() == 2; });
    return x && g.add("EyeLike", {*x}, {{"k", g.rng.range(-1, 1)}});
  }
  auto e = g.build.getI64Type();
  return g.add("Range",
               {g.scalar(e, g.rng.range(-3, 2)), g.scalar(e, g.rng.range(4, 12)), g.scalar(e, g.rng.range(1, 3))});
}

std::vector<Family> fuzz::integerSteps() {
  return {{10, cast}, {12, toFloat}, {3, throughNarrow}, {14, arithmetic}, {4, unary},
          {3, shift}, {5, reduce},   {3, product},       {3, sizes},       {2, source}};
}
