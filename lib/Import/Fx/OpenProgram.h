//===- OpenProgram.h - From a file to its program ---------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_OPENPROGRAM_H
#define LATHE_LIB_IMPORT_FX_OPENPROGRAM_H

#include "Archive.h"
#include "Program.h"

namespace lathe::fx {

struct OpenedProgram {
  std::unique_ptr<Archive> archive;
  std::string model; ///< its name in the archive
  Program program;
};

/// `wanted`: its name in the archive; empty: the only one.
llvm::Expected<OpenedProgram> openProgram(llvm::StringRef path, llvm::StringRef wanted = "");

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_OPENPROGRAM_H
