//===- RecognizeAttention.cpp - Written-out attention as one op ------------===//
//
// From the second contraction backwards: softmax, the work on the scores, the first contraction. The work on the scores
// becomes the region of a lathe.attention. An attention that is one already (from a frontend's own operator) gets the same
// treatment of its masks and of repeated heads.
//
//===----------------------------------------------------------------------===//

#include "HeadGroups.h"
#include "ScoreRegion.h"
#include "SoftmaxMatch.h"
#include "lathe/Optimize/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace lathe::opt {
#define GEN_PASS_DEF_RECOGNIZEATTENTION
#include "lathe/Optimize/Passes.h.inc"
} // namespace lathe::opt

using namespace mlir;
using namespace lathe;
using namespace lathe::opt;
using namespace lathe::ir;
using shape::Expr;

namespace {

/// Which dimensions of one operand of a contraction are what.
struct Side {
  Value tensor;
  ArrayRef<int64_t> batch, contract;
  SmallVector<int64_t> free;
};

/// The queries, keys and values of a match, each of rank 4, and the factor on the score.
struct Operands {
  Value q, k, v;
  double factor = 1;
};

class Recognizer {
public:
  Recognizer(ContractOp pv, const shape::Facts &facts, OpBuilder &b) : pv(pv), facts(facts), g(b, pv.getLoc(), facts) {}
  bool run();

private:
  bool match(bool probabilitiesFirst);
  bool chooseBase();
  bool collectCandidates(Value v, unsigned depth);
  bool build(ContractOp qk);
  Value rank4(const Side &side, ArrayRef<int64_t> first, ArrayRef<int64_t> second, const Expr &head, const Expr &rows);
  std::optional<Operands> operandsOf(ContractOp qk, const Indices &at);
  Value resultOf(AttentionOp attention);

  ContractOp pv;
  const shape::Facts &facts;
  GraphBuilder g;
  bool probabilitiesFirst = true;
  Side p, v;
  std::optional<Softmax> softmax;
  SmallVector<Operation *> between; ///< from the softmax to the second contraction: casts and reshapes
  SmallVector<ContractOp> candidates;
  SmallVector<Dims> bases; ///< dimensions of rank 4 seen on the way
  DenseSet<Value> visited;
  Dims base;
};

} // namespace

static Side sideOf(ContractOp op, bool lhs) {
  Side s{lhs ? op.getLhs() : op.getRhs(), lhs ? op.getLhsBatch() : op.getRhsBatch(),
         lhs ? op.getLhsContract() : op.getRhsContract(), {}};
  for (int64_t d = 0; d < typeOf(s.tensor).getRank(); ++d)
    if (!llvm::is_contained(s.batch, d) && !llvm::is_contained(s.contract, d))
      s.free.push_back(d);
  return s;
}

/// Contractions that the softmax's input is computed from by elementwise ops and views.
bool Recognizer::collectCandidates(Value value, unsigned depth) {
  if (depth > 100 || !visited.insert(value).second)
    return true;
  Operation *op = value.getDefiningOp();
  Dims dims = dimsOf(value);
  if (dims.size() == 4)
    bases.push_back(dims);
  if (auto c = dyn_cast_or_null<ContractOp>(op)) {
    candidates.push_back(c);
    return true;
  }
  if (!op || !(isa<ElementwiseInterface, ReshapeOp, TransposeOp>(op)))
    return true;
  for (Value x : op->getOperands())
    collectCandidates(x, depth + 1);
  return true;
}

/// The dimensions that the region's indices run over.
bool Recognizer::chooseBase() {
  Dims dims = dimsOf(softmax->input);
  unsigned rank = dims.size();
  if (rank == 4) {
    base = dims;
  } else if (rank == 2) {
    base = {Expr(1), Expr(1), dims[0], dims[1]};
  } else if (rank == 3) {
    base = {dims[0], Expr(1), dims[1], dims[2]};
    for (const Dims &four : bases) // a mask may have been added under batch and head
      if (facts.provablyEqual(four[2], dims[1]) && facts.provablyEqual(four[3], dims[2]) &&
          facts.provablyEqual(four[0] * four[1], dims[0])) {
        base = four;
        break;
      }
  }
  return !base.empty();
}

/// A side of a contraction as [B, H or G, rows, columns]; its batch dimensions are in the order of their axes already.
Value Recognizer::rank4(const Side &side, ArrayRef<int64_t> first, ArrayRef<int64_t> second, const Expr &heads,
                        const Expr &rows) {
  SmallVector<int64_t> perm(side.batch);
  perm.append(first.begin(), first.end());
  perm.append(second.begin(), second.end());
  Dims dims = dimsOf(side.tensor);
  Expr columns(1);
  for (int64_t d : second)
    columns = columns * dims[d];
  return g.reshape(g.transpose(side.tensor, perm), {base[0], heads, rows, columns});
}

/// The axes that the dimensions' indices run over, one after the other; nothing when they do more than that.
static std::optional<SmallVector<unsigned>> axesAt(const Indices &at, ArrayRef<int64_t> dims, AxisSpace &space) {
  SmallVector<unsigned> out;
  for (int64_t d : dims) {
    if (!at[d].isPure())
      return std::nullopt;
    SmallVector<unsigned> list = space.refined(at[d].axes);
    out.append(list.begin(), list.end());
  }
  return out;
}

std::optional<Operands> Recognizer::operandsOf(ContractOp qk, const Indices &at) {
  AxisSpace space(facts);
  for (const Expr &e : base)
    space.add(e);
  Side lhs = sideOf(qk, true), rhs = sideOf(qk, false);
  int64_t nb = lhs.batch.size(), nl = lhs.free.size(), nr = rhs.free.size();
  auto range = [](int64_t from, int64_t n) { return llvm::to_vector(llvm::seq<int64_t>(from, from + n)); };
  auto batch = axesAt(at, range(0, nb), space), left = axesAt(at, range(nb, nl), space), right = axesAt(at, range(nb + nl, nr), space);
  auto heads = space.refined({ScoreRegion::B, ScoreRegion::H}), q = space.refined({ScoreRegion::Q}),
       k = space.refined({ScoreRegion::K});
  if (!batch || !left || !right || *batch != heads)
    return std::nullopt;
  bool straight = *left == q && *right == k;
  if (!straight && !(*left == k && *right == q))
    return std::nullopt;
  const Side &qs = straight ? lhs : rhs, &ks = straight ? rhs : lhs;
  Operands o;
  o.q = rank4(qs, qs.free, qs.contract, base[1], base[2]);
  o.k = rank4(ks, ks.free, ks.contract, base[1], base[3]);
  o.v = rank4(v, v.contract, v.free, base[1], base[3]);
  o.q = stripFactor(o.q, o.factor, g);
  o.k = stripFactor(o.k, o.factor, g);
  return o;
}

/// Keys and values before their heads were repeated, where both were by the same.
static void unrepeat(Value &k, Value &v, GraphBuilder &g) {
  Value k1 = unrepeatHeads(k, g), v1 = unrepeatHeads(v, g);
  if (!k1 || !v1 || !g.facts.provablyEqual(dimsOf(k1)[1], dimsOf(v1)[1]))
    return;
  k = k1;
  v = v1;
}

/// The op with a finished region.
static AttentionOp createAttention(GraphBuilder &g, Value q, Value k, Value v, ScoreRegion &region, Value score, bool zeroMasked) {
  std::unique_ptr<Block> body = region.finish(score);
  Dims dq = dimsOf(q), dv = dimsOf(v);
  auto type = tensorType({dq[0], dq[1], dq[2], dv[3]}, elementOf(v));
  auto op = g.b.create<AttentionOp>(g.loc, type, q, k, v, region.extras(), zeroMasked ? g.b.getUnitAttr() : UnitAttr());
  op.getScore().push_back(body.release());
  return op;
}

/// What the value was before it was widened from 16 bits; null where it was not.
static Value beforeWidening(Value x) {
  auto cast = x.getDefiningOp<CastOp>();
  Type from = cast ? elementOf(cast->getOperand(0)) : Type();
  return cast && (from.isF16() || from.isBF16()) && elementOf(x).isF32() ? cast->getOperand(0) : Value();
}

/// Whether nobody sees more of the value than what its rounding to the type leaves.
static bool isRoundedTo(Type type, Value x) {
  return llvm::all_of(x.getUsers(), [&](Operation *user) {
    if (isa<CastOp>(user))
      return elementOf(user->getResult(0)) == type;
    return isa<ReshapeOp, TransposeOp>(user) && isRoundedTo(type, user->getResult(0));
  });
}

/// Operands of 16 bits that were widened, and a result that is rounded again, as ONNX's operator and many models have them: products of halves are
/// exact in f32, where sums are taken anyway, and they are what tensor cores multiply.
static void unwiden(Value &q, Value &k, Value &v, Value result) {
  Value operands[] = {beforeWidening(q), beforeWidening(k), beforeWidening(v)};
  if (!operands[0] || !operands[1] || !operands[2])
    return;
  Type type = elementOf(operands[0]);
  if (elementOf(operands[1]) != type || elementOf(operands[2]) != type || !isRoundedTo(type, result))
    return;
  q = operands[0];
  k = operands[1];
  v = operands[2];
}

/// [B, H, Q, E] in the form of the second contraction's result.
Value Recognizer::resultOf(AttentionOp attention) {
  Value r = g.cast(attention.getResult(), elementOf(pv.getResult()));
  if (!probabilitiesFirst)
    r = g.transpose(r, {0, 1, 3, 2});
  return g.reshape(r, dimsOf(pv.getResult()));
}

bool Recognizer::build(ContractOp qk) {
  ScoreRegion region(g, base);
  AxisSpace &space = region.space();
  SmallVector<SmallVector<unsigned>> spans = {{0}, {1}, {2}, {3}};
  unsigned rank = typeOf(softmax->input).getRank();
  if (rank == 3)
    spans = {{0, 1}, {2}, {3}};
  if (rank == 2)
    spans = {{2}, {3}};
  Indices at;
  for (auto &s : spans)
    at.push_back(space.spanning(s));

  // The probabilities as the second contraction reads them: batch and head, query, key.
  Indices read = at;
  Dims from = dimsOf(softmax->result);
  for (Operation *op : llvm::reverse(between))
    if (isa<ReshapeOp>(op)) {
      Dims to = dimsOf(op->getResult(0));
      std::optional<Indices> next = space.reshape(from, to, read);
      if (!next)
        return false;
      read = *next;
      from = to;
    }
  auto heads = axesAt(read, p.batch, space), rows = axesAt(read, p.free, space), keys = axesAt(read, p.contract, space);
  if (!heads || !rows || !keys || *heads != space.refined({0, 1}) || *rows != space.refined({2}) || *keys != space.refined({3}))
    return false;

  region.setSource(qk.getResult());
  // The factor of the operands is known only with them, and they only with the place at which the score is read: a first
  // attempt finds the place.
  std::optional<Operands> operands;
  {
    ScoreRegion probe(g, base);
    probe.setSource(qk.getResult());
    if (!probe.emit(softmax->input, at) || !probe.sourceIndices())
      return false;
    operands = operandsOf(qk, *probe.sourceIndices());
  }
  if (!operands || elementOf(operands->q) != elementOf(operands->k) || elementOf(operands->q) != elementOf(operands->v) ||
      elementOf(operands->q).isF64())
    return false;
  region.setFactor(operands->factor);
  Value score = region.emit(softmax->input, at);
  if (!score)
    return false;
  auto unwidened = [&] { unwiden(operands->q, operands->k, operands->v, pv.getResult()); };
  unwidened(); // in front of repeated heads, or behind them
  unrepeat(operands->k, operands->v, g);
  unwidened();
  AttentionOp attention = createAttention(g, operands->q, operands->k, operands->v, region, score, softmax->zeroMasked);
  pv.getResult().replaceAllUsesWith(resultOf(attention));
  return true;
}

bool Recognizer::match(bool first) {
  probabilitiesFirst = first;
  p = sideOf(pv, first);
  v = sideOf(pv, !first);
  between.clear();
  Value x = p.tensor;
  for (unsigned step = 0; step < 16; ++step) {
    if (!x.hasOneUse() && !isa_and_nonnull<DivOp, SelectOp>(x.getDefiningOp()))
      return false;
    softmax = matchSoftmax(x, facts);
    if (softmax)
      break;
    Operation *op = x.getDefiningOp();
    bool plainCast = isa_and_nonnull<CastOp>(op) && isa<FloatType>(elementOf(op->getOperand(0))) && isa<FloatType>(elementOf(x));
    if (!plainCast && !isa_and_nonnull<ReshapeOp>(op))
      return false;
    between.push_back(op);
    x = op->getOperand(0);
  }
  // Probabilities that something else reads are computed anyway.
  if (!softmax || !x.hasOneUse() || elementOf(softmax->input).isF64())
    return false;
  candidates.clear();
  bases.clear();
  visited.clear();
  base.clear();
  collectCandidates(softmax->input, 0);
  if (!chooseBase())
    return false;
  for (ContractOp qk : candidates) {
    SmallVector<Location> locations = {qk.getLoc()};
    locations.append(softmax->locations);
    locations.push_back(pv.getLoc());
    g.loc = FusedLoc::get(pv.getContext(), locations);
    if (build(qk))
      return true;
  }
  return false;
}

bool Recognizer::run() { return match(true) || match(false); }

//===----------------------------------------------------------------------===//
// Attention that is one op already
//===----------------------------------------------------------------------===//

/// Moves what its masks are computed from inside, and looks behind repeated heads and constant factors.
static void refine(AttentionOp op, const shape::Facts &facts, OpBuilder &b) {
  b.setInsertionPoint(op);
  GraphBuilder g(b, op.getLoc(), facts);
  double factor = 1;
  Value q = stripFactor(op.getQ(), factor, g), k = stripFactor(op.getK(), factor, g), v = op.getV();
  unrepeat(k, v, g);
  Dims dq = dimsOf(q);
  ScoreRegion region(g, {dq[0], dq[1], dq[2], dimsOf(k)[2]});
  region.setFactor(factor);
  Value score = region.emitRegion(op.getScore(), op.getExtras());
  if (!score)
    return;
  AttentionOp better = createAttention(g, q, k, v, region, score, op.getZeroMasked());
  op.getResult().replaceAllUsesWith(g.reshape(better.getResult(), dimsOf(op.getResult())));
  op.erase();
}

namespace {
struct RecognizeAttentionPass : opt::impl::RecognizeAttentionBase<RecognizeAttentionPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, math::MathDialect, LatheDialect>();
  }
  void runOnOperation() override {
    shape::Facts facts = factsOf(getOperation());
    OpBuilder b(&getContext());
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>()) {
      SmallVector<ContractOp> contractions(func.getOps<ContractOp>());
      for (AttentionOp op : llvm::to_vector(func.getOps<AttentionOp>()))
        refine(op, facts, b);
      for (ContractOp op : contractions) {
        b.setInsertionPoint(op);
        Recognizer(op, facts, b).run();
      }
    }
  }
};
} // namespace
