//===- Generator.cpp - What every generator of device code starts from -----===//

#include "Generator.h"
#include "lathe/Support/Diagnostics.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

llvm::Error Generator::addEntry(KernelFrame &frame, StringRef name, StringRef error) {
  frame.finish();
  entries.push_back(name.str());
  if (error.empty())
    return llvm::Error::success();
  return bug("kernel '{0}' on a GPU: {1}", kernel::GenericOp(info.kernel).getName(), error);
}

void cuda::bindAxes(lower::BodyEmitter &point, KernelFrame &frame, ArrayRef<unsigned> axes, Value index) {
  Values extents;
  for (unsigned axis : axes)
    extents.push_back(frame.size(frame.info.extents[axis]));
  for (auto [axis, i] : llvm::zip(axes, delinearize(frame.d, index, extents)))
    point.bindAxis(frame.info.axes[axis], i);
}

void EntryEmitter::bindBatch(lower::BodyEmitter &point, ArrayRef<unsigned> axes, Value index) { bindAxes(point, frame, axes, index); }
