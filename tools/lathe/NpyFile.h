//===- NpyFile.h - numpy's files -------------------------------------------===//
#ifndef LATHE_TOOLS_NPYFILE_H
#define LATHE_TOOLS_NPYFILE_H

#include "HostTensor.h"
#include <map>

namespace lathe::tool {

/// The array in the bytes of an .npy file; `origin` names it in messages.
llvm::Expected<HostTensor> parseNpy(llvm::StringRef bytes, llvm::StringRef origin);
llvm::Expected<HostTensor> readNpy(llvm::StringRef path);
/// What an .npy file of the tensor holds.
std::string npyBytes(const DLTensor &tensor);
llvm::Error writeNpy(llvm::StringRef path, const DLTensor &tensor);

/// The arrays of an .npz file by name, without the ".npy".
llvm::Expected<std::map<std::string, HostTensor>> readNpz(llvm::StringRef path);
/// Writes arrays by name, not compressed.
llvm::Error writeNpz(llvm::StringRef path, const std::map<std::string, DLTensor> &arrays);

} // namespace lathe::tool

#endif // LATHE_TOOLS_NPYFILE_H
