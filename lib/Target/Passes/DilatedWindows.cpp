//===- DilatedWindows.cpp - Lines that a window steps over ------------------===//

#include "DilatedWindows.h"
#include "lathe/Dialect/Kernel/Winograd.h"
#include "lathe/Lower/BodySlices.h"
#include "lathe/Lower/SlidingWindow.h"
#include "lathe/Lower/SplitAxes.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using lower::AxisSet;
using lower::BodyInfo;
using shape::Expr;

/// The places between two taps, if there are any, and all that the image is made of depends on the two through place + between * tap.
static std::optional<lower::Residues> dilationAlong(const BodyInfo &info, const Filter &f, unsigned place) {
  llvm::DenseSet<Operation *> ops = lower::opsBelow(f.image);
  const std::string &at = info.axes[place];
  for (unsigned tap = 0; tap < info.axes.size(); ++tap) {
    if (!(f.reduced >> tap & 1) || info.extents[tap].constant() != std::optional<int64_t>(kernel::winogradTaps))
      continue;
    std::optional<int64_t> between = lower::stepsOf(info, ops, info.axes[tap], at);
    if (between && *between > 1)
      return lower::Residues{at, *between, info.axes[tap]};
  }
  return std::nullopt;
}

/// Channels lie together in the image and in all results.
static bool channelsTogether(const BodyInfo &info, const Filter &f) {
  auto isTogether = [&](AxisSet axes, bool ofResults) {
    for (unsigned a = 0; a < info.axes.size(); ++a) {
      auto steps = [&](Operation *op) {
        std::optional<Expr::Linear> linear = info.exprOf(op).linearIn(info.axes[a]);
        return linear && linear->coefficient.isOne();
      };
      bool all = ofResults ? llvm::all_of(info.ops, [&](Operation *op) { return !isa<kernel::StoreOp>(op) || steps(op); })
                           : lower::liesTogether(info, f.image, a);
      if ((axes >> a & 1) && all)
        return true;
    }
    return false;
  };
  return isTogether(f.columns, true) && isTogether(f.reduced, false);
}

bool target::splitDilatedWindow(kernel::GenericOp kernel) {
  BodyInfo info(kernel);
  std::optional<Filter> f = Filter::of(info);
  std::vector<unsigned> rows;
  for (unsigned a = 0; f && a < info.axes.size(); ++a)
    if (f->rows >> a & 1)
      rows.push_back(a);
  if (rows.size() < 2 || !f->isDense())
    return false;
  unsigned lines = rows[rows.size() - 2], pixels = rows.back();
  std::string front = info.axes[lines];
  bool any = false;
  for (unsigned place : {lines, pixels}) {
    std::optional<lower::Residues> residues = dilationAlong(info, *f, place);
    if (!residues || (place == pixels && !channelsTogether(info, *f)))
      continue;
    lower::splitResidues(kernel, *residues, front);
    any = true;
  }
  return any;
}
