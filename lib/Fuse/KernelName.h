//===- KernelName.h - What a kernel is called -------------------------------===//
#ifndef LATHE_LIB_FUSE_KERNELNAME_H
#define LATHE_LIB_FUSE_KERNELNAME_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace lathe::fuse {

/// The word for an operator of a model format: "layer_norm" for LayerNormalization and for
/// aten.native_layer_norm.default.
std::string wordOf(llvm::StringRef op);

/// A name made of the operators of a kernel's nodes, in their order: "conv_relu", "matmul_gelu", "layer_norm". `main`
/// is the one of the kernel's reduction or product, which is always part of it; both may be empty, and so then is the
/// name.
std::string nameOf(llvm::ArrayRef<std::string> ops, llvm::StringRef main);

} // namespace lathe::fuse

#endif // LATHE_LIB_FUSE_KERNELNAME_H
