//===- ModelNode.cpp - Which nodes of the model an op comes from ------------===//

#include "lathe/Dialect/Lathe/ModelNode.h"

using namespace mlir;
using namespace lathe;

Location ir::nodeLocation(MLIRContext *context, StringRef name, StringRef op) {
  return NameLoc::get(StringAttr::get(context, name), NameLoc::get(StringAttr::get(context, op)));
}

void ir::forEachNode(Location loc, llvm::function_ref<void(StringAttr, StringRef)> visit) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    auto op = dyn_cast<NameLoc>(name.getChildLoc());
    visit(name.getName(), op ? op.getName().getValue() : StringRef());
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      forEachNode(part, visit);
  }
}
