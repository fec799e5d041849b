//===- WinogradTransform.h - The transforms of a minimal filtering ---------===//
#ifndef LATHE_TARGET_CPU_WINOGRADTRANSFORM_H
#define LATHE_TARGET_CPU_WINOGRADTRANSFORM_H

#include "../VectorBuilder.h"
#include "lathe/Dialect/Kernel/Winograd.h"

namespace lathe::cpu {

/// What the filter's places are multiplied with, of that many neighbouring elements of the image along one dimension.
VectorBuilder::Values transformImage(VectorBuilder &v, const kernel::Winograd &w, llvm::ArrayRef<mlir::Value> image);

/// The results of a tile along one dimension, from the products at its places.
VectorBuilder::Values transformProducts(VectorBuilder &v, const kernel::Winograd &w, llvm::ArrayRef<mlir::Value> products);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_WINOGRADTRANSFORM_H
