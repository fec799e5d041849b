//===- Attention.cpp - CPU code for attention kernels ----------------------===//

#include "Attention.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;
using shape::Expr;

static KernelPlan planOf(const AttentionShape &s, const AttentionTile &wide, const AttentionTile &narrow, unsigned lanes) {
  KernelPlan plan;
  plan.items = s.batch.extent() * Expr::ceildiv(s.queries, wide.queryVectors * lanes);
  plan.scratchBytes = Expr(4) * Expr::max(AttentionScratch(s, wide, lanes).end, AttentionScratch(s, narrow, lanes).end);
  plan.cost = Expr(2 * wide.queryVectors * lanes) * (s.depth + s.values) * s.keys;
  return plan;
}

namespace {
class AttentionEmitter {
public:
  AttentionEmitter(KernelFunction &f, const AttentionShape &shape)
      : f(f), shape(shape), v(f.b, f.loc, f.isa, f.b.getF32Type()), wide(schedule::wideTile(f.isa, llvm::dyn_cast_or_null<schedule::AttentionAttr>(f.schedule))),
        narrow(schedule::narrowTile(f.isa)), rows(schedule::asksForRows(f.schedule) && hasAttentionRows(shape)) {}
  KernelPlan plan() const { return rows ? planOfRows() : planOf(shape, wide, narrow, v.lanes); }
  void emit(BodyEmitter &body);

private:
  KernelPlan planOfRows() const;
  void emitRows(BodyEmitter &body);
  void emitSingleQuery(const BodyEmitter &point);
  void emitQueries(const BodyEmitter &point, Value block, Value queries);
  void emitBlock(const BodyEmitter &point, const AttentionTile &tile, StringRef axis, Value first, Value end) {
    emitAttentionBlock(f, v, shape, tile, point, {axis.str(), first, end});
  }

  KernelFunction &f;
  const AttentionShape &shape;
  VectorBuilder v;
  AttentionTile wide, narrow;
  bool rows; ///< each query alone, with keys in the lanes
};
} // namespace

KernelPlan AttentionEmitter::planOfRows() const {
  KernelPlan plan;
  plan.items = shape.batch.extent() * shape.queries;
  plan.scratchBytes = 4 * AttentionRowScratch(shape, wide.keyBlock, v.lanes).end;
  plan.cost = Expr(2) * (shape.depth + shape.values) * shape.keys;
  return plan;
}

/// An item is a batch point and a query.
void AttentionEmitter::emitRows(BodyEmitter &body) {
  Value queries = v.max(body.emitExpr(shape.queries), v.i(1));
  v.loop(f.begin, f.end, 1, [&](Value item) {
    Value batch = v.div(item, queries);
    BodyEmitter point = body;
    shape.batch.bind(v, point, batch, /*flat=*/false);
    if (f.info.axisIndex(shape.queryAxis))
      point.bindAxis(shape.queryAxis, v.sub(item, v.mul(batch, queries)));
    emitAttentionRow(f, v, shape, wide.keyBlock, point);
  });
}

/// An item is a batch point and a block of queries.
void AttentionEmitter::emit(BodyEmitter &body) {
  if (rows)
    return emitRows(body);
  Value queries = body.emitExpr(shape.queries);
  Value blocks = v.max(v.ceilDiv(queries, wide.queryVectors * v.lanes), v.i(1));
  bool alwaysSingle = shape.queries.isOne(), sometimesSingle = shape.sharing > 1 && !shape.queries.constant();
  v.loop(f.begin, f.end, 1, [&](Value item) {
    Value batch = v.div(item, blocks);
    Value block = v.sub(item, v.mul(batch, blocks));
    BodyEmitter point = body;
    shape.batch.bind(v, point, batch, /*flat=*/false);
    if (alwaysSingle && !shape.batch.empty())
      emitSingleQuery(point);
    else if (sometimesSingle)
      v.ifThen(v.equal(queries, v.i(1)), [&] { emitSingleQuery(point); }, [&] { emitQueries(point, block, queries); });
    else
      emitQueries(point, block, queries);
  });
}

/// The batch points that share keys and values lie in the lanes. The first item of each group does the work of all.
void AttentionEmitter::emitSingleQuery(const BodyEmitter &batchPoint) {
  BodyEmitter point = batchPoint;
  if (f.info.axisIndex(shape.queryAxis))
    point.bindAxis(shape.queryAxis, v.i(0));
  Value first = point.axisValue(shape.sharedAxis);
  auto group = [&] {
    Value end = v.add(first, shape.sharing);
    v.loop(first, end, v.lanes, [&](Value h) { emitBlock(point, narrow, shape.sharedAxis, h, end); });
  };
  if (shape.sharing == 1)
    return group();
  v.ifThen(v.equal(v.rem(first, v.i(shape.sharing)), v.i(0)), group);
}

/// The last block of many is moved back to end with the queries (its rows are computed twice, equally), so only a small
/// number of queries needs masks.
void AttentionEmitter::emitQueries(const BodyEmitter &point, Value block, Value queries) {
  int64_t width = wide.queryVectors * v.lanes;
  v.ifThen(
      v.less(v.i(width - 1), queries),
      [&] {
        emitBlock(point, wide, shape.queryAxis, v.min(v.mul(block, width), v.sub(queries, width)), queries);
      },
      [&] {
        v.loop(v.i(0), queries, v.lanes, [&](Value q) { emitBlock(point, narrow, shape.queryAxis, q, queries); });
      });
}

llvm::Expected<bool> lathe::cpu::emitAttention(KernelFunction &f, KernelPlan &plan) {
  std::optional<AttentionShape> shape = AttentionShape::of(f.info);
  if (!shape)
    return false;
  AttentionEmitter emitter(f, *shape);
  plan = emitter.plan();
  BodyEmitter body(f.info, f.b, f.loc, f.sizes, f.refs, f.hooks);
  emitter.emit(body);
  if (!body.error().empty())
    return llvm::createStringError(body.error());
  return true;
}
