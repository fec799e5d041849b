//===- Convert.cpp - Type conversions and copies ----------------------------===//

#include "Convert.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// PyTorch goes by way of int64 to uint8 and of int32 to the others, on CPUs and GPUs: what is left of a division by 256 or 65536, which is
/// exact in the float's type. What is beyond int32 has no such result in int8 and int16, and each machine makes something else.
Value fx::convertedTo(OpContext &c, Value x, Type to) {
  auto from = llvm::dyn_cast<mlir::FloatType>(elementOf(x));
  if (!from || !to.isInteger() || to.isInteger(1) || to.getIntOrFloatBitWidth() > 16)
    return c.g.cast(x, to);
  if (from.getWidth() == 16)
    x = c.g.cast(x, c.g.b.getF32Type());
  unsigned width = to.getIntOrFloatBitWidth();
  double modulus = 1u << width;
  Value whole = c.g.unary<TruncOp>(x), times = c.g.unary<FloorOp>(c.g.binary<MulOp>(whole, 1 / modulus));
  Value low = c.g.sub(whole, c.g.binary<MulOp>(times, modulus));
  return c.g.cast(c.g.cast(low, mlir::IntegerType::get(c.g.b.getContext(), width, mlir::IntegerType::Unsigned)), to);
}

/// The result's type is in the file, so that every form of `to` is this.
static llvm::Error convert(OpContext &c) { return c.give(convertedTo(c, c.tensor("self"), c.resultElement())); }

/// The parts of each element, the low one first, along a new last dimension.
static Value inParts(OpContext &c, Value x, unsigned width) {
  mlir::MLIRContext *context = c.g.b.getContext();
  unsigned whole = elementOf(x).getIntOrFloatBitWidth();
  Type bits = mlir::IntegerType::get(context, whole, mlir::IntegerType::Unsigned);
  Dims dims = dimsOf(x);
  int64_t last = dims.size();
  dims.push_back(Expr(whole / width));
  Value wide = c.g.broadcastTo(c.g.unsqueeze(c.g.bitcast(x, bits), {last}), dims);
  Value by = c.g.cast(c.g.binary<MulOp>(c.g.iota(dims, last, c.g.b.getI64Type()), width), bits);
  return c.g.cast(c.g.binary<ShrOp>(wide, by), mlir::IntegerType::get(context, width, mlir::IntegerType::Unsigned));
}

/// The other way.
static Value ofParts(OpContext &c, Value x, unsigned whole) {
  mlir::MLIRContext *context = c.g.b.getContext();
  unsigned width = elementOf(x).getIntOrFloatBitWidth();
  Type bits = mlir::IntegerType::get(context, whole, mlir::IntegerType::Unsigned);
  int64_t last = typeOf(x).getRank() - 1;
  Value parts = c.g.cast(c.g.bitcast(x, mlir::IntegerType::get(context, width, mlir::IntegerType::Unsigned)), bits);
  Value by = c.g.cast(c.g.binary<MulOp>(c.g.iota(dimsOf(x), last, c.g.b.getI64Type()), width), bits);
  return c.g.reduce(ReduceKind::Sum, c.g.binary<ShlOp>(parts, by), {last}, false);
}

/// The same bytes as other elements, of which the last dimension then has more or fewer.
static llvm::Error bytesAs(OpContext &c) {
  Value x = c.tensor("self");
  Type to = c.resultElement();
  unsigned from = elementOf(x).getIntOrFloatBitWidth(), width = to.getIntOrFloatBitWidth();
  if (elementOf(x) == to)
    return c.give(x);
  if (from == 1 || width == 1)
    return c.cannot("the bytes of booleans");
  if (from == width)
    return c.give(c.g.bitcast(x, to));
  if (typeOf(x).getRank() == 0)
    return c.wrong("{0} as {1}", x.getType(), to);
  Dims dims = dimsOf(x);
  if (from > width) {
    dims.back() = c.g.facts.simplify(dims.back() * Expr(from / width));
    return c.give(c.g.reshape(c.g.bitcast(inParts(c, x, width), to), dims));
  }
  int64_t each = width / from;
  Expr count = c.g.facts.simplify(Expr::floordiv(dims.back(), Expr(each)));
  if (llvm::Error e = c.needEqual(dims.back(), c.g.facts.simplify(count * Expr(each))))
    return e;
  dims.back() = count;
  dims.push_back(Expr(each));
  return c.give(c.g.bitcast(ofParts(c, c.g.reshape(x, dims), width), to));
}

static llvm::Error copy(OpContext &c) {
  LATHE_TRY(source, c.broadcastTo(convertedTo(c, c.tensor("src"), c.resultElement()), dimsOf(c.tensor("self"))));
  return c.give(source);
}

/// Nothing is dropped when a model does not train.
static llvm::Error dropout(OpContext &c) {
  if (c.flag("train") && c.real("p") != 0)
    return c.cannot("dropout is on (train=True): call model.eval() before torch.export");
  Value x = c.tensor(c.has("self") ? "self" : "input"); // dropout_ calls it self
  return x ? c.give(x) : c.wrong("there is no input");
}

llvm::ArrayRef<OpEntry> fx::convertOps() {
  static const OpEntry table[] = {
      {"to.dtype", "self:T dtype:D?", convert, Converts},
      {"to.dtype_layout", "self:T dtype:D?", convert, Converts},
      {"to.device", "self:T dtype:D?", convert, Converts},
      {"to.other", "self:T other:T", convert, Converts},
      {"view.dtype", "self:T dtype:D", bytesAs, IsView},
      {"_to_copy.default", "self:T dtype:D?", convert},
      {"type_as.default", "self:T other:T", convert, Converts},
      {"contiguous.default", "self:T", convert, Converts},
      {"clone.default", "self:T", convert},
      {"alias.default", "self:T", convert, IsView},
      {"detach.default", "self:T", convert, IsView},
      {"positive.default", "self:T", convert, IsView},
      {"lift_fresh_copy.default", "self:T", convert},
      {"lift_fresh.default", "self:T", convert, IsView},
      {"copy.default", "self:T src:T", copy},
      {"dropout.default", "input:T? self:T? p:F train:B", dropout, IsView},
      {"feature_dropout.default", "input:T? self:T? p:F train:B", dropout, IsView},
  };
  return table;
}
