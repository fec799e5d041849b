//===- Attention.cpp - CPU code for attention kernels ----------------------===//

#include "Attention.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

/// Tiles by the number of vector registers: the sums of a tile, a row of the vector operand and a broadcast element fit.
static AttentionTile wideTile(const Isa &isa) {
  if (isa.registers >= 32)
    return {2, 8, 8, 2, 128, false};
  if (isa.fma)
    return {2, 6, 4, 2, 126, false};
  return {2, 4, 4, 2, 128, false};
}

/// For few queries: one vector of them.
static AttentionTile narrowTile(const Isa &isa) {
  if (isa.registers >= 32)
    return {1, 16, 8, 2, 128, true};
  return {1, 8, 4, 2, 128, true};
}

static KernelPlan planOf(const AttentionShape &s, const AttentionTile &wide, const AttentionTile &narrow, unsigned lanes) {
  KernelPlan plan;
  plan.items = s.batch.extent() * Expr::ceildiv(s.queries, wide.queryVectors * lanes);
  plan.scratchBytes = 4 * std::max(AttentionScratch(s, wide, lanes).end, AttentionScratch(s, narrow, lanes).end);
  plan.cost = Expr(2 * (s.depth + s.values) * wide.queryVectors * lanes) * s.keys;
  return plan;
}

/// An item is a batch point and a block of queries. The last block of many is moved back to end with the queries (its rows
/// are computed twice, equally), so only a small number of queries needs masks.
llvm::Expected<bool> lathe::cpu::emitAttention(KernelFunction &f, KernelPlan &plan) {
  std::optional<AttentionShape> shape = AttentionShape::of(f.info);
  if (!shape)
    return false;
  VectorBuilder v(f.b, f.loc, f.isa, f.b.getF32Type());
  AttentionTile wide = wideTile(f.isa), narrow = narrowTile(f.isa);
  plan = planOf(*shape, wide, narrow, v.lanes);

  BodyEmitter body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks);
  Value queries = body.emitExpr(shape->queries);
  int64_t width = wide.queryVectors * v.lanes;
  Value blocks = v.max(v.ceilDiv(queries, width), v.i(1));
  v.loop(f.begin, f.end, 1, [&](Value item) {
    Value batch = v.div(item, blocks);
    Value block = v.sub(item, v.mul(batch, blocks));
    BodyEmitter point = body;
    shape->batch.bind(v, point, batch, /*flat=*/false);
    v.ifThen(
        v.less(v.i(width - 1), queries),
        [&] { emitAttentionBlock(f, v, *shape, wide, point, v.min(v.mul(block, width), v.sub(queries, width))); },
        [&] {
          v.loop(v.i(0), queries, v.lanes,
                 [&](Value q) { emitAttentionBlock(f, v, *shape, narrow, point, q); });
        });
  });
  if (!body.error().empty())
    return llvm::createStringError(body.error());
  return true;
}
