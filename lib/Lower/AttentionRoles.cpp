//===- AttentionRoles.cpp - The axes of an attention by their roles --------===//

#include "lathe/Lower/AttentionRoles.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Lower/RowLevels.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::lower;
using shape::Expr;

kernel::AttentionOp lower::attentionOf(const BodyInfo &info) {
  kernel::AttentionOp found;
  for (Operation *op : info.ops)
    if (auto attention = dyn_cast<kernel::AttentionOp>(op))
      found = attention;
  return found;
}

std::optional<AttentionRoles> AttentionRoles::of(const BodyInfo &info) {
  kernel::AttentionOp op = attentionOf(info);
  return op ? of(info, op) : std::nullopt;
}

/// How many consecutive points of the axis see the same value of `e`: its extent where e does not mention it, c where it
/// occurs as floordiv(axis, c) only; else 1.
static int64_t runOf(const Expr &e, const std::string &axis, const Expr &extent) {
  if (!e.mentions(axis))
    return extent.constant().value_or(1);
  int64_t run = 0;
  for (const Expr::Term &t : e.terms())
    for (const shape::Atom &a : t.atoms) {
      if (!Expr::fromAtom(a).mentions(axis))
        continue;
      bool division = a.kind == shape::Atom::Kind::FloorDiv && a.operands[0] == Expr::symbol(axis);
      std::optional<int64_t> c = division ? a.operands[1].constant() : std::nullopt;
      if (!c || *c < 1 || (run && run != *c))
        return 1;
      run = *c;
    }
  return std::max<int64_t>(run, 1);
}

/// The batch axis with the longest runs of shared keys and values (the last one where there are none).
static void findSharing(AttentionRoles &r, const BodyInfo &info) {
  for (unsigned a : axesIn(info, r.batch)) {
    int64_t run = std::min(runOf(r.k, info.axes[a], info.extents[a]), runOf(r.v, info.axes[a], info.extents[a]));
    std::optional<int64_t> known = info.extents[a].constant();
    if (!known || *known % run != 0)
      run = 1;
    if (run >= r.sharing) {
      r.sharedAxis = a;
      r.sharing = run;
    }
  }
}

std::optional<AttentionRoles> AttentionRoles::of(const BodyInfo &info, kernel::AttentionOp op) {
  std::optional<unsigned> key = info.axisIndex(op.getKeyAxis()), depth = info.axisIndex(op.getDepthAxis()), value = info.axisIndex(op.getValueAxis());
  if (!key || !depth || !value)
    return std::nullopt;
  AttentionRoles r;
  r.query = info.axisIndex(op.getQueryAxis());
  r.key = *key;
  r.depth = *depth;
  r.value = *value;
  r.batch = allAxes(info);
  for (std::optional<unsigned> axis : {r.query, key, depth, value})
    if (axis)
      r.batch &= ~(AxisSet(1) << *axis);
  r.q = Expr::parsed(op.getQOffset());
  r.k = Expr::parsed(op.getKOffset());
  r.v = Expr::parsed(op.getVOffset());
  r.queries = r.query ? info.extents[*r.query] : Expr(1);
  r.keys = info.extents[r.key];
  r.depths = info.extents[r.depth];
  r.values = info.extents[r.value];
  r.batches = extentOf(info, r.batch);
  findSharing(r, info);
  return r;
}
