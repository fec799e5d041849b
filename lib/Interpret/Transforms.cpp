//===- Transforms.cpp - Fourier transforms, by their definition ------------===//

#include "KernelReduce.h"
#include "lathe/Dialect/Kernel/Transform.h"
#include "lathe/Dialect/Lathe/ElementWalk.h"
#include "lathe/Dialect/Lathe/Evaluate.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;

using Number = std::complex<double>;

/// One row: where its numbers and their parts lie. A step of 0 between the parts: there is no imaginary one.
namespace {
struct RowOf {
  int64_t first, step, parts;
  Number read(const Tensor &t, int64_t i) const {
    int64_t at = first + i * step;
    return {t.floats[at], parts ? t.floats[at + parts] : 0};
  }
  void write(Tensor &t, int64_t i, Number v) const {
    Type element = t.type.getElementType();
    t.floats[first + i * step] = ir::roundTo(v.real(), element);
    if (parts)
      t.floats[first + i * step + parts] = ir::roundTo(v.imag(), element);
  }
};

struct Definition {
  int64_t length, wanted;
  bool inverse, mirrored; ///< half of the numbers is given
  double scale = 1;
  int64_t turn = 0, turns = 1; ///< result k times the root of k * turn of so many
  Number root(int64_t r, int64_t of) const {
    Number w = kernel::rootOfUnity(r, of);
    return inverse ? w : std::conj(w);
  }
  void run(const Tensor &from, const RowOf &x, Tensor &to, const RowOf &y) const;
};
} // namespace

void Definition::run(const Tensor &from, const RowOf &x, Tensor &to, const RowOf &y) const {
  std::vector<Number> roots, numbers;
  for (int64_t i = 0; i < length; ++i) {
    roots.push_back(root(i, length));
    bool isMirror = mirrored && i > length / 2;
    Number v = x.read(from, isMirror ? length - i : i);
    bool isReal = mirrored && (i == 0 || 2 * i == length);
    numbers.push_back(isReal ? Number(v.real()) : isMirror ? std::conj(v) : v);
  }
  for (int64_t k = 0; k < wanted; ++k) {
    Number sum = 0;
    for (int64_t i = 0; i < length; ++i)
      sum += numbers[i] * roots[i * k % length];
    y.write(to, k, sum * root(k * turn % turns, turns) * scale);
  }
}

Tensor interpret::runFft(ir::FftOp op, const Tensor &x) {
  Tensor out(ir::typeOf(op.getResult()));
  int64_t axis = op.getAxis(), parts = op.getParts(), n = op.getLength();
  SmallVector<int64_t> from = ir::stridesOf(x.shape()), to = ir::stridesOf(out.shape()), rows(out.shape());
  bool fromReal = x.shape()[parts] == 1, toReal = out.shape()[parts] == 1;
  rows[axis] = rows[parts] = 1;
  Definition f{n, out.shape()[axis], op.getInverse(), toReal};
  f.scale = op.getScale() ? op.getScale()->convertToDouble() : 1;
  f.turns = op.getTurns().value_or(1);
  ir::forEach(rows, [&](int64_t, ArrayRef<int64_t> at) {
    RowOf in{0, from[axis], fromReal ? 0 : from[parts]}, result{0, to[axis], toReal ? 0 : to[parts]};
    for (size_t d = 0; d < at.size(); ++d) {
      in.first += at[d] * from[d];
      result.first += at[d] * to[d];
    }
    f.turn = op.getTurnDim() ? at[*op.getTurnDim()] : 0;
    f.run(x, in, out, result);
  });
  return out;
}

Column interpret::transformAlong(kernel::FftOp op, const Column &value, const TransformAxes &axes, const KernelFrame &frame) {
  using kernel::TransformKind;
  bool fromReal = op.getKind() == TransformKind::R2C, toReal = op.getKind() == TransformKind::C2R;
  AxisSet rows = without(value.axes, unite(axes.along, axes.parts)), results = unite(rows, axes.to);
  if (!toReal)
    results = unite(results, axes.parts);
  Column out{results, Tensor(RankedTensorType::get(frame.shapeOf(results), op.getType()))};
  SmallVector<int64_t> from = stridesIn(value.axes, rows, frame), to = stridesIn(results, rows, frame);
  auto stepOf = [&](const AxisSet &all, const AxisSet &axis) { return stridesIn(all, axis, frame)[0]; };
  RowOf x{0, stepOf(value.axes, axes.along), fromReal ? 0 : stepOf(value.axes, axes.parts)};
  RowOf y{0, stepOf(results, axes.to), toReal ? 0 : stepOf(results, axes.parts)};
  Definition f{int64_t(op.getLength()), frame.axes[axes.to[0]].size, op.getInverse(), toReal};
  f.turns = op.getTurns().value_or(1);
  ir::forEach(frame.shapeOf(rows), [&](int64_t, ArrayRef<int64_t> at) {
    x.first = y.first = f.turn = 0;
    for (size_t d = 0; d < at.size(); ++d) {
      x.first += at[d] * from[d];
      y.first += at[d] * to[d];
      if (llvm::is_contained(axes.turn, rows[d]))
        f.turn = frame.axes[rows[d]].begin + at[d];
    }
    f.run(value.tensor, x, out.tensor, y);
  });
  return out;
}
