//===- ScatterBuckets.cpp - Updates of far data, gathered by place ---------===//

#include "ScatterBuckets.h"
#include "lathe/Lower/Combine.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using shape::Expr;

/// Queues, each with its counter, and bits of the number of elements that one has at least: so much stays in a core's
/// second-level cache.
constexpr int64_t mostBuckets = 256, counterBytes = mostBuckets * 8, fewestBits = 15;
constexpr int64_t pageBytes = 4096, lineBytes = 64;
/// A queue's line is requested so long before its first entry: processors do not look ahead of so many runs at once.
constexpr int64_t linesAhead = 2;
/// Of fewer updates for an element each misses, however they are gathered.
constexpr int64_t sparse = 64;

/// Of a queue's entry: the place in its part and the update, 32 or 64 bits each. 0: neither.
unsigned ScatterBuckets::wordBytes(Type element) {
  unsigned bits = element.getIntOrFloatBitWidth();
  return bits == 32 ? 8 : bits == 64 ? 16 : 0;
}

/// Bytes of data from which on queues are used. Stores that read nothing wait for nothing: many are on their way at once.
static int64_t farBytes(std::optional<kernel::Combiner> combiner) { return combiner ? 8 << 20 : 64 << 20; }

/// As many bytes as the data, which the threads share.
Expr ScatterBuckets::scratchBytes(const Expr &places, Type element, std::optional<kernel::Combiner> combiner,
                                  const Expr &threads) {
  Expr bytes = places * Expr(int64_t(element.getIntOrFloatBitWidth() / 8));
  Expr share = Expr::floordiv(bytes, Expr::max(threads, 1));
  Expr isFar = Expr::min(Expr::floordiv(bytes, Expr(farBytes(combiner))), 1);
  return isFar * (Expr::max(share, 2 * mostBuckets * pageBytes) + Expr(counterBytes));
}

Value ScatterBuckets::serves(Value places, Value updates) const {
  Value isFar = v.less(v.i(farBytes(combiner) / (element.getIntOrFloatBitWidth() / 8) - 1), places);
  return b.createOrFold<arith::AndIOp>(v.loc, isFar, v.less(v.div(places, sparse), updates));
}

void ScatterBuckets::begin(Value scratch, Value scratchBytes, Value places) {
  counters = scratch;
  queues = v.at(scratch, v.i(counterBytes), b.getI8Type());
  Value zeros = b.create<math::CountLeadingZerosOp>(v.loc, v.sub(places, 1));
  shift = v.max(v.sub(v.i(64 - 8), zeros), v.i(fewestBits));
  buckets = v.add(b.create<arith::ShRUIOp>(v.loc, v.sub(places, 1), shift), 1);
  // The ends of queues lie in different sets of a cache: pages apart they would drive one another out.
  Value room = v.div(v.sub(scratchBytes, counterBytes), buckets);
  capacity = v.div(v.sub(v.roundDown(room, pageBytes), pageBytes - lineBytes), int64_t(wordBytes(element)));
  v.loop(v.i(0), buckets, 1, [&](Value bucket) { b.create<LLVM::StoreOp>(v.loc, v.i(0), counter(bucket), 8); });
}

Value ScatterBuckets::entry(Value bucket, Value number) {
  return v.at(queues, v.mul(v.add(v.mul(bucket, capacity), number), int64_t(wordBytes(element) / 8)), b.getI64Type());
}

void ScatterBuckets::add(Value place, Value update) {
  Type i64 = b.getI64Type();
  Value bucket = b.create<arith::ShRUIOp>(v.loc, place, shift);
  Value inside = v.sub(place, b.create<arith::ShLIOp>(v.loc, bucket, shift));
  Value count = b.create<LLVM::LoadOp>(v.loc, i64, counter(bucket), 8), to = entry(bucket, count);
  Value bits = b.createOrFold<arith::BitcastOp>(v.loc, b.getIntegerType(element.getIntOrFloatBitWidth()), update);
  if (wordBytes(element) == 8) {
    Value high = b.create<arith::ShLIOp>(v.loc, b.create<arith::ExtUIOp>(v.loc, i64, bits), v.i(32));
    b.create<LLVM::StoreOp>(v.loc, b.create<arith::OrIOp>(v.loc, high, inside), to, 8);
  } else {
    b.create<LLVM::StoreOp>(v.loc, inside, to, 8);
    b.create<LLVM::StoreOp>(v.loc, bits, v.at(to, v.i(1), i64), 8);
  }
  b.create<LLVM::Prefetch>(v.loc, v.at(to, v.i(linesAhead * lineBytes), b.getI8Type()), /*rw=*/1, /*hint=*/3, /*cache=*/1);
  Value next = v.add(count, 1), isFull = v.equal(next, capacity);
  b.create<LLVM::StoreOp>(v.loc, v.select(isFull, v.i(0), next), counter(bucket), 8);
  v.ifThen(isFull, [&] { workOff(bucket, next); });
}

/// Place and update.
std::pair<Value, Value> ScatterBuckets::unpack(Value at) {
  Type i64 = b.getI64Type(), bits = b.getIntegerType(element.getIntOrFloatBitWidth());
  Value word = b.create<LLVM::LoadOp>(v.loc, i64, at, 8), update, place = word;
  if (wordBytes(element) == 8) {
    place = b.create<arith::AndIOp>(v.loc, word, v.i(0xffffffff));
    update = b.create<arith::TruncIOp>(v.loc, bits, b.create<arith::ShRUIOp>(v.loc, word, v.i(32)));
  } else {
    update = b.create<LLVM::LoadOp>(v.loc, i64, v.at(at, v.i(1), i64), 8);
  }
  return {place, b.createOrFold<arith::BitcastOp>(v.loc, element, update)};
}

void ScatterBuckets::workOff(Value bucket, Value count) {
  Value part = v.at(data, b.create<arith::ShLIOp>(v.loc, bucket, shift), element), first = entry(bucket, v.i(0));
  v.loop(v.i(0), count, 1, [&](Value number) {
    Value at = v.at(first, v.mul(number, int64_t(wordBytes(element) / 8)), b.getI64Type());
    auto [place, update] = unpack(at);
    Value to = v.at(part, place, element);
    if (combiner)
      update = lower::combine(b, v.loc, *combiner, b.create<LLVM::LoadOp>(v.loc, element, to), update);
    b.create<LLVM::StoreOp>(v.loc, update, to);
  });
}

void ScatterBuckets::end() {
  v.loop(v.i(0), buckets, 1, [&](Value bucket) {
    workOff(bucket, b.create<LLVM::LoadOp>(v.loc, b.getI64Type(), counter(bucket), 8));
  });
}
