//===- Create.cpp - Tensors that come from sizes and numbers alone ----------===//
//
// The file gives the type of each result; its sizes are checked against the arguments where the operator has any.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static Value filled(OpContext &c, const Operand &number, llvm::ArrayRef<Expr> dims) {
  return c.g.broadcastTo(c.materialize(number, c.resultElement()), dims);
}

static Dims checkedSizes(OpContext &c, const char *name) {
  Dims dims = c.sizes(name);
  for (Expr &e : dims)
    if (c.g.facts.provablyLess(e, Expr(0)))
      e = Expr(0); // the check against the file's sizes reports it
  return dims;
}

template <int value> static llvm::Error constant(OpContext &c) {
  return c.give(filled(c, {Value(), c.literal(value)}, checkedSizes(c, "size")));
}
template <int value> static llvm::Error constantLike(OpContext &c) {
  return c.give(filled(c, {Value(), c.literal(value)}, dimsOf(c.tensor("self"))));
}

static llvm::Error full(OpContext &c) { return c.give(filled(c, c.operand("fill_value"), checkedSizes(c, "size"))); }
static llvm::Error fullLike(OpContext &c) { return c.give(filled(c, c.operand("fill_value"), dimsOf(c.tensor("self")))); }
static llvm::Error fill(OpContext &c) {
  LATHE_TRY(wide, c.broadcastTo(c.materialize(c.operand("value"), c.resultElement()), dimsOf(c.tensor("self"))));
  return c.give(wide);
}
static llvm::Error scalarTensor(OpContext &c) { return c.give(c.materialize(c.operand("s"), c.resultElement())); }

/// start + i * step
static llvm::Error arange(OpContext &c) {
  Dims dims = c.resultDims();
  Type element = c.resultElement();
  if (dims.size() != 1)
    return c.wrong("the result has rank {0}", dims.size());
  Number start = c.number("start"), end = c.number("end"), step = c.number("step");
  bool whole = start.kind != Number::Kind::Float && end.kind != Number::Kind::Float && step.kind != Number::Kind::Float;
  Expr length = c.g.facts.simplify(end.size - start.size);
  if (whole && step.size.isOne() && !c.g.facts.provablyEqual(length, dims[0]))
    return c.wrong("the result has {0} elements, not {1}", dims[0].str(), length.str());
  Value counts = c.g.iota(dims, 0, element);
  if (!(step.kind != Number::Kind::Float && step.size.isOne()))
    counts = c.g.mul(counts, c.g.broadcastTo(c.scalarOf(step, element), dims));
  if (!(start.kind != Number::Kind::Float && start.size.isZero()))
    counts = c.g.add(counts, c.g.broadcastTo(c.scalarOf(start, element), dims));
  return c.give(counts);
}

namespace {
/// constant - first * cos(angle) + second * cos(2 * angle), where the angle goes round once.
struct WindowParts {
  double constant, first, second;
};
} // namespace

static llvm::Error window(OpContext &c, const WindowParts &parts) {
  Dims dims = c.resultDims();
  std::optional<int64_t> length = dims.size() == 1 ? dims[0].constant() : std::nullopt;
  Type element = c.resultElement(), wide = element.isF64() ? element : Type(c.g.b.getF32Type());
  if (!length || !llvm::isa<mlir::FloatType>(element))
    return c.cannot("a window of open length, or of {0}", element);
  if (*length < 2)
    return c.give(c.g.splat(1, dims, element));
  double round = double(c.flag("periodic") ? *length : *length - 1);
  auto wave = [&](int64_t times) {
    return c.g.unary<CosOp>(c.g.binary<MulOp>(c.g.iota(dims, 0, wide), 2 * times * 3.14159265358979323846 / round));
  };
  Value w = c.g.binary<AddOp>(c.g.binary<MulOp>(wave(1), -parts.first), parts.constant);
  if (parts.second != 0)
    w = c.g.add(w, c.g.binary<MulOp>(wave(2), parts.second));
  return c.give(c.g.cast(w, element));
}

static llvm::Error hann(OpContext &c) { return window(c, {0.5, 0.5, 0}); }
static llvm::Error hamming(OpContext &c) { return window(c, {c.real("alpha"), c.real("beta"), 0}); }
static llvm::Error blackman(OpContext &c) { return window(c, {0.42, 0.5, 0.08}); }

/// 1 where the last index is what the element says.
static llvm::Error oneHot(OpContext &c) {
  Value x = c.tensor("self");
  int64_t classes = c.integer("num_classes");
  if (!isIndex(x) || classes < 1)
    return c.cannot("{0} classes of {1}", classes, x.getType());
  Dims dims = dimsOf(x);
  dims.push_back(Expr(classes));
  Type i64 = c.g.b.getI64Type();
  int64_t last = int64_t(dims.size()) - 1;
  Value wanted = c.g.broadcastTo(c.g.unsqueeze(c.g.cast(x, i64), {last}), dims);
  return c.give(c.g.cast(c.g.compare(CompareKind::EQ, wanted, c.g.iota(dims, last, i64)), i64));
}

/// Row and column numbers of the last two dimensions.
static std::pair<Value, Value> places(OpContext &c, llvm::ArrayRef<Expr> dims) {
  Type index = c.g.b.getI64Type();
  return {c.g.iota(dims, dims.size() - 2, index), c.g.iota(dims, dims.size() - 1, index)};
}

static llvm::Error eye(OpContext &c) {
  Dims dims = c.resultDims();
  if (dims.size() != 2)
    return c.wrong("the result has rank {0}", dims.size());
  if (c.part == ComplexPart::Imaginary)
    return c.give(c.g.splat(0, dims, c.resultElement()));
  auto [row, column] = places(c, dims);
  return c.give(c.g.cast(c.g.compare(CompareKind::EQ, row, column), c.resultElement()));
}

/// The part of a matrix on one side of a diagonal: column - row <= diagonal, or >=.
template <CompareKind kind> static llvm::Error triangle(OpContext &c) {
  Value x = c.tensor("self");
  if (typeOf(x).getRank() < 2)
    return c.wrong("the input has rank {0}", typeOf(x).getRank());
  auto [row, column] = places(c, dimsOf(x));
  Expr diagonal = c.size("diagonal");
  Value limit = diagonal.isZero() ? row : c.g.add(row, c.g.broadcastTo(c.g.size(diagonal), dimsOf(x)));
  return c.give(c.g.select(c.g.compare(kind, column, limit), x, c.g.splatLike(0, x)));
}

llvm::ArrayRef<OpEntry> fx::createOps() {
  static const char *const sized = "size:N* dtype:D?";
  static const char *const newSized = "self:T size:N* dtype:D?";
  static const char *const like = "self:T dtype:D?";
  static const char *const plainWindow = "window_length:I periodic:B=true dtype:D?";
  static const char *const hammingWindow = "window_length:I periodic:B=true alpha:F=0.54 beta:F=0.46 dtype:D?";
  static const OpEntry table[] = {
      {"zeros.default", sized, constant<0>},
      {"ones.default", sized, constant<1>},
      {"empty.memory_format", sized, constant<0>},
      {"new_zeros.default", newSized, constant<0>},
      {"new_ones.default", newSized, constant<1>},
      {"new_empty.default", newSized, constant<0>},
      {"empty_strided.default", "size:N* stride:N* dtype:D?", constant<0>},
      {"empty_permuted.default", "size:N* physical_layout:I* dtype:D?", constant<0>},
      {"new_empty_strided.default", "self:T size:N* stride:N* dtype:D?", constant<0>},
      {"zeros_like.default", like, constantLike<0>},
      {"ones_like.default", like, constantLike<1>},
      {"empty_like.default", like, constantLike<0>},
      {"zero.default", like, constantLike<0>},
      {"full.default", "size:N* fill_value:TZ dtype:D?", full},
      {"new_full.default", "self:T size:N* fill_value:TZ dtype:D?", full},
      {"full_like.default", "self:T fill_value:TZ dtype:D?", fullLike},
      {"fill.Scalar", "self:T value:TZ", fill},
      {"fill.Tensor", "self:T value:T", fill},
      {"scalar_tensor.default", "s:TZ dtype:D?", scalarTensor},
      {"arange.default", "start:S=0 end:S step:S=1 dtype:D?", arange},
      {"arange.start", "start:S end:S step:S=1 dtype:D?", arange},
      {"arange.start_step", "start:S end:S step:S=1 dtype:D?", arange},
      {"one_hot.default", "self:T num_classes:I=-1", oneHot},
      {"hann_window.default", plainWindow, hann},
      {"hann_window.periodic", plainWindow, hann},
      {"hamming_window.default", hammingWindow, hamming},
      {"hamming_window.periodic", hammingWindow, hamming},
      {"hamming_window.periodic_alpha", hammingWindow, hamming},
      {"hamming_window.periodic_alpha_beta", hammingWindow, hamming},
      {"blackman_window.default", plainWindow, blackman},
      {"blackman_window.periodic", plainWindow, blackman},
      {"eye.default", "n:N dtype:D?", eye},
      {"eye.m", "n:N m:N dtype:D?", eye},
      {"tril.default", "self:T diagonal:N=0", triangle<CompareKind::LE>},
      {"triu.default", "self:T diagonal:N=0", triangle<CompareKind::GE>},
  };
  return table;
}
