//===- RowAccess.cpp - How tiles of a contraction read their rows ----------===//
//
// Rows that lie far apart share few sets of a cache, and are as many streams as a tile has rows. Whether a copy, in which a tile's elements lie
// side by side for each point of the sum, is worth its time depends on how many panels of columns read it, which sizes say.
//
//===----------------------------------------------------------------------===//

#include "lathe/Schedule/Tiles.h"

using namespace lathe;
using namespace lathe::schedule;
using shape::Expr;

/// Of rows that are copied once: rows and panels, at least, and elements, at most.
constexpr int64_t fewestRows = 24, fewestPanels = 8, mostElements = 1 << 21;
/// And points of their sum, at least, where panels are constant; where they are packed in a run, for a group of them at a time, so many that rows lie a
/// page apart, and a tile's in as many pages, at powers of two in the same set of the first-level cache (below, a copy takes 1.03 to 1.05 of the time).
constexpr int64_t fewestPoints = 256, fewestBytes = 4096;
/// Lanes that a tile's rows fit into, where few registers make tiles low.
constexpr int64_t squareLanes = 8, manyRegisters = 32;
/// Of rows that lie side by side, so many: what a part of the sum reads of all of them stays in the first-level cache; and points of the sum, at least.
constexpr int64_t fewestPartRows = 24, mostPartRows = 256, fewestPointsInParts = 1024;
/// Points of the sum that lie closer leave several tiles' lines in the first cache, if they are not so many that one tile's do not stay.
struct FarPoints {
  int64_t rows, bytes, points;
};
constexpr FarPoints farPoints[] = {{192, 1024, 64}, {48, 256, 1024}};

static Predicate &atLeast(Predicate &p, const Expr &size, int64_t least) { return p.add(Expr(least), Relation::LessEqual, size); }

static void addSideBySide(const FirstOperand &o, std::vector<std::pair<RowAccess, Predicate>> &out) {
  if (o.parts) {
    Predicate few;
    atLeast(atLeast(few, o.rows, fewestPartRows), o.points, fewestPointsInParts);
    few.add(o.rows, Relation::LessEqual, Expr(mostPartRows));
    few.add(o.rows, Relation::LessEqual, *o.point).add(*o.point, Relation::Less, o.rows * 2);
    out.push_back({RowAccess::Parts, few});
  }
  for (const FarPoints &far : farPoints) {
    Predicate apart;
    atLeast(atLeast(atLeast(apart, o.rows, far.rows), *o.point, far.bytes / o.bytes), o.points, far.points);
    out.push_back({RowAccess::Blocks, apart});
  }
}

std::vector<std::pair<RowAccess, Predicate>> schedule::rowAccesses(const FirstOperand &o, const Machine &machine) {
  std::vector<std::pair<RowAccess, Predicate>> out;
  if (!o.plain || !o.row || !o.point)
    return out;
  if (o.row->isOne())
    addSideBySide(o, out);
  int64_t lanes = int64_t(machine.lanes()) * 4 / o.bytes;
  if (o.point->isOne() && o.shared && machine.registers < manyRegisters && lanes >= squareLanes) {
    Predicate many;
    atLeast(atLeast(atLeast(many, o.rows, fewestRows), o.points, o.packed ? fewestPoints : fewestBytes / o.bytes), o.panels, fewestPanels);
    many.add(o.rows * o.points, Relation::LessEqual, Expr(mostElements));
    out.push_back({RowAccess::Once, many});
  }
  return out;
}
