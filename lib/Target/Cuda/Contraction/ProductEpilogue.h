//===- ProductEpilogue.h - Stores of a product's rows and columns ----------===//
#ifndef LATHE_LIB_TARGET_CUDA_PRODUCTEPILOGUE_H
#define LATHE_LIB_TARGET_CUDA_PRODUCTEPILOGUE_H

#include "../DeviceHooks.h"
#include "../KernelFrame.h"

namespace lathe::cuda {

/// What follows a contraction or an attention: its axes, its value in the body, and the stores that depend on it.
struct EpilogueShape {
  std::vector<unsigned> rowAxes, columnAxes;
  Value result;
  std::vector<kernel::StoreOp> stores;
};

class ProductEpilogue {
public:
  /// `base` has the batch axes bound.
  ProductEpilogue(const EpilogueShape &shape, KernelFrame &frame, DeviceHooks &hooks, lower::BodyEmitter &base);
  /// Columns that one access may take together, from a column that is a multiple of it.
  unsigned width() const { return lanes; }
  /// Whether columns lie side by side in what is stored.
  bool storesRuns() const;
  Type storedType() const { return kernel::StoreOp(shape.stores[0]).getValue().getType(); }
  /// Columns that 16 bytes of the only result hold, where elements of 8 or 16 bits are made from a sum and from what belongs to its row or its
  /// column alone: such sums may turn through shared memory as what they become. 0 otherwise.
  unsigned roundedGroup() const { return parts ? 0 : rounded; }
  /// Emits what `store` emits; where only the run can tell whether groups of columns lie in one line, that is with a `width()` of 4 (and a
  /// `roundedGroup()`), and beside it `single`, with one of 1.
  void byWidth(llvm::function_ref<void()> store, llvm::function_ref<void()> single);
  /// Sums of a part of the depth go to memory as they are: f32 or i32, `columns` of them in a row.
  void storeParts(Value pointer, Value columns) {
    parts = pointer;
    partColumns = columns;
  }
  /// A copy of the base at row m (i64).
  struct Row {
    lower::BodyEmitter point;
    Value index;
  };
  Row atRow(Value m);
  /// What will be stored at some columns of a row.
  struct Pending {
    lower::BodyEmitter point;
    Values stored; ///< one of each store
    Value part;    ///< where a part goes
  };
  /// Computes what `values` (of the sum's type), `width()` of them or one, at the row and the columns from n (i64) on become. Where several are
  /// computed before the first is stored, what they read comes together: a store may be to what the next one reads.
  Pending compute(Row row, Value n, llvm::ArrayRef<Value> values);
  void store(Pending &pending);
  /// What two columns of a row become, for a `roundedGroup()`; and its store.
  Value computePair(Row row, Value n, llvm::ArrayRef<Value> values);
  void storeGroup(Row row, Value n, Value group);
  void store(Row row, Value n, llvm::ArrayRef<Value> values) {
    Pending pending = compute(std::move(row), n, values);
    store(pending);
  }

private:
  void goWide(unsigned lanes);
  lower::BodyEmitter atColumns(Row row, Value n, unsigned lanes);
  /// The index of the innermost axis.
  Value bind(lower::BodyEmitter &point, llvm::ArrayRef<unsigned> axes, size_t joined, Value index);

  EpilogueShape shape;
  KernelFrame &frame;
  DeviceHooks &hooks;
  lower::BodyEmitter &base;
  size_t joinedRows, joinedColumns; ///< innermost axes that are one for all that is read and stored
  unsigned lanes, rounded;
  Value parts, partColumns;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_PRODUCTEPILOGUE_H
