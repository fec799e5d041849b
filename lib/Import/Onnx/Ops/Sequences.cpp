//===- Sequences.cpp - Operators on sequences and optionals ----------------===//
//
// All of them act on the lists of Sequences.h: where elements are, and how many, must be known when importing.
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

std::vector<Value> elementsOf(Value sequence) {
  mlir::Operation *op = sequence.getDefiningOp();
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

Value concatenated(Node &n, SmallVector<Value> values, int64_t axis) {
  n.requireSameElement(values);
  int64_t rank = n.rank(values[0]);
  Dims common = n.dims(values[0]);
  for (Value &v : values) {
    n.requireRank(v, rank);
    Dims dims = n.dims(v);
    for (int64_t d = 0; d < rank; ++d)
      if (d != axis) {
        n.requireEqual(common[d], dims[d], llvm::formatv("dimension {0} of the joined {1} and {2}", d,
                                                         describe(values[0].getType()), describe(v.getType())).str());
        dims[d] = common[d];
      }
    v = n.reshape(v, dims);
  }
  return n.g.concat(values, axis);
}

Value stacked(Node &n, SmallVector<Value> values, int64_t axis) {
  for (Value &v : values) {
    Dims dims = n.dims(v);
    dims.insert(dims.begin() + axis, Expr(1));
    v = n.reshape(v, dims);
  }
  return concatenated(n, values, axis);
}

static std::vector<Value> sequence(Node &n, unsigned input) {
  Value v = n.in(input);
  if (!isSequence(v))
    failWrong("operand {0} is {1}, expected a sequence", input, describe(v.getType()));
  return elementsOf(v);
}

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

void sequenceAt(Node &n) {
  std::vector<Value> elements = sequence(n, 0);
  n.out(elements[place(n, 1, elements.size())]);
}

void sequenceInsert(Node &n) {
  std::vector<Value> elements = sequence(n, 0);
  Value added = n.in(1);
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

void sequenceLength(Node &n) { n.out(n.g.size(Expr(int64_t(sequence(n, 0).size())))); }

/// The lengths of the parts; the operand's dimension where there is no list of them must be known.
static Dims partsOf(Node &n, const Expr &size, bool &ones) {
  ones = !n.has(1);
  Dims lengths;
  if (n.has(1) && n.rank(n.in(1)) == 1)
    return n.sizes(1);
  int64_t each = n.has(1) ? n.constantScalar(1) : 1;
  std::optional<int64_t> whole = size.constant();
  if (!whole)
    failUnsupported("a sequence of parts of the symbolic dimension {0}; fix it with --dim", size.str());
  if (each < 1 || *whole / each > kMaxElements)
    failWrong("parts of {0} of a dimension of {1}", each, *whole);
  for (int64_t at = 0; at < *whole; at += each)
    lengths.push_back(Expr(std::min(each, *whole - at)));
  return lengths;
}

void splitToSequence(Node &n) {
  Value x = n.in(0);
  n.requireRankAtLeast(x, 1);
  int64_t axis = n.axis(n.integer("axis", 0), n.rank(x));
  Expr size = n.simplify(n.dims(x)[axis]), at(0);
  bool ones;
  std::vector<Value> elements;
  for (const Expr &length : partsOf(n, size, ones)) {
    Value part = n.g.slice(x, axis, at, length);
    elements.push_back(ones && !n.flag("keepdims", true) ? n.g.squeeze(part, {axis}) : part);
    at = n.simplify(at + length);
  }
  n.requireEqual(at, size, "the lengths of all parts and the dimension that is split");
  give(n, 0, elements);
}

void concatFromSequence(Node &n) {
  std::vector<Value> elements = sequence(n, 0);
  if (elements.empty())
    failWrong("the sequence is empty");
  bool isNew = n.flag("new_axis", false);
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
