//===- FirstKeys.h - The few keys that come first, in registers ------------===//
#ifndef LATHE_TARGET_CPU_FIRSTKEYS_H
#define LATHE_TARGET_CPU_FIRSTKEYS_H

#include "../VectorBuilder.h"

namespace lathe::cpu {

/// For each lane the first keys of those that it was offered, in order, and their indices. Keys are unsigned integers;
/// of equal ones those that were offered first come first.
class FirstKeys {
public:
  FirstKeys(VectorBuilder &v, unsigned count) : v(v), count(count) {}

  /// One that goes behind fewer than `count` others.
  void begin(mlir::Value key, mlir::Value index);
  /// One more, once there are `count`.
  void offer(mlir::Value key, mlir::Value index) { insert(key, index, count); }
  /// The values then; where it comes before none of those that are held, nothing is done.
  VectorBuilder::Values offered(mlir::Value key, mlir::Value index);
  /// Keys, then indices: what a loop carries.
  VectorBuilder::Values values() const;
  void setValues(llvm::ArrayRef<mlir::Value> values);
  mlir::Value index(unsigned place) const { return indices[place]; }
  /// Of a single first key: the index of the first lane's one that comes before all others', those of equal keys by index.
  mlir::Value firstOfLanes() const;

private:
  void insert(mlir::Value key, mlir::Value index, unsigned held);

  VectorBuilder &v;
  unsigned count;
  VectorBuilder::Values keys, indices;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_FIRSTKEYS_H
