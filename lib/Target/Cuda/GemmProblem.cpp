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
