//===- Constants.h - Bytes of constant tensors -----------------------------===//
#ifndef LATHE_LIB_PIPELINE_CONSTANTS_H
#define LATHE_LIB_PIPELINE_CONSTANTS_H

#include "lathe/Artifact/ArtifactBuilder.h"
#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Dialect/Lathe/Lathe.h"

namespace lathe::pipeline {

/// The element type as the artifact's tables say it.
LatheDType dtypeOf(mlir::Type element);
/// Bytes of one element in memory: i1 takes one.
unsigned elementBytes(mlir::Type element);
/// The bytes of a constant, as long as the module lives. Nothing when the attribute's bytes are missing.
llvm::Expected<artifact::ByteSource> constantBytes(ir::ConstantOp op);
/// The same of an attribute.
llvm::Expected<artifact::ByteSource> attributeBytes(mlir::ElementsAttr value);
/// The packed bytes, produced panel by panel.
llvm::Expected<artifact::ByteSource> packedBytes(kernel::PackOp op);

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_CONSTANTS_H
