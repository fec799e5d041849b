//===- Weights.cpp - Parameters, buffers and constants ----------------------===//
//
// A weight is a view (sizes, strides, offset) of a storage, whose bytes are one member of the archive. Where the view is
// contiguous and the bytes lie in the file as they are, the attribute points into the mapped file; otherwise the elements
// are copied into order.
//
//===----------------------------------------------------------------------===//

#include "Weights.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;
using shape::Expr;

static constexpr uint64_t maxExpandedBytes = 256u << 20; // of a weight that is larger than its storage (stride 0)
static constexpr uint64_t smallBytes = 1024;             // constants up to this are printed and folded in full

namespace {
struct DTypeInfo {
  DType dtype;
  const char *name;
  mlir::Type (*type)(mlir::Builder &);
};
} // namespace

static const DTypeInfo dtypes[] = {
    {1, "uint8", [](mlir::Builder &b) -> mlir::Type { return b.getIntegerType(8, false); }},
    {2, "int8", [](mlir::Builder &b) -> mlir::Type { return b.getI8Type(); }},
    {3, "int16", [](mlir::Builder &b) -> mlir::Type { return b.getI16Type(); }},
    {4, "int32", [](mlir::Builder &b) -> mlir::Type { return b.getI32Type(); }},
    {5, "int64", [](mlir::Builder &b) -> mlir::Type { return b.getI64Type(); }},
    {6, "float16", [](mlir::Builder &b) -> mlir::Type { return b.getF16Type(); }},
    {7, "float32", [](mlir::Builder &b) -> mlir::Type { return b.getF32Type(); }},
    {8, "float64", [](mlir::Builder &b) -> mlir::Type { return b.getF64Type(); }},
    {9, "complex32", nullptr},
    {10, "complex64", nullptr},
    {11, "complex128", nullptr},
    {12, "bool", [](mlir::Builder &b) -> mlir::Type { return b.getI1Type(); }},
    {13, "bfloat16", [](mlir::Builder &b) -> mlir::Type { return b.getBF16Type(); }},
    {28, "uint16", [](mlir::Builder &b) -> mlir::Type { return b.getIntegerType(16, false); }},
    {29, "float8_e4m3fn", [](mlir::Builder &b) -> mlir::Type { return b.getType<mlir::Float8E4M3FNType>(); }},
    {30, "float8_e5m2", [](mlir::Builder &b) -> mlir::Type { return b.getType<mlir::Float8E5M2Type>(); }},
    {34, "uint32", [](mlir::Builder &b) -> mlir::Type { return b.getIntegerType(32, false); }},
    {35, "uint64", [](mlir::Builder &b) -> mlir::Type { return b.getIntegerType(64, false); }},
};

static const DTypeInfo *findDType(DType dtype) {
  for (const DTypeInfo &info : dtypes)
    if (info.dtype == dtype)
      return &info;
  return nullptr;
}

mlir::Type fx::elementType(DType dtype, mlir::MLIRContext *context) {
  const DTypeInfo *info = findDType(dtype);
  mlir::Builder b(context);
  return info && info->type ? info->type(b) : mlir::Type();
}

std::string fx::dtypeName(DType dtype) {
  const DTypeInfo *info = findDType(dtype);
  return info ? info->name : "dtype " + std::to_string(dtype);
}

static constexpr DType float32 = 7, float64 = 8, complex64 = 10, complex128 = 11;

bool fx::isComplexType(DType dtype) { return dtype == complex64 || dtype == complex128; }
DType fx::partsType(DType dtype) { return dtype == complex64 ? float32 : float64; }

/// The same tensor with its complex numbers as pairs.
static TensorMeta asPairs(TensorMeta meta) {
  if (!isComplexType(meta.dtype))
    return meta;
  auto twice = [](Size &s) {
    if (s.expr)
      s.expr = *s.expr * Expr(2);
  };
  meta.dtype = partsType(meta.dtype);
  meta.sizes.push_back({Expr(2), "2"});
  llvm::for_each(meta.strides, twice);
  if (!meta.strides.empty() || meta.sizes.size() == 1)
    meta.strides.push_back({Expr(1), "1"});
  twice(meta.offset);
  return meta;
}

/// A view with constant sizes, checked against overflow.
struct Weights::Layout {
  llvm::SmallVector<int64_t> sizes, strides;
  int64_t offset = 0, count = 1;
  int64_t last = 0; ///< the largest storage index that the view reaches, when it is not empty
  bool contiguous = true;
};

static llvm::Expected<std::map<std::string, WeightEntry>> readConfig(const Archive &archive, StringRef kind, StringRef model,
                                                                     StringRef file) {
  for (StringRef infix : {"", "_model"}) {
    // Builds before torch 2.9's release wrote another name.
    std::string stem = infix.empty() ? ("_" + kind + "_config.json").str()
                       : kind == "weights" ? "_model_param_config.json" : "_model_constants_config.json";
    std::string name = ("data/" + kind + "/" + model + stem).str();
    if (!archive.has(name))
      continue;
    auto member = archive.read(name);
    if (!member)
      return member.takeError();
    return parseWeightsConfig(StringRef(member->data.data(), member->data.size()), (file + ":" + name).str());
  }
  if (archive.has(("data/" + kind + "/" + model + ".pt").str()))
    return unsupported("{0}: its {1} are a pickle, as torch 2.8 and older write them; export again with torch 2.9 or later",
                       file, kind);
  return std::map<std::string, WeightEntry>();
}

llvm::Expected<Weights> Weights::open(const Archive &archive, StringRef model, StringRef file) {
  Weights result;
  result.archive = &archive;
  result.file = file.str();
  auto parameters = readConfig(archive, "weights", model, file);
  if (!parameters)
    return parameters.takeError();
  result.parameters = std::move(*parameters);
  auto constants = readConfig(archive, "constants", model, file);
  if (!constants)
    return constants.takeError();
  result.constants = std::move(*constants);
  return result;
}

llvm::Expected<const WeightEntry *> Weights::entryOf(const InputSpec &spec, std::string &folder) const {
  bool first = spec.kind == InputSpec::Kind::Parameter || (spec.kind == InputSpec::Kind::Buffer && spec.persistent);
  for (bool weights : {first, !first}) {
    const auto &map = weights ? parameters : constants;
    auto found = map.find(spec.key);
    if (found == map.end())
      continue;
    folder = weights ? "data/weights/" : "data/constants/";
    return &found->second;
  }
  return userError("{0}: the archive has no value for '{1}'", file, spec.key);
}

std::string Weights::memberOf(const InputSpec &spec) const {
  std::string folder;
  auto entry = entryOf(spec, folder);
  if (entry)
    return folder + (*entry)->member;
  llvm::consumeError(entry.takeError());
  return "";
}

llvm::Error Weights::layoutOf(const InputSpec &spec, const TensorMeta &meta, Layout &layout) const {
  auto number = [&](const Size &size, int64_t &into) {
    std::optional<int64_t> n = size.expr ? size.expr->constant() : std::nullopt;
    into = n.value_or(0);
    return n && *n >= 0;
  };
  auto malformed = [&](const char *what) { return userError("{0}: weight '{1}' {2}", file, spec.key, what); };
  if (!number(meta.offset, layout.offset))
    return malformed("has no constant offset");
  for (const Size &s : meta.sizes) {
    int64_t n;
    if (!number(s, n))
      return malformed("has a size that is no constant");
    layout.sizes.push_back(n);
    if (llvm::MulOverflow(layout.count, n, layout.count))
      return malformed("is too large");
  }
  if (!meta.strides.empty() && meta.strides.size() != meta.sizes.size())
    return malformed("has another number of strides than of sizes");
  int64_t expected = 1;
  layout.strides.resize(layout.sizes.size());
  layout.last = layout.offset;
  for (size_t i = layout.sizes.size(); i-- > 0;) {
    layout.strides[i] = expected;
    if (!meta.strides.empty() && !number(meta.strides[i], layout.strides[i]))
      return malformed("has a stride that is no constant");
    if (layout.sizes[i] != 1 && layout.strides[i] != expected)
      layout.contiguous = false;
    int64_t span;
    if (layout.count > 0 && (llvm::MulOverflow(layout.sizes[i] - 1, layout.strides[i], span) ||
                             llvm::AddOverflow(layout.last, span, layout.last)))
      return malformed("is too large");
    expected = layout.count == 0 ? 1 : expected * layout.sizes[i];
  }
  return llvm::Error::success();
}

/// The view's elements in row-major order.
static std::vector<char> gather(llvm::ArrayRef<char> storage, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> strides,
                                int64_t offset, int64_t count, size_t bytes) {
  std::vector<char> result(count * bytes);
  llvm::SmallVector<int64_t> index(sizes.size(), 0);
  int64_t at = offset;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(result.data() + i * bytes, storage.data() + at * bytes, bytes);
    for (size_t d = sizes.size(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < sizes[d])
        break;
      at -= sizes[d] * strides[d];
      index[d] = 0;
    }
  }
  return result;
}

static mlir::ElementsAttr makeAttribute(mlir::RankedTensorType type, StringRef name, llvm::ArrayRef<char> data,
                                        std::shared_ptr<const void> owner) {
  mlir::Type element = type.getElementType();
  if (element.isInteger(1)) {
    llvm::SmallVector<bool> values;
    for (char c : data)
      values.push_back(c != 0);
    return mlir::DenseElementsAttr::get(type, values);
  }
  if (data.empty())
    return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<mlir::Attribute>());
  if (data.size() <= smallBytes)
    return mlir::DenseElementsAttr::getFromRawBuffer(type, data);
  size_t width = (element.getIntOrFloatBitWidth() + 7) / 8, alignment = reinterpret_cast<uintptr_t>(data.data()) % width ? 1 : width;
  mlir::AsmResourceBlob blob(data, alignment, [owner](void *, size_t, size_t) {}, /*dataIsMutable=*/false);
  return mlir::DenseResourceElementsAttr::get(type, name, std::move(blob));
}

llvm::Expected<mlir::ElementsAttr> Weights::value(const InputSpec &spec, const TensorMeta &graphMeta,
                                                  mlir::MLIRContext *context) {
  std::string folder;
  auto entry = entryOf(spec, folder);
  if (!entry)
    return entry.takeError();
  if ((*entry)->pickled)
    return unsupported("{0}: weight '{1}' is stored as a pickled tensor subclass; only plain tensors are read", file, spec.key);
  TensorMeta meta = asPairs((*entry)->meta ? *(*entry)->meta : graphMeta);
  mlir::Type element = elementType(meta.dtype, context);
  if (!element || !meta.strided)
    return unsupported("{0}: weight '{1}' has {2}, which the compiler has no type for", file, spec.key,
                       meta.strided ? dtypeName(meta.dtype) : "a sparse layout");
  Layout layout;
  if (llvm::Error e = layoutOf(spec, meta, layout))
    return e;
  auto type = mlir::RankedTensorType::get(layout.sizes, element);
  StringRef member = (*entry)->member;
  if (member.empty() || member.find_first_of("/\\") != StringRef::npos || member.starts_with("."))
    return userError("{0}: weight '{1}' names the member '{2}', which is no plain name", file, spec.key, member);
  std::string place;
  llvm::raw_string_ostream(place) << folder << member << "+" << layout.offset << " " << type << " ";
  for (int64_t s : layout.strides)
    place += std::to_string(s) + ",";
  if (auto known = seen.find(place); known != seen.end())
    return known->second;

  auto storage = archive->read(folder + member.str());
  if (!storage)
    return storage.takeError();
  size_t bytes = (element.getIntOrFloatBitWidth() + 7) / 8;
  uint64_t stored = storage->data.size() / bytes;
  if (layout.count > 0 && uint64_t(layout.last) >= stored)
    return userError("{0}: weight '{1}' reaches element {2} of a storage of {3} bytes ({4})", file, spec.key, layout.last,
                     storage->data.size(), member);
  llvm::ArrayRef<char> data = layout.count > 0 ? storage->data.drop_front(layout.offset * bytes) : llvm::ArrayRef<char>();
  std::shared_ptr<const void> owner = storage->owner;
  if (layout.contiguous) {
    data = data.take_front(layout.count * bytes);
  } else {
    if (uint64_t(layout.count) > stored && uint64_t(layout.count) > maxExpandedBytes / bytes)
      return unsupported("{0}: weight '{1}' has {2} elements in a storage of {3}", file, spec.key, layout.count, stored);
    auto copy = std::make_shared<std::vector<char>>(
        gather(storage->data, layout.sizes, layout.strides, layout.offset, layout.count, bytes));
    data = *copy;
    owner = copy;
  }
  mlir::ElementsAttr attribute = makeAttribute(type, spec.key, data, owner);
  seen.emplace(place, attribute);
  return attribute;
}
