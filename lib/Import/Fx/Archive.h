//===- Archive.h - The members of a .pt2 file -------------------------------===//
//
// A ZIP whose records share one top folder; torch stores them uncompressed, at multiples of 64 bytes, so that they can be
// mapped. The directory is read here because a mapping needs the offset of a member's data in the file.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_ARCHIVE_H
#define LATHE_LIB_IMPORT_FX_ARCHIVE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace lathe::fx {

/// A member's bytes; they stay valid as long as the owner lives.
struct Member {
  llvm::ArrayRef<char> data;
  std::shared_ptr<const void> owner;
};

class Archive {
public:
  virtual ~Archive() = default;
  /// Opens a .pt2 file, a folder with its members, or one ExportedProgram as JSON.
  static llvm::Expected<std::unique_ptr<Archive>> open(llvm::StringRef path);

  /// Names are relative to the top folder: "models/model.json".
  virtual bool has(llvm::StringRef name) const = 0;
  virtual llvm::Expected<Member> read(llvm::StringRef name) const = 0;
  /// The names of all members (none for the JSON form), sorted.
  virtual std::vector<std::string> names() const = 0;
};

/// Implemented in ZipArchive.cpp; `path` is for messages.
llvm::Expected<std::unique_ptr<Archive>> openZip(llvm::StringRef path, Member file);

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_ARCHIVE_H
