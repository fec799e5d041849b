//===- ImportComplex.cpp - Complex numbers as pairs -------------------------===//
//
// A complex tensor is a tensor of real ones with a last dimension of 2. Operators that know of complex numbers
// (Ops/Complex.cpp, Ops/Fourier.cpp) work with it as it is. Of the others, those that act on real and imaginary parts
// alike are translated twice, once for each, and products four times.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "Views.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;

using Operands = std::map<std::string, Value>;

/// Views, copies, sums: f(a + i b) = f(a) + i f(b).
static bool actsOnParts(StringRef op) {
  static constexpr llvm::StringLiteral names =
      "view _unsafe_view reshape permute transpose t select slice narrow split split_with_sizes chunk unbind "
      "unsqueeze squeeze expand expand_as clone contiguous flatten unflatten cat stack sum mean cumsum neg flip "
      "roll index index_select gather where constant_pad_nd pad repeat tile movedim swapaxes swapdims diagonal "
      "tril triu alias detach detach_ lift_fresh_copy zeros_like copy slice_scatter select_scatter view_as "
      "reshape_as expand_copy squeeze_copy hstack vstack fft_fftshift fft_ifftshift as_strided mT numpy_T T "
      "unsafe_chunk unsafe_split unsafe_split_with_sizes meshgrid diag_embed diag diagflat column_stack atleast_1d atleast_2d atleast_3d dstack "
      "row_stack hsplit vsplit dsplit tensor_split im2col col2im unfold empty_like new_zeros new_empty block_diag trace rot90 fliplr flipud take "
      "take_along_dim index_copy index_add index_put put scatter scatter_add masked_select masked_scatter broadcast_to broadcast_tensors ravel "
      "diagonal_scatter as_strided_scatter pixel_shuffle pixel_unshuffle channel_shuffle sum_to_size cartesian_prod swapdims moveaxis "
      "repeat_interleave unsqueeze_copy view_copy concat concatenate zeros ones full new_ones new_full ones_like full_like fill zero scalar_tensor "
      "masked_fill index_fill fill_diagonal linspace eye";
  SmallVector<StringRef> all;
  names.split(all, ' ');
  return llvm::is_contained(all, op.split('.').first);
}

/// f(a + i b, c + i d) = f(a, c) - f(b, d) + i (f(a, d) + f(b, c)) of the operands from this one on; what else there is, is added.
static std::optional<size_t> productFrom(StringRef op) {
  static const llvm::StringMap<size_t> names = {
      {"mul", 0},    {"mm", 0},    {"bmm", 0},   {"matmul", 0},       {"mv", 0},    {"dot", 0},     {"outer", 0}, {"linalg_matmul", 0}, {"multiply", 0},
      {"ger", 0},    {"inner", 0}, {"kron", 0},  {"tensordot", 0},    {"cross", 0}, {"linear", 0},  {"addmm", 1}, {"addbmm", 1},        {"baddbmm", 1},
      {"addmv", 1},  {"addr", 1},  {"conv1d", 0}, {"conv2d", 0},      {"conv3d", 0}, {"convolution", 0}, {"linalg_cross", 0}};
  auto found = names.find(op.split('.').first);
  return found == names.end() ? std::nullopt : std::optional<size_t>(found->second);
}

bool Importer::isComplex(StringRef tensor) const {
  auto meta = graph->tensors.find(tensor.str());
  return meta != graph->tensors.end() && isComplexType(meta->second.dtype);
}

bool Importer::isComplex(const Node &node) const {
  for (const NamedArgument &input : node.inputs)
    for (const std::string &tensor : input.value.tensors)
      if (isComplex(tensor))
        return true;
  return llvm::any_of(resultNames(node), [&](const std::string &name) { return isComplex(name); });
}

/// The node's results with these operands, and this part of its numbers.
llvm::Expected<SmallVector<Value>> Importer::runWith(OpContext &c, const OpEntry &entry, const Operands &operands, ComplexPart numbers) {
  OpContext part(c.g, c.node, operands, needs);
  part.file = c.file;
  part.metas = c.metas;
  part.late = c.late;
  part.seed = c.seed;
  part.unrolledSteps = c.unrolledSteps;
  part.hostTransforms = c.hostTransforms;
  part.hostPositions = c.hostPositions;
  part.wanted = c.wanted;
  part.part = numbers;
  for (mlir::RankedTensorType type : c.resultTypes) {
    Dims dims = ir::dimsOf(type);
    if (!dims.empty())
      dims.pop_back();
    part.resultTypes.push_back(ir::tensorType(dims, type.getElementType()));
  }
  if (llvm::Error e = runAlone(part, entry))
    return std::move(e);
  return part.results;
}

static Value partOf(ir::GraphBuilder &g, Value pairs, int64_t i) {
  int64_t last = ir::typeOf(pairs).getRank() - 1;
  return g.squeeze(g.slice(pairs, last, Expr(i), Expr(1)), {last});
}

static Value paired(ir::GraphBuilder &g, Value re, Value im) {
  int64_t rank = ir::typeOf(re).getRank();
  return g.concat({g.unsqueeze(re, {rank}), g.unsqueeze(im, {rank})}, rank);
}

/// Arguments that say where, and not what.
static bool saysWhere(StringRef argument) {
  return llvm::StringSwitch<bool>(argument)
      .Cases("index", "indices", "condition", "mask", "repeats", "tensor_indices_or_sections", true)
      .Default(false);
}

/// Both parts of each operand; of a real one the imaginary part is zeros. Those that say where are the same for both.
static std::pair<Operands, Operands> partsOf(ir::GraphBuilder &g, const Operands &operands, const std::set<std::string> &places,
                                             llvm::function_ref<bool(StringRef)> isComplex) {
  Operands re, im;
  for (const auto &[name, v] : operands) {
    bool pairs = isComplex(name), real = !pairs && !places.count(name);
    re[name] = pairs ? partOf(g, v, 0) : v;
    im[name] = pairs ? partOf(g, v, 1) : real ? g.splatLike(0, v) : v;
  }
  return {re, im};
}

/// A product of two operands, either of which may be real, and what is added to it.
llvm::Error Importer::runProduct(OpContext &c, const OpEntry &entry, Operands re, Operands im,
                                 SmallVector<Value> &reals, SmallVector<Value> &imaginaries) {
  size_t from = *productFrom(entry.name);
  const std::string &left = c.node.inputs[from].value.tensors.at(0), &right = c.node.inputs[from + 1].value.tensors.at(0);
  if (left == right)
    return c.cannot("a product of a complex tensor with itself, but for one by elements");
  auto gather = [&](const Operands &operands, SmallVector<Value> &into, bool subtract) -> llvm::Error {
    LATHE_TRY(part, runWith(c, entry, operands, ComplexPart::Real));
    into = into.empty() ? part : SmallVector<Value>{subtract ? c.g.sub(into[0], part[0]) : c.g.add(into[0], part[0])};
    return llvm::Error::success();
  };
  // What is added, is added once to either part.
  Operands none = im;
  for (auto &[name, v] : none)
    if (name != left && name != right && llvm::isa<mlir::FloatType>(ir::elementOf(v)))
      v = c.g.splatLike(0, v);
  if (llvm::Error e = gather(re, reals, false))
    return e;
  bool added = false;
  auto imaginary = [&](const std::string &one, const std::string &other) {
    Operands operands = added ? none : im;
    added = true;
    operands[one] = re[one], operands[other] = im[other];
    return gather(operands, imaginaries, false);
  };
  if (isComplex(right))
    if (llvm::Error e = imaginary(left, right))
      return e;
  if (isComplex(left))
    if (llvm::Error e = imaginary(right, left))
      return e;
  if (!added) // only what is added is complex
    if (llvm::Error e = imaginary(left, right))
      return e;
  return isComplex(left) && isComplex(right) ? gather(none, reals, true) : llvm::Error::success();
}

llvm::Error Importer::runOnParts(OpContext &c, const OpEntry &entry) {
  if (!productFrom(entry.name) && !actsOnParts(entry.name))
    return c.cannot("it computes with complex numbers, which this version does not for this operator");
  Operands operands;
  std::set<std::string> places;
  for (const NamedArgument &input : c.node.inputs)
    for (const std::string &name : input.value.tensors)
      if (!name.empty() && values.has(name)) {
        operands[name] = name == c.replaced.first ? c.replaced.second : values.current().at(name);
        if (saysWhere(input.name))
          places.insert(name);
      }
  for (const std::string &name : resultNames(c.node))
    if (!name.empty() && !isComplex(name))
      return c.cannot("it makes real numbers of complex ones, which this version does not for this operator");
  auto [re, im] = partsOf(c.g, operands, places, [&](StringRef name) { return isComplex(name); });
  SmallVector<Value> reals, imaginaries;
  std::optional<size_t> from = productFrom(entry.name);
  bool ofTwo = from && c.node.inputs.size() > *from + 1 && !c.node.inputs[*from].value.tensors.empty() && !c.node.inputs[*from + 1].value.tensors.empty();
  if (ofTwo) {
    if (llvm::Error e = runProduct(c, entry, re, im, reals, imaginaries))
      return e;
  } else {
    LATHE_TRY(a, runWith(c, entry, re, ComplexPart::Real));
    LATHE_TRY(b, runWith(c, entry, im, ComplexPart::Imaginary));
    reals = a, imaginaries = b;
  }
  for (auto [a, b] : llvm::zip(reals, imaginaries))
    c.results.push_back(a && b ? paired(c.g, a, b) : Value());
  return llvm::Error::success();
}

/// `of` with what a view of it shows replaced, one part after the other.
llvm::Expected<Value> Importer::writeParts(const Node &node, const OpEntry &entry, const std::string &self, size_t i, Value of, Value written) {
  SmallVector<Value> wholes;
  for (int64_t place : {0, 1}) {
    Value whole = partOf(g, of, place), stand = values.placeholder(builder, unknown, whole.getType());
    OpContext c = contextOf(node);
    if (llvm::Error e = readViewTypes(c))
      return std::move(e);
    Operands operands = values.current();
    operands[self] = stand;
    LATHE_TRY(views, runWith(c, entry, operands, place ? ComplexPart::Imaginary : ComplexPart::Real));
    Value shown = partOf(g, written, place), view = i < views.size() ? views[i] : Value();
    wholes.push_back(view ? writeThrough(g, g.reshape(view, ir::dimsOf(shown)), stand, whole, shown) : Value());
    if (!wholes.back())
      return lathe::unsupported("{0}a later node writes to its result, whose elements share memory", placeOf(file, node));
  }
  return paired(g, wholes[0], wholes[1]);
}
