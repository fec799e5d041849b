//===- LaneRuns.cpp - Offsets that mostly go from lane to lane by one -------===//

#include "lathe/Lower/LaneRuns.h"

using namespace lathe;
using namespace lathe::lower;
using shape::Atom;
using shape::Expr;

/// Nothing where the expression moves in any other way; None where it does not move.
static std::optional<LaneRun> runOf(const Expr &e, const std::string &axis);

static std::optional<LaneRun> runOf(const Atom &a, const std::string &axis) {
  if (a.kind == Atom::Kind::Symbol)
    return a.name == axis ? LaneRun::Rising : LaneRun::None;
  std::optional<LaneRun> first = runOf(a.operands[0], axis), second = runOf(a.operands[1], axis);
  if (!first || !second)
    return std::nullopt;
  switch (a.kind) {
  case Atom::Kind::Min:
  case Atom::Kind::Max:
    return std::max(*first, *second);
  case Atom::Kind::FloorDiv:
    return *second == LaneRun::None && *first != LaneRun::Sawtooth ? first : std::nullopt;
  case Atom::Kind::Mod:
    if (*second != LaneRun::None)
      return std::nullopt;
    return *first == LaneRun::None ? LaneRun::None : LaneRun::Sawtooth;
  default:
    return std::nullopt;
  }
}

static std::optional<LaneRun> runOf(const Expr &e, const std::string &axis) {
  LaneRun run = LaneRun::None;
  for (const Expr::Term &t : e.terms()) {
    LaneRun factor = LaneRun::None;
    for (const Atom &a : t.atoms) {
      std::optional<LaneRun> one = runOf(a, axis);
      if (!one || (*one != LaneRun::None && t.atoms.size() > 1))
        return std::nullopt;
      factor = *one;
    }
    if (factor == LaneRun::None)
      continue;
    if (run != LaneRun::None || t.coefficient != 1) // two that move may move by two
      return std::nullopt;
    run = factor;
  }
  return run;
}

LaneRun lower::laneRun(const BodyInfo &info, mlir::Operation *access, unsigned axis) {
  const Expr &e = info.exprOf(access);
  if (!e.hasOpaque() || e.linearIn(info.axes[axis]))
    return LaneRun::None;
  auto load = llvm::dyn_cast<kernel::LoadOp>(access);
  if (!load || llvm::any_of(load.getIndices(), [&](mlir::Value v) { return info.axesOf(v) >> axis & 1; }))
    return LaneRun::None;
  return runOf(e, info.axes[axis]).value_or(LaneRun::None);
}

std::optional<int64_t> lower::repeatsAlong(const Expr &e, llvm::StringRef axis) {
  std::optional<int64_t> repeats;
  for (const Expr::Term &t : e.terms()) {
    auto moves = [&](const Atom &a) { return Expr::fromAtom(a).mentions(axis.str()); };
    if (llvm::none_of(t.atoms, moves))
      continue;
    if (repeats || t.coefficient != 1 || t.atoms.size() != 1)
      return std::nullopt;
    const Atom &a = t.atoms[0];
    if (a.kind == Atom::Kind::Symbol)
      repeats = 1;
    else if (a.kind == Atom::Kind::FloorDiv && a.operands[0] == Expr::symbol(axis.str()))
      repeats = a.operands[1].constant();
    if (!repeats || *repeats < 1)
      return std::nullopt;
  }
  return repeats;
}
