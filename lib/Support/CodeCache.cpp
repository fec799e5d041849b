//===- CodeCache.cpp - Machine code of kernels, kept by content ------------===//

#include "lathe/Support/CodeCache.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Support/Version.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CachePruning.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"
#include <elf.h>
#include <link.h>

using namespace lathe;
using llvm::StringRef;

constexpr size_t sumBytes = 32;

static void addPart(llvm::SHA256 &hash, StringRef part) {
  uint8_t length[8];
  llvm::support::endian::write64le(length, part.size());
  hash.update(length);
  hash.update(part);
}

static std::string sumOf(StringRef bytes) {
  llvm::SHA256 hash;
  hash.update(bytes);
  return llvm::toStringRef(hash.final()).str();
}

/// The linker's identification of one loaded file, into the hash; what a file holds where it has none. (The kernel's own part of a
/// process is no file.)
static int addBuildId(dl_phdr_info *file, size_t, void *data) {
  auto &hash = *static_cast<llvm::SHA256 *>(data);
  StringRef path = file->dlpi_name && *file->dlpi_name ? file->dlpi_name : "/proc/self/exe";
  if (!llvm::sys::fs::exists(path))
    return 0;
  bool identified = false;
  for (unsigned i = 0; i < file->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = file->dlpi_phdr[i];
    if (header.p_type != PT_NOTE)
      continue;
    const char *at = reinterpret_cast<const char *>(file->dlpi_addr + header.p_vaddr), *end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      auto *note = reinterpret_cast<const ElfW(Nhdr) *>(at);
      size_t name = llvm::alignTo(note->n_namesz, 4), length = llvm::alignTo(note->n_descsz, 4);
      if (at + sizeof(*note) + name + length > end)
        break;
      if (note->n_type == NT_GNU_BUILD_ID) {
        addPart(hash, StringRef(at + sizeof(*note) + name, note->n_descsz));
        identified = true;
      }
      at += sizeof(*note) + name + length;
    }
  }
  if (!identified)
    if (auto bytes = llvm::MemoryBuffer::getFile(path, false, /*RequiresNullTerminator=*/false))
      addPart(hash, (*bytes)->getBuffer());
  return 0;
}

/// Which compiler this is: its version, and each file that is loaded with it (LLVM may be a library of the system).
static const std::string &compilerIdentity() {
  static const std::string identity = [] {
    llvm::SHA256 hash;
    addPart(hash, version());
    dl_iterate_phdr(addBuildId, &hash);
    return llvm::toHex(hash.final(), /*LowerCase=*/true);
  }();
  return identity;
}

std::string CodeCache::keyOf(llvm::ArrayRef<StringRef> parts) {
  llvm::SHA256 hash;
  addPart(hash, compilerIdentity());
  for (StringRef part : parts)
    addPart(hash, part);
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

llvm::Expected<std::unique_ptr<CodeCache>> CodeCache::open(StringRef folder, uint64_t maxBytes) {
  if (std::error_code e = llvm::sys::fs::create_directories(folder))
    return userError("--cache-dir {0}: {1}", folder, e.message());
  if (!llvm::sys::fs::is_directory(folder))
    return userError("--cache-dir {0}: this is no folder", folder);
  return std::unique_ptr<CodeCache>(new CodeCache(folder, maxBytes));
}

/// The prefix is the one that LLVM's pruning of caches goes by.
std::string CodeCache::pathOf(StringRef key) const {
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "llvmcache-" + key);
  return path.str().str();
}

std::optional<std::string> CodeCache::find(StringRef key) {
  std::string path = pathOf(key);
  auto file = llvm::sys::fs::openNativeFileForRead(path, llvm::sys::fs::OF_UpdateAtime);
  if (file) {
    auto bytes = llvm::MemoryBuffer::getOpenFile(*file, path, -1, /*RequiresNullTerminator=*/false);
    llvm::sys::fs::closeFile(*file);
    if (bytes && (*bytes)->getBufferSize() >= sumBytes) {
      StringRef kept = (*bytes)->getBuffer(), code = kept.drop_front(sumBytes);
      if (kept.take_front(sumBytes) == sumOf(code)) {
        ++hits;
        return code.str();
      }
    }
  } else {
    llvm::consumeError(file.takeError());
  }
  ++misses;
  return std::nullopt;
}

void CodeCache::add(StringRef key, StringRef bytes) {
  std::string path = pathOf(key);
  auto file = llvm::sys::fs::TempFile::create(path + ".%%%%%%%%");
  if (!file)
    return llvm::consumeError(file.takeError());
  llvm::raw_fd_ostream os(file->FD, /*shouldClose=*/false);
  os << sumOf(bytes) << bytes;
  os.flush();
  bool failed = os.has_error();
  os.clear_error();
  llvm::consumeError(failed ? file->discard() : file->keep(path));
  added += failed ? 0 : sumBytes + bytes.size();
}

/// A file beside the entries has a byte for each KiB that was added under this bound since the folder was looked through; appending
/// is safe with several compilers at once. Where it is not there (a new folder, another bound), nobody knows.
bool CodeCache::isWorthLooking() {
  constexpr uint64_t unit = 1024, share = 32;
  llvm::SmallString<128> counter(folder);
  llvm::sys::path::append(counter, "added-" + std::to_string(maxBytes));
  uint64_t known = 0;
  bool isKnown = !llvm::sys::fs::file_size(counter, known);
  if (isKnown && !added)
    return false;
  uint64_t mine = (added + unit - 1) / unit;
  bool looks = !isKnown || (known + mine) * unit * share >= maxBytes;
  std::error_code failed;
  using namespace llvm::sys::fs;
  llvm::raw_fd_ostream os(counter, failed, looks ? CD_CreateAlways : CD_OpenAlways, FA_Write, looks ? OF_None : OF_Append);
  if (!failed && !looks)
    os << std::string(mine, '+');
  os.close();
  os.clear_error();
  added = 0;
  return looks;
}

void CodeCache::prune() {
  llvm::CachePruningPolicy policy;
  policy.Interval = std::chrono::seconds(0);
  policy.Expiration = std::chrono::seconds(0);
  policy.MaxSizePercentageOfAvailableSpace = 0;
  policy.MaxSizeFiles = 0;
  policy.MaxSizeBytes = maxBytes;
  if (maxBytes && isWorthLooking())
    llvm::pruneCache(folder, policy);
}
