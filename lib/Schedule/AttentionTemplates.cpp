//===- AttentionTemplates.cpp - Ways to run an attention -------------------===//
//
// Scores are never in memory, so what there is to choose is how many queries read the keys and values together, and how many keys come
// at a time. On a GPU a tile of queries leaves a decoder's step, which has one or two, nearly empty, and its walk over the keys is one
// long chain; there a block takes a single query and its threads share out the keys.
//
//===----------------------------------------------------------------------===//

#include "lathe/Lower/AttentionRoles.h"
#include "lathe/Schedule/AttentionTiles.h"
#include "lathe/Schedule/DeviceCosts.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using shape::Expr;

/// Up to so many queries a block for each takes less time than tiles of groups, or of threads.
constexpr int64_t fewForGroups = 4, fewForThreads = 8;
/// Instructions of a vector of scores beside the products: the exponential, the running maximum and sum.
constexpr int64_t softmaxInstructions = 24;

/// Sums of a tile, a row of the vector operand and a broadcast element fit into the registers.
AttentionTile schedule::wideTile(const Machine &machine, AttentionAttr asked) {
  AttentionTile tile = machine.registers >= 32 ? AttentionTile{2, 8, 8, 2, 128, false}
                       : machine.fma           ? AttentionTile{2, 6, 4, 2, 126, false}
                                               : AttentionTile{2, 4, 4, 2, 128, false};
  if (asked && asked.getQueries() > 0 && asked.getQueries() <= int64_t(machine.lanes()))
    tile.queryVectors = 1;
  if (asked && asked.getKeys() > 0)
    tile.keyBlock = std::max<int64_t>(1, asked.getKeys() / tile.keyRows) * tile.keyRows;
  return tile;
}

/// Rows of values come in pieces that divide the vector of queries.
AttentionTile schedule::narrowTile(const Machine &machine) {
  if (machine.registers >= 32)
    return {1, 16, std::min(8u, machine.lanes()), 2, 128, true};
  return {1, 8, 4, 2, 128, true};
}

unsigned schedule::groupKeys(unsigned padded, AttentionAttr asked) {
  unsigned most = padded <= 128 ? 128 : 64;
  return asked && asked.getKeys() > 0 ? std::min<unsigned>(most, asked.getKeys() < 128 ? 64 : 128) : most;
}

/// Whether groups of warps multiply operands of the type.
static bool multipliesByGroups(const Machine &machine, Type type) {
  return machine.gpu.bulkCopies && machine.gpu.multiplies("f16", 16, /*byGroups=*/true) && (type.isF16() || type.isBF16());
}

static void proposeOnDevice(const lower::BodyInfo &info, const lower::AttentionRoles &roles, const Machine &machine,
                            std::vector<Candidate> &candidates, Choice &choice) {
  MLIRContext *context = info.kernel->getContext();
  bool groups = multipliesByGroups(machine, lower::attentionOf(info).getQ().getType().getElementType());
  int64_t few = groups ? fewForGroups : fewForThreads;
  auto tileOf = [&](int64_t queries) { return costOfAttention(info, roles, queries, machine); };
  choice.ideal = tileOf(1);
  Candidate single{{}, AttentionAttr::get(context, 1, -1), tileOf(1)};
  if (std::optional<int64_t> known = roles.queries.constant(); known && *known <= few)
    return candidates.push_back(single);
  single.when.add(roles.queries, Relation::LessEqual, Expr(few));
  if (!roles.queries.constant())
    candidates.push_back(single);
  candidates.push_back({{}, AttentionAttr::get(context, -1, -1), tileOf(groups ? groupQueries : threadQueries)});
}

void schedule::proposeAttention(const lower::BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates, Choice &choice) {
  std::optional<lower::AttentionRoles> roles = lower::AttentionRoles::of(info);
  if (!roles)
    return;
  if (machine.isGpu())
    return proposeOnDevice(info, *roles, machine, candidates, choice);
  int64_t lanes = machine.lanes(), block = wideTile(machine).queryVectors * lanes;
  Expr queries = Expr::max(Expr::min(roles->queries, Expr(block)), Expr::ceildiv(roles->queries, Expr(block)) * Expr(block));
  auto costOf = [&](const Expr &worked) {
    Expr scores = roles->batches * worked * roles->keys;
    return Expr::floordiv(scores * (roles->depths + roles->values), Expr(int64_t(machine.peak()))) +
           Expr::floordiv(scores * softmaxInstructions, Expr(lanes * int64_t(machine.costs.multiplyAdds)));
  };
  candidates.push_back({{}, AttentionAttr::get(info.kernel->getContext(), -1, -1), costOf(queries)});
  choice.ideal = costOf(roles->queries);
}
