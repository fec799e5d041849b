//===- HalfPairs.cpp - Products of half types in words of two bf16 ---------===//

#include "HalfPairs.h"
#include "lathe/Dialect/Kernel/HalfPairs.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using shape::Expr;

static bool isBF16Product(Operation *op) {
  auto product = dyn_cast<kernel::ContractOp>(op);
  return product && op->hasAttr(kernel::mayRoundName) && product.getRhs().getType().getElementType().isBF16();
}

bool HalfPairs::mayFit(const lower::BodyInfo &info) {
  return llvm::any_of(info.ops, [](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    return load ? load->hasAttr("packed") && load.getType().isBF16() : isBF16Product(op);
  });
}

/// A unit's tiles are half empty in shorter sums, and longer to configure than to use.
constexpr int64_t fewestWords = MatrixUnit::words / 2;

bool HalfPairs::mayFitTiles(const lower::BodyInfo &info) {
  return llvm::any_of(info.ops, [&](Operation *op) {
    auto product = dyn_cast<kernel::ContractOp>(op);
    if (!product || !op->hasAttr(kernel::mayRoundName))
      return false;
    std::optional<int64_t> depth = AxisGroup::of(info, info.axesOf(product.getAxes())).extent().constant();
    return depth && *depth >= fewestWords * (isBF16Product(op) ? 2 : 1);
  });
}

bool HalfPairs::fit(const ContractionShape &shape, const Isa &isa) {
  std::optional<Expr> along = shape.reduced.strideOf(shape.lhs);
  bool words = shape.mayRound && shape.lhsType.isF32() && shape.accumulator.isF32() && along && along->isOne() &&
               shape.reduced.extent().constant();
  return words && (shape.rhsType.isBF16() ? isa.dotsHalves() : shape.rhsType.isF16() && fitTiles(shape, isa));
}

bool HalfPairs::fitTiles(const ContractionShape &shape, const Isa &isa) { return isa.multipliesHalfTiles() && wordsOf(shape) >= fewestWords; }

Expr HalfPairs::pays(const ContractionShape &shape) {
  if (shape.packed)
    return Expr(1);
  int64_t fewestRows = splits(shape) ? 48 : 24, fewestPanels = splits(shape) ? 4 : 2;
  auto enough = [](const Expr &count, int64_t fewest) { return Expr::min(Expr(1), Expr::floordiv(count, Expr(fewest))); };
  return enough(shape.rows.extent(), fewestRows) * enough(Expr::ceildiv(shape.columns.extent(), Expr(int64_t(panelColumns))), fewestPanels);
}

/// Parts are equally long as far as whole steps go.
int64_t HalfPairs::words() const {
  int64_t all = wordsOf(shape);
  int64_t some = llvm::divideCeil(all, llvm::divideCeil(all, mostWords));
  return byUnit && all > MatrixUnit::words ? llvm::alignTo(some, MatrixUnit::words) : all;
}

static Value intrinsic(VectorBuilder &v, StringRef name, Type result, ValueRange operands) {
  return v.b.create<LLVM::CallIntrinsicOp>(v.loc, result, v.b.getStringAttr(name), operands).getResult(0);
}

static VectorType halves(VectorBuilder &v, Type element) { return VectorType::get(2 * v.lanes, element); }

Value HalfPairs::dot(VectorBuilder &v, Value rows, Value columns, Value sum) {
  auto pairs = [&](Value words) { return v.b.create<vector::BitCastOp>(v.loc, halves(v, v.b.getBF16Type()), words).getResult(); };
  return intrinsic(v, "llvm.x86.avx512bf16.dpbf16ps.512", v.vec, {sum, pairs(rows), pairs(columns)});
}

static Value bitsOf(VectorBuilder &v, Value x) { return v.b.create<arith::BitcastOp>(v.loc, v.intVec, x); }

/// The upper 16 bits of each f32, which are a bf16.
static Value upperOf(VectorBuilder &v, Value bits) { return v.b.create<arith::AndIOp>(v.loc, bits, v.intSplat(int32_t(0xffff0000))); }

static Value shiftedBy16(VectorBuilder &v, Value bits, bool up) {
  Value by = v.intSplat(16);
  return up ? v.b.create<arith::ShLIOp>(v.loc, bits, by).getResult() : v.b.create<arith::ShRUIOp>(v.loc, bits, by).getResult();
}

/// Words of which the upper halves of the first bits are the first elements, and those of the second ones the second elements.
static Value pairsOf(VectorBuilder &v, Value first, Value second) {
  Value both = v.b.create<arith::OrIOp>(v.loc, upperOf(v, second), shiftedBy16(v, first, /*up=*/false));
  return v.b.create<arith::BitcastOp>(v.loc, v.vec, both);
}

/// Of words of any number: the last ones of a panel may be half a vector.
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

/// Each f32 that was an f16 as two bf16, whose sum it is: its upper half and the rest, which has the same sign. A number that has no rest gets one too
/// small to change a sum, an infinity another one, and 0 none: all four products of two such sums agree then in what infinities make of them.
Value HalfPairs::splitWords(Value vector) {
  Value first = upperOf(v, bitsOf(v, vector)), number = v.b.create<arith::BitcastOp>(v.loc, v.vec, first);
  Value isAll = v.b.create<arith::CmpFOp>(v.loc, arith::CmpFPredicate::OEQ, number, vector);
  Value rest = v.select(isAll, v.mulf(vector, v.f(0x1p-100)), v.b.create<arith::SubFOp>(v.loc, vector, number));
  return pairsOf(v, first, bitsOf(v, rest));
}

Value HalfPairs::exchanged(Value words) {
  Value bits = bitsOf(v, words);
  Value turned = v.b.create<arith::OrIOp>(v.loc, shiftedBy16(v, bits, /*up=*/true), shiftedBy16(v, bits, /*up=*/false));
  return v.b.create<arith::BitcastOp>(v.loc, v.vec, turned);
}

void HalfPairs::splitPanel(Value from, Type type, Value count, Value to) {
  v.loop(v.i(0), v.mul(count, panelColumns), v.lanes, [&](Value at) { v.store(splitWords(v.loadConverted(from, at, type)), to, at); });
}

/// Elements 2k and 2k + 1 of a column side by side. Behind an odd number of points is 0.
void HalfPairs::pairPanel(Value from, Type type, Value count, Value to) {
  auto pair = [&](Value word, bool whole) {
    Value even = v.mul(word, 2), odd = whole ? v.add(even, 1) : Value();
    auto [low, high] = type.isF32() ? pairsOfSingles(from, even, odd) : pairsOfHalves(from, even, odd);
    Value at = v.mul(word, panelColumns);
    v.store(low, to, at);
    v.store(high, to, v.add(at, v.lanes));
  };
  Value whole = v.div(count, 2);
  v.loop(v.i(0), whole, 1, [&](Value word) { pair(word, true); });
  if (depth() % 2)
    v.ifThen(v.less(v.mul(whole, 2), count), [&] { pair(whole, false); });
}

/// Words of two rows of a panel; the second one may be missing.
std::pair<Value, Value> HalfPairs::pairsOfHalves(Value from, Value even, Value odd) {
  Type i16 = v.b.getI16Type();
  VectorType type = halves(v, i16);
  static_assert(panelColumns == 32); // one register of halves
  auto load = [&](Value point) {
    if (!point)
      return v.b.create<arith::ConstantOp>(v.loc, v.b.getZeroAttr(type)).getResult();
    return v.b.create<LLVM::LoadOp>(v.loc, type, v.at(from, v.mul(point, panelColumns), i16), 2).getResult();
  };
  Value first = load(even), second = load(odd);
  auto words = [&](int64_t column) {
    SmallVector<int64_t> lanes;
    for (int64_t l = 0; l < v.lanes; ++l)
      lanes.append({column + l, 2 * v.lanes + column + l});
    return v.b.create<vector::BitCastOp>(v.loc, v.vec, v.shuffle(first, second, lanes)).getResult();
  };
  return {words(0), words(v.lanes)};
}

/// The same of f32 that were bf16: their upper halves. All is read before anything is written over it.
std::pair<Value, Value> HalfPairs::pairsOfSingles(Value from, Value even, Value odd) {
  auto bits = [&](Value point, int64_t column) {
    return point ? bitsOf(v, v.load(from, v.add(v.mul(point, panelColumns), column))) : v.intSplat(0);
  };
  Value low[] = {bits(even, 0), bits(odd, 0)}, high[] = {bits(even, v.lanes), bits(odd, v.lanes)};
  return {pairsOf(v, low[0], low[1]), pairsOf(v, high[0], high[1])};
}

void HalfPairs::packPanel(Value from, Type type, Value count, Value to) {
  splits(shape) ? splitPanel(from, type, count, to) : pairPanel(from, type, count, to);
  if (parts() * points() < depth() + pointsOfWord(shape))
    return;
  Value written = v.ceilDiv(count, pointsOfWord(shape));
  v.loop(v.mul(written, panelColumns), v.i(words() * panelColumns), v.lanes, [&](Value at) { v.store(v.f(0), to, at); });
}

/// A vector of words at element `place` of `to`: of a row's elements from `point` on, of which `left` or all are there.
void HalfPairs::putRow(Value from, Value point, Value left, Value to, Value place) {
  auto part = [&](unsigned q) {
    Value mask = left ? v.firstLanes(v.sub(left, q * v.lanes)) : Value();
    return v.loadConverted(from, v.add(point, q * v.lanes), shape.lhsType, mask);
  };
  if (!splits(shape)) {
    Value first = part(0), second = part(1);
    Value rounded = intrinsic(v, "llvm.x86.avx512bf16.cvtne2ps2bf16.512", halves(v, v.b.getBF16Type()), {second, first});
    return v.store(v.b.create<vector::BitCastOp>(v.loc, v.vec, rounded), to, place);
  }
  Value words = splitWords(part(0));
  v.store(words, to, place);
  v.store(exchanged(words), to, v.add(place, passPitch()));
}

void HalfPairs::packRows(const lower::BodyEmitter &base, Value lhs, Value row, Value count, Value first, Value to) {
  int64_t step = pointsOfWord(shape) * v.lanes;
  Value all = v.i(std::min(depth(), points())), whole = v.roundDown(v.min(v.sub(v.i(depth()), first), all), step);
  v.loop(v.i(0), count, 1, [&](Value r) {
    lower::BodyEmitter point = base;
    shape.reduced.bindFirst(v, point);
    shape.rows.bind(v, point, v.add(row, r), shape.rows.strideOf(shape.lhs).has_value());
    Value from = v.at(v.at(lhs, point.emitExpr(shape.lhs), shape.lhsType), first, shape.lhsType), start = v.mul(r, pitch());
    auto put = [&](Value point, Value left) { putRow(from, point, left, to, v.add(start, v.div(point, pointsOfWord(shape)))); };
    v.loop(v.i(0), whole, step, [&](Value point) { put(point, {}); });
    v.loop(whole, all, step, [&](Value point) { put(point, v.sub(v.sub(v.i(depth()), first), point)); });
  });
}

void HalfPairs::multiply(MatrixUnit &unit, Value rows, Value panel, unsigned columns, Value height, Value before, Value to) {
  unit.multiply({rows, panel, v.i(words() / step()), pitch(), step(), passes(), passPitch()}, columns, to, height, before);
}
