//===- MatrixProduct.cpp - Products of a warp's fragments -------------------===//

#include "MatrixProduct.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

Values cuda::multiplyHalves(DeviceBuilder &d, const schedule::Machine &machine, Type element, ArrayRef<Value> sums, ArrayRef<Value> x,
                            ArrayRef<Value> y) {
  std::string type = element.isBF16() ? "bf16" : "f16";
  llvm::SmallVector<Type> four(4, d.f32Type());
  std::string types = ".row.col.f32." + type + "." + type + ".f32 ";
  Values now(sums);
  if (machine.gpu.multiplies("f16", 16)) {
    Values args(x);
    args.append(y.begin(), y.end());
    args.append(now);
    std::string text =
        "mma.sync.aligned.m16n8k16" + types + "{$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, {$10, $11, $12, $13};";
    return d.ptx(text, "=f,=f,=f,=f,r,r,r,r,r,r,f,f,f,f", args, four, false);
  }
  std::string text = "mma.sync.aligned.m16n8k8" + types + "{$0, $1, $2, $3}, {$4, $5}, {$6}, {$7, $8, $9, $10};";
  for (unsigned half = 0; half < 2; ++half) {
    Values args = {x[2 * half], x[2 * half + 1], y[half]};
    args.append(now);
    now = d.ptx(text, "=f,=f,=f,=f,r,r,r,f,f,f,f", args, four, false);
  }
  return now;
}
