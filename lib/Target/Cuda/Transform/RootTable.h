//===- RootTable.h - Roots of unity in a kernel's constant memory ----------===//
#ifndef LATHE_LIB_TARGET_CUDA_ROOTTABLE_H
#define LATHE_LIB_TARGET_CUDA_ROOTTABLE_H

#include "../KernelFrame.h"
#include "Butterfly.h"

// An index is what a run knows (i32), and what is known now: so the same number is read once, and addresses differ by constants.

namespace lathe::cuda {

struct Place {
  Value base;
  int64_t more = 0;
};

/// Complex numbers that a kernel's code brings with it. They are added before the first one is read.
class RootTable {
public:
  RootTable(KernelFrame &frame, Type element) : frame(frame), d(frame.d), element(element) {}
  /// Where the numbers begin that are added next.
  int64_t size() const { return numbers.size(); }
  void add(std::complex<double> w) { numbers.push_back(w); }
  /// All are there.
  void finish();
  /// The number `offset` behind an index.
  Complex at(const Place &index, int64_t offset);

private:
  KernelFrame &frame;
  DeviceBuilder &d;
  Type element;
  std::vector<std::complex<double>> numbers;
  Value start;
};

/// The roots e^(-2 pi i r / of), 0 <= r < of, of an inverse transform their conjugates, times a number. Of many a product of two is one: its last digits' and
/// its first ones'.
class RootsOf {
public:
  RootsOf(RootTable &table, ComplexBuilder &c, int64_t of, double scale = 1);
  Complex at(DeviceBuilder &d, const Place &r);

private:
  RootTable &table;
  ComplexBuilder &c;
  unsigned lowBits = 0;
  bool isSplit;
  int64_t low, high;
};

/// What a step multiplies the numbers of a unit with: the powers of a root that its place k among the frequencies found so far says.
class Twiddles {
public:
  Twiddles(RootTable &table, ComplexBuilder &c, int64_t radix, int64_t found);
  /// Powers 1 to radix - 1.
  llvm::SmallVector<Complex> at(const Place &k);

private:
  RootTable &table;
  ComplexBuilder &c;
  int64_t radix, found, step, start;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_ROOTTABLE_H
