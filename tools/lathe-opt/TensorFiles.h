//===- TensorFiles.h - numpy's files for the interpreter -------------------===//
#ifndef LATHE_TOOLS_LATHEOPT_TENSORFILES_H
#define LATHE_TOOLS_LATHEOPT_TENSORFILES_H

#include "lathe/Interpret/Interpret.h"
#include "lathe/Runtime/DLPack.h"

namespace lathe::tool {

/// DLPack's name of an element type that the compiler computes in.
DLDataType dtypeOf(mlir::Type element);
/// Of .npz files.
interpret::TensorFiles npyFiles();

} // namespace lathe::tool

#endif // LATHE_TOOLS_LATHEOPT_TENSORFILES_H
