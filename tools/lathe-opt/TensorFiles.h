//===- TensorFiles.h - numpy's files for the interpreter -------------------===//
#ifndef LATHE_TOOLS_LATHEOPT_TENSORFILES_H
#define LATHE_TOOLS_LATHEOPT_TENSORFILES_H

#include "lathe/Interpret/Interpret.h"

namespace lathe::tool {

/// Inputs from an .npz file; results to a folder, one .npy file each.
interpret::TensorFiles npyFiles();

} // namespace lathe::tool

#endif // LATHE_TOOLS_LATHEOPT_TENSORFILES_H
