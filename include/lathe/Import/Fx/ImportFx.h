//===- ImportFx.h - torch.export programs into the lathe dialect ------------===//
#ifndef LATHE_IMPORT_FX_IMPORTFX_H
#define LATHE_IMPORT_FX_IMPORTFX_H

#include "lathe/Import/Options.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir {
class MLIRContext;
}

namespace lathe {

/// Reads a `.pt2` archive of torch.export.save. Two readable forms of the same are taken as well, for tests and for looking
/// into a model: a folder with the archive's members, and the ExportedProgram's JSON alone (`.json`), which has no weights:
/// a program with parameters is then an error.
///
/// Weights that lie contiguous and uncompressed in the file are not copied: they are mapped, and the mapping lives as long as
/// the context's resources do. `program`: which, of an archive that holds several.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> importFx(llvm::StringRef path, const ImportOptions &options,
                                                           mlir::MLIRContext &context, llvm::StringRef program = "");

/// The names of an archive's programs, sorted; torch.export.save writes one, called "model".
llvm::Expected<std::vector<std::string>> programsOfFx(llvm::StringRef path);

/// Every node that cannot be compiled, with its reason; empty when all can. The error is a file that cannot be read.
llvm::Expected<std::vector<NodeReport>> checkFx(llvm::StringRef path, const ImportOptions &options,
                                                mlir::MLIRContext &context, llvm::StringRef program = "");

} // namespace lathe

#endif // LATHE_IMPORT_FX_IMPORTFX_H
