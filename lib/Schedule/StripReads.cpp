//===- StripReads.cpp - What the points of a strip read ---------------------===//

#include "lathe/Schedule/Strips.h"
#include "lathe/Lower/DetachKernel.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using namespace lathe::lower;
using shape::Expr;

std::pair<Expr, int64_t> schedule::splitConstant(const Expr &e) {
  for (const Expr::Term &t : e.terms())
    if (t.atoms.empty())
      return {e - Expr(t.coefficient), t.coefficient};
  return {e, 0};
}

Expr schedule::stripsAlong(const BodyInfo &info, const Strip &strip) { return Expr::ceildiv(info.extents[strip.axis], Expr(int64_t(strip.points))); }

Expr schedule::offsetInStrip(const BodyInfo &info, Operation *access, const Strip &strip) {
  std::map<std::string, Expr> at = {{info.axes[strip.axis], Expr::symbol(info.axes[strip.axis]) * Expr(int64_t(strip.points))}};
  for (unsigned axis = 0; axis < info.axes.size(); ++axis)
    if (contains(strip.written, axis))
      at.insert({info.axes[axis], Expr(0)});
  return info.exprOf(access).substitute(at);
}

std::vector<SmallVector<int64_t>> schedule::tapsOf(const BodyInfo &info, const Strip &strip) {
  std::vector<SmallVector<int64_t>> all = {SmallVector<int64_t>(info.axes.size(), 0)};
  for (unsigned axis = info.axes.size(); axis-- > 0;) {
    if (!contains(strip.written, axis))
      continue;
    std::vector<SmallVector<int64_t>> outer;
    for (int64_t i = 0, n = *info.extents[axis].constant(); i < n; ++i)
      for (SmallVector<int64_t> taps : all) {
        taps[axis] = i;
        outer.push_back(std::move(taps));
      }
    all = std::move(outer);
  }
  return all;
}

std::optional<int64_t> schedule::stepAlong(const BodyInfo &info, const Expr &offset, unsigned axis) {
  std::optional<Expr::Linear> linear = offset.linearIn(info.axes[axis]);
  return linear ? linear->coefficient.constant() : std::nullopt;
}

StripReads::StripReads(const BodyInfo &info, const Strip &strip, const Divisibility &known, int lane, unsigned width)
    : info(info), strip(strip), known(known), lane(lane), width(width) {
  for (Operation *op : info.ops)
    if (auto load = dyn_cast<kernel::LoadOp>(op))
      add(load);
  for (StripRun &run : runs) {
    for (const std::set<int64_t> &own : run.ofPoint) {
      again += own.size();
      run.places.insert(own.begin(), own.end());
    }
    again -= run.places.size();
  }
}

/// Whether the places that indices name are the same wherever one is along these axes.
static bool indexedAlike(const BodyInfo &info, kernel::LoadOp load, AxisSet axes) {
  return llvm::none_of(load.getIndices(), [&](Value index) { return info.axesOf(index) & axes; });
}

bool schedule::gathersAlong(const BodyInfo &info, unsigned axis) {
  return llvm::any_of(info.ops, [&](Operation *op) {
    auto load = dyn_cast<kernel::LoadOp>(op);
    return load && !load.getIndices().empty() && !load.getType().isInteger(1) && indexedAlike(info, load, AxisSet(1) << axis) &&
           stepAlong(info, info.exprOf(op), axis) == 1;
  });
}

void StripReads::add(kernel::LoadOp load) {
  kernel::GenericOp kernel = info.kernel;
  const Expr &offset = info.exprOf(load);
  unsigned operand = cast<BlockArgument>(load.getRef()).getArgNumber();
  if (!load.getIndices().empty() && ((lane >= 0 && width > 1) || !indexedAlike(info, load, strip.written | AxisSet(1) << strip.axis)))
    return;
  if (load.getType().isInteger(1) || offset.isUnknown() || operand >= kernel.getInputs().size())
    return;
  Distances d{0, 0, 0, std::vector<int64_t>(info.axes.size())};
  for (unsigned axis = 0; axis < info.axes.size(); ++axis) {
    if (axis != strip.axis && !contains(strip.written, axis))
      continue;
    std::optional<int64_t> step = stepAlong(info, offset, axis);
    if (!step)
      return;
    (axis == strip.axis ? d.apart : d.steps[axis]) = *step;
  }
  auto [base, first] = splitConstant(offsetInStrip(info, load, strip));
  d.first = first;
  if (info.axesOf(base) >> lane & 1 && lane >= 0 && width > 1) {
    // Lanes lie side by side, and where all of them begin at a multiple of their number.
    bool whole = stepAlong(info, offset, lane) == 1 && known.divisorOf(offset, width, info.axes[lane]) == width &&
                 known.divisorOf(elementsOf(info.kernel, operand), width) == width;
    if (!whole || llvm::any_of(d.steps, [&](int64_t s) { return s % width != 0; }) || d.apart % width)
      return;
  }
  auto same = llvm::find_if(runs, [&](const StripRun &r) { return r.operand == operand && r.base == base && llvm::equal(r.indices, load.getIndices()); });
  if (same == runs.end())
    same = runs.insert(same, StripRun{operand, base, SmallVector<Value>(load.getIndices()), {}, {}, false});
  same->guarded |= bool(load.getPredicate());
  d.run = same - runs.begin();
  loads.try_emplace(load, d);
  same->ofPoint.resize(d.apart ? strip.points : 1);
  for (const SmallVector<int64_t> &taps : tapsOf(info, strip))
    for (auto [point, own] : llvm::enumerate(same->ofPoint))
      own.insert(placeOf(load, point, taps));
}

std::optional<unsigned> StripReads::runOf(Operation *load) const {
  auto it = loads.find(load);
  return it == loads.end() ? std::nullopt : std::optional(it->second.run);
}

int64_t StripReads::placeOf(Operation *load, unsigned point, ArrayRef<int64_t> taps) const {
  const Distances &d = loads.find(load)->second;
  int64_t at = d.first + d.apart * point;
  for (auto [step, tap] : llvm::zip_equal(d.steps, taps))
    at += step * tap;
  return at;
}

std::vector<StripPiece> StripReads::piecesOf(const StripRun &run) const {
  std::vector<StripPiece> out;
  if (lane >= 0 && width > 1) {
    for (int64_t place : run.places)
      out.push_back({place, info.axesOf(run.base) >> lane & 1 ? width : 1});
    return out;
  }
  kernel::GenericOp kernel = info.kernel;
  unsigned bits = cast<kernel::RefType>(kernel.getBody().getArgument(run.operand).getType()).getElementType().getIntOrFloatBitWidth();
  int64_t widest = known.divisorOf(elementsOf(info.kernel, run.operand), known.divisorOf(run.base, std::max(1u, 128 / bits)));
  for (auto it = run.places.begin(); it != run.places.end();) {
    // Those within one access of full width; of these a narrower one may hold all.
    int64_t begin = llvm::divideFloorSigned(*it, widest) * widest, first = *it, last = first;
    for (; it != run.places.end() && *it < begin + widest; ++it)
      last = *it;
    int64_t width = 1;
    while (llvm::divideFloorSigned(first, width) != llvm::divideFloorSigned(last, width))
      width *= 2;
    out.push_back({llvm::divideFloorSigned(first, width) * width, unsigned(width)});
  }
  return out;
}
