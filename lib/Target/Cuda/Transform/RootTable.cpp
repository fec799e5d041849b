//===- RootTable.cpp - Roots of unity in a kernel's constant memory --------===//

#include "RootTable.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

void RootTable::finish() {
  if (numbers.empty())
    return;
  int64_t count = 2 * numbers.size();
  auto type = RankedTensorType::get({count}, element);
  DenseElementsAttr values;
  if (element.isF64()) {
    SmallVector<double> flat;
    for (std::complex<double> w : numbers)
      flat.append({w.real(), w.imag()});
    values = DenseElementsAttr::get(type, ArrayRef<double>(flat));
  } else {
    SmallVector<float> flat;
    for (std::complex<double> w : numbers)
      flat.append({float(w.real()), float(w.imag())});
    values = DenseElementsAttr::get(type, ArrayRef<float>(flat));
  }
  start = frame.constantArray("roots", element, count, values);
}

Complex RootTable::at(const Place &index, int64_t offset) {
  unsigned bytes = element.getIntOrFloatBitWidth() / 8;
  Value pointer = d.at(start, d.add(d.mul(d.wide(index.base), 2), 2 * (index.more + offset)), element);
  Value pair = d.load(d.vector(2, element), pointer, 2 * bytes);
  return {d.extract(pair, 0), d.extract(pair, 1)};
}

RootsOf::RootsOf(RootTable &table, ComplexBuilder &c, int64_t of, double scale) : table(table), c(c) {
  constexpr int64_t fewRoots = 64;
  isSplit = of > fewRoots;
  lowBits = isSplit ? llvm::Log2_64_Ceil(of + 1) / 2 : 0;
  int64_t run = isSplit ? int64_t(1) << lowBits : of;
  low = table.size();
  for (int64_t r = 0; r < run; ++r)
    table.add(c.root(r, of) * (isSplit ? 1 : scale));
  high = table.size();
  for (int64_t r = 0; isSplit && r < of; r += run)
    table.add(c.root(r, of) * scale);
}

Complex RootsOf::at(DeviceBuilder &d, const Place &given) {
  if (!isSplit)
    return table.at(given, low);
  int64_t run = int64_t(1) << lowBits;
  Place r = given.more % run == 0 ? given : Place{d.add(given.base, given.more)};
  return c.mul(table.at({d.bitAnd(r.base, run - 1)}, low), table.at({d.shr(r.base, lowBits), r.more / run}, high));
}

/// Powers are products of one below the step and a multiple of it: of few, all are in the table.
Twiddles::Twiddles(RootTable &table, ComplexBuilder &c, int64_t radix, int64_t found)
    : table(table), c(c), radix(radix), found(found), step(radix), start(table.size()) {
  constexpr int64_t fewPowers = 5;
  if (radix > fewPowers)
    for (step = 1; step * step < radix;)
      ++step;
  for (int64_t i = 1; i < radix; ++i)
    for (int64_t k = 0; (i < step || i % step == 0) && k < found; ++k)
      table.add(c.root(i * k, radix * found));
}

SmallVector<Complex> Twiddles::at(const Place &k) {
  SmallVector<Complex> powers(radix);
  int64_t offset = start;
  for (int64_t i = 1; i < radix; ++i) {
    if (i < step || i % step == 0) {
      powers[i] = table.at(k, offset);
      offset += found;
    } else {
      powers[i] = c.mul(powers[i - i % step], powers[i % step]);
    }
  }
  powers.erase(powers.begin());
  return powers;
}
