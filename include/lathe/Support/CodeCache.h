//===- CodeCache.h - Machine code of kernels, kept by content --------------===//
//
// A folder of entries, each named by the SHA-256 of all that its bytes depend on: the kernel's canonical text, the machine and
// flags, and which compiler and libraries these are. So an entry is never out of date, and a compilation with the cache gives the same
// bytes as one without. Entries appear atomically and carry a sum of their own: several compilers may share a folder, and what was damaged
// is compiled again. What was not used for longest goes first when the folder is over its bound.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SUPPORT_CODECACHE_H
#define LATHE_SUPPORT_CODECACHE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <optional>
#include <string>

namespace lathe {

class CodeCache {
public:
  /// Uses the folder, which is made where there is none; a UserError where that fails.
  static llvm::Expected<std::unique_ptr<CodeCache>> open(llvm::StringRef folder, uint64_t maxBytes);

  /// Of what the parts say, in this order, for this compiler.
  static std::string keyOf(llvm::ArrayRef<llvm::StringRef> parts);

  /// The bytes that were kept under the key; nothing where there are none, or no longer the same. From any thread.
  std::optional<std::string> find(llvm::StringRef key);
  /// Keeps the bytes. What cannot be written (a full disk) is not kept: the code is there all the same. From any thread.
  void add(llvm::StringRef key, llvm::StringRef bytes);
  /// Removes entries until the folder is within its bound. The folder is looked through when a thirty-second of the bound was
  /// added since it last was, by whomever: most calls look at one file alone.
  void prune();

  unsigned found() const { return hits; }
  unsigned missed() const { return misses; }

private:
  CodeCache(llvm::StringRef folder, uint64_t maxBytes) : folder(folder), maxBytes(maxBytes) {}
  std::string pathOf(llvm::StringRef key) const;
  bool isWorthLooking();

  std::string folder;
  uint64_t maxBytes;
  std::atomic<unsigned> hits{0}, misses{0};
  std::atomic<uint64_t> added{0}; ///< bytes
};

} // namespace lathe

#endif // LATHE_SUPPORT_CODECACHE_H
