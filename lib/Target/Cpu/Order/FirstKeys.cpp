//===- FirstKeys.cpp - The few keys that come first, in registers ----------===//

#include "FirstKeys.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace lathe::cpu;

/// Places that the key comes before are one further behind then, and the first of them is its own.
void FirstKeys::insert(Value key, Value index, unsigned held) {
  VectorBuilder::Values before;
  for (unsigned i = 0; i < held; ++i)
    before.push_back(v.b.create<arith::CmpIOp>(v.loc, arith::CmpIPredicate::ult, key, keys[i]));
  for (unsigned i = keys.size(); i-- > 0;) {
    Value movedKey = i ? v.select(before[i - 1], keys[i - 1], key) : key;
    Value movedIndex = i ? v.select(before[i - 1], indices[i - 1], index) : index;
    bool isNew = i >= held;
    keys[i] = isNew ? movedKey : v.select(before[i], movedKey, keys[i]);
    indices[i] = isNew ? movedIndex : v.select(before[i], movedIndex, indices[i]);
  }
}

void FirstKeys::begin(Value key, Value index) {
  unsigned held = keys.size();
  keys.push_back(key);
  indices.push_back(index);
  insert(key, index, held);
}

VectorBuilder::Values FirstKeys::offered(Value key, Value index) {
  Value comes = v.b.create<arith::CmpIOp>(v.loc, arith::CmpIPredicate::ult, key, keys[count - 1]);
  Value any = v.b.create<vector::ReductionOp>(v.loc, vector::CombiningKind::OR, comes);
  VectorBuilder::Values held = values();
  return v.ifValues(
      any,
      [&] {
        offer(key, index);
        return values();
      },
      [&] { return held; });
}

VectorBuilder::Values FirstKeys::values() const {
  VectorBuilder::Values all = keys;
  all.append(indices);
  return all;
}

void FirstKeys::setValues(ArrayRef<Value> values) {
  keys.assign(values.begin(), values.begin() + count);
  indices.assign(values.begin() + count, values.end());
}

Value FirstKeys::firstOfLanes() const {
  auto least = [&](Value x) -> Value {
    return v.b.create<vector::ReductionOp>(v.loc, vector::CombiningKind::MINUI, x);
  };
  Type type = keys[0].getType();
  Value key = v.b.create<vector::SplatOp>(v.loc, type, least(keys[0]));
  Value isFirst = v.b.create<arith::CmpIOp>(v.loc, arith::CmpIPredicate::eq, keys[0], key);
  auto all = DenseElementsAttr::get(cast<VectorType>(type), APInt::getAllOnes(getElementTypeOrSelf(type).getIntOrFloatBitWidth()));
  return least(v.select(isFirst, indices[0], v.b.create<arith::ConstantOp>(v.loc, all)));
}
