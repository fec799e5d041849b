//===- ModelNode.h - Which nodes of the model an op comes from --------------===//
//
// An op's location holds the nodes that it computes: a NameLoc with the node's name for each, several in a FusedLoc.
// The location below a node's name is another NameLoc, with its operator as the model's format calls it.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_LATHE_MODELNODE_H
#define LATHE_DIALECT_LATHE_MODELNODE_H

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace lathe::ir {

mlir::Location nodeLocation(mlir::MLIRContext *context, llvm::StringRef name, llvm::StringRef op);

/// In the order in which the location has them; `op` may be empty.
void forEachNode(mlir::Location loc, llvm::function_ref<void(mlir::StringAttr name, llvm::StringRef op)> visit);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_MODELNODE_H
