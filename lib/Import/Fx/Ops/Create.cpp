//===- Create.cpp - Tensors that come from sizes and numbers alone ----------===//
//
// The file gives the type of each result; its sizes are checked against the arguments where the operator has any.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static Value filled(OpContext &c, const Number &n, llvm::ArrayRef<Expr> dims) {
  return c.g.broadcastTo(c.scalarOf(n, c.resultElement()), dims);
}

static Dims checkedSizes(OpContext &c, const char *name) {
  Dims dims = c.sizes(name);
  for (Expr &e : dims)
    if (!c.g.facts.provablyLessEqual(Expr(0), e))
      e = Expr(0); // the check against the file's sizes reports it
  return dims;
}

template <int value> static llvm::Error constant(OpContext &c) {
  return c.give(filled(c, {Number::Kind::Int, Expr(value), double(value)}, checkedSizes(c, "size")));
}
template <int value> static llvm::Error constantLike(OpContext &c) {
  return c.give(filled(c, {Number::Kind::Int, Expr(value), double(value)}, dimsOf(c.tensor("self"))));
}

static llvm::Error full(OpContext &c) { return c.give(filled(c, c.number("fill_value"), checkedSizes(c, "size"))); }
static llvm::Error fullLike(OpContext &c) { return c.give(filled(c, c.number("fill_value"), dimsOf(c.tensor("self")))); }
static llvm::Error fill(OpContext &c) {
  LATHE_TRY(wide, c.broadcastTo(c.materialize(c.operand("value"), c.resultElement()), dimsOf(c.tensor("self"))));
  return c.give(wide);
}
static llvm::Error scalarTensor(OpContext &c) { return c.give(c.scalarOf(c.number("s"), c.resultElement())); }

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

/// Row and column numbers of the last two dimensions.
static std::pair<Value, Value> places(OpContext &c, llvm::ArrayRef<Expr> dims) {
  Type index = c.g.b.getI64Type();
  return {c.g.iota(dims, dims.size() - 2, index), c.g.iota(dims, dims.size() - 1, index)};
}

static llvm::Error eye(OpContext &c) {
  Dims dims = c.resultDims();
  if (dims.size() != 2)
    return c.wrong("the result has rank {0}", dims.size());
  auto [row, column] = places(c, dims);
  return c.give(c.g.cast(c.g.compare(CompareKind::EQ, row, column), c.resultElement()));
}

/// The part of a matrix on one side of a diagonal: column - row <= diagonal, or >=.
template <CompareKind kind> static llvm::Error triangle(OpContext &c) {
  Value x = c.tensor("self");
  if (typeOf(x).getRank() < 2)
    return c.wrong("the input has rank {0}", typeOf(x).getRank());
  auto [row, column] = places(c, dimsOf(x));
  Value limit = c.integer("diagonal") == 0
                    ? row
                    : c.g.add(row, c.g.broadcastTo(c.g.size(Expr(c.integer("diagonal"))), dimsOf(x)));
  return c.give(c.g.select(c.g.compare(kind, column, limit), x, c.g.splatLike(0, x)));
}

llvm::ArrayRef<OpEntry> fx::createOps() {
  static const char *const sized = "size:N* dtype:D?";
  static const char *const newSized = "self:T size:N* dtype:D?";
  static const char *const like = "self:T dtype:D?";
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
      {"full.default", "size:N* fill_value:S dtype:D?", full},
      {"new_full.default", "self:T size:N* fill_value:S dtype:D?", full},
      {"full_like.default", "self:T fill_value:S dtype:D?", fullLike},
      {"fill.Scalar", "self:T value:S", fill},
      {"fill.Tensor", "self:T value:T", fill},
      {"scalar_tensor.default", "s:S dtype:D?", scalarTensor},
      {"arange.default", "start:S=0 end:S step:S=1 dtype:D?", arange},
      {"arange.start", "start:S end:S step:S=1 dtype:D?", arange},
      {"arange.start_step", "start:S end:S step:S=1 dtype:D?", arange},
      {"eye.default", "n:N dtype:D?", eye},
      {"eye.m", "n:N m:N dtype:D?", eye},
      {"tril.default", "self:T diagonal:I=0", triangle<CompareKind::LE>},
      {"triu.default", "self:T diagonal:I=0", triangle<CompareKind::GE>},
  };
  return table;
}
