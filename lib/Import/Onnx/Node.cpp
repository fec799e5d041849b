//===- Node.cpp - What an operator's handler sees --------------------------===//

#include "Node.h"
#include "Advice.h"
#include "GraphImporter.h"
#include "Tensors.h"
#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::onnx;

std::string onnx::describe(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!tensor) {
    os << type;
    return text;
  }
  const char *times = tensor.hasStaticShape() ? "x" : " x ";
  os << "tensor<";
  for (const Expr &e : ir::dimsOf(type))
    os << e.str() << times;
  os << tensor.getElementType() << ">";
  return text;
}

static std::string describeAll(ArrayRef<Value> values) {
  std::string text;
  for (auto [i, v] : llvm::enumerate(values))
    text += (i == 0 ? "" : i + 1 == values.size() ? " and " : ", ") + describe(v.getType());
  return text;
}

Node::Node(GraphImporter &importer, const NodeProto &proto, int64_t opset, Attributes attributes, std::vector<Value> inputs,
           Location loc)
    : g(importer.builder(), loc, importer.session().sizes.facts()), importer(importer), proto(proto), version(opset),
      attributes(std::move(attributes)), inputs(std::move(inputs)) {}

Value Node::in(unsigned i) const {
  if (!has(i))
    failWrong("operand {0} is missing", i);
  return inputs[i];
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

const AttributeProto *Node::attribute(StringRef name) const {
  auto it = attributes.find(name.str());
  return it == attributes.end() ? nullptr : it->second;
}

/// Old files leave the type out; the field that is set tells it then.
static const AttributeProto *typed(const AttributeProto *a, StringRef name, AttributeProto::AttributeType type, bool isSet) {
  if (!a || a->type() == type || (a->type() == AttributeProto::UNDEFINED && isSet))
    return a;
  failWrong("attribute '{0}' is of type {1}, expected {2}", name, AttributeProto::AttributeType_Name(a->type()),
            AttributeProto::AttributeType_Name(type));
}

int64_t Node::integer(StringRef name, int64_t otherwise) const {
  const AttributeProto *a = attribute(name);
  return a ? typed(a, name, AttributeProto::INT, a->has_i())->i() : otherwise;
}
int64_t Node::requiredInteger(StringRef name) const {
  if (!hasAttribute(name))
    failWrong("attribute '{0}' is missing", name);
  return integer(name, 0);
}
double Node::real(StringRef name, double otherwise) const {
  const AttributeProto *a = attribute(name);
  return a ? double(typed(a, name, AttributeProto::FLOAT, a->has_f())->f()) : otherwise;
}
std::string Node::text(StringRef name, StringRef otherwise) const {
  const AttributeProto *a = attribute(name);
  return a ? typed(a, name, AttributeProto::STRING, a->has_s())->s() : otherwise.str();
}
SmallVector<int64_t> Node::integers(StringRef name) const {
  const AttributeProto *a = attribute(name);
  if (!a)
    return {};
  const auto &values = typed(a, name, AttributeProto::INTS, a->ints_size() > 0)->ints();
  return SmallVector<int64_t>(values.begin(), values.end());
}
const TensorProto *Node::tensor(StringRef name) const {
  const AttributeProto *a = attribute(name);
  return a ? &typed(a, name, AttributeProto::TENSOR, a->has_t())->t() : nullptr;
}
const GraphProto *Node::graph(StringRef name) const {
  const AttributeProto *a = attribute(name);
  return a ? &typed(a, name, AttributeProto::GRAPH, a->has_g())->g() : nullptr;
}

std::optional<int64_t> Node::declaredRank(unsigned output) const {
  const GraphProto &all = importer.session().file.model().graph();
  for (const auto *declarations : {&all.output(), &all.value_info()})
    for (const ValueInfoProto &v : *declarations)
      if (v.name() == proto.output(output) && v.type().tensor_type().has_shape())
        return v.type().tensor_type().shape().dim_size();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Axes and size operands
//===----------------------------------------------------------------------===//

int64_t Node::axis(int64_t value, int64_t rank) const {
  if (value < -rank || value >= rank)
    failWrong("axis {0} is out of range for rank {1}", value, rank);
  return value < 0 ? value + rank : value;
}

SmallVector<int64_t> Node::axes(ArrayRef<int64_t> values, int64_t rank) const {
  SmallVector<int64_t> out;
  for (int64_t v : values)
    out.push_back(axis(v, rank));
  llvm::sort(out);
  if (std::adjacent_find(out.begin(), out.end()) != out.end())
    failWrong("an axis is named twice");
  return out;
}

Dims Node::values(unsigned input) const {
  Value v = in(input);
  if (rank(v) > 1 || !isInteger(v))
    failWrong("operand {0} is {1}, expected a list of integers", input, describe(v.getType()));
  std::optional<Dims> known = ir::symbolicValue(v, g.facts, [&](Value leaf) { return importer.elementsOf(leaf); });
  if (!known)
    failUnsupported("operand {0} ('{1}', {2}) decides a size and is not known when compiling (data-dependent size){3}", input,
                    proto.input(input), describe(v.getType()), adviceForLength(*this, v));
  for (Expr &e : *known) {
    e = simplify(e);
    importer.session().sizes.use(e);
  }
  return *known;
}

Dims Node::sizes(unsigned input) const {
  values(input); // says which operand it is that nothing is known of
  return sizesOf(in(input));
}

Dims Node::sizesOf(Value v) const {
  std::optional<Dims> out = ir::symbolicValue(v, g.facts, [&](Value leaf) { return importer.elementsOf(leaf); });
  if (!out)
    failUnsupported("{0} decides a size and is not known when compiling (data-dependent size){1}", describe(v.getType()), adviceForLength(*this, v));
  for (Expr &e : *out) {
    e = simplify(e);
    importer.session().sizes.use(e);
    // Constants have a meaning of their own in some operators (-1), which report what they do not take.
    if (!e.constant() && !importer.session().sizes.restrict(e, 0, std::nullopt, "0 <= " + e.str()))
      failWrong("a size is negative: {0}", e.str());
    e = simplify(e);
  }
  return *out;
}

Expr Node::sizeScalarOf(Value v, unsigned input) const {
  if (rank(v) > 1 || isBool(v))
    failWrong("operand {0} is {1}, expected a number", input, describe(v.getType()));
  ir::GraphBuilder builder = g;
  Dims out = sizesOf(isInteger(v) ? v : builder.cast(v, builder.b.getI64Type()));
  if (out.size() != 1)
    failWrong("operand {0} has {1} elements, expected 1", input, out.size());
  return out[0];
}

Dims Node::axisValues(unsigned input, int64_t rank) const {
  Dims out = values(input);
  for (Expr &e : out) {
    if (std::optional<int64_t> c = e.constant()) {
      e = Expr(axis(*c, rank));
      continue;
    }
    std::string says = llvm::formatv("{0} is an axis of rank {1}", e.str(), rank);
    if (!importer.session().sizes.restrict(e, -rank, rank - 1, says))
      failWrong("operand {0} ('{1}') is {2}, no axis of rank {3}", input, proto.input(input), e.str(), rank);
    e = e + Expr(rank) * Expr::min(Expr(1), Expr::max(Expr(0), -e));
  }
  return out;
}

Expr Node::axisFlag(const Expr &axis, int64_t place) {
  if (std::optional<int64_t> c = axis.constant())
    return Expr(*c == place);
  Expr away = axis - Expr(place);
  return define("axis", Expr(1) - Expr::min(Expr(1), Expr::max(away, -away)), 1);
}

Expr Node::define(StringRef what, const Expr &value, std::optional<int64_t> max) {
  // What is known of each is asked of all others: what real nodes need is quick, the square of a rank of 64 is not.
  if (++numDefined > maxDefined)
    failUnsupported("more than {0} sizes or axes of this node are computed when the model runs", int64_t(maxDefined));
  Expr e = simplify(value);
  std::string name = llvm::cast<NameLoc>(g.loc).getName().str() + "." + what.str();
  return importer.session().sizes.define(name, e, max);
}

bool Node::readsElement(const Expr &e) const { return importer.session().sizes.readsElement(e); }

void Node::requireAtLeast(const Expr &e, int64_t min, StringRef what) {
  std::string says = llvm::formatv("{0} is at least {1}: {2}", what, min, e.str());
  if (!importer.session().sizes.restrict(e, min, std::nullopt, says))
    failWrong("{0} is below {1}: {2}", what, min, e.str());
}

bool Node::countsElements(const Expr &e) const { return importer.session().sizes.countsElements(e); }

void Node::assumeNotNegative(const Expr &e, StringRef what) {
  if (!importer.session().sizes.assumeNotNegative(e))
    failWrong("{0} is below 0: {1}", what, e.str());
}

void Node::require(const Expr &left, const char *kind, const Expr &right, StringRef says) {
  importer.session().sizes.require(left, kind, right, says.str());
}

SmallVector<int64_t> Node::constants(unsigned input) const {
  SmallVector<int64_t> out;
  for (const Expr &e : sizes(input)) {
    if (!e.constant())
      failUnsupported("operand {0} ('{1}') must be constant, it is {2}{3}", input, proto.input(input), e.str(),
                      adviceFor(*this, e));
    out.push_back(*e.constant());
  }
  return out;
}

Expr Node::sizeScalar(unsigned input) const {
  Dims values = sizes(input);
  if (values.size() != 1)
    failWrong("operand {0} has {1} elements, expected 1", input, values.size());
  return values[0];
}

Expr Node::valueScalar(unsigned input) const {
  Dims out = values(input);
  if (out.size() != 1)
    failWrong("operand {0} has {1} elements, expected 1", input, out.size());
  return out[0];
}

int64_t Node::constantScalar(unsigned input) const {
  SmallVector<int64_t> values = constants(input);
  if (values.size() != 1)
    failWrong("operand {0} has {1} elements, expected 1", input, values.size());
  return values[0];
}

SmallVector<int64_t> Node::attributeOrInput(StringRef name, unsigned input) const {
  return has(input) ? constants(input) : integers(name);
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Some operators take them by the format's text; none computes in them here.
static void refuseNarrow(Value v) {
  if (ir::isNarrow(ir::elementOf(v)))
    failUnsupported("elements of the type of {0}", describe(v.getType()));
}

void Node::requireFloat(Value v) const {
  refuseNarrow(v);
  if (!isFloat(v))
    failWrong("operand {0} must be of a floating-point type", describe(v.getType()));
}
void Node::requireNumber(Value v) const {
  refuseNarrow(v);
  if (isBool(v))
    failWrong("operand {0} must be of a numeric type", describe(v.getType()));
}
void Node::requireInteger(Value v) const {
  refuseNarrow(v);
  if (!isInteger(v))
    failWrong("operand {0} must be of an integer type", describe(v.getType()));
}
void Node::requireBool(Value v) const {
  if (!isBool(v))
    failWrong("operand {0} must be of type bool", describe(v.getType()));
}
void Node::requireSameElement(ArrayRef<Value> values) const {
  for (Value v : values)
    if (element(v) != element(values[0]))
      failWrong("operands {0} must have the same element type", describeAll(values));
}
void Node::requireRank(Value v, int64_t expected) const {
  if (rank(v) != expected)
    failWrong("operand {0} must have rank {1}", describe(v.getType()), expected);
}
void Node::requireRankAtLeast(Value v, int64_t expected) const {
  if (rank(v) < expected)
    failWrong("operand {0} must have rank {1} or more", describe(v.getType()), expected);
}
shape::Expr Node::dim(Value v, int64_t index) const {
  Dims all = dims(v);
  if (index < 0 || index >= int64_t(all.size()))
    failWrong("operand {0} must have rank {1} or more", describe(v.getType()), index + 1);
  return all[index];
}
Type Node::elementOfOnnx(int64_t dataType) const {
  return elementType(int32_t(dataType), g.b.getContext());
}

//===----------------------------------------------------------------------===//
// Sizes that must agree
//===----------------------------------------------------------------------===//

void Node::requireEqual(const Expr &a, const Expr &b, StringRef what) {
  if (g.facts.provablyEqual(a, b))
    return;
  if ((simplify(a).constant() && simplify(b).constant()) || !importer.session().sizes.assumeEqual(a, b))
    failWrong("{0}: sizes {1} and {2} differ", what, simplify(a).str(), simplify(b).str());
}

Value Node::reshape(Value v, ArrayRef<Expr> dims) {
  Expr has = simplify(shape::product(this->dims(v))), wants = simplify(shape::product(dims));
  std::string what = llvm::formatv("{0} as {1}", describe(v.getType()), describe(ir::tensorType(dims, element(v)))).str();
  if (!g.facts.provablyEqual(has, wants) && (g.facts.provablyLess(has, wants) || g.facts.provablyLess(wants, has)))
    failWrong("sizes do not fit: {0} has {1} elements, {2} has {3}", describe(v.getType()), has.str(),
              describe(ir::tensorType(dims, element(v))), wants.str());
  requireEqual(has, wants, what);
  return g.reshape(v, dims);
}

Expr Node::exactQuotient(const Expr &a, const Expr &b, StringRef what) {
  Expr x = simplify(a), y = simplify(b);
  if (y.isZero())
    failWrong("{0}: {1} elements do not divide into rows of 0", what, x.str());
  if (!g.facts.provablyDivides(y, x) && !importer.session().sizes.assumeDivides(y, x))
    failWrong("{0}: {1} is not divisible by {2}", what, x.str(), y.str());
  return simplify(Expr::floordiv(x, y));
}

Dims Node::commonDims(ArrayRef<Expr> a, ArrayRef<Expr> b, ArrayRef<Value> blame) {
  ArrayRef<Expr> longer = a.size() >= b.size() ? a : b, shorter = a.size() >= b.size() ? b : a;
  Dims out(longer.begin(), longer.end());
  size_t lead = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Expr x = simplify(out[i + lead]), y = simplify(shorter[i]);
    if (x.isOne() || y.isOne()) {
      out[i + lead] = x.isOne() ? y : x;
      continue;
    }
    if (!g.facts.provablyEqual(x, y) && importer.session().sizes.mayBroadcast(x, y)) {
      out[i + lead] = commonSize(x, y);
      continue;
    }
    requireEqual(x, y, "operands " + describeAll(blame) + " do not broadcast");
    out[i + lead] = x.constant() ? x : simplify(y);
  }
  return out;
}

/// Of two sizes of which either may be 1 when the model runs.
Expr Node::commonSize(const Expr &x, const Expr &y) {
  SizeModel &sizes = importer.session().sizes;
  for (auto [a, b] : {std::pair(x, y), std::pair(y, x)})
    if (std::optional<int64_t> c = a.constant(); c && *c != 1) { // the other one is this or 1
      sizes.requireBroadcasts(b, a);
      return a;
    }
  return sizes.broadcastSize(llvm::cast<NameLoc>(g.loc).getName().str() + ".broadcast", x, y);
}

Value Node::spread(Value v, ArrayRef<Expr> dims) {
  Dims from = this->dims(v);
  size_t lead = dims.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i) {
    // Places beyond the last are brought to it, and of one element that is the only one.
    const Expr &to = dims[i + lead];
    if (!simplify(from[i]).isOne() && !g.facts.provablyEqual(from[i], to))
      v = g.gather(v, g.iota({to}, 0, g.b.getI64Type()), int64_t(i));
  }
  return v;
}

void Node::requireRoom(const Expr &room, const Expr &stride) { importer.session().sizes.requireRoom(room, stride); }

Value Node::stretch(Value v, int64_t axis, const Expr &to) {
  Expr size = simplify(dim(v, axis));
  SizeModel &sizes = importer.session().sizes;
  if (size.constant() || g.facts.provablyEqual(size, to) || !sizes.mayBroadcast(size, to))
    return {};
  sizes.requireUpTo(size, to);
  Dims target = dims(v);
  target[axis] = to;
  return spread(v, target);
}

Value Node::spreadToConstants(Value v, ArrayRef<Expr> dims) {
  Dims target = this->dims(v);
  size_t shared = std::min(target.size(), dims.size());
  for (size_t i = 1; i <= shared; ++i) { // from the last
    Expr &size = target[target.size() - i], to = simplify(dims[dims.size() - i]);
    shape::Range range = g.facts.bounds(size);
    bool mayBeOne = !simplify(size).constant() && range.min.value_or(1) <= 1 && range.max.value_or(1) >= 1;
    if (!to.constant() || *to.constant() <= 1 || !mayBeOne)
      continue;
    importer.session().sizes.requireBroadcasts(size, to);
    size = to;
  }
  return spread(v, target);
}

Value Node::broadcastTo(Value v, ArrayRef<Expr> dims) {
  Dims from = this->dims(v);
  if (from.size() > dims.size())
    failWrong("operand {0} does not broadcast to rank {1}", describe(v.getType()), dims.size());
  size_t lead = dims.size() - from.size();
  SizeModel &sizes = importer.session().sizes;
  for (size_t i = 0; i < from.size(); ++i) {
    Expr x = simplify(from[i]), to = simplify(dims[i + lead]);
    if (x.isOne() || g.facts.provablyEqual(x, to))
      continue;
    if (!x.constant() && sizes.mayBroadcast(x, to))
      sizes.requireBroadcasts(x, to);
    else
      requireEqual(x, to, "operand " + describe(v.getType()) + " does not broadcast");
  }
  return g.broadcastTo(spread(v, dims), dims);
}

void Node::broadcast(MutableArrayRef<Value> values) {
  Dims common = dims(values[0]);
  for (Value v : values.drop_front())
    common = commonDims(common, dims(v), values);
  for (Expr &e : common)
    e = simplify(e);
  for (Value &v : values)
    v = g.broadcastTo(spread(v, common), common);
}

//===----------------------------------------------------------------------===//
// Constants and results
//===----------------------------------------------------------------------===//

Value Node::constantInteger(int64_t value, Type element) {
  auto type = RankedTensorType::get({}, element);
  if (!llvm::isa<IntegerType>(element))
    return g.scalar(double(value), element);
  llvm::APInt bits(64, uint64_t(value), true);
  return constant(DenseElementsAttr::get(type, bits.sextOrTrunc(element.getIntOrFloatBitWidth())));
}

Value Node::constant(const TensorProto &tensor) { return importer.constantValue(tensor, g.loc); }

void Node::out(unsigned i, Value v) {
  if (outputs.size() <= i)
    outputs.resize(i + 1);
  outputs[i] = v;
}
