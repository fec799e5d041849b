/*===- Pieces.c - How a kernel's items are handed out -----------------------===*/
#include "Stripes.h"

/* Below CostPerPart (see LATHE_PLAN_COST) another thread is not worth having: about 0.7 microseconds of one core's work. A part
 * is handed out in pieces where items differ in cost, and where it lasts so long (some 30 microseconds a piece) that a thread
 * which the system puts aside would hold up the others. */
enum { CostPerPart = 32768, CostPerPiece = 1 << 21, PiecesPerPart = 4, UnevenPiecesPerPart = 8 };
/* Of a step that goes forth and back (Execute.c): so much work that a call does not count, and so many that the cache notices. */
enum { CostPerTurn = 32768, TurnsPerStep = 16 };

void latheShareOut(LathePlannedStep *step, const int64_t *out, uint32_t threads) {
  step->items = out[LATHE_PLAN_ITEMS] > 0 ? out[LATHE_PLAN_ITEMS] : 0;
  step->grain = out[LATHE_PLAN_GRAIN] > 0 ? out[LATHE_PLAN_GRAIN] : 1;
  int64_t units = step->items ? (step->items - 1) / step->grain + 1 : 0, cost;
  if (__builtin_mul_overflow(out[LATHE_PLAN_COST], step->items, &cost))
    cost = INT64_MAX;
  int64_t parts = cost / CostPerPart;
  parts = parts < threads ? parts : threads;
  parts = parts < units ? parts : units;
  step->parts = parts > 1 ? (uint32_t)parts : 1;
  bool uneven = out[LATHE_PLAN_FLAGS] & LATHE_PLAN_UNEVEN, whole = out[LATHE_PLAN_FLAGS] & LATHE_PLAN_WHOLE;
  int64_t pieces = whole ? 1 : uneven ? UnevenPiecesPerPart : cost / step->parts / CostPerPiece;
  pieces = uneven || pieces < PiecesPerPart ? pieces : PiecesPerPart;
  pieces = pieces < units / step->parts ? pieces : units / step->parts;
  step->piecesPerPart = pieces > 1 ? (uint32_t)pieces : 1;
  int64_t turns = cost / CostPerTurn;
  turns = turns < TurnsPerStep ? turns : TurnsPerStep;
  turns = turns < units ? turns : units;
  step->turns = step->parts == 1 && turns > 1 && !whole ? (uint32_t)turns : 1;
}
