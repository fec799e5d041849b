//===- LatheOps.cpp - Verifiers and folders of the lathe ops ---------------===//

#include "lathe/Dialect/Lathe/ElementTypes.h"
#include "lathe/Dialect/Lathe/Lathe.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

#define GET_OP_CLASSES
#include "lathe/Dialect/Lathe/LatheOps.cpp.inc"

static int64_t rankOf(Value v) { return typeOf(v).getRank(); }

LogicalResult SymbolOp::verify() {
  shape::SymbolKind kind = shape::kindOf(getName());
  if (!shape::isSymbolText(getName()) || (kind != shape::SymbolKind::Size && kind != shape::SymbolKind::Element))
    return emitOpError("'") << getName() << "' is not the text of a size or of an element of a tensor";
  if (getDefinition())
    if (auto e = Expr::parse(*getDefinition()); !e)
      return emitOpError() << "'" << *getDefinition() << "': " << llvm::toString(e.takeError());
  return success();
}

LogicalResult RelationOp::verify() {
  if (!llvm::is_contained({"eq", "divides", "le", "ne", "holds"}, getKind()))
    return emitOpError("kind is eq, divides, le, ne or holds, not '") << getKind() << "'";
  for (StringRef text : {getLeft(), getRight()})
    if (auto e = Expr::parse(text); !e)
      return emitOpError() << "'" << text << "': " << llvm::toString(e.takeError());
  return success();
}

LogicalResult SizeOp::verify() {
  auto t = typeOf(getResult());
  bool fits = t.getRank() == 0 ? getExprs().size() == 1
                               : t.getRank() == 1 && t.getDimSize(0) == int64_t(getExprs().size());
  if (!fits || !t.getElementType().isSignlessInteger(64))
    return emitOpError("expects an i64 tensor of ") << getExprs().size() << " elements, not " << t;
  for (Attribute a : getExprs())
    if (auto e = Expr::parse(cast<StringAttr>(a).getValue()); !e)
      return emitOpError() << a << ": " << llvm::toString(e.takeError());
  return success();
}

LogicalResult IotaOp::verify() {
  if (int64_t(getAxis()) < 0 || int64_t(getAxis()) >= rankOf(getResult()))
    return emitOpError("axis ") << getAxis() << " is outside rank " << rankOf(getResult());
  return success();
}

LogicalResult CompareOp::verify() {
  if (getLhs().getType() != getRhs().getType())
    return emitOpError("operand types differ");
  if (typeOf(getResult()).getShape() != typeOf(getLhs()).getShape() || !elementOf(getResult()).isInteger(1))
    return emitOpError("result is the i1 tensor of the operands' shape");
  return success();
}

LogicalResult SelectOp::verify() {
  if (getLhs().getType() != getRhs().getType() || getLhs().getType() != getResult().getType())
    return emitOpError("both choices and the result have one type");
  if (typeOf(getCondition()).getShape() != typeOf(getLhs()).getShape() || !elementOf(getCondition()).isInteger(1))
    return emitOpError("the condition is the i1 tensor of the choices' shape");
  return success();
}

LogicalResult CastOp::verify() {
  if (typeOf(getX()).getShape() != typeOf(getResult()).getShape())
    return emitOpError("changes the shape");
  return success();
}

LogicalResult BitcastOp::verify() {
  if (typeOf(getX()).getShape() != typeOf(getResult()).getShape())
    return emitOpError("changes the shape");
  if (bitsOf(elementOf(getX())) != bitsOf(elementOf(getResult())))
    return emitOpError("changes the width of the elements");
  return success();
}

LogicalResult ReshapeOp::verify() {
  if (elementOf(getX()) != elementOf(getResult()))
    return emitOpError("cannot change the element type");
  shape::Expr has = shape::product(dimsOf(getX())), wants = shape::product(dimsOf(getResult()));
  if (std::optional<int64_t> difference = (has - wants).constant(); difference && *difference != 0)
    return emitOpError("operand of ") << has.str() << " elements, result of " << wants.str();
  return success();
}

LogicalResult TransposeOp::verify() {
  SmallVector<int64_t> sorted(getPerm());
  llvm::sort(sorted);
  for (auto [i, p] : llvm::enumerate(sorted))
    if (p != int64_t(i))
      return emitOpError("perm is not a permutation");
  if (int64_t(sorted.size()) != rankOf(getX()) || rankOf(getResult()) != rankOf(getX()))
    return emitOpError("perm has ") << sorted.size() << " entries for rank " << rankOf(getX());
  for (auto [i, p] : llvm::enumerate(getPerm()))
    if (typeOf(getResult()).getDimSize(i) != typeOf(getX()).getDimSize(p))
      return emitOpError("result dimension ") << i << " differs from operand dimension " << p;
  return success();
}

LogicalResult BroadcastOp::verify() {
  int64_t lead = rankOf(getResult()) - rankOf(getX());
  if (lead < 0)
    return emitOpError("cannot lower the rank");
  for (int64_t i = 0; i < rankOf(getX()); ++i)
    if (typeOf(getX()).getDimSize(i) != 1 && typeOf(getX()).getDimSize(i) != typeOf(getResult()).getDimSize(i + lead))
      return emitOpError("operand dimension ") << i << " is neither 1 nor the result's";
  return success();
}

LogicalResult SliceOp::verify() {
  size_t rank = rankOf(getX());
  if (getStarts().size() != rank || getSteps().size() != rank || size_t(rankOf(getResult())) != rank)
    return emitOpError("expects one start and step per dimension");
  if (llvm::is_contained(getSteps(), 0))
    return emitOpError("a step is 0");
  return success();
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty() || int64_t(getAxis()) < 0 || int64_t(getAxis()) >= rankOf(getResult()))
    return emitOpError("expects operands and an axis inside rank ") << rankOf(getResult());
  for (Value v : getInputs())
    if (rankOf(v) != rankOf(getResult()) || elementOf(v) != elementOf(getResult()))
      return emitOpError("operand ") << v.getType() << " does not fit " << getResult().getType();
  return success();
}

LogicalResult PadOp::verify() {
  size_t rank = rankOf(getX());
  if (getLow().size() != rank || getHigh().size() != rank || rankOf(getValue()) != 0 ||
      elementOf(getValue()) != elementOf(getX()))
    return emitOpError("expects a low and a high amount per dimension and a scalar of the element type");
  return success();
}

LogicalResult GatherOp::verify() {
  if (int64_t(getAxis()) < 0 || int64_t(getAxis()) >= rankOf(getX()))
    return emitOpError("axis ") << getAxis() << " is outside rank " << rankOf(getX());
  if (rankOf(getResult()) != rankOf(getX()) - 1 + rankOf(getIndices()))
    return emitOpError("result rank is ") << rankOf(getResult());
  return success();
}

LogicalResult ScatterOp::verify() {
  if (getData().getType() != getResult().getType() || elementOf(getUpdates()) != elementOf(getData()))
    return emitOpError("data, result and updates have one element type, data and result one shape");
  if (int64_t(getPlaces().size()) != rankOf(getData()) || llvm::count(getPlaces(), -1) != int64_t(getIndices().size()) ||
      getIndices().empty())
    return emitOpError("expects a place per dimension of the data, and as many indices as places of -1");
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t p : getPlaces())
    if (p != -1 && (p < 0 || p >= rankOf(getUpdates()) || !seen.insert(p).second))
      return emitOpError("place ") << p << " is no dimension of the updates, or is there twice";
  for (Value i : getIndices())
    if (!elementOf(i).isIntOrIndex() || elementOf(i).isInteger(1) || typeOf(i).getShape() != typeOf(getUpdates()).getShape())
      return emitOpError("indices are integers of the updates' shape, not ") << i.getType();
  return success();
}

LogicalResult ReduceOp::verify() {
  std::set<int64_t> axes(getAxes().begin(), getAxes().end());
  if (axes.size() != getAxes().size())
    return emitOpError("an axis occurs twice");
  for (int64_t a : axes)
    if (a < 0 || a >= rankOf(getX()))
      return emitOpError("axis ") << a << " is outside rank " << rankOf(getX());
  if (rankOf(getResult()) != rankOf(getX()) - int64_t(axes.size()) || elementOf(getX()) != elementOf(getResult()))
    return emitOpError("result type ") << getResult().getType() << " does not fit";
  return success();
}

LogicalResult ScanOp::verify() {
  if (int64_t(getAxis()) < 0 || int64_t(getAxis()) >= rankOf(getX()))
    return emitOpError("axis ") << getAxis() << " is outside rank " << rankOf(getX());
  if (getKind() == ScanKind::LogAddExp && !isa<FloatType>(elementOf(getX())))
    return emitOpError("logaddexp combines floats");
  return success();
}

LogicalResult CompactOp::verify() {
  if (rankOf(getX()) != 1 || rankOf(getMask()) != 1 || rankOf(getResult()) != 1)
    return emitOpError("lists expected");
  if (!elementOf(getMask()).isInteger(1))
    return emitOpError("mask type ") << getMask().getType() << " has other elements than i1";
  if (elementOf(getX()) != elementOf(getResult()))
    return emitOpError("result type ") << getResult().getType() << " does not fit";
  return success();
}

LogicalResult SortOp::verify() {
  int64_t axis = getAxis(), rank = rankOf(getX());
  if (axis < 0 || axis >= rank)
    return emitOpError("axis ") << axis << " is outside rank " << rank;
  if (rankOf(getResult()) != rank || !elementOf(getResult()).isSignlessInteger(64))
    return emitOpError("result type ") << getResult().getType() << " does not fit";
  return success();
}

LogicalResult FftOp::verify() {
  int64_t axis = getAxis(), parts = getParts(), rank = rankOf(getX());
  if (axis < 0 || axis >= rank || parts < 0 || parts >= rank || axis == parts)
    return emitOpError("axis ") << axis << " and parts " << parts << " are no two dimensions of rank " << rank;
  if (rankOf(getResult()) != rank || elementOf(getX()) != elementOf(getResult()) || !(elementOf(getX()).isF32() || elementOf(getX()).isF64()))
    return emitOpError("result type ") << getResult().getType() << " does not fit, or its elements are not f32 or f64";
  Dims x = dimsOf(getX()), result = dimsOf(getResult());
  auto isNumber = [](const shape::Expr &e, int64_t low, int64_t high) { return e.constant() && *e.constant() >= low && *e.constant() <= high; };
  int64_t n = getLength();
  bool toReal = result[parts].isOne();
  int64_t given = toReal ? n / 2 + 1 : n;
  if (n < 1 || !isNumber(x[parts], 1, 2) || !isNumber(result[parts], 1, 2) || !isNumber(x[axis], given, given) ||
      !isNumber(result[axis], toReal ? n : 1, n))
    return emitOpError("the sizes are not those of a transform of length ") << n;
  int64_t turned = getTurnDim().value_or(-1);
  if (getTurnDim().has_value() != getTurns().has_value() || (getTurns() && int64_t(*getTurns()) < 1) || turned >= rank ||
      (getTurnDim() && (turned < 0 || turned == axis || turned == parts || toReal || !isNumber(result[turned], 1, INT32_MAX) ||
                        int64_t(*getTurns()) > INT32_MAX || (*result[axis].constant() - 1) * (*result[turned].constant() - 1) >= int64_t(*getTurns()))))
    return emitOpError("what turns the result is another dimension and how many places make a whole turn");
  return success();
}

LogicalResult ContractOp::verify() {
  if (getLhsBatch().size() != getRhsBatch().size() || getLhsContract().size() != getRhsContract().size())
    return emitOpError("batch and contracted dimensions come in pairs");
  auto check = [&](Value v, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    std::set<int64_t> all(a.begin(), a.end());
    all.insert(b.begin(), b.end());
    return all.size() == a.size() + b.size() && (all.empty() || (*all.begin() >= 0 && *all.rbegin() < rankOf(v)));
  };
  if (!check(getLhs(), getLhsBatch(), getLhsContract()) || !check(getRhs(), getRhsBatch(), getRhsContract()))
    return emitOpError("dimension numbers repeat or are outside the rank");
  int64_t rank = rankOf(getLhs()) + rankOf(getRhs()) - getLhsBatch().size() - 2 * getLhsContract().size();
  if (rankOf(getResult()) != rank)
    return emitOpError("result rank is ") << rankOf(getResult()) << ", expected " << rank;
  return success();
}

LogicalResult ConvOp::verify() {
  int64_t spatial = rankOf(getX()) - 2;
  if (spatial < 1 || rankOf(getW()) != spatial + 2 || rankOf(getResult()) != spatial + 2)
    return emitOpError("expects x, w and the result of one rank, at least 3");
  if (int64_t(getStrides().size()) != spatial || int64_t(getDilations().size()) != spatial ||
      int64_t(getPads().size()) != 2 * spatial || int64_t(getGroups()) < 1)
    return emitOpError("expects one stride and dilation and two pads per spatial dimension");
  return success();
}

LogicalResult AttentionOp::verify() {
  if (rankOf(getQ()) != 4 || rankOf(getK()) != 4 || rankOf(getV()) != 4 || rankOf(getResult()) != 4)
    return emitOpError("q, k, v and the result have rank 4");
  Block &b = getScore().front();
  if (b.getNumArguments() != 5 + getExtras().size() || b.empty() || !isa<YieldOp>(b.back()))
    return emitOpError("the region takes the score, one scalar per extra operand and b, h, q, k, and ends in lathe.yield");
  for (Value e : getExtras())
    if (rankOf(e) != 4)
      return emitOpError("extra operands have rank 4");
  return success();
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (getX().getType() == getResult().getType())
    return getX();
  if (auto inner = getX().getDefiningOp<ReshapeOp>()) {
    if (inner.getX().getType() == getResult().getType())
      return inner.getX();
    setOperand(inner.getX());
    return getResult();
  }
  return {};
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  bool identity = llvm::all_of(llvm::enumerate(getPerm()), [](auto p) { return p.value() == int64_t(p.index()); });
  if (identity && getX().getType() == getResult().getType())
    return getX();
  if (auto inner = getX().getDefiningOp<TransposeOp>()) {
    SmallVector<int64_t> perm;
    for (int64_t p : getPerm())
      perm.push_back(inner.getPerm()[p]);
    setPerm(perm);
    setOperand(inner.getX());
    return getResult();
  }
  return {};
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  if (getX().getType() == getResult().getType())
    return getX();
  if (auto inner = getX().getDefiningOp<BroadcastOp>()) {
    setOperand(inner.getX());
    return getResult();
  }
  return {};
}
