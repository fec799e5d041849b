//===- Transform.cpp - Fourier transforms on a GPU -------------------------===//
//
// A block reads rows, transforms them in registers and shared memory, and writes them: one launch, in which each element is moved once.
// Which rows a block takes follows from where neighbours lie: where that is along another axis (the columns of a matrix), it takes
// neighbouring rows, so that they are read and written in whole sectors.
//
//===----------------------------------------------------------------------===//

#include "Transform.h"
#include "TransformEmitter.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyInfo;
using shape::Expr;

/// The row axis along which an access moves by one element (or by one pair), where it does not along the transform's own axis.
static std::optional<unsigned> acrossAxis(Operation *access, StringRef own, ArrayRef<unsigned> rowAxes, const BodyInfo &info) {
  auto isNear = [&](StringRef axis) {
    std::optional<Expr::Linear> linear = info.exprOf(access).linearIn(axis);
    int64_t step = linear ? linear->coefficient.constant().value_or(0) : 0;
    return std::abs(step) == 1 || std::abs(step) == 2;
  };
  if (isNear(own))
    return std::nullopt;
  for (unsigned axis : rowAxes)
    if (isNear(info.axes[axis]))
      return axis;
  return std::nullopt;
}

/// Of the loads that move along the transform's axis, that which moves along the most axes; null where there is none.
static Operation *mainLoad(kernel::FftOp op, const BodyInfo &info) {
  Operation *main = nullptr;
  int most = 0;
  for (Operation *o : info.ops) {
    if (!isa<kernel::LoadOp>(o) || !info.exprOf(o).mentions(op.getAxis()))
      continue;
    int axes = llvm::popcount(info.axesOf(info.exprOf(o)));
    if (axes > most) {
      most = axes;
      main = o;
    }
  }
  return main;
}

static Operation *firstStore(const BodyInfo &info) {
  return *llvm::find_if(info.ops, [](Operation *o) { return isa<kernel::StoreOp>(o); });
}

static TransformProblem problemOf(Generator &g, kernel::FftOp op) {
  const BodyInfo &info = g.info;
  kernel::GenericOp kernel = info.kernel;
  TransformProblem p{op, {}, {}, {}, Expr(1)};
  for (unsigned a = 0; a < info.axes.size(); ++a)
    if (!llvm::is_contained({op.getAxis(), op.getFrequencyAxis(), op.getParts()}, StringRef(info.axes[a]))) {
      p.rowAxes.push_back(a);
      p.rows = p.rows * info.extents[a];
    }
  Operation *load = mainLoad(op, info);
  std::optional<unsigned> from = load ? acrossAxis(load, op.getAxis(), p.rowAxes, info) : std::nullopt;
  std::optional<unsigned> to = acrossAxis(firstStore(info), op.getFrequencyAxis(), p.rowAxes, info);
  if (std::optional<unsigned> last = to ? to : from) {
    llvm::erase(p.rowAxes, *last);
    p.rowAxes.push_back(*last);
  }
  int64_t wanted = *kernel.getExtent(op.getFrequencyAxis())->constant();
  unsigned bytes = op.getType().getIntOrFloatBitWidth() / 8;
  p.shape = {op.getKind(), int64_t(op.getLength()), wanted, bytes, from.has_value() && (!to || to == from), to.has_value(), p.rows.constant()};
  p.plan = planTransform(p.shape, g.machine());
  return p;
}

llvm::Expected<bool> cuda::generateTransform(Generator &g) {
  kernel::GenericOp kernel = g.info.kernel;
  auto transforms = kernel.getBody().front().getOps<kernel::FftOp>();
  if (transforms.empty())
    return false;
  TransformProblem p = problemOf(g, *transforms.begin());
  PlanFunction &plan = g.plan;
  plan.launch(plan.constant(g.entries.size()), plan.d.ceilDiv(plan.size(p.rows), p.plan.rows), plan.constant(p.plan.threads));
  KernelFrame frame(g.info, g.device, "transform", p.plan.threads, g.sm, 0, g.dependent());
  // Registers for some 768 threads a processor: their loads are on their way while others compute.
  constexpr int64_t wantedThreads = 768;
  frame.fitBlocks(std::max<int64_t>(1, (wantedThreads + p.plan.threads / 2) / p.plan.threads));
  TransformEmitter emitter(frame, p);
  emitter.emit();
  if (llvm::Error e = g.addEntry(frame, "transform", emitter.error()))
    return std::move(e);
  return true;
}
