//===- Constants.cpp - Bytes of constant tensors ---------------------------===//

#include "Constants.h"
#include "lathe/Dialect/Kernel/BytePairs.h"
#include "lathe/Dialect/Kernel/Winograd.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/APFloat.h"

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

namespace {

/// A matrix in a constant, and the element conversion of packing it.
struct Packing {
  ArrayRef<char> source;
  Type from, to;
  int64_t k, n, nStride, panel;
  std::vector<int64_t> rows; ///< where row k starts
  int64_t group = 1;         ///< rows that lie side by side, an element of each
  int64_t run = 1;           ///< rows after which a group begins anew
  int64_t listRows = 0;      ///< behind a panel of bytes
  std::array<int64_t, 2> tile = {1, 1}; ///< of minimal filtering: its results; rows are the taps, and what is summed for each

  /// Groups of all rows, and the place of a row's first element among the elements of a column.
  int64_t groups() const { return k / run * ((run + group - 1) / group); }
  int64_t placeOf(int64_t row, int64_t width) const {
    int64_t number = row / run * ((run + group - 1) / group) + row % run / group;
    return number * width * group + row % run % group;
  }

  void convert(const char *in, char *out) const {
    if (from == to) {
      std::memcpy(out, in, pipeline::elementBytes(from));
      return;
    }
    unsigned inBits = from.getIntOrFloatBitWidth();
    APInt bits(inBits, 0);
    std::memcpy(const_cast<uint64_t *>(bits.getRawData()), in, inBits / 8);
    APFloat v(cast<FloatType>(from).getFloatSemantics(), bits);
    bool lossy;
    v.convert(cast<FloatType>(to).getFloatSemantics(), APFloat::rmNearestTiesToEven, &lossy);
    APInt result = v.bitcastToAPInt();
    std::memcpy(out, result.getRawData(), to.getIntOrFloatBitWidth() / 8);
  }

  int64_t places() const { return kernel::Winograd(tile[0]).places() * kernel::Winograd(tile[1]).places(); }
  int64_t taps() const {
    int64_t count = 1;
    for (int64_t results : tile)
      count *= results > 1 ? kernel::winogradTaps : 1;
    return count;
  }

  /// [place][k][width] of columns [n0, n0 + width), reckoned in double precision.
  void tiledBlock(int64_t n0, int64_t width, std::string &out) const {
    int64_t valid = std::min(width, n - n0), depth = k / taps();
    std::vector<float> block(size_t(places() * depth * width));
    double from[9], to[36];
    for (int64_t c = 0; c < valid; ++c)
      for (int64_t d = 0; d < depth; ++d) {
        for (int64_t t = 0; t < taps(); ++t) {
          float element;
          std::memcpy(&element, source.data() + (rows[t * depth + d] + (n0 + c) * nStride) * sizeof element, sizeof element);
          from[t] = element;
        }
        kernel::transformFilter(kernel::Winograd(tile[0]), kernel::Winograd(tile[1]), from, to);
        for (int64_t p = 0; p < places(); ++p)
          block[(p * depth + d) * width + c] = float(to[p]);
      }
    out.assign(reinterpret_cast<const char *>(block.data()), block.size() * sizeof(float));
  }

  /// Rows k of columns [n0, n0 + width), `width` elements each, zeros past n.
  void block(int64_t n0, int64_t width, std::string &out) const {
    unsigned in = pipeline::elementBytes(from), size = pipeline::elementBytes(to);
    int64_t valid = std::min(width, n - n0);
    out.assign(size_t(groups()) * group * width * size, '\0');
    bool runs = from == to && nStride == 1 && group == 1;
    for (int64_t row = 0; row < k; ++row) {
      char *at = out.data() + placeOf(row, width) * size;
      const char *base = source.data() + (rows[row] + n0 * nStride) * in;
      if (runs)
        std::memcpy(at, base, valid * size);
      else
        for (int64_t c = 0; c < valid; ++c)
          convert(base + c * nStride * in, at + c * group * size);
    }
  }

  /// Behind a panel of bytes, the words with pairs of products that do not fit.
  void appendList(std::string &out) const {
    ArrayRef<int8_t> bytes(reinterpret_cast<const int8_t *>(out.data()), out.size());
    std::vector<int32_t> list = kernel::listOfWords(kernel::wordsBeyondPairs(bytes, panel), groups());
    size_t end = out.size() + size_t(listRows * panel * group);
    out.append(reinterpret_cast<const char *>(list.data()), list.size() * sizeof(int32_t));
    out.resize(end, '\0');
  }

  void stream(llvm::function_ref<void(ArrayRef<char>)> sink) const {
    std::string buffer;
    if (panel) {
      for (int64_t n0 = 0; n0 < n; n0 += panel) {
        places() > 1 ? tiledBlock(n0, panel, buffer) : block(n0, panel, buffer);
        if (listRows)
          appendList(buffer);
        sink(ArrayRef<char>(buffer.data(), buffer.size()));
      }
      return;
    }
    unsigned in = pipeline::elementBytes(from), size = pipeline::elementBytes(to);
    for (int64_t c = 0; c < n; ++c) { // [n][k]
      buffer.resize(size_t(k) * size);
      for (int64_t row = 0; row < k; ++row)
        convert(source.data() + (rows[row] + c * nStride) * in, buffer.data() + row * size);
      sink(ArrayRef<char>(buffer.data(), buffer.size()));
    }
  }
};

} // namespace

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
  Packing p;
  auto kept = std::make_shared<std::string>(); // a small dense attribute, expanded
  if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue())) {
    *kept = expand(dense);
    p.source = ArrayRef<char>(kept->data(), kept->size());
  } else {
    p.source = cast<DenseResourceElementsAttr>(constant.getValue()).getRawHandle().getBlob()->getData();
  }
  p.from = ir::signless(ir::elementOf(op.getSource()));
  p.to = ir::signless(ir::elementOf(op.getResult()));
  p.k = op.getK(), p.n = op.getN(), p.nStride = op.getNStride(), p.panel = op.getPanel();
  p.rows = rowStarts(op);
  p.run = std::max<int64_t>(1, op.getKExtents() && !op.getKExtents()->empty() ? op.getKExtents()->back() : p.k);
  if (ir::typeOf(op.getResult()).getRank() == 4)
    p.group = ir::typeOf(op.getResult()).getShape().back();
  if (auto rows = op->getAttrOfType<IntegerAttr>(kernel::pairsName))
    p.listRows = rows.getInt();
  if (auto tile = op->getAttrOfType<DenseI64ArrayAttr>(kernel::winogradName)) {
    if (!p.from.isF32() || !p.to.isF32() || tile.size() != 2 || !kernel::Winograd::knows(tile[0]) || !kernel::Winograd::knows(tile[1]))
      return bug("kernel.pack: no tiles of these results are made of {0}", p.from);
    p.tile = {tile[0], tile[1]};
  }
  artifact::ByteSource out;
  out.size = uint64_t(ir::typeOf(op.getResult()).getNumElements()) * elementBytes(p.to);
  out.stream = [p, kept](llvm::function_ref<void(ArrayRef<char>)> sink) {
    p.stream(sink);
    return llvm::Error::success();
  };
  return out;
}
