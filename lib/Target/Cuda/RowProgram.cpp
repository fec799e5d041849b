//===- RowProgram.cpp - Loop and reduction kernels on a GPU ----------------===//

#include "RowProgram.h"
#include "RowEmitter.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

namespace {
/// Stores over one set of rows.
struct Section {
  RowAxes axes;
  std::vector<Operation *> roots;
};
} // namespace

/// Root values are reductions over some axes; what is left of an axis set after all of them is a row.
static AxisSet reducedBy(const lower::BodyInfo &info, Operation *op) {
  if (auto r = dyn_cast<kernel::ReduceOp>(op))
    return info.axesOf(r.getAxes());
  return 0;
}

static std::vector<Section> sectionsOf(const lower::BodyInfo &info) {
  bool reduces = llvm::any_of(info.ops, [](Operation *op) { return isa<kernel::ReduceOp>(op); });
  std::vector<Section> out;
  if (reduces) {
    Section all;
    for (Operation *op : info.ops) {
      if (!isa<kernel::ReduceOp, kernel::StoreOp>(op))
        continue;
      all.roots.push_back(op);
      all.axes.reduced |= reducedBy(info, op);
      all.axes.rows |= isa<kernel::StoreOp>(op) ? info.domainOf(op) : info.axesOf(op->getResult(0));
    }
    all.axes.rows &= ~all.axes.reduced;
    return {all};
  }
  // Without reductions every store stands for itself; those over the same axes share their rows.
  for (Operation *op : info.ops) {
    if (!isa<kernel::StoreOp>(op))
      continue;
    AxisSet rows = info.domainOf(op);
    auto same = llvm::find_if(out, [&](const Section &s) { return s.axes.rows == rows; });
    if (same == out.end())
      same = out.insert(same, Section{{rows, 0}, {}});
    same->roots.push_back(op);
  }
  return out;
}

static Expr blocksFor(const lower::BodyInfo &info, const Section &section, const RowSchedule &s) {
  Expr rows = extentOf(info, section.axes.rows);
  if (contains(section.axes.rows, s.lane))
    rows = Expr::floordiv(rows, s.width);
  return Expr::ceildiv(rows, s.layout == RowSchedule::Columns ? 32 : s.rowsPerBlock());
}

/// Several sections take turns in the grid's second dimension.
static llvm::Error emitEntry(Generator &g, StringRef name, ArrayRef<Section> sections, ArrayRef<RowSchedule> schedules) {
  unsigned threads = schedules.front().threads;
  KernelFrame frame(g.info, g.device, name, threads, g.sm, 0, g.dependent());
  DeviceBuilder &d = frame.d;
  std::string error;
  for (unsigned i = 0; i < sections.size(); ++i) {
    auto body = [&] {
      RowEmitter rows(frame, schedules[i], sections[i].axes, sections[i].roots);
      rows.emit();
      if (error.empty())
        error = rows.error();
    };
    if (sections.size() == 1) {
      body();
      continue;
    }
    Value mine = d.equal(d.blockIdY(), i);
    Value count = frame.size(blocksFor(g.info, sections[i], schedules[i]));
    d.when(d.both(mine, d.less(d.wide(d.blockId()), count)), body);
  }
  return g.addEntry(frame, name, error);
}

llvm::Error cuda::generateRowProgram(Generator &g) {
  const lower::BodyInfo &info = g.info;
  std::vector<Section> sections = sectionsOf(info);
  PlanFunction &plan = g.plan;
  DeviceBuilder &h = plan.d;
  plan.set(LATHE_CUDA_GRID + 1, sections.size());
  plan.set(LATHE_CUDA_GRID + 2, 1);
  std::vector<SmallVector<RowSchedule>> options;
  for (const Section &s : sections)
    options.push_back(chooseRowSchedules(info, s.axes, s.roots));
  // Only a single section with reductions has more than one schedule: rows of unknown length.
  bool choice = options.size() == 1 && options[0].size() > 1;
  Value longRows;
  if (choice) {
    Value length = plan.size(extentOf(info, sections[0].axes.reduced));
    longRows = h.compare(arith::CmpIPredicate::sgt, length, plan.constant(rowTuning.warpElements));
    plan.set(LATHE_CUDA_ENTRY, h.wide(h.b.create<arith::ExtUIOp>(h.loc, h.i32Type(), longRows)));
  }
  auto blocks = [&](unsigned option) {
    Value most;
    for (unsigned i = 0; i < sections.size(); ++i) {
      Value n = plan.size(blocksFor(info, sections[i], options[i][option]));
      most = most ? h.b.create<arith::MaxSIOp>(h.loc, most, n) : n;
    }
    return most;
  };
  auto threads = [&](unsigned option) { return plan.constant(options[0][option].threads); };
  plan.set(LATHE_CUDA_GRID, choice ? h.select(longRows, blocks(1), blocks(0)) : blocks(0));
  plan.set(LATHE_CUDA_BLOCK, choice ? h.select(longRows, threads(1), threads(0)) : threads(0));
  for (unsigned option = 0; option < (choice ? 2u : 1u); ++option) {
    SmallVector<RowSchedule> schedules;
    for (auto &o : options)
      schedules.push_back(o[option]);
    static const char *names[] = {"rows_by_lanes", "rows_by_block", "rows_by_columns"};
    if (llvm::Error e = emitEntry(g, names[schedules[0].layout], sections, schedules))
      return e;
  }
  return llvm::Error::success();
}
