//===- ScanCarry.cpp - What a scan hands on along its axis ------------------===//

#include "ScanCarry.h"
#include "../BuildModule.h"
#include "../Combine.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using kernel::Combiner;

static Type withWidth(Type element, unsigned width) { return width > 1 ? Type(VectorType::get({width}, element)) : element; }

bool ScanCarry::widens(kernel::ScanOp op) {
  return op.getType().isF32() && op.getKind() == Combiner::Add;
}

Value ScanCarry::identity(Type element, unsigned width) { return identityOf(v.b, v.loc, kind, withWidth(element, width)); }

Value ScanCarry::both(Value x, Value y) { return combine(v.b, v.loc, kind, x, y); }

Value ScanCarry::onTop(Value base, Value inChunk) { return base ? both(base, inChunk) : inChunk; }

Value ScanCarry::baseOf(Value handedOn, unsigned width) {
  bool isOne = !isa<VectorType>(handedOn.getType());
  if (isWide())
    handedOn = v.b.create<arith::TruncFOp>(v.loc, withWidth(local, isOne ? 1 : width), handedOn);
  return isOne && width > 1 ? v.b.create<vector::SplatOp>(v.loc, withWidth(local, width), handedOn) : handedOn;
}

Value ScanCarry::combined(Value handedOn, Value inChunk) {
  bool isOne = !isa<VectorType>(handedOn.getType());
  if (isOne && isa<VectorType>(inChunk.getType()))
    inChunk = v.b.create<vector::ExtractOp>(v.loc, inChunk, ArrayRef<int64_t>{0});
  return isWide() ? both(handedOn, v.b.create<arith::ExtFOp>(v.loc, handedOn.getType(), inChunk)) : inChunk;
}

ScanCarry::Values ScanCarry::loop(Value from, Value to, int64_t step, unsigned width, Values handedOn,
                                  llvm::function_ref<Values(Value, Values, Values)> body) {
  auto ends = [&](Values before, Values locals) {
    for (auto [x, last] : llvm::zip(before, locals))
      x = combined(x, last);
    return before;
  };
  Values bases;
  if (!isWide()) {
    Values none(handedOn.size());
    for (Value x : handedOn)
      bases.push_back(baseOf(x, width));
    return ends(handedOn, v.loop(from, to, step, bases, [&](Value i, Values locals) { return body(i, none, locals); }));
  }
  Values behind = v.loop(from, to, step * chunk, handedOn, [&](Value first, Values before) {
    bases.clear();
    for (Value x : before)
      bases.push_back(baseOf(x, width));
    Values begin(before.size(), localIdentity(width));
    return ends(before, v.loop(first, v.min(v.add(first, step * chunk), to), step, begin, [&](Value i, Values locals) { return body(i, bases, locals); }));
  });
  keepAsWritten(behind.front().getDefiningOp());
  return behind;
}
