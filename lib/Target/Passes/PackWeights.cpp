//===- PackWeights.cpp - Constants in the layout that contractions read ----===//

#include "ConstantMatrix.h"
#include "Filters.h"
#include "lathe/Dialect/Kernel/BytePairs.h"
#include "lathe/Dialect/Kernel/HalfPairs.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/Float8.h"
#include "lathe/Schedule/Bytes.h"
#include "lathe/Target/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

namespace lathe::target {
#define GEN_PASS_DEF_PACKWEIGHTS
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using shape::Expr;

namespace {

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

/// The products that are summed: of bytes in i32, or of floats of 8 bits in f32.
Operation *productOfBytes(kernel::ReduceOp sum) {
  Operation *mul = sum.getKind() == kernel::Combiner::Add ? sum.getValue().getDefiningOp() : nullptr;
  if (isa_and_nonnull<arith::MulIOp>(mul) && sum.getType().isInteger(32))
    return mul;
  bool ofCodes = isa_and_nonnull<arith::MulFOp>(mul) && sum.getType().isF32() && lower::codesOf(mul->getOperand(0)) && lower::codesOf(mul->getOperand(1));
  return ofCodes ? mul : nullptr;
}

/// The bytes of a factor, if they are signed as machines want it. (Tensor cores want any.)
Value bytesOf(Value factor, bool anySign) {
  Operation *widened = factor.getDefiningOp();
  if (isa_and_nonnull<arith::ExtSIOp>(widened) || (anySign && isa_and_nonnull<arith::ExtUIOp>(widened)))
    return widened->getOperand(0);
  return anySign ? lower::codesOf(factor) : Value();
}

/// The constant factor of a sum of products of bytes.
kernel::LoadOp constantBytes(kernel::GenericOp kernel, kernel::ReduceOp sum, bool anySign) {
  Operation *mul = productOfBytes(sum);
  for (unsigned side : {1, 0}) {
    Value bytes = mul ? bytesOf(mul->getOperand(side), anySign) : Value();
    auto load = bytes && bytes.getType().isInteger(8) ? bytes.getDefiningOp<kernel::LoadOp>() : kernel::LoadOp();
    if (load && !load.getPredicate() && load.getIndices().empty() && load.getRef().hasOneUse() &&
        kernel.isConstant(cast<BlockArgument>(load.getRef())))
      return load;
  }
  return {};
}

/// Summed axes in the order of packing: what windows slide along, then the others, of which the last shares words.
SmallVector<StringRef> packingOrder(kernel::ReduceOp sum) {
  SmallVector<StringRef> taps, others;
  SmallVector<Expr> places;
  if (auto texts = sum->getAttrOfType<ArrayAttr>("slides"))
    for (Attribute text : texts)
      places.push_back(Expr::parsed(cast<StringAttr>(text).getValue()));
  for (Attribute a : sum.getAxes()) {
    StringRef name = cast<StringAttr>(a).getValue();
    bool slides = llvm::any_of(places, [&](const Expr &e) { return e.mentions(name.str()); });
    (slides ? taps : others).push_back(name);
  }
  taps.append(others);
  return taps;
}

/// The kernel's axes with the summed ones last, in this order.
void putLast(kernel::GenericOp kernel, ArrayRef<StringRef> summed) {
  SmallVector<unsigned> order;
  for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
    if (!llvm::is_contained(summed, kernel.getAxisName(i)))
      order.push_back(i);
  for (StringRef name : summed)
    for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
      if (kernel.getAxisName(i) == name)
        order.push_back(i);
  orderAxes(kernel, order);
}

/// The summed axes of a packed factor, the last of which shares words, and its columns.
struct ByteMatrix {
  SmallVector<int64_t> extents, strides;
  int64_t columns, step, panel;

  /// The source's elements at which runs of words begin.
  SmallVector<int64_t> runs() const {
    SmallVector<int64_t> starts{0};
    for (auto [extent, stride] : llvm::drop_end(llvm::zip(extents, strides))) {
      SmallVector<int64_t> all;
      for (int64_t start : starts)
        for (int64_t i = 0; i < extent; ++i)
          all.push_back(start + i * stride);
      starts = all;
    }
    return starts;
  }
  int64_t wordsOfRun() const { return (extents.back() + 3) / 4; }
};

/// Rows of the list behind each panel (BytePairs.h); nothing where it is unknown, or where too many words would be in it.
std::optional<int64_t> rowsOfPairList(Value source, const ByteMatrix &m) {
  auto constant = source.getDefiningOp<ir::ConstantOp>();
  std::optional<ir::ConstantTensor> tensor = constant ? ir::readConstant(constant.getValue()) : std::nullopt;
  if (!tensor)
    return std::nullopt;
  SmallVector<int64_t> runs = m.runs();
  auto fits = [&](int64_t from, int64_t k) { // points k and k + 1 of a run
    int64_t x = tensor->ints[from + k * m.strides.back()];
    return kernel::pairFits(x, k + 1 < m.extents.back() ? tensor->ints[from + (k + 1) * m.strides.back()] : 0);
  };
  int64_t most = 0, all = 0, words = 0;
  for (int64_t first = 0; first < m.columns; first += m.panel) {
    int64_t count = 0;
    for (int64_t run : runs)
      for (int64_t word = 0; word < m.wordsOfRun(); ++word) {
        bool beyond = false;
        for (int64_t c = first; c < std::min(first + m.panel, m.columns) && !beyond; ++c)
          for (int64_t k = 4 * word; k < std::min(4 * word + 4, m.extents.back()); k += 2)
            beyond |= !fits(run + c * m.step, k);
        count += beyond;
      }
    most = std::max(most, count);
    all += count;
    words += runs.size() * m.wordsOfRun();
  }
  return schedule::pairsPay(words, all) ? std::optional(kernel::rowsOfList(most, m.panel)) : std::nullopt;
}

/// The axis of a constant extent that all of a product's operands have in common, beside the summed ones; no axis at all is fine.
struct Groups {
  std::optional<unsigned> axis;
  int64_t count = 1, stride = 0;
};

/// A constant [groups][columns][depth], each group's columns filled up to whole panels with zeros.
Value filledGroups(OpBuilder &b, Value source, const Groups &groups, ByteMatrix &m) {
  auto constant = source.getDefiningOp<ir::ConstantOp>();
  std::optional<ir::ConstantTensor> from = constant ? ir::readConstant(constant.getValue()) : std::nullopt;
  if (!from)
    return {};
  int64_t filled = (m.columns + m.panel - 1) / m.panel * m.panel, depth = 1;
  SmallVector<int64_t> rowMajor = ir::stridesOf(m.extents);
  for (int64_t extent : m.extents)
    depth *= extent;
  ir::ConstantTensor to(RankedTensorType::get({groups.count, filled, depth}, from->type.getElementType()));
  for (int64_t g = 0; g < groups.count; ++g)
    for (int64_t c = 0; c < m.columns; ++c)
      for (int64_t k = 0; k < depth; ++k) {
        int64_t at = g * groups.stride + c * m.step;
        for (size_t i = 0; i < m.extents.size(); ++i)
          at += k / rowMajor[i] % m.extents[i] * m.strides[i];
        to.copyFrom(*from, at, (g * filled + c) * depth + k);
      }
  m.strides = rowMajor;
  m.step = depth;
  m.columns = groups.count * filled;
  return b.create<ir::ConstantOp>(constant.getLoc(), to.type, ir::writeConstant(to, "groups"));
}

/// A load of constant bytes that a kernel multiplies and sums, as a matrix.
struct PackedBytes {
  kernel::GenericOp kernel;
  kernel::ReduceOp sum;
  kernel::LoadOp load;
  SmallVector<StringRef> summed; ///< in the order of packing
  SmallVector<std::pair<std::string, int64_t>> columnAxes; ///< and how many columns one step is
  ByteMatrix matrix;
  Groups groups;

  static std::optional<PackedBytes> of(kernel::GenericOp kernel, int64_t panel);
  bool findAxes(const lower::BodyInfo &info, lower::AxisSet both);
  void pack();
  void packRows();
};

std::optional<PackedBytes> PackedBytes::of(kernel::GenericOp kernel, int64_t panel) {
  PackedBytes p{kernel, {}, {}, {}, {}, {{}, {}, 1, 0, panel}, {}};
  unsigned sums = 0;
  for (auto r : kernel.getBody().front().getOps<kernel::ReduceOp>()) {
    p.sum = r;
    ++sums;
  }
  if (sums != 1 || kernel.getKernelClass() != kernel::KernelClass::Reduction)
    return std::nullopt;
  p.load = constantBytes(kernel, p.sum, /*anySign=*/panel == 0);
  if (!p.load)
    return std::nullopt;
  p.summed = packingOrder(p.sum);
  lower::BodyInfo info(kernel);
  Operation *mul = productOfBytes(p.sum);
  lower::AxisSet left = info.axesOf(mul->getOperand(0)), right = info.axesOf(mul->getOperand(1));
  // Axes of results alone (what repeats the sums) are none of a product's.
  if (!p.findAxes(info, left & right) || (left | right) != lower::allAxes(info) || !lower::storesFollow(p.sum, info))
    return std::nullopt;
  return p;
}

/// Summed axes, then columns, which are what is left, at one stride.
bool PackedBytes::findAxes(const lower::BodyInfo &info, lower::AxisSet both) {
  Expr offset = load.getOffsetExpr(), rest = offset;
  auto take = [&](StringRef axis) -> std::optional<std::pair<int64_t, int64_t>> {
    std::optional<std::pair<int64_t, int64_t>> place = extentAndStride(kernel, axis, offset);
    if (place)
      rest = rest - Expr::symbol(axis.str()) * Expr(place->second);
    return place;
  };
  for (StringRef axis : summed) {
    auto place = take(axis);
    if (!place)
      return false;
    matrix.extents.push_back(place->first);
    matrix.strides.push_back(place->second);
  }
  for (unsigned i = kernel.getNumAxes(); i-- > 0;) {
    StringRef axis = kernel.getAxisName(i);
    bool shared = both >> i & 1;
    if (llvm::is_contained(summed, axis) || (!shared && !offset.mentions(axis.str())))
      continue;
    auto place = take(axis);
    if (!place || (shared && groups.axis))
      return false;
    if (shared) {
      groups = {i, place->first, place->second};
      continue;
    }
    if (matrix.step && place->second != matrix.step * matrix.columns)
      return false;
    columnAxes.push_back({axis.str(), matrix.columns});
    matrix.step = matrix.step ? matrix.step : place->second;
    matrix.columns *= place->first;
  }
  return matrix.step && rest.isZero() && (info.axesOf(sum.getAxes()) & ~both) == 0;
}

/// Panels of words of four points of the sum: [columns / panel][words][panel][4].
void PackedBytes::pack() {
  OpBuilder b(kernel);
  unsigned operand = cast<BlockArgument>(load.getRef()).getArgNumber();
  Value source = kernel.getInputs()[operand];
  if (groups.axis) {
    if (!schedule::panelsPay(matrix.columns, matrix.extents.back()))
      return;
    std::string group = kernel.getAxisName(*groups.axis).str();
    source = filledGroups(b, source, groups, matrix);
    if (!source)
      return;
    Expr offset = Expr::symbol(group) * Expr(matrix.columns / groups.count * matrix.step);
    for (auto &[axis, step] : columnAxes)
      offset = offset + Expr::symbol(axis) * Expr(step * matrix.step);
    for (auto [axis, stride] : llvm::zip(summed, matrix.strides))
      offset = offset + Expr::symbol(axis.str()) * Expr(stride);
    load.setOffset(offset.str());
  }
  int64_t runs = matrix.runs().size(), words = runs * matrix.wordsOfRun(), depth = runs * matrix.extents.back();
  putLast(kernel, summed);
  std::optional<int64_t> list = rowsOfPairList(source, matrix);
  auto type = RankedTensorType::get({(matrix.columns + matrix.panel - 1) / matrix.panel, words + list.value_or(0), matrix.panel, 4},
                                    cast<RankedTensorType>(source.getType()).getElementType());
  auto op = b.create<kernel::PackOp>(source.getLoc(), type, source, depth, matrix.columns, 0, matrix.step, matrix.panel,
                                     b.getDenseI64ArrayAttr(matrix.extents), b.getDenseI64ArrayAttr(matrix.strides));
  kernel.getInputsMutable()[operand].set(op);
  load->setAttr("packed", b.getUnitAttr());
  for (Operation *o : {op.getOperation(), load.getOperation()})
    if (list)
      o->setAttr(kernel::pairsName, b.getI64IntegerAttr(*list));
}

/// [columns][depth]: depths side by side, as tensor cores take bytes. Rows of a matrix are filled up to the pieces of 16 bytes that bulk
/// copies want them to begin at.
void PackedBytes::packRows() {
  constexpr int64_t piece = 16;
  if (groups.axis)
    return;
  OpBuilder b(kernel);
  unsigned operand = cast<BlockArgument>(load.getRef()).getArgNumber();
  Value source = kernel.getInputs()[operand];
  SmallVector<int64_t> inRow = ir::stridesOf(matrix.extents);
  int64_t depth = inRow.front() * matrix.extents.front(), pieces = (depth + piece - 1) / piece;
  bool filled = matrix.extents.size() == 1 && depth > piece && depth % piece;
  Expr offset(0);
  for (auto &[axis, step] : columnAxes)
    offset = offset + Expr::symbol(axis) * Expr(step * (filled ? pieces * piece : depth));
  for (auto [axis, stride] : llvm::zip(summed, inRow))
    offset = offset + Expr::symbol(axis.str()) * Expr(stride);
  putLast(kernel, summed);
  if (offset == load.getOffsetExpr()) // as it lies
    return;
  SmallVector<int64_t> shape = filled ? SmallVector<int64_t>{matrix.columns, pieces, 1, piece} : SmallVector<int64_t>{matrix.columns, depth};
  auto type = RankedTensorType::get(shape, cast<RankedTensorType>(source.getType()).getElementType());
  auto op = b.create<kernel::PackOp>(source.getLoc(), type, source, depth, matrix.columns, 0, matrix.step, filled ? 1 : 0,
                                     b.getDenseI64ArrayAttr(matrix.extents), b.getDenseI64ArrayAttr(matrix.strides));
  kernel.getInputsMutable()[operand].set(op);
  load.setOffset(offset.str());
}

struct PackWeightsPass : target::impl::PackWeightsBase<PackWeightsPass> {
  using PackWeightsBase::PackWeightsBase;

  /// The type of a panel's elements.
  Type narrowed(Type element) {
    OpBuilder b(&getContext());
    if (!element.isF32())
      return element;
    return precision == "bf16" ? b.getBF16Type() : precision == "f16" ? Type(b.getF16Type()) : element;
  }

  void pack(kernel::GenericOp kernel, kernel::ContractOp contract) {
    auto arg = cast<BlockArgument>(contract.getRhs());
    if (!kernel.isConstant(arg) || !arg.hasOneUse())
      return;
    Value source = kernel.getInputs()[arg.getArgNumber()];
    auto type = cast<RankedTensorType>(source.getType());
    std::optional<ConstantMatrix> m = ConstantMatrix::of(kernel, contract);
    bool widens = type.getElementType().isSignlessInteger(8) && isa<FloatType>(contract.getType());
    if (!m || !(isa<FloatType>(type.getElementType()) || widens))
      return;
    if (m->n == 1 && !widens) // a panel would be one column and 31 of nothing
      return;
    OpBuilder b(kernel);
    Type element = narrowed(type.getElementType());
    auto packed = RankedTensorType::get({(m->n + panel - 1) / panel, m->k, panel}, element);
    auto op = b.create<kernel::PackOp>(source.getLoc(), packed, source, m->k, m->n, m->kStride, m->nStride, panel);
    kernel.getInputsMutable()[arg.getArgNumber()].set(op);
    if (element != type.getElementType())
      arg.setType(kernel::RefType::get(&getContext(), element));
    if (element != type.getElementType() && element.isBF16())
      contract->setAttr(kernel::mayRoundName, b.getUnitAttr());
    contract.setPackedAttr(b.getDictionaryAttr(b.getNamedAttr("n_panel", b.getI64IntegerAttr(panel))));
  }

  void runOnOperation() override {
    getOperation().walk([&](kernel::GenericOp kernel) {
      if (std::optional<PackedBytes> bytes = PackedBytes::of(kernel, panel))
        panel ? bytes->pack() : bytes->packRows();
      if (!panel) // floats lie as they may
        return;
      kernel.getBody().walk([&](kernel::ContractOp contract) { pack(kernel, contract); });
    });
  }
};

} // namespace
