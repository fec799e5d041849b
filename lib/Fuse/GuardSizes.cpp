//===- GuardSizes.cpp - What ops rely on is stated in their own sizes ------===//
//
// Types are written with what follows from every relation of the model, also from those between sizes that are known only while
// it runs. An op must not run before the check of a relation that it relies on; but which those are is not to be seen in it:
// where 'k' must be 'b' and 'b' is known first, a slice of 'k' elements is one of 'b'. So each op's demands are stated once
// more, in the very sizes that the op is written with. Those have values when it runs, and so it is checked by then.
//
// Sizes that data decides may be of any magnitude. That there is a number of bytes of such a result is stated, too.
//
//===----------------------------------------------------------------------===//

#include "Groups.h"
#include "lathe/Dialect/Lathe/Fourier.h"
#include "lathe/Fuse/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace lathe;
using ir::Dims;
using shape::Expr;

namespace lathe::fuse {
#define GEN_PASS_DEF_GUARDSIZES
#include "lathe/Fuse/Passes.h.inc"
} // namespace lathe::fuse

namespace {

using Values = std::map<std::string, Expr>;

/// left = right, or left <= right; where `when` is 0, neither is needed.
struct Need {
  bool equal;
  Expr left, right, when;
};

class Needs {
public:
  void equal(const Expr &a, const Expr &b) { all.push_back({true, a, b, Expr(1)}); }
  void equal(ArrayRef<Expr> a, ArrayRef<Expr> b) {
    for (auto [x, y] : llvm::zip(a, b))
      equal(x, y);
  }
  void atMost(const Expr &a, const Expr &b, const Expr &when = Expr(1)) { all.push_back({false, a, b, when}); }

  std::vector<Need> all;
};

} // namespace

//===----------------------------------------------------------------------===//
// Ops that become kernels
//===----------------------------------------------------------------------===//

static Dims resultDims(Operation *op) { return ir::dimsOf(op->getResult(0)); }

static void needElementwise(Operation *op, Needs &n) {
  for (Value v : op->getOperands())
    n.equal(ir::dimsOf(v), resultDims(op));
}

static void needTranspose(ir::TransposeOp op, Needs &n) {
  Dims x = ir::dimsOf(op.getX()), result = ir::dimsOf(op.getResult());
  for (auto [i, p] : llvm::enumerate(op.getPerm()))
    n.equal(x[p], result[i]);
}

static void needBroadcast(ir::BroadcastOp op, Needs &n) {
  Dims x = ir::dimsOf(op.getX()), result = ir::dimsOf(op.getResult());
  for (size_t i = 0, lead = result.size() - x.size(); i < x.size(); ++i)
    if (!x[i].isOne())
      n.equal(x[i], result[lead + i]);
}

/// The first and the last element are the operand's, if there are any.
static void needSlice(ir::SliceOp op, Needs &n) {
  Dims x = ir::dimsOf(op.getX()), result = ir::dimsOf(op.getResult());
  for (auto [d, start] : llvm::enumerate(ir::exprsOf(op.getStarts()))) {
    int64_t step = op.getSteps()[d];
    Expr any = Expr::min(Expr(1), result[d]), last = start + (result[d] - Expr(1)) * Expr(step);
    n.atMost(Expr(0), step > 0 ? start : last, any);
    n.atMost((step > 0 ? last : start) + Expr(1), x[d], any);
  }
}

static void needConcat(ir::ConcatOp op, Needs &n) {
  Dims result = ir::dimsOf(op.getResult());
  Expr total(0);
  for (Value v : op.getInputs())
    for (auto [d, e] : llvm::enumerate(ir::dimsOf(v)))
      if (d == op.getAxis())
        total = total + e;
      else
        n.equal(e, result[d]);
  n.equal(total, result[op.getAxis()]);
}

static void needPad(ir::PadOp op, Needs &n) {
  Dims low = ir::exprsOf(op.getLow()), high = ir::exprsOf(op.getHigh()), result = ir::dimsOf(op.getResult());
  for (auto [d, e] : llvm::enumerate(ir::dimsOf(op.getX())))
    n.equal(low[d] + e + high[d], result[d]);
}

/// Indices are brought into range, which an empty dimension does not have.
static void needIndexed(const Expr &dim, ArrayRef<Expr> result, Needs &n) {
  n.atMost(Expr(1), dim, Expr::min(Expr(1), shape::product(result)));
}

static void needGather(ir::GatherOp op, Needs &n) {
  Dims x = ir::dimsOf(op.getX()), result = ir::dimsOf(op.getResult());
  Dims expected(x.begin(), x.begin() + op.getAxis());
  llvm::append_range(expected, ir::dimsOf(op.getIndices()));
  expected.append(x.begin() + op.getAxis() + 1, x.end());
  n.equal(expected, result);
  needIndexed(x[op.getAxis()], result, n);
}

static void needGatherNd(ir::GatherNdOp op, Needs &n) {
  Dims x = ir::dimsOf(op.getX()), at = ir::dimsOf(op.getIndices()), result = ir::dimsOf(op.getResult());
  size_t batch = op.getBatchDims(), depth = at.back().constant().value_or(0);
  at.pop_back();
  n.equal(ArrayRef<Expr>(x).take_front(batch), ArrayRef<Expr>(at).take_front(batch));
  Dims expected = at;
  expected.append(x.begin() + batch + depth, x.end());
  n.equal(expected, result);
  for (size_t d = 0; d < depth; ++d)
    needIndexed(x[batch + d], result, n);
}

/// Updates at their own places are inside of the data.
static void needScatter(ir::ScatterOp op, Needs &n) {
  Dims data = ir::dimsOf(op.getData()), updates = ir::dimsOf(op.getUpdates());
  n.equal(data, ir::dimsOf(op.getResult()));
  for (Value i : op.getIndices())
    n.equal(ir::dimsOf(i), updates);
  for (auto [d, place] : llvm::enumerate(op.getPlaces()))
    if (place >= 0)
      n.atMost(updates[place], data[d]);
}

static void needReduce(ir::ReduceOp op, Needs &n) {
  Dims kept;
  for (auto [d, e] : llvm::enumerate(ir::dimsOf(op.getX())))
    if (!llvm::is_contained(op.getAxes(), int64_t(d)))
      kept.push_back(e);
  n.equal(kept, ir::dimsOf(op.getResult()));
}

/// As many as are wanted are there, and each has a number of 32 bits.
static void needSort(ir::SortOp op, Needs &n) {
  Dims x = ir::dimsOf(op.getX()), result = ir::dimsOf(op.getResult());
  n.atMost(result[op.getAxis()], x[op.getAxis()]);
  n.atMost(x[op.getAxis()], Expr(int64_t(1) << 32));
  result[op.getAxis()] = x[op.getAxis()];
  n.equal(x, result);
}

/// As many places as the length says, and otherwise the same sizes in and out.
static void needFft(ir::FftOp op, Needs &n) {
  Dims x = ir::dimsOf(op.getX()), result = ir::dimsOf(op.getResult());
  bool toReal = result[op.getParts()].isOne();
  n.equal(x[op.getAxis()], Expr(int64_t(toReal ? op.getLength() / 2 + 1 : op.getLength())));
  n.atMost(result[op.getAxis()], Expr(int64_t(op.getLength())));
  for (int64_t d : {op.getAxis(), op.getParts()})
    result[d] = x[d];
  n.equal(x, result);
}

static void needContract(ir::ContractOp op, Needs &n) {
  Dims lhs = ir::dimsOf(op.getLhs()), rhs = ir::dimsOf(op.getRhs()), expected;
  for (auto [l, r] : llvm::zip(op.getLhsBatch(), op.getRhsBatch())) {
    n.equal(lhs[l], rhs[r]);
    expected.push_back(lhs[l]);
  }
  for (auto [l, r] : llvm::zip(op.getLhsContract(), op.getRhsContract()))
    n.equal(lhs[l], rhs[r]);
  auto addFree = [&](const Dims &dims, ArrayRef<int64_t> batch, ArrayRef<int64_t> contract) {
    for (auto [d, e] : llvm::enumerate(dims))
      if (!llvm::is_contained(batch, int64_t(d)) && !llvm::is_contained(contract, int64_t(d)))
        expected.push_back(e);
  };
  addFree(lhs, op.getLhsBatch(), op.getLhsContract());
  addFree(rhs, op.getRhsBatch(), op.getRhsContract());
  n.equal(expected, ir::dimsOf(op.getResult()));
}

/// Places are compared with the operand's sizes where they are not provably inside.
static void needConv(ir::ConvOp op, Needs &n) {
  Dims x = ir::dimsOf(op.getX()), w = ir::dimsOf(op.getW()), result = ir::dimsOf(op.getResult());
  Expr groups{int64_t(op.getGroups())};
  n.equal({x[0], w[0], x[1]}, {result[0], result[1], w[1] * groups});
  n.equal(w[0], groups * Expr::floordiv(w[0], groups));
}

static void needAttention(ir::AttentionOp op, Needs &n) {
  Dims q = ir::dimsOf(op.getQ()), k = ir::dimsOf(op.getK()), v = ir::dimsOf(op.getV());
  n.equal(q, {k[0], k[1] * Expr::floordiv(q[1], k[1]), q[2], k[3]});
  n.equal(ArrayRef<Expr>(k).take_front(3), ArrayRef<Expr>(v).take_front(3));
  n.equal(ir::dimsOf(op.getResult()), {q[0], q[1], q[2], v[3]});
  Dims scores{q[0], q[1], q[2], k[2]};
  for (Value extra : op.getExtras())
    for (auto [e, s] : llvm::zip(ir::dimsOf(extra), scores))
      if (!e.isOne())
        n.equal(e, s);
}

//===----------------------------------------------------------------------===//
// Ops of the host program
//===----------------------------------------------------------------------===//

/// Of the functions of lib/Runtime/Lapack.c: the elements of each input, then of each output. Nothing for another one.
static std::optional<Dims> matrixCounts(StringRef function, ArrayRef<Expr> s) {
  if (function == "pivot_order")
    return Dims{s[0] * s[2], s[0] * s[1]};
  if (!function.consume_front("lapack_"))
    return std::nullopt;
  Expr batch = s[0], n = s[1], square = batch * n * n, vector = batch * n;
  Expr two(2); // the numbers of a complex element
  if (function == "complex_eigh")
    return Dims{two * square, vector, two * square};
  if (function == "complex_eig")
    return Dims{two * square, two * vector, two * square};
  if (function == "complex_solve") {
    Expr right = two * vector * s[2];
    return Dims{two * square, right, right, two * square, vector, batch};
  }
  if (function == "cholesky")
    return Dims{square, square, batch};
  if (function == "ldl")
    return Dims{square, square, vector, batch};
  if (function == "eigh")
    return Dims{square, vector, square};
  if (function == "eig")
    return Dims{square, vector, vector, square};
  Expr m = s[1], columns = s[2], right = batch * m * columns, least = Expr::min(m, columns);
  if (function == "lu")
    return Dims{right, right, batch * least, batch};
  if (function == "solve")
    return Dims{square, right, right, square, vector, batch};
  if (function == "lu_solve" || function == "ldl_solve")
    return Dims{square, vector, right, right};
  if (function == "triangular")
    return Dims{square, right, right};
  if (function == "qr")
    return Dims{right, right, batch * least};
  if (function == "householder")
    return Dims{right, batch * s[3], right};
  bool full = function == "svd" && s[3].isOne();
  Expr p = full ? m : least, q = full ? columns : least;
  return Dims{right, batch * m * p, batch * least, batch * q * columns};
}

/// See lib/Runtime/HostWork.c for what the functions read and write.
static void needCall(ir::CallOp op, Needs &n) {
  Dims sizes = ir::exprsOf(op.getSizes());
  auto count = [](Value v) { return shape::product(ir::dimsOf(v)); };
  if (std::optional<Dims> counts = matrixCounts(op.getFunction(), sizes)) {
    size_t i = 0;
    for (ValueRange values : {ValueRange(op.getInputs()), ValueRange(op.getOutputs())})
      for (Value v : values)
        n.equal(count(v), (*counts)[i++]);
  } else if (op.getFunction() == "compact") {
    n.equal({count(op.getInputs()[0]), count(op.getOutputs()[0])}, {sizes[0], sizes[1]});
  } else if (op.getFunction() == "coordinates") {
    n.equal({count(op.getInputs()[0]), count(op.getOutputs()[0])}, {shape::product(ArrayRef<Expr>(sizes).drop_front(2)), sizes[0] * sizes[1]});
  } else if (op.getFunction() == "copy_first") {
    n.equal(count(op.getOutputs()[0]), sizes[0]);
    n.atMost(sizes[0], count(op.getInputs()[0]));
  } else if (op.getFunction() == "join") {
    for (auto [part, width] : llvm::zip(op.getInputs(), ArrayRef<Expr>(sizes).drop_front(3)))
      n.equal(count(part), sizes[1] * width);
    n.equal(count(op.getOutputs()[0]), sizes[1] * sizes.back()); // which the call compares with the parts
  } else if (op.getFunction() == "fourier") { // batch, length, parts, what is wanted
    Expr half = Expr::floordiv(sizes[1], Expr(2)) + Expr(1), rows = sizes[0] * sizes[2];
    auto is = [&](ir::FourierResult r) { return sizes[3] == Expr(int64_t(r)); };
    n.equal(count(op.getInputs()[0]), rows * (is(ir::FourierResult::Real) ? half : sizes[1]));
    Expr given = is(ir::FourierResult::Real) ? sizes[1] : Expr(2) * (is(ir::FourierResult::Half) ? half : sizes[1]);
    n.equal(count(op.getOutputs()[0]), sizes[0] * given);
  } else if (op.getFunction() == "order_rows") {
    n.equal({count(op.getInputs()[0]), count(op.getOutputs()[0])}, {sizes[0] * sizes[1], sizes[0]});
    n.equal(count(op.getOutputs()[1]), sizes[0]);
  } else {
    Expr batch = sizes[0], classes = sizes[1], boxes = sizes[2];
    n.equal({count(op.getInputs()[0]), count(op.getInputs()[1])}, {batch * boxes * Expr(4), batch * classes * boxes});
    n.equal({count(op.getOutputs()[0]), count(op.getOutputs()[2])}, {batch * classes * boxes * Expr(3), boxes * Expr(4)});
  }
}

static Values valuesOf(ArrayAttr symbols, ArrayRef<Expr> values) {
  Values out;
  for (auto [s, v] : llvm::zip(symbols, values))
    out.insert({cast<StringAttr>(s).str(), v});
  return out;
}

static Dims substituted(Type type, const Values &values) {
  Dims dims = ir::dimsOf(type);
  for (Expr &e : dims)
    e = e.substitute(values);
  return dims;
}

/// Symbols that elements of inputs or of computed tensors decide.
static std::set<std::string> dataSymbols(ModuleOp module) {
  std::set<std::string> out = ir::lateSymbols(module);
  for (size_t before = SIZE_MAX; before != out.size();) {
    before = out.size();
    for (ir::SymbolOp s : module.getOps<ir::SymbolOp>()) {
      Expr value = s.getDefinition() ? ir::exprsOf(ArrayAttr::get(module.getContext(), s.getDefinitionAttr()))[0] : Expr(0);
      if (s.getElement() || llvm::any_of(value.symbols(), [&](const std::string &name) { return out.count(name) != 0; }))
        out.insert(s.getName().str());
    }
  }
  return out;
}

/// In the branch itself: what it takes and what it gives.
static void needInBranch(ir::IfOp op, func::FuncOp body, ArrayAttr sizes, Needs &n) {
  for (auto [v, t] : llvm::zip(op.getPassed(), body.getArgumentTypes()))
    n.equal(ir::dimsOf(v), ir::dimsOf(t));
  Values values = valuesOf(op.getSymbols(), ir::exprsOf(sizes));
  for (auto [v, t] : llvm::zip(op.getOutputs(), body.getResultTypes()))
    n.equal(substituted(v.getType(), values), ir::dimsOf(t));
}

/// In front of the loop and behind it; the body sees to each iteration.
static void needLoop(ir::LoopOp op, func::FuncOp body, Needs &n) {
  Values initial = valuesOf(op.getSymbols(), ir::exprsOf(op.getInitial())), finals;
  for (auto [s, f] : llvm::zip(op.getSymbols(), op.getFinals()))
    finals.insert({cast<StringAttr>(s).str(), Expr::symbol(cast<StringAttr>(f).getValue())});
  for (auto [v, t, result] : llvm::zip(op.getCarried(), body.getArgumentTypes(), op.getOutputs())) {
    n.equal(ir::dimsOf(v), substituted(t, initial));
    n.equal(ir::dimsOf(result), substituted(t, finals));
  }
  for (Value whole : op.getOutputs().drop_front(op.getCarried().size()))
    if (op.getCount().empty())
      n.equal(ir::dimsOf(whole)[0], Expr::max(Expr(0), ir::exprsOf(ArrayAttr::get(op.getContext(), op.getLimitAttr()))[0]));
    else
      n.equal(ir::dimsOf(whole)[0], Expr::symbol(op.getCount()));
}

static void needInLoop(ir::LoopOp op, func::FuncOp body, Needs &n) {
  size_t first = op.getConditional() ? 1 : 0, carried = op.getCarried().size();
  TypeRange results = body.getResultTypes();
  Values next = valuesOf(op.getSymbols(), ir::exprsOf(op.getNext()));
  for (size_t i = 0; i < carried; ++i)
    n.equal(substituted(body.getArgumentTypes()[i], next), ir::dimsOf(results[first + i]));
  for (auto [v, t] : llvm::zip(op.getCaptured(), body.getArgumentTypes().drop_front(carried)))
    n.equal(ir::dimsOf(v), ir::dimsOf(t));
  for (size_t i = carried; i < op.getNumResults(); ++i)
    for (auto [d, one] : llvm::enumerate(ir::dimsOf(results[first + i]))) {
      // A size that the first iteration gives is compared with by the others.
      Expr whole = ir::dimsOf(op.getResult(i))[d + 1];
      if (llvm::none_of(op.getFinals(), [&](Attribute f) { return whole.mentions(cast<StringAttr>(f).getValue()); }))
        n.equal(one, whole);
    }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static void needsOf(Operation *op, Needs &n) {
  if (isa<ir::ElementwiseInterface>(op))
    return needElementwise(op, n);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ir::ReshapeOp o) { n.equal(shape::product(ir::dimsOf(o.getX())), shape::product(resultDims(o))); })
      .Case([&](ir::TransposeOp o) { needTranspose(o, n); })
      .Case([&](ir::BroadcastOp o) { needBroadcast(o, n); })
      .Case([&](ir::SliceOp o) { needSlice(o, n); })
      .Case([&](ir::ConcatOp o) { needConcat(o, n); })
      .Case([&](ir::PadOp o) { needPad(o, n); })
      .Case([&](ir::GatherOp o) { needGather(o, n); })
      .Case([&](ir::GatherNdOp o) { needGatherNd(o, n); })
      .Case([&](ir::ScatterOp o) { needScatter(o, n); })
      .Case([&](ir::ReduceOp o) { needReduce(o, n); })
      .Case([&](ir::ScanOp o) { n.equal(ir::dimsOf(o.getX()), resultDims(o)); })
      .Case([&](ir::CompactOp o) { n.equal(ir::dimsOf(o.getX()), ir::dimsOf(o.getMask())); })
      .Case([&](ir::SortOp o) { needSort(o, n); })
      .Case([&](ir::FftOp o) { needFft(o, n); })
      .Case([&](ir::ContractOp o) { needContract(o, n); })
      .Case([&](ir::ConvOp o) { needConv(o, n); })
      .Case([&](ir::AttentionOp o) { needAttention(o, n); })
      .Case([&](ir::CallOp o) { needCall(o, n); });
}

namespace {

struct GuardSizesPass : lathe::fuse::impl::GuardSizesBase<GuardSizesPass> {
  void runOnOperation() override;

private:
  void guardBlock(func::FuncOp function);
  void guardHostOp(Operation *op, func::FuncOp function);
  void guardResults(Operation *op, func::FuncOp function);
  void state(Operation *op, const Needs &needs, func::FuncOp scope);
  void relate(Operation *op, const Expr &left, StringRef kind, const Expr &right, func::FuncOp scope, const Twine &says);
  bool holds(const Need &need, const shape::Facts &facts) const;

  std::map<std::string, shape::Facts> facts; ///< by function
  std::set<std::string> stated, fromData;
  bool isHosted = false;
  Operation *last = nullptr; ///< relations are appended behind it
};

} // namespace

bool GuardSizesPass::holds(const Need &need, const shape::Facts &facts) const {
  return need.equal ? facts.provablyEqual(need.left, need.right) : facts.provablyLessEqual(need.left, need.right);
}

/// A relation for each need that does not follow from what is known at the entry.
void GuardSizesPass::state(Operation *op, const Needs &needs, func::FuncOp scope) {
  const shape::Facts &known = facts.at(scope.getName().str());
  for (const Need &need : needs.all) {
    if (holds(need, known))
      continue;
    Expr left = known.simplify(need.when * need.left), right = known.simplify(need.when * need.right);
    if (left == right)
      continue;
    relate(op, left, need.equal ? "eq" : "le", right, scope, left.str() + (need.equal ? " = " : " <= ") + right.str());
  }
}

static std::string wordsFor(StringRef scope, StringRef left, StringRef kind, StringRef right) {
  return (scope + ": " + left + " " + kind + " " + right).str();
}

/// Once in each function.
void GuardSizesPass::relate(Operation *op, const Expr &left, StringRef kind, const Expr &right, func::FuncOp scope,
                            const Twine &says) {
  if (!stated.insert(wordsFor(scope.getName(), left.str(), kind, right.str())).second)
    return;
  OpBuilder b(&getContext());
  last ? b.setInsertionPointAfter(last) : b.setInsertionPointToStart(getOperation().getBody());
  FlatSymbolRefAttr in = scope.getName() == "main" ? FlatSymbolRefAttr() : FlatSymbolRefAttr::get(scope.getNameAttr());
  last = b.create<ir::RelationOp>(op->getLoc(), left.str(), kind, right.str(), in,
                                  b.getStringAttr(fuse::nodeName(op) + ": " + says));
}

/// Of the widest elements, so that one relation serves tensors of all types.
void GuardSizesPass::guardResults(Operation *op, func::FuncOp function) {
  const shape::Facts &known = facts.at(function.getName().str());
  for (Type type : op->getResultTypes()) {
    Expr bytes = known.simplify(shape::product(ir::dimsOf(type)) * Expr(8));
    bool isData = llvm::any_of(bytes.symbols(), [&](const std::string &s) { return fromData.count(s) != 0; });
    shape::Range range = known.bounds(bytes);
    // The arena sees to negative sizes of the model itself, but not to those of a body, which may not run.
    bool isFine = range.min && *range.min >= 0 && (range.max || !isData);
    if ((isData || function.getName() != "main") && !bytes.isUnknown() && !isFine)
      relate(op, Expr(0), "le", bytes, function, "there is a result of " + bytes.str() + " bytes");
  }
}

void GuardSizesPass::guardHostOp(Operation *op, func::FuncOp function) {
  auto body = [&](FlatSymbolRefAttr ref) { return getOperation().lookupSymbol<func::FuncOp>(ref.getValue()); };
  auto enter = [&](func::FuncOp f) -> shape::Facts & {
    return facts[f.getName().str()] = facts.at(function.getName().str()).clone();
  };
  Needs outside;
  if (auto branch = dyn_cast<ir::IfOp>(op)) {
    for (auto [ref, sizes] : {std::pair(branch.getThenBodyAttr(), branch.getThenSizes()),
                              std::pair(branch.getElseBodyAttr(), branch.getElseSizes())}) {
      Needs inside;
      enter(body(ref));
      needInBranch(branch, body(ref), sizes, inside);
      state(op, inside, body(ref));
    }
  } else if (auto loop = dyn_cast<ir::LoopOp>(op)) {
    func::FuncOp f = body(loop.getBodyAttr());
    shape::Facts &known = enter(f);
    if (!loop.getLimit().empty())
      known.setAxis(loop.getCounter(), ir::exprsOf(ArrayAttr::get(&getContext(), loop.getLimitAttr()))[0]);
    Needs inside;
    needLoop(loop, f, outside);
    needInLoop(loop, f, inside);
    state(op, inside, f);
  }
  state(op, outside, function);
}

void GuardSizesPass::guardBlock(func::FuncOp function) {
  for (Operation &op : function.getBody().front()) {
    guardResults(&op, function);
    if (!isHosted) // all relations are checked at the entry, before anything runs
      continue;
    Needs needs;
    needsOf(&op, needs);
    state(&op, needs, function);
    if (ir::isHostOp(&op))
      guardHostOp(&op, function);
  }
}

void GuardSizesPass::runOnOperation() {
  ModuleOp module = getOperation();
  module.walk([&](Operation *op) { isHosted |= ir::isHostOp(op); });
  fromData = dataSymbols(module);
  if (!isHosted && fromData.empty())
    return;
  for (Operation &op : *module.getBody())
    if (isa<ir::SymbolOp, ir::RelationOp>(op))
      last = &op;
  for (ir::RelationOp r : module.getOps<ir::RelationOp>())
    stated.insert(wordsFor(r.getScope().value_or("main"), r.getLeft(), r.getKind(), r.getRight()));
  facts["main"] = ir::factsOf(module);
  for (auto f : module.getOps<func::FuncOp>()) // a body stands behind the function that runs it
    if (facts.count(f.getName().str()))
      guardBlock(f);
}
