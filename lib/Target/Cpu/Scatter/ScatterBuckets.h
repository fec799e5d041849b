//===- ScatterBuckets.h - Updates of far data, gathered by place -----------===//
//
// Data that no cache holds cost a miss, and a walk through page tables, for every update of a random place. So updates
// are put into queues by the part of the data that they fall into, and a queue that is full is worked off: its part stays
// in a cache meanwhile. All updates of one element pass through one queue, in their order.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_SCATTERBUCKETS_H
#define LATHE_TARGET_CPU_SCATTERBUCKETS_H

#include "../VectorBuilder.h"
#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::cpu {

class ScatterBuckets {
public:
  /// `data`: where elements of the type lie; an update replaces one, or is combined with it.
  ScatterBuckets(VectorBuilder &v, mlir::Value data, mlir::Type element, std::optional<kernel::Combiner> combiner)
      : v(v), b(v.b), data(data), element(element), combiner(combiner) {}

  static bool takes(mlir::Type element) { return element.isIntOrFloat() && wordBytes(element) != 0; }
  /// Scratch memory for so many elements; 0 where there are too few for queues to be worth it.
  static shape::Expr scratchBytes(const shape::Expr &places, mlir::Type element, std::optional<kernel::Combiner> combiner,
                                  const shape::Expr &threads);
  /// Whether queues serve `updates` of `places` elements.
  mlir::Value serves(mlir::Value places, mlir::Value updates) const;

  void begin(mlir::Value scratch, mlir::Value scratchBytes, mlir::Value places);
  void add(mlir::Value place, mlir::Value update);
  void end();

private:
  static unsigned wordBytes(mlir::Type element);
  mlir::Value counter(mlir::Value bucket) { return v.at(counters, bucket, b.getI64Type()); }
  mlir::Value entry(mlir::Value bucket, mlir::Value number);
  void workOff(mlir::Value bucket, mlir::Value count);
  std::pair<mlir::Value, mlir::Value> unpack(mlir::Value at);

  VectorBuilder &v;
  mlir::OpBuilder &b;
  mlir::Value data;
  mlir::Type element;
  std::optional<kernel::Combiner> combiner;
  mlir::Value counters, queues, capacity, shift, buckets;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_SCATTERBUCKETS_H
