//===- Output.cpp - Files and the constants that stream into them ----------===//
#include "Output.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace lathe::artifact;

Expected<std::unique_ptr<OutputFile>> OutputFile::create(StringRef path, unsigned mode) {
  SmallString<256> temporary;
  int fd;
  if (std::error_code error = sys::fs::createUniqueFile(path + ".tmp-%%%%%%%%", fd, temporary, sys::fs::OF_None, mode))
    return lathe::userError("cannot write '{0}': {1}", path, error.message());
  auto file = std::make_unique<OutputFile>();
  file->path = path.str();
  file->temporary = temporary.str().str();
  file->fd = fd;
  file->stream = std::make_unique<raw_fd_ostream>(fd, /*shouldClose=*/true);
  return file;
}
OutputFile::~OutputFile() {
  if (temporary.empty())
    return;
  stream->clear_error();
  stream.reset();
  sys::fs::remove(temporary);
}

Error OutputFile::commit(uint64_t bytes) {
  stream->flush();
  std::error_code error = stream->error();
  if (!error)
    error = sys::fs::resize_file(fd, bytes);
  stream->clear_error();
  stream->close();
  if (!error)
    error = stream->error();
  stream->clear_error();
  if (!error)
    error = sys::fs::rename(temporary, path);
  if (error)
    return lathe::userError("cannot write '{0}': {1}", path, error.message());
  temporary.clear();
  return Error::success();
}

namespace {
/// Streams constants, and takes one back when its contents were there already.
class DataWriter {
public:
  DataWriter(raw_fd_ostream &out, uint64_t start) : out(out), start(start) {}

  Expected<uint64_t> add(const ByteSource &source) {
    uint64_t offset = alignTo(end, LATHE_DATA_ALIGN), written = 0;
    out.seek(start + offset);
    std::vector<uint64_t> digests;
    pending.clear(); // its memory stays
    if (Error error = source.stream([&](ArrayRef<char> bytes) {
          written += bytes.size();
          out.write(bytes.data(), bytes.size());
          hash(digests, bytes);
        }))
      return error;
    if (written != source.size)
      return createStringError(inconvertibleErrorCode(), "a constant of %llu bytes gave %llu", (unsigned long long)source.size,
                               (unsigned long long)written);
    hashBlock(pending, digests);
    auto [it, isNew] = known.try_emplace({written, std::move(digests)}, offset);
    if (isNew)
      end = offset + written;
    return it->second;
  }
  uint64_t size() const { return end; }

private:
  static constexpr size_t blockBytes = 1 << 20;

  static void hashBlock(StringRef block, std::vector<uint64_t> &digests) {
    auto digest = xxh3_128bits(ArrayRef<uint8_t>(block.bytes_begin(), block.size()));
    digests.push_back(digest.low64);
    digests.push_back(digest.high64);
  }
  /// Hashes in blocks of one size, whatever pieces the bytes come in.
  void hash(std::vector<uint64_t> &digests, ArrayRef<char> bytes) {
    while (!bytes.empty()) {
      if (pending.empty() && bytes.size() >= blockBytes) {
        hashBlock(StringRef(bytes.data(), blockBytes), digests);
        bytes = bytes.drop_front(blockBytes);
        continue;
      }
      size_t take = std::min(bytes.size(), blockBytes - pending.size());
      pending.append(bytes.data(), take);
      bytes = bytes.drop_front(take);
      if (pending.size() == blockBytes) {
        hashBlock(pending, digests);
        pending.clear();
      }
    }
  }

  raw_fd_ostream &out;
  uint64_t start, end = 0;
  std::string pending; ///< of the block that a constant's last piece ended in
  std::map<std::pair<uint64_t, std::vector<uint64_t>>, uint64_t> known;
};
} // namespace

Error lathe::artifact::streamConstants(const ArtifactBuilder::State &state, raw_fd_ostream &out, uint64_t start, ConstantLayout &layout) {
  DataWriter writer(out, start);
  for (const ByteSource &constant : state.constants) {
    Expected<uint64_t> offset = writer.add(constant);
    if (!offset)
      return offset.takeError();
    layout.offsets.push_back(*offset);
  }
  layout.bytes = writer.size();
  return Error::success();
}
