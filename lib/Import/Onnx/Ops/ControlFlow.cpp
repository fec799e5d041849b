//===- ControlFlow.cpp - Loop and Scan -------------------------------------===//

#include "Loops.h"
#include "Sequences.h"

using namespace lathe;
using llvm::SmallVector;

namespace lathe::onnx {

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

/// A loop that carries a sequence is written out where the number of its iterations is known: so is how many elements there are in each.
static constexpr int64_t kMaxWrittenOut = 1024;

static std::optional<int64_t> knownTrips(Node &n, const LoopSpec &spec) {
  return spec.limit && !spec.condition ? n.simplify(*spec.limit).constant() : std::nullopt;
}

static void writeOut(Node &n, const LoopSpec &spec) {
  std::optional<int64_t> count = knownTrips(n, spec);
  if (*count > kMaxWrittenOut)
    failUnsupported("it carries a sequence or an optional over {0} iterations, at most {1}", *count, kMaxWrittenOut);
  std::vector<Value> carried(spec.carried.begin(), spec.carried.end());
  std::vector<SmallVector<Value>> collected;
  for (int64_t i = 0; i < *count; ++i) {
    std::vector<Value> results = spec.body(carried, Expr(i));
    if (results.size() < 1 + carried.size())
      failWrong("the body gives {0} results, the loop carries {1}", results.size(), carried.size());
    std::copy(results.begin() + 1, results.begin() + 1 + carried.size(), carried.begin());
    collected.resize(results.size() - 1 - carried.size());
    for (size_t r = 0; r < collected.size(); ++r)
      collected[r].push_back(results[1 + carried.size() + r]);
    if (isSequence(results[0]) || isEmptyOptional(results[0]))
      failWrong("the condition is a sequence or an optional");
    std::optional<Dims> more = ir::symbolicValue(results[0]);
    if (!more || !more->front().constant())
      failUnsupported("it carries a sequence or an optional, and when it ends is known only when the model runs");
    if (more->front().isZero())
      break;
  }
  for (unsigned i = 0; i < n.numOutputs(); ++i) {
    if (i >= carried.size() && (i - carried.size() >= collected.size() || llvm::any_of(collected[i - carried.size()], isSequence)))
      failUnsupported("its result {0} ('{1}')", i, n.proto.output(i));
    n.out(i, i < carried.size() ? carried[i] : stacked(n, collected[i - carried.size()], 0));
  }
}

/// Else it may append to sequences that are empty in front of it, one element in each iteration: these are collected, as any result
/// of an iteration is, and the sequence is that of their slices.
static void collectSequences(Node &n, LoopSpec spec) {
  constexpr llvm::StringLiteral open = "and how often it runs is known only when the model runs";
  SmallVector<Value> all = std::move(spec.carried);
  spec.carried.clear();
  for (Value v : all) {
    if (isEmptyOptional(v))
      failUnsupported("it carries an optional, {0}", open);
    if (!isSequence(v))
      spec.carried.push_back(v);
    else if (!elementsOf(v).empty())
      failUnsupported("it carries a sequence that has elements in front of it, {0}", open);
  }
  auto body = std::move(spec.body);
  spec.body = [&](llvm::ArrayRef<Value> carried, const Expr &iteration) {
    std::vector<Value> arguments, appended;
    for (size_t i = 0, next = 0; i < all.size(); ++i)
      arguments.push_back(isSequence(all[i]) ? makeGrowing(n.g.b, n.g.loc) : carried[next++]);
    std::vector<Value> results = body(arguments, iteration);
    if (results.size() < 1 + all.size())
      failWrong("the body gives {0} results, the loop carries {1}", results.size(), all.size());
    std::vector<Value> out{results[0]};
    for (auto [v, result] : llvm::zip(all, llvm::ArrayRef(results).drop_front())) {
      if (!isSequence(v)) {
        out.push_back(result);
        continue;
      }
      std::optional<std::vector<Value>> added = isSequence(result) ? appendedTo(result) : std::nullopt;
      if (!added || added->size() != 1)
        failUnsupported("it carries a sequence and does not append one element to it in each iteration, {0}", open);
      appended.push_back(added->front());
    }
    out.insert(out.end(), results.begin() + 1 + all.size(), results.end());
    out.insert(out.end(), appended.begin(), appended.end());
    return out;
  };
  SmallVector<Value> results = buildLoop(n, spec);
  size_t next = 0, list = results.size() - llvm::count_if(all, isSequence);
  for (unsigned i = 0; i < n.numOutputs(); ++i) {
    bool isList = i < all.size() && isSequence(all[i]);
    if (!isList && next >= results.size())
      failWrong("the loop has fewer results than the node, {0}", n.numOutputs());
    n.out(i, isList ? slicesOf(n, results[list++]) : results[next++]);
  }
}

void loop(Node &n) {
  const GraphProto *graph = n.graph("body");
  if (!graph)
    failWrong("attribute 'body' is missing");
  LoopSpec spec;
  if (n.has(0))
    spec.limit = n.valueScalar(0);
  if (n.has(1)) {
    n.requireBool(n.in(1));
    n.requireEqual(shape::product(n.dims(n.in(1))), Expr(1), "the elements of the condition");
    std::optional<Dims> known = ir::symbolicValue(n.in(1));
    if (!known || !known->front().isOne())
      spec.condition = n.in(1);
  }
  spec.conditional = true;
  for (unsigned i = 2; i < n.numInputs(); ++i)
    spec.carried.push_back(n.in(i));
  spec.body = [&](llvm::ArrayRef<Value> carried, const Expr &iteration) {
    std::vector<Value> arguments{n.g.size(iteration), n.constantInteger(1, n.g.b.getI1Type())};
    // Bodies may want them as a list of one.
    for (int i = 0; i < 2 && i < graph->input_size(); ++i)
      if (graph->input(i).type().tensor_type().shape().dim_size() == 1)
        arguments[i] = n.reshape(arguments[i], {Expr(1)});
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    return n.importer.inlineSubgraph(*graph, arguments);
  };
  if (llvm::any_of(spec.carried, [](Value v) { return isSequence(v) || isEmptyOptional(v); }))
    return knownTrips(n, spec) ? writeOut(n, spec) : collectSequences(n, spec);
  SmallVector<Value> results = buildLoop(n, spec);
  if (results.size() < n.numOutputs())
    failWrong("the loop has {0} results, the node {1}", results.size(), n.numOutputs());
  for (unsigned i = 0; i < n.numOutputs(); ++i)
    n.out(i, results[i]);
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

static int64_t entryOr(llvm::ArrayRef<int64_t> values, size_t i, int64_t otherwise) { return i < values.size() ? values[i] : otherwise; }

namespace {

/// What a scan's attributes say; the entries of `in` and `out` are per scanned operand and result.
struct ScanSpec {
  const GraphProto *graph;
  size_t states;
  SmallVector<int64_t> axes, directions, outAxes, outDirections;
};

} // namespace

static ScanSpec readScan(Node &n, size_t operands) {
  const GraphProto *graph = n.graph("body");
  if (!graph)
    failWrong("attribute 'body' is missing");
  int64_t scanned = n.requiredInteger("num_scan_inputs");
  if (scanned < 1 || scanned > int64_t(operands))
    failWrong("{0} scan inputs of {1} operands", scanned, operands);
  ScanSpec s{graph, operands - scanned, n.integers("scan_input_axes"), n.integers("scan_input_directions"),
             n.integers("scan_output_axes"), n.integers("scan_output_directions")};
  if (n.opset() < 9)
    s.directions = n.integers("directions");
  return s;
}

/// Zeros behind the rows of a collected result, up to `rows`.
static Value filledUp(Node &n, Value v, const Expr &rows) {
  Dims dims = n.dims(v), low(dims.size(), Expr(0)), high = low;
  high[0] = n.simplify(rows - dims[0]);
  if (high[0].isZero())
    return v;
  dims[0] = rows;
  return n.g.b.createOrFold<ir::PadOp>(n.g.loc, ir::tensorType(dims, n.element(v)), v, n.g.scalar(0, n.element(v)),
                                       ir::exprArray(n.g.b, low), ir::exprArray(n.g.b, high));
}

/// One scan over the operands: the states, then what is scanned. The last states, then the collected results. Where a number of
/// `steps` is given, it ends behind those, and zeros stand for what the others would add.
static SmallVector<Value> buildScan(Node &n, const ScanSpec &s, llvm::ArrayRef<Value> operands, llvm::StringRef suffix,
                                    std::optional<Expr> steps = std::nullopt) {
  LoopSpec spec;
  spec.suffix = suffix.str();
  spec.carried.assign(operands.begin(), operands.begin() + s.states);
  llvm::ArrayRef<Value> scanned = operands.drop_front(s.states);
  SmallVector<int64_t> along;
  for (auto [i, x] : llvm::enumerate(scanned)) {
    n.requireRankAtLeast(x, 1);
    along.push_back(n.axis(entryOr(s.axes, i, 0), n.rank(x)));
    Expr length = n.simplify(n.dims(x)[along.back()]);
    if (spec.limit)
      n.requireEqual(*spec.limit, length, "the lengths of the scanned operands");
    else
      spec.limit = length;
  }
  Expr rows = *spec.limit;
  if (steps) {
    n.require(*steps, "le", rows, llvm::formatv("a sequence has at most {0} steps: {1}", rows.str(), steps->str()).str());
    spec.limit = steps;
  }
  spec.body = [&](llvm::ArrayRef<Value> carried, const Expr &iteration) {
    std::vector<Value> arguments(carried.begin(), carried.end());
    for (auto [i, outer] : llvm::enumerate(scanned)) {
      Value x = n.importer.bring(outer);
      Expr at = entryOr(s.directions, i, 0) ? *spec.limit - Expr(1) - iteration : iteration;
      arguments.push_back(n.g.squeeze(n.g.slice(x, along[i], at, Expr(1)), {along[i]}));
    }
    return n.importer.inlineSubgraph(*s.graph, arguments);
  };
  SmallVector<Value> results = buildLoop(n, spec);
  for (size_t i = s.states; i < results.size(); ++i) {
    Value &v = results[i];
    if (entryOr(s.outDirections, i - s.states, 0))
      v = n.g.slice(v, 0, n.dim(v, 0) - Expr(1), n.dim(v, 0), -1);
    v = filledUp(n, v, rows);
    SmallVector<int64_t> perm;
    for (int64_t d = 1; d < n.rank(v); ++d)
      perm.push_back(d);
    if (int64_t axis = n.axis(entryOr(s.outAxes, i - s.states, 0), n.rank(v))) {
      perm.insert(perm.begin() + axis, 0);
      v = n.g.transpose(v, perm);
    }
  }
  return results;
}

static void giveResults(Node &n, llvm::ArrayRef<Value> results) {
  if (results.size() < n.numOutputs())
    failWrong("the scan has {0} results, the node {1}", results.size(), n.numOutputs());
  for (size_t i = 0; i < n.numOutputs(); ++i)
    n.out(i, results[i]);
}

void scan(Node &n) {
  SmallVector<Value> operands;
  for (unsigned i = 0; i < n.numInputs(); ++i)
    operands.push_back(n.in(i));
  giveResults(n, buildScan(n, readScan(n, operands.size()), operands, ""));
}

/// How many steps the sequence of a batch's element has, in the body that scans it.
static Expr stepsOf(Node &n, const Expr &element) {
  Value lengths = n.importer.bring(n.in(0));
  Value length = n.g.squeeze(n.g.slice(n.g.cast(lengths, n.g.b.getI64Type()), 0, element, Expr(1)), {0});
  std::optional<Dims> read = n.importer.elementsOf(length);
  if (!read)
    failUnsupported("operand 0 ('{0}'), the lengths of the sequences, is not known", n.proto.input(0));
  n.requireAtLeast(read->front(), 0, "the length of a sequence");
  return read->front();
}

/// The first version scans each element of a batch by itself.
void scanBatch(Node &n) {
  SmallVector<Value> operands;
  for (unsigned i = 1; i < n.numInputs(); ++i)
    operands.push_back(n.in(i));
  ScanSpec scan = readScan(n, operands.size());
  LoopSpec spec;
  if (n.has(0)) {
    n.requireInteger(n.in(0));
    n.requireRank(n.in(0), 1);
    spec.limit = n.simplify(n.dim(n.in(0), 0));
  }
  for (Value v : operands) {
    n.requireRankAtLeast(v, 1);
    Expr batch = n.simplify(n.dim(v, 0));
    if (spec.limit)
      n.requireEqual(*spec.limit, batch, "the batches of the operands");
    else
      spec.limit = batch;
  }
  spec.body = [&](llvm::ArrayRef<Value>, const Expr &element) {
    SmallVector<Value> parts;
    for (Value v : operands)
      parts.push_back(n.g.squeeze(n.g.slice(n.importer.bring(v), 0, element, Expr(1)), {0}));
    std::optional<Expr> steps = n.has(0) ? std::optional<Expr>(stepsOf(n, element)) : std::nullopt;
    SmallVector<Value> results = buildScan(n, scan, parts, ".element", steps);
    return std::vector<Value>(results.begin(), results.end());
  };
  giveResults(n, buildLoop(n, spec));
}

} // namespace lathe::onnx
