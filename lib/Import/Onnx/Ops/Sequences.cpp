//===- Sequences.cpp - Operators on sequences and optionals ----------------===//
//
// All of them act on the lists of Sequences.h: where elements are, and how many, must be known when importing. Of the parts of a
// tensor each can be taken, and all be joined again, however many they are.
//
//===----------------------------------------------------------------------===//

#include "../Advice.h"
#include "Sequences.h"
#include "GraphImporter.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

/// Longer lists would make graphs that nobody wants to compile.
static constexpr int64_t kMaxElements = 4096;

namespace {
/// Equal parts of a dimension of a size that is known only when the model runs; the last may be shorter.
struct Parts {
  Value whole;
  int64_t axis, each;
  bool squeezed; ///< the parts, of one element each, are without the dimension
};
} // namespace

static constexpr llvm::StringLiteral kAxis("axis"), kEach("each"), kSqueezed("squeezed"), kGrowing("growing");

static std::optional<Parts> partsOf(Value sequence) {
  mlir::Operation *op = sequence.getDefiningOp();
  auto axis = op->getAttrOfType<mlir::IntegerAttr>(kAxis);
  if (!axis)
    return std::nullopt;
  return Parts{op->getOperand(0), axis.getInt(), op->getAttrOfType<mlir::IntegerAttr>(kEach).getInt(), op->hasAttr(kSqueezed)};
}

static Value makeParts(Node &n, const Parts &parts) {
  Value sequence = makeSequence(n.g.b, n.g.loc, {parts.whole});
  mlir::Operation *op = sequence.getDefiningOp();
  op->setAttr(kAxis, n.g.b.getI64IntegerAttr(parts.axis));
  op->setAttr(kEach, n.g.b.getI64IntegerAttr(parts.each));
  if (parts.squeezed)
    op->setAttr(kSqueezed, n.g.b.getUnitAttr());
  return sequence;
}

Value slicesOf(Node &n, Value whole) { return makeParts(n, {whole, 0, 1, /*squeezed=*/true}); }

static Value growing(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<Value> appended) {
  Value sequence = makeSequence(b, loc, appended);
  sequence.getDefiningOp()->setAttr(kGrowing, b.getUnitAttr());
  return sequence;
}

Value makeGrowing(mlir::OpBuilder &b, mlir::Location loc) { return growing(b, loc, {}); }

std::optional<std::vector<Value>> appendedTo(Value sequence) {
  mlir::Operation *op = sequence.getDefiningOp();
  if (!op->hasAttr(kGrowing))
    return std::nullopt;
  return std::vector<Value>(op->operand_begin(), op->operand_end());
}

std::vector<Value> elementsOf(Value sequence) {
  mlir::Operation *op = sequence.getDefiningOp();
  if (op->hasAttr(kGrowing))
    failUnsupported("what a loop has put into a sequence is known only when the model runs");
  if (std::optional<Parts> parts = partsOf(sequence))
    failUnsupported("how many parts of {0} there are is known only when the model runs", describe(parts->whole.getType()));
  return {op->operand_begin(), op->operand_end()};
}

Value makeSequence(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<Value> elements) {
  auto type = mlir::TupleType::get(b.getContext(), mlir::TypeRange(mlir::ValueRange(elements)));
  return b.create<mlir::UnrealizedConversionCastOp>(loc, type, elements).getResult(0);
}

std::vector<Value> withoutSequences(llvm::ArrayRef<Value> values) {
  std::vector<Value> out;
  for (Value v : values)
    if (isSequence(v))
      llvm::append_range(out, elementsOf(v));
    else
      out.push_back(v);
  return out;
}

static Value sequenceAsGiven(Node &n, unsigned input) {
  Value v = n.in(input);
  if (!isSequence(v))
    failWrong("operand {0} is {1}, expected a sequence", input, describe(v.getType()));
  return v;
}

static std::vector<Value> sequence(Node &n, unsigned input) { return elementsOf(sequenceAsGiven(n, input)); }

static void give(Node &n, unsigned output, llvm::ArrayRef<Value> elements) {
  if (int64_t(elements.size()) > kMaxElements)
    failUnsupported("a sequence of {0} elements, at most {1}", elements.size(), kMaxElements);
  if (llvm::any_of(elements, [](Value v) { return isSequence(v) || isEmptyOptional(v); }))
    failUnsupported("a sequence of sequences or optionals");
  n.out(output, makeSequence(n.g.b, n.g.loc, elements));
}

static int64_t knownPlace(Node &n, unsigned input) {
  Expr place = n.valueScalar(input);
  std::optional<int64_t> at = place.constant();
  if (!at)
    failUnsupported("operand {0} ('{1}'), a place in a sequence, is known only when the model runs{2}", input, n.proto.input(input),
                    adviceFor(n, place));
  return *at;
}

/// A place in the list, counted from the end when negative.
static int64_t place(Node &n, unsigned input, int64_t count) {
  std::optional<int64_t> at = knownPlace(n, input);
  if (*at < -count || *at >= count)
    failWrong("place {0} in a sequence of {1} elements", *at, count);
  return *at < 0 ? *at + count : *at;
}

void sequenceConstruct(Node &n) {
  std::vector<Value> elements;
  for (unsigned i = 0; i < n.numInputs(); ++i)
    elements.push_back(n.in(i));
  n.requireSameElement(elements);
  give(n, 0, elements);
}

void sequenceEmpty(Node &n) { give(n, 0, {}); }

static Expr countOf(Node &n, const Parts &parts) { return n.simplify(Expr::ceildiv(n.dim(parts.whole, parts.axis), Expr(parts.each))); }

static Value partAt(Node &n, const Parts &parts, const Expr &given) {
  Expr size = n.simplify(n.dim(parts.whole, parts.axis)), each(parts.each), place = n.simplify(given);
  if (n.g.facts.provablyLess(place, Expr(0)))
    place = n.simplify(place + countOf(n, parts));
  n.requireAtLeast(place, 0, "a place in a sequence");
  Expr first = n.simplify(place * each), left = n.simplify(size - first);
  n.requireAtLeast(left, 1, "what is left for a part");
  Expr length = parts.each == 1 ? Expr(1) : n.simplify(Expr::min(each, left));
  Value part = n.g.slice(parts.whole, parts.axis, first, n.readsElement(length) ? n.define("length", length) : length);
  return parts.squeezed ? n.g.squeeze(part, {parts.axis}) : part;
}

static bool haveOneShape(Node &n, llvm::ArrayRef<Value> elements) {
  return !elements.empty() && llvm::all_of(elements, [&](Value v) { return v.getType() == elements[0].getType(); });
}

/// At a place that is known only when the model runs, of elements that are alike: they are joined, and the place is taken.
static Value elementAt(Node &n, llvm::ArrayRef<Value> elements, const Expr &place) {
  int64_t count = elements.size();
  n.requireAtLeast(place, -count, "a place in a sequence");
  n.requireAtLeast(n.simplify(Expr(count - 1) - place), 0, "the places behind one in a sequence");
  Expr isNegative = Expr::min(Expr(1), Expr::max(Expr(0), -place));
  Value all = stacked(n, SmallVector<Value>(elements.begin(), elements.end()), 0);
  return n.g.squeeze(n.g.slice(all, 0, n.define("place", place + Expr(count) * isNegative), Expr(1)), {0});
}

void sequenceAt(Node &n) {
  if (std::optional<Parts> parts = partsOf(sequenceAsGiven(n, 0)))
    return n.out(partAt(n, *parts, n.valueScalar(1)));
  std::vector<Value> elements = sequence(n, 0);
  if (Expr at = n.valueScalar(1); !at.constant() && haveOneShape(n, elements))
    return n.out(elementAt(n, elements, at));
  n.out(elements[place(n, 1, elements.size())]);
}

void sequenceInsert(Node &n) {
  Value added = n.in(1);
  if (std::optional<std::vector<Value>> appended = appendedTo(sequenceAsGiven(n, 0)); appended && !n.has(2)) {
    appended->push_back(added);
    return n.out(growing(n.g.b, n.g.loc, *appended));
  }
  std::vector<Value> elements = sequence(n, 0);
  if (!elements.empty())
    n.requireSameElement({elements[0], added});
  int64_t count = elements.size();
  std::optional<int64_t> at = n.has(2) ? knownPlace(n, 2) : count;
  if (*at < -count || *at > count)
    failWrong("place {0} in a sequence of {1} elements", *at, count);
  elements.insert(elements.begin() + (*at < 0 ? *at + count : *at), added);
  give(n, 0, elements);
}

void sequenceErase(Node &n) {
  std::vector<Value> elements = sequence(n, 0);
  if (elements.empty())
    failWrong("there is nothing to take out of an empty sequence");
  elements.erase(elements.begin() + (n.has(1) ? place(n, 1, elements.size()) : elements.size() - 1));
  give(n, 0, elements);
}

void sequenceLength(Node &n) {
  if (std::optional<Parts> parts = partsOf(sequenceAsGiven(n, 0)))
    return n.out(n.g.size(countOf(n, *parts)));
  n.out(n.g.size(Expr(int64_t(sequence(n, 0).size()))));
}

/// The lengths of the parts of a dimension: as listed, or `each`.
static Dims lengthsOf(Node &n, const Expr &size, int64_t each) {
  if (n.has(1) && n.rank(n.in(1)) == 1)
    return n.sizes(1);
  int64_t whole = *size.constant();
  if (whole / each > kMaxElements)
    failUnsupported("parts of {0} of a dimension of {1}: at most {2} parts", each, whole, kMaxElements);
  Dims lengths;
  for (int64_t at = 0; at < whole; at += each)
    lengths.push_back(Expr(std::min(each, whole - at)));
  return lengths;
}

void splitToSequence(Node &n) {
  Value x = n.in(0);
  n.requireRankAtLeast(x, 1);
  int64_t axis = n.axis(n.integer("axis", 0), n.rank(x));
  Expr size = n.simplify(n.dims(x)[axis]), at(0);
  bool isListed = n.has(1) && n.rank(n.in(1)) == 1, squeezed = !n.has(1) && !n.flag("keepdims", true);
  int64_t each = n.has(1) && !isListed ? n.constantScalar(1) : 1;
  if (each < 1)
    failWrong("parts of {0} elements", each);
  if (!isListed && !size.constant())
    return n.out(makeParts(n, {x, axis, each, squeezed}));
  std::vector<Value> elements;
  for (const Expr &length : lengthsOf(n, size, each)) {
    Value part = n.g.slice(x, axis, at, length);
    elements.push_back(squeezed ? n.g.squeeze(part, {axis}) : part);
    at = n.simplify(at + length);
  }
  n.requireEqual(at, size, "the lengths of all parts and the dimension that is split");
  give(n, 0, elements);
}

/// The parts joined again: along the dimension that was split; or slices as they are along a new one, or one behind the other along one
/// of theirs.
static void joinParts(Node &n, const Parts &parts, bool isNew) {
  int64_t rank = n.rank(parts.whole), axis = n.axis(n.requiredInteger("axis"), parts.squeezed && !isNew ? rank - 1 : rank);
  if (!parts.squeezed && (isNew || axis != parts.axis))
    failUnsupported("parts of dimension {0} of {1} are joined along {2}, as many as there are when the model runs", parts.axis,
                    describe(parts.whole.getType()), axis);
  if (!parts.squeezed)
    return n.out(parts.whole);
  SmallVector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d)
    if (d != parts.axis)
      order.push_back(d);
  order.insert(order.begin() + axis, parts.axis);
  Value whole = n.g.transpose(parts.whole, order);
  Dims dims = n.dims(whole);
  if (!isNew) {
    dims[axis] = n.simplify(dims[axis] * dims[axis + 1]);
    dims.erase(dims.begin() + axis + 1);
  }
  n.out(n.reshape(whole, dims));
}

void concatFromSequence(Node &n) {
  bool isNew = n.flag("new_axis", false);
  if (std::optional<Parts> parts = partsOf(sequenceAsGiven(n, 0)))
    return joinParts(n, *parts, isNew);
  std::vector<Value> elements = sequence(n, 0);
  if (elements.empty())
    failWrong("the sequence is empty");
  int64_t axis = n.axis(n.requiredInteger("axis"), n.rank(elements[0]) + (isNew ? 1 : 0));
  SmallVector<Value> values(elements.begin(), elements.end());
  n.out(isNew ? stacked(n, values, axis) : concatenated(n, values, axis));
}

void sequenceMap(Node &n) {
  const GraphProto *body = n.graph("body");
  if (!body)
    failWrong("attribute 'body' is missing");
  size_t count = sequence(n, 0).size();
  std::vector<std::vector<Value>> results(n.numOutputs());
  for (size_t i = 0; i < count; ++i) {
    std::vector<Value> arguments;
    for (unsigned o = 0; o < n.numInputs(); ++o) {
      if (!isSequence(n.in(o))) {
        arguments.push_back(n.in(o));
        continue;
      }
      std::vector<Value> elements = elementsOf(n.in(o));
      if (elements.size() != count)
        failWrong("operand {0} has {1} elements, operand 0 {2}", o, elements.size(), count);
      arguments.push_back(elements[i]);
    }
    std::vector<Value> made = n.importer.inlineSubgraph(*body, arguments);
    if (made.size() < results.size())
      failWrong("the body has {0} results, the node {1}", made.size(), results.size());
    for (size_t r = 0; r < results.size(); ++r)
      results[r].push_back(made[r]);
  }
  for (auto [r, elements] : llvm::enumerate(results))
    give(n, r, elements);
}

//===----------------------------------------------------------------------===//
// Optionals
//===----------------------------------------------------------------------===//

void optional(Node &n) {
  n.out(n.has(0) ? n.in(0)
                 : n.g.b.create<mlir::UnrealizedConversionCastOp>(n.g.loc, mlir::NoneType::get(n.g.b.getContext()), mlir::ValueRange())
                       .getResult(0));
}

void optionalHasElement(Node &n) {
  n.out(n.constantInteger(n.has(0) && !isEmptyOptional(n.in(0)), n.g.b.getI1Type()));
}

void optionalGetElement(Node &n) {
  if (isEmptyOptional(n.in(0)))
    failWrong("the optional is empty");
  n.out(n.in(0));
}

} // namespace lathe::onnx
