//===- GemmProblem.cpp - What tiled contractions share ---------------------===//

#include "Gemm.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

std::optional<GemmProblem> cuda::gemmProblem(const lower::BodyInfo &info) {
  kernel::ContractOp contract;
  std::vector<kernel::StoreOp> stores;
  for (Operation *op : info.ops) {
    if (isa<kernel::ReduceOp, kernel::AttentionOp>(op))
      return std::nullopt;
    if (auto c = dyn_cast<kernel::ContractOp>(op))
      contract = c;
    if (auto s = dyn_cast<kernel::StoreOp>(op))
      stores.push_back(s);
  }
  if (!contract)
    return std::nullopt;
  Type lhs = contract.getLhs().getType().getElementType(), rhs = contract.getRhs().getType().getElementType();
  auto small = [](Type t) { return isa<FloatType>(t) && t.getIntOrFloatBitWidth() <= 32; };
  if (!small(lhs) || !small(rhs) || !contract.getType().isF32())
    return std::nullopt;
  ContractShape shape(info, contract);
  for (kernel::StoreOp s : stores)
    if (info.domainOf(s) != (shape.batch | shape.rows | shape.columns))
      return std::nullopt;
  return GemmProblem{contract,
                     shape,
                     stores,
                     shape.extent(shape.batchAxes),
                     shape.extent(shape.rowAxes),
                     shape.extent(shape.columnAxes),
                     shape.extent(shape.depthAxes),
                     lhs,
                     rhs};
}

/// The widest group of columns that lie in one run of the innermost column axis and fill 16 bytes of the widest store.
static unsigned epilogueWidth(const GemmProblem &p) {
  const lower::BodyInfo &info = p.shape.info;
  if (p.shape.columnAxes.empty())
    return 1;
  unsigned inner = p.shape.columnAxes.back();
  unsigned contiguous = 0;
  for (kernel::StoreOp s : p.stores)
    if (auto linear = info.exprOf(s).linearIn(info.axes[inner]))
      contiguous += linear->coefficient.isOne();
  return contiguous ? knownDivisor(info.extents[inner], 4) : 1;
}

GemmEpilogue::GemmEpilogue(const GemmProblem &problem, KernelFrame &frame, DeviceHooks &hooks, lower::BodyEmitter &base)
    : problem(problem), frame(frame), base(base), lanes(epilogueWidth(problem)) {
  if (lanes > 1)
    hooks.setLane(frame.info.axes[problem.shape.columnAxes.back()], lanes);
}

static Values extentsOf(KernelFrame &frame, ArrayRef<unsigned> axes) {
  Values out;
  for (unsigned a : axes)
    out.push_back(frame.size(frame.info.extents[a]));
  return out;
}

lower::BodyEmitter GemmEpilogue::atRow(Value m) {
  lower::BodyEmitter row = base;
  ArrayRef<unsigned> axes = problem.shape.rowAxes;
  for (auto [axis, i] : llvm::zip(axes, delinearize(frame.d, m, extentsOf(frame, axes))))
    row.bindAxis(frame.info.axes[axis], i);
  return row;
}

void GemmEpilogue::store(lower::BodyEmitter point, Value n, ArrayRef<Value> values) {
  DeviceBuilder &d = frame.d;
  ArrayRef<unsigned> axes = problem.shape.columnAxes;
  Values indices = delinearize(d, n, extentsOf(frame, axes));
  for (auto [axis, i] : llvm::zip(axes, indices))
    point.bindAxis(frame.info.axes[axis], i);
  Value v = values[0];
  if (values.size() > 1) {
    point.bindLane(frame.info.axes[axes.back()], indices.back(), values.size());
    v = d.splat(v, values.size());
    for (size_t i = 1; i < values.size(); ++i)
      v = d.insert(v, values[i], i);
  }
  point.bindValue(kernel::ContractOp(problem.op).getResult(), v);
  for (kernel::StoreOp s : problem.stores)
    point.emitStore(s);
}
