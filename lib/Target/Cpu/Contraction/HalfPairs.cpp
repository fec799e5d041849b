//===- HalfPairs.cpp - Products of pairs of bf16 ---------------------------===//

#include "HalfPairs.h"
#include "lathe/Dialect/Kernel/HalfPairs.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using shape::Expr;

bool HalfPairs::mayFit(const lower::BodyInfo &info) {
  return llvm::any_of(info.ops, [](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    return load ? load->hasAttr("packed") && load.getType().isBF16() : isa<kernel::ContractOp>(op) && op->hasAttr(kernel::mayRoundName);
  });
}

bool HalfPairs::mayFitTiles(const lower::BodyInfo &info) {
  return llvm::any_of(info.ops, [&](Operation *op) {
    auto product = dyn_cast<kernel::ContractOp>(op);
    if (!product || !op->hasAttr(kernel::mayRoundName))
      return false;
    std::optional<int64_t> depth = AxisGroup::of(info, info.axesOf(product.getAxes())).extent().constant();
    return depth && MatrixUnit::stepOf((*depth + 1) / 2).has_value();
  });
}

bool HalfPairs::fit(const ContractionShape &shape, const Isa &isa) {
  std::optional<Expr> along = shape.reduced.strideOf(shape.lhs);
  return isa.dotsHalves() && shape.mayRound && shape.packed && shape.rhsType.isBF16() && shape.lhsType.isF32() && shape.accumulator.isF32() &&
         along && along->isOne() && shape.reduced.extent().constant();
}

static Value intrinsic(VectorBuilder &v, StringRef name, Type result, ValueRange operands) {
  return v.b.create<LLVM::CallIntrinsicOp>(v.loc, result, v.b.getStringAttr(name), operands).getResult(0);
}

static VectorType halves(VectorBuilder &v, Type element) { return VectorType::get(2 * v.lanes, element); }

Value HalfPairs::dot(VectorBuilder &v, Value rows, Value columns, Value sum) {
  auto pairs = [&](Value words) { return v.b.create<vector::BitCastOp>(v.loc, halves(v, v.b.getBF16Type()), words).getResult(); };
  return intrinsic(v, "llvm.x86.avx512bf16.dpbf16ps.512", v.vec, {sum, pairs(rows), pairs(columns)});
}

Value HalfPairs::elementsOf(VectorBuilder &v, Value words, bool second) {
  auto type = cast<VectorType>(words.getType());
  auto spread = [&](int32_t x) {
    return v.b.create<arith::ConstantOp>(v.loc, DenseElementsAttr::get(type.clone(v.b.getI32Type()), x)).getResult();
  };
  Value bits = v.b.create<arith::BitcastOp>(v.loc, type.clone(v.b.getI32Type()), words);
  bits = second ? v.b.create<arith::AndIOp>(v.loc, bits, spread(int32_t(0xffff0000))).getResult() : v.b.create<arith::ShLIOp>(v.loc, bits, spread(16)).getResult();
  return v.b.create<arith::BitcastOp>(v.loc, type, bits);
}

void HalfPairs::storeRounded(VectorBuilder &v, Value vector, Value memory, Value offset) {
  Type bf16 = v.b.getBF16Type(), i16 = v.b.getI16Type();
  Value narrow = intrinsic(v, "llvm.x86.avx512bf16.cvtneps2bf16.512", VectorType::get(v.lanes, bf16), vector);
  Value bits = v.b.create<arith::BitcastOp>(v.loc, VectorType::get(v.lanes, i16), narrow);
  v.b.create<LLVM::StoreOp>(v.loc, bits, v.at(memory, offset, i16), 2);
}

/// Elements 2k and 2k + 1 of a column side by side. Behind an odd number of points is 0.
void HalfPairs::packPanel(Value from, Value to) {
  Type i16 = v.b.getI16Type();
  VectorType type = halves(v, i16);
  SmallVector<int64_t> low, high;
  for (int64_t l = 0; l < v.lanes; ++l)
    for (int64_t row : {0, 1}) {
      low.push_back(row * 2 * v.lanes + l);
      high.push_back(row * 2 * v.lanes + v.lanes + l);
    }
  auto pair = [&](Value word, bool whole) {
    auto load = [&](Value point) {
      return v.b.create<LLVM::LoadOp>(v.loc, type, v.at(from, v.mul(point, panelColumns), i16), 2).getResult();
    };
    Value even = load(v.mul(word, 2));
    Value odd = whole ? load(v.add(v.mul(word, 2), 1)) : v.b.create<arith::ConstantOp>(v.loc, v.b.getZeroAttr(type)).getResult();
    auto store = [&](ArrayRef<int64_t> lanes, int64_t column) {
      Value words = v.b.create<vector::BitCastOp>(v.loc, v.vec, v.shuffle(even, odd, lanes));
      v.store(words, to, v.add(v.mul(word, panelColumns), column));
    };
    store(low, 0);
    store(high, v.lanes);
  };
  static_assert(panelColumns == 32); // one register of halves
  v.loop(v.i(0), v.i(depth() / 2), 1, [&](Value word) { pair(word, true); });
  if (depth() % 2)
    pair(v.i(depth() / 2), false);
}

void HalfPairs::packRows(const lower::BodyEmitter &base, Value lhs, Value row, Value count, Value to) {
  auto words = [&](Value from, Value point, Value left, Value place) {
    auto part = [&](unsigned q) {
      Value mask = left ? v.firstLanes(v.sub(left, q * v.lanes)) : Value();
      return v.loadConverted(from, v.add(point, q * v.lanes), shape.lhsType, mask);
    };
    Value first = part(0), second = part(1);
    Value rounded = intrinsic(v, "llvm.x86.avx512bf16.cvtne2ps2bf16.512", halves(v, v.b.getBF16Type()), {second, first});
    v.store(v.b.create<vector::BitCastOp>(v.loc, v.vec, rounded), to, place);
  };
  int64_t step = 2 * v.lanes, whole = depth() / step * step;
  v.loop(v.i(0), count, 1, [&](Value r) {
    lower::BodyEmitter point = base;
    for (unsigned a : shape.reduced.axes)
      point.bindAxis(shape.reduced.info->axes[a], v.i(0));
    shape.rows.bind(v, point, v.add(row, r), shape.rows.strideOf(shape.lhs).has_value());
    Value from = v.at(lhs, point.emitExpr(shape.lhs), shape.lhsType), start = v.mul(r, pitch());
    v.loop(v.i(0), v.i(whole), step, [&](Value point) { words(from, point, {}, v.add(start, v.div(point, 2))); });
    if (whole < depth())
      words(from, v.i(whole), v.i(depth() - whole), v.add(start, whole / 2));
  });
}
