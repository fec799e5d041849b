//===- LoopTracks.h - What runs in each iteration of a loop ----------------===//
#ifndef LATHE_LIB_TARGET_CUDA_LOOPTRACKS_H
#define LATHE_LIB_TARGET_CUDA_LOOPTRACKS_H

#include "../Contraction/Gemm.h"
#include "lathe/Target/CudaGroups.h"

namespace lathe::cuda {

struct BodyKernel {
  explicit BodyKernel(kernel::GenericOp op) : op(op), info(op), product(productOf(info)) {}
  kernel::GenericOp op;
  lower::BodyInfo info;
  std::optional<GemmProblem>
      product; ///< of rows along one axis at most, and a constant number of columns along another one

private:
  static std::optional<GemmProblem> productOf(const lower::BodyInfo &info);
};

/// What blocks do without waiting for one another. A product's columns are dealt out as units: a block has the columns
/// unit + shift of its units, and computes what the kernels behind the product make of just these. A stage without a
/// product is one kernel, its points dealt out to all threads.
struct LoopStage {
  BodyKernel *product = nullptr;
  std::vector<BodyKernel *> others;
  int64_t units = 0;
  std::vector<int64_t> shifts;
};

/// One loop of a group.
struct Track {
  ir::LoopOp loop;
  mlir::func::FuncOp body;
  std::vector<std::unique_ptr<BodyKernel>> kernels;
  std::vector<ir::ConstantOp> constants;
  std::vector<LoopStage> stages;
  mlir::func::ReturnOp result() const;
  shape::Expr steps() const { return shape::Expr::parsed(const_cast<ir::LoopOp &>(loop).getLimit()); }
  unsigned numCarried() const { return const_cast<ir::LoopOp &>(loop).getCarried().size(); }
};

/// Nothing where a launch cannot run the loop, or should not: where it waits for the host, or for products that want
/// tensor cores.
std::optional<Track> trackOf(ir::LoopOp loop);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_LOOPTRACKS_H
