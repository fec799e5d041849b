//===- LaneRuns.cpp - Offsets that mostly go from lane to lane by one -------===//

#include "lathe/Lower/LaneRuns.h"

using namespace lathe;
using namespace lathe::lower;
using shape::Atom;
using llvm::ArrayRef;
using llvm::StringRef;
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

/// The one factor of a term that moves, and what it is multiplied by, which does not; none where nothing moves.
struct MovingTerm {
  LaneRun run = LaneRun::None;
  Expr times = Expr(1);
};

static std::optional<MovingTerm> movingTerm(const Expr::Term &t, const std::string &axis) {
  MovingTerm moving{LaneRun::None, Expr(t.coefficient)};
  for (const Atom &a : t.atoms) {
    std::optional<LaneRun> one = runOf(a, axis);
    if (!one || (*one != LaneRun::None && moving.run != LaneRun::None))
      return std::nullopt;
    if (*one == LaneRun::None)
      moving.times = moving.times * Expr::fromAtom(a);
    else
      moving.run = *one;
  }
  return moving;
}

/// Something that moves by one, and a multiple of something else that does so or stays where it is: where the other moves once in a vector, its first
/// and last lane are not as far apart as if they lay side by side. Where it is taken away once, the sum moves by one or not at all.
static std::optional<LaneRun> runOfTwo(ArrayRef<MovingTerm> terms, bool firstIsAxis) {
  const MovingTerm &axis = terms[firstIsAxis ? 0 : 1], &other = terms[firstIsAxis ? 1 : 0];
  if (!axis.times.isOne() || other.run != LaneRun::Rising)
    return std::nullopt;
  return other.times == Expr(-1) ? LaneRun::Rising : LaneRun::Sawtooth;
}

static std::optional<LaneRun> runOf(const Expr &e, const std::string &axis) {
  llvm::SmallVector<MovingTerm, 2> terms;
  std::optional<size_t> ofAxis;
  for (const Expr::Term &t : e.terms()) {
    std::optional<MovingTerm> moving = movingTerm(t, axis);
    if (!moving || (moving->run != LaneRun::None && terms.size() == 2)) // several that move may move by as many
      return std::nullopt;
    if (moving->run == LaneRun::None)
      continue;
    if (llvm::any_of(t.atoms, [&](const Atom &a) { return a.kind == Atom::Kind::Symbol && a.name == axis; }))
      ofAxis = terms.size();
    terms.push_back(*moving);
  }
  if (terms.size() == 2)
    return ofAxis ? runOfTwo(terms, *ofAxis == 0) : std::nullopt;
  if (terms.empty())
    return LaneRun::None;
  return terms[0].times.isOne() ? std::optional(terms[0].run) : std::nullopt;
}

LaneRun lower::laneRun(const BodyInfo &info, mlir::Operation *access, unsigned axis) {
  const Expr &e = info.exprOf(access);
  if (!e.hasOpaque() || e.linearIn(info.axes[axis]))
    return LaneRun::None;
  auto load = llvm::dyn_cast<kernel::LoadOp>(access);
  if (!load || llvm::any_of(load.getIndices(), [&](mlir::Value v) { return info.axesOf(v) >> axis & 1; }))
    return LaneRun::None;
  if (alternatesAlong(e, info.axes[axis]))
    return LaneRun::Alternating;
  return runOf(e, info.axes[axis]).value_or(LaneRun::None);
}

static bool moves(const Atom &a, StringRef axis) { return Expr::fromAtom(a).mentions(axis.str()); }

/// What the axis itself is divided by; nothing for any other atom.
static std::optional<int64_t> dividedBy(const Atom &a, Atom::Kind kind, StringRef axis) {
  return a.kind == kind && a.operands[0] == Expr::symbol(axis) ? a.operands[1].constant() : std::nullopt;
}

std::optional<Alternation> lower::alternatesAlong(const Expr &e, StringRef axis) {
  constexpr int64_t most = 8;
  std::optional<int64_t> rounds, places;
  bool byOne = true;
  for (const Expr::Term &t : e.terms()) {
    auto along = [&](const Atom &a) { return moves(a, axis); };
    int64_t count = llvm::count_if(t.atoms, along);
    if (count == 0)
      continue;
    if (count > 1)
      return std::nullopt;
    const Atom &moving = *llvm::find_if(t.atoms, along);
    if (std::optional<int64_t> n = dividedBy(moving, Atom::Kind::Mod, axis); n && !places) {
      places = n;
      byOne = t.coefficient == 1 && t.atoms.size() == 1;
    } else if (n = dividedBy(moving, Atom::Kind::FloorDiv, axis); n && !rounds && t.coefficient == 1 && t.atoms.size() == 1)
      rounds = n;
    else
      return std::nullopt;
  }
  bool isOne = places && (rounds ? *rounds == *places : !byOne);
  if (!isOne || *places < 2 || *places > most || !llvm::isPowerOf2_64(*places))
    return std::nullopt;
  return Alternation{*places, rounds.has_value()};
}

std::optional<int64_t> lower::repeatsAlong(const Expr &e, llvm::StringRef axis) {
  std::optional<int64_t> repeats;
  for (const Expr::Term &t : e.terms()) {
    if (llvm::none_of(t.atoms, [&](const Atom &a) { return moves(a, axis); }))
      continue;
    if (repeats || t.coefficient != 1 || t.atoms.size() != 1)
      return std::nullopt;
    const Atom &a = t.atoms[0];
    if (a.kind == Atom::Kind::Symbol)
      repeats = 1;
    else
      repeats = dividedBy(a, Atom::Kind::FloorDiv, axis);
    if (!repeats || *repeats < 1)
      return std::nullopt;
  }
  return repeats;
}
