//===- Combine.cpp - Combining functions of reductions on a GPU ------------===//

#include "Combine.h"
#include "lathe/Lower/Combine.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using kernel::Combiner;

Value cuda::identityOf(DeviceBuilder &d, Combiner kind, Type type) { return lower::identityOf(d.b, d.loc, kind, type); }

Value cuda::combine(DeviceBuilder &d, Combiner kind, Value x, Value y) { return lower::combine(d.b, d.loc, kind, x, y); }

Value cuda::combineLanes(DeviceBuilder &d, Combiner kind, Value v) {
  auto type = dyn_cast<VectorType>(v.getType());
  if (!type)
    return v;
  Value out = d.extract(v, 0);
  for (int64_t i = 1; i < type.getNumElements(); ++i)
    out = combine(d, kind, out, d.extract(v, i));
  return out;
}
