//===- Blob.h - Laying out the tables --------------------------------------===//
#ifndef LATHE_ARTIFACT_BLOB_H
#define LATHE_ARTIFACT_BLOB_H

#include "lathe/Artifact/Format.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include <string>
#include <vector>

namespace lathe::artifact {

/// Bytes with 8-byte aligned arrays; equal texts are stored once. The header comes first and is filled in at the end.
class Blob {
public:
  Blob() : bytes(sizeof(LatheHeader), '\0') {}

  template <typename T> LatheArray array(llvm::ArrayRef<T> elements) {
    if (elements.empty())
      return {0, 0};
    return {raw(elements.data(), elements.size() * sizeof(T)), static_cast<uint32_t>(elements.size())};
  }
  template <typename T> LatheArray array(const std::vector<T> &elements) { return array(llvm::ArrayRef<T>(elements)); }

  LatheString text(llvm::StringRef text);
  LatheArray texts(llvm::ArrayRef<std::string> all);

  /// The finished blob, with the header in place.
  std::string finish(LatheHeader header);

private:
  uint32_t raw(const void *data, size_t size);
  std::string bytes;
  llvm::StringMap<LatheString> known;
};

} // namespace lathe::artifact

#endif // LATHE_ARTIFACT_BLOB_H
