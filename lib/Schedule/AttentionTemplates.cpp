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
/// Instructions of a vector of scores beside the products: the exponential, the running maximum and sum. Of a single query also those that add up a
/// key's line.
constexpr int64_t softmaxInstructions = 24, sumInstructions = 6;

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

bool schedule::asksForRows(Attribute schedule) {
  auto asked = llvm::dyn_cast_or_null<AttentionAttr>(schedule);
  return asked && asked.getQueries() == 1;
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

/// The most queries of a batch point that, each alone, take less time than vectors of them, of which most lanes would be empty.
static int64_t mostAlone(const lower::AttentionRoles &roles, const Machine &machine) {
  std::optional<int64_t> depth = roles.depths.constant(), values = roles.values.constant();
  if (!depth || !values)
    return 0;
  int64_t lanes = machine.lanes(), width = *depth + *values;
  int64_t alone = width / lanes + sumInstructions + softmaxInstructions / lanes, inVectors = width + softmaxInstructions;
  // A key's line comes from the caches for each query again; and those that share keys fill a vector together.
  return inVectors / (2 * alone * roles.sharing);
}

static void proposeOnCores(const lower::BodyInfo &info, const lower::AttentionRoles &roles, const Machine &machine,
                           std::vector<Candidate> &candidates, Choice &choice) {
  MLIRContext *context = info.kernel->getContext();
  int64_t lanes = machine.lanes(), alone = mostAlone(roles, machine);
  auto costOf = [&](const Expr &worked) {
    Expr scores = roles.batches * worked * roles.keys;
    return Expr::floordiv(scores * (roles.depths + roles.values), Expr(int64_t(machine.peak()))) +
           Expr::floordiv(scores * softmaxInstructions, Expr(lanes * int64_t(machine.costs.multiplyAdds)));
  };
  choice.ideal = costOf(roles.queries);
  Candidate rows{{}, AttentionAttr::get(context, 1, -1), costOf(roles.queries * Expr(2))};
  std::optional<int64_t> known = roles.queries.constant();
  if (known && *known <= alone)
    return candidates.push_back(rows);
  rows.when.add(roles.queries, Relation::LessEqual, Expr(alone));
  if (!known && alone > 0)
    candidates.push_back(rows);
  candidates.push_back({{}, AttentionAttr::get(context, -1, -1), costOf(Expr::ceildiv(roles.queries, Expr(lanes)) * Expr(lanes))});
}

void schedule::proposeAttention(const lower::BodyInfo &info, const Machine &machine, std::vector<Candidate> &candidates, Choice &choice) {
  std::optional<lower::AttentionRoles> roles = lower::AttentionRoles::of(info);
  if (!roles)
    return;
  if (machine.isGpu())
    return proposeOnDevice(info, *roles, machine, candidates, choice);
  proposeOnCores(info, *roles, machine, candidates, choice);
}
