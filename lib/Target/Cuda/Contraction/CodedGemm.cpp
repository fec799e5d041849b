//===- CodedGemm.cpp - Which tiles multiply with codes ------------------------===//

#include "CodedEmitter.h"
#include "MatrixProduct.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

/// Tiles that some number of rows wants: none that has twice the rows which there are.
static std::vector<const schedule::CodedTile *> tilesFor(const Generator &g, const CodedProblem &p) {
  std::vector<const schedule::CodedTile *> out;
  int64_t most = p.rows.constant().value_or(INT64_MAX);
  for (const schedule::CodedTile &t : schedule::codedTiles())
    if (out.empty() || t.rows == out.back()->rows || (out.back()->rows < most && CodedEmitter::sharedBytes(t) <= g.machine().gpu.sharedPerBlock))
      out.push_back(&t);
  return out;
}

/// Reckoned clocks of the multiprocessor that takes the most blocks (i64), and how many blocks there are.
static std::pair<Value, Value> reckon(PlanFunction &plan, const CodedProblem &p, const schedule::CodedTile &t) {
  DeviceBuilder &h = plan.d;
  Expr blocks = Expr::ceildiv(p.rows, Expr(int64_t(t.rows))) * Expr((p.panels + t.panels - 1) / t.panels);
  Value count = plan.size(blocks), walks = h.ceilDiv(count, plan.processors()), waits = h.ceilDiv(count, h.mul(plan.processors(), t.blocksOfProcessor));
  int64_t each = p.depth / p.groupDepth() * schedule::costOfGroup(t, CodedFragments::partsOf(p.lhsType()));
  return {h.add(h.mul(walks, each), h.mul(waits, schedule::costOfCodedBlock)), count};
}

llvm::Expected<bool> cuda::generateCodedGemm(Generator &g) {
  std::optional<CodedProblem> p = codedProblem(g.info);
  if (!p || !multipliesHalves(g.machine(), CodedEmitter::halfOf(p->lhsType())))
    return false;
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  bool early = p->areConstant(g.info.kernel);
  std::optional<GemmLaunch> best;
  Value least;
  for (const schedule::CodedTile *t : tilesFor(g, *p)) {
    auto [cost, blocks] = reckon(plan, *p, *t);
    GemmLaunch launch{plan.constant(g.entries.size()), blocks, plan.constant(t->threads()), plan.constant(CodedEmitter::sharedBytes(*t))};
    Value better = best ? h.less(cost, least) : Value();
    best = best ? chooseLaunch(h, better, launch, *best) : launch;
    least = least ? h.select(better, cost, least) : cost;
    KernelFrame frame(g.info, g.device, t->name, t->threads(), g.sm, 0, g.dependent(/*later=*/early));
    frame.fitBlocks(t->blocksOfProcessor);
    CodedEmitter emitter(*p, *t, frame);
    emitter.emit();
    if (llvm::Error e = g.addEntry(frame, t->name, emitter.error()))
      return std::move(e);
  }
  llvm::Expected<bool> byGroups = addCodedGroups(g, *p, *best, least);
  if (!byGroups)
    return byGroups.takeError();
  if (!*byGroups)
    setLaunch(plan, *best);
  return true;
}
