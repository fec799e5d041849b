//===- ScatterCounts.cpp - Sums of updates that are all one number ----------===//
//
// Bins of a histogram, or how many rows come to a place: the updates of an element are counted, and the element takes the
// number times their count. Of few elements a block counts in its shared memory first (Scatter.cpp).
//
// The phases: counts are cleared; updates are counted; elements take what their count says.
//
//===----------------------------------------------------------------------===//

#include "ScatterPhases.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

namespace {

class ScatterCounts : public WordPhases {
public:
  ScatterCounts(Type element, double each, bool few)
      : WordPhases(element, IntegerType::get(element.getContext(), 32)), each(each), few(few) {}
  int64_t mostUpdates() const override { return (int64_t(1) << 32) - 1; }
  SmallVector<ScatterPhase> phases(bool sparse) const override {
    ScatterPhase stored{ScatterPhase::Element, "store_counted"}, updated{ScatterPhase::Update, "store_updated"};
    ScatterPhase count{few ? ScatterPhase::Private : ScatterPhase::Update, few ? "count_in_blocks" : "count"};
    return {clearing(sparse && !few), count, sparse && !few ? updated : stored};
  }
  void update(DeviceBuilder &d, const PhaseMemory &m, StringRef phase, Value index, Value value,
              Value number) const override {
    if (phase == "clear_updated")
      return clear(d, at(d, m, index));
    if (phase == "count")
      return addCount(d, m, index, d.i32(1));
    // Whoever takes the count writes for all.
    store(d, m, index, atomicUpdate(d, LLVM::AtomicBinOp::xchg, at(d, m, index), d.i32(0)));
  }
  void addCount(DeviceBuilder &d, const PhaseMemory &m, Value index, Value count) const override {
    atomicUpdate(d, LLVM::AtomicBinOp::add, at(d, m, index), count);
  }
  void element(DeviceBuilder &d, const PhaseMemory &m, Value index) const override {
    store(d, m, index, d.load(word, at(d, m, index), wordBytes));
  }

private:
  void store(DeviceBuilder &d, const PhaseMemory &m, Value index, Value count) const {
    Type f64 = d.b.getF64Type();
    d.when(d.compare(arith::CmpIPredicate::ne, count, d.i32(0)), [&] {
      Value at = target(d, m, index), old = d.load(elementType, at, elementBytes);
      Value wide = elementType.isF64() ? old : d.convertF(d.convertF(old, d.f32Type()), f64);
      Value sum = d.mulF(d.b.create<arith::UIToFPOp>(d.loc, f64, count), d.real(f64, each));
      Value out = d.addF(wide, sum);
      d.store(elementType.isF64() ? out : d.convertF(d.convertF(out, d.f32Type()), elementType), at, elementBytes);
    });
  }
  double each;
  bool few;
};

} // namespace

std::unique_ptr<ScatterPhases> cuda::makeScatterCounts(Type element, double each, bool few) {
  return std::make_unique<ScatterCounts>(element, each, few);
}
