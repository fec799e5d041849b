//===- ArtifactFile.h - Reading an artifact's tables from disk -------------===//
//
// Looks into a shared object without loading it, also one of another machine. Every offset is checked against the file,
// so damaged or hostile files give errors or empty tables, never a crash.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_ARTIFACT_ARTIFACTFILE_H
#define LATHE_ARTIFACT_ARTIFACTFILE_H

#include "lathe/Artifact/Format.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <vector>

namespace lathe::artifact {

class ArtifactFile {
public:
  static llvm::Expected<ArtifactFile> open(llvm::StringRef path);

  const LatheHeader &header() const { return *reinterpret_cast<const LatheHeader *>(blob.data()); }
  /// The entry points: their names and their own tables. One without a name where the file has no list of them.
  struct Entry {
    llvm::StringRef name;
    const LatheHeader *tables;
  };
  std::vector<Entry> entries() const;
  /// The elements, none when the reference leads out of the blob.
  template <typename T> llvm::ArrayRef<T> array(LatheArray ref) const {
    if (ref.offset % alignof(T) || uint64_t(ref.offset) + uint64_t(ref.count) * sizeof(T) > 8 * blob.size() ||
        !ref.offset)
      return {};
    return {reinterpret_cast<const T *>(bytes() + ref.offset), ref.count};
  }
  llvm::StringRef text(LatheString ref) const {
    if (!ref.offset || uint64_t(ref.offset) + ref.count > 8 * blob.size())
      return "";
    return {bytes() + ref.offset, ref.count};
  }
  /// The node names and the like.
  std::vector<llvm::StringRef> texts(LatheArray ref) const;
  uint64_t fileBytes() const { return size; }

private:
  const char *bytes() const { return reinterpret_cast<const char *>(blob.data()); }
  std::vector<uint64_t> blob; // a copy, for its alignment
  uint64_t size = 0;
};

} // namespace lathe::artifact

#endif // LATHE_ARTIFACT_ARTIFACTFILE_H
