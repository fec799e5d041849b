//===- Constants.cpp - Bytes of constant tensors ---------------------------===//

#include "Constants.h"
#include "Packing.h"
#include "lathe/Dialect/Kernel/BytePairs.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace lathe;
using llvm::Error;
using llvm::Expected;

LatheDType pipeline::dtypeOf(Type element) {
  using namespace artifact;
  if (const ir::NarrowType *narrow = ir::narrowType(element))
    return dtype(DTypeCode(narrow->code), narrow->bits);
  unsigned bits = element.getIntOrFloatBitWidth();
  if (element.isBF16())
    return dtype(BFloat, 16);
  if (isa<FloatType>(element))
    return dtype(Float, bits);
  if (bits == 1)
    return dtype(Bool, 8);
  return dtype(element.isUnsignedInteger() ? UInt : Int, bits);
}

unsigned pipeline::elementBytes(Type element) { return (element.getIntOrFloatBitWidth() + 7) / 8; }

/// A dense attribute's bytes as they lie in memory: splats repeated, i1 one byte each.
static std::string expand(DenseElementsAttr dense) {
  unsigned size = pipeline::elementBytes(dense.getElementType());
  std::string out;
  out.reserve(size_t(dense.getNumElements()) * size);
  if (dense.getElementType().isInteger(1)) {
    for (bool v : dense.getValues<bool>())
      out.push_back(char(v));
    return out;
  }
  ArrayRef<char> raw = dense.getRawData();
  if (!dense.isSplat())
    return std::string(raw.begin(), raw.end());
  for (int64_t i = 0; i < dense.getNumElements(); ++i)
    out.append(raw.data(), size);
  return out;
}

Expected<artifact::ByteSource> pipeline::attributeBytes(ElementsAttr value) {
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return artifact::ByteSource::own(expand(dense));
  auto resource = dyn_cast<DenseResourceElementsAttr>(value);
  AsmResourceBlob *blob = resource ? resource.getRawHandle().getBlob() : nullptr;
  uint64_t want = uint64_t(value.getNumElements()) * elementBytes(value.getElementType());
  if (!blob || blob->getData().size() < want)
    return bug("a constant of type {0} has no bytes", value.getType());
  return artifact::ByteSource::borrow(blob->getData().take_front(want));
}

Expected<artifact::ByteSource> pipeline::constantBytes(ir::ConstantOp op) { return attributeBytes(op.getValue()); }

/// The element at which each row of a packed matrix starts in the source.
static std::vector<int64_t> rowStarts(kernel::PackOp op) {
  std::vector<int64_t> starts(op.getK());
  for (int64_t k = 0; k < int64_t(op.getK()); ++k) {
    if (!op.getKExtents()) {
      starts[k] = k * op.getKStride();
      continue;
    }
    ArrayRef<int64_t> extents = *op.getKExtents(), strides = *op.getKStrides();
    int64_t rest = k;
    for (size_t i = extents.size(); i-- > 0; rest /= extents[i])
      starts[k] += rest % extents[i] * strides[i];
  }
  return starts;
}

Expected<artifact::ByteSource> pipeline::packedBytes(kernel::PackOp op) {
  auto constant = op.getSource().getDefiningOp<ir::ConstantOp>();
  if (!constant)
    return bug("kernel.pack of something that is no constant");
  Expected<artifact::ByteSource> whole = constantBytes(constant);
  if (!whole)
    return whole.takeError();
  Type from = ir::signless(ir::elementOf(op.getSource())), to = ir::signless(ir::elementOf(op.getResult()));
  auto p = std::make_shared<pipeline::Packing>(pipeline::Packing{{}, {from, to}, int64_t(op.getK()), int64_t(op.getN()), int64_t(op.getNStride()),
                                                                 int64_t(op.getPanel()), rowStarts(op)});
  auto kept = std::make_shared<std::string>(); // a small dense attribute, expanded
  if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue())) {
    *kept = expand(dense);
    p->source = ArrayRef<char>(kept->data(), kept->size());
  } else {
    p->source = cast<DenseResourceElementsAttr>(constant.getValue()).getRawHandle().getBlob()->getData();
  }
  p->run = std::max<int64_t>(1, op.getKExtents() && !op.getKExtents()->empty() ? op.getKExtents()->back() : p->k);
  if (ir::typeOf(op.getResult()).getRank() == 4)
    p->group = ir::typeOf(op.getResult()).getShape().back();
  if (auto rows = op->getAttrOfType<IntegerAttr>(kernel::pairsName))
    p->listRows = rows.getInt();
  if (auto tile = op->getAttrOfType<DenseI64ArrayAttr>(kernel::winogradName)) {
    if (!from.isF32() || !to.isF32() || tile.size() != 2 || !kernel::Winograd::knows(tile[0]) || !kernel::Winograd::knows(tile[1]))
      return bug("kernel.pack: no tiles of these results are made of {0}", from);
    p->tile = {tile[0], tile[1]};
  }
  artifact::ByteSource out;
  out.size = uint64_t(ir::typeOf(op.getResult()).getNumElements()) * elementBytes(to);
  out.pieces = p->pieces();
  out.make = [p, kept](uint64_t number, SmallVectorImpl<char> &scratch) { return p->piece(number, scratch); };
  return out;
}
