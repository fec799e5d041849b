//===- Output.cpp - Files and the constants that stream into them ----------===//
#include "Output.h"
#include "PieceReader.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"
#include <cstdio>
#include <fcntl.h>

using namespace llvm;
using namespace lathe::artifact;

static Error cannotWrite(StringRef path, std::error_code error) {
  return lathe::userError("cannot write '{0}': {1}", path, error.message());
}

Expected<std::unique_ptr<OutputFile>> OutputFile::create(StringRef path, unsigned mode) {
  SmallString<256> temporary;
  int fd;
  if (std::error_code error = sys::fs::createUniqueFile(path + ".tmp-%%%%%%%%", fd, temporary, sys::fs::OF_None, mode))
    return cannotWrite(path, error);
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

Expected<bool> OutputFile::holdsTwice(uint64_t a, uint64_t b, uint64_t bytes) {
  stream->flush();
  if (stream->has_error())
    return false; // which commit reports
  constexpr uint64_t most = 1 << 18;
  SmallVector<char, 0> one(std::min(bytes, most)), other(one.size());
  for (uint64_t at = 0; at < bytes; at += most) {
    size_t size = std::min(bytes - at, most);
    for (auto [place, into] : {std::pair(a, &one), std::pair(b, &other)}) {
      Expected<size_t> read = sys::fs::readNativeFileSlice(fd, MutableArrayRef<char>(*into).take_front(size), place + at);
      if (!read)
        return cannotWrite(path, errorToErrorCode(read.takeError()));
      if (*read != size)
        return cannotWrite(path, std::make_error_code(std::errc::io_error));
    }
    if (std::memcmp(one.data(), other.data(), size) != 0)
      return false;
  }
  return true;
}

/// As rename: whoever opens `path` finds the old file or the new one. But a file system may write out at once what takes the place of another
/// file by that (ext4 does), and a compiler's user would wait for the disk; it does not where names change places.
static std::error_code takePlace(StringRef temporary, StringRef path) {
  sys::fs::file_status old;
  if (sys::fs::status(path, old, /*follow=*/false) || old.type() != sys::fs::file_type::regular_file ||
      renameat2(AT_FDCWD, temporary.str().c_str(), AT_FDCWD, path.str().c_str(), RENAME_EXCHANGE) != 0)
    return sys::fs::rename(temporary, path); // nothing is there yet, or it is not known here
  return sys::fs::remove(temporary);
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
    error = takePlace(temporary, path);
  if (error)
    return cannotWrite(path, error);
  temporary.clear();
  return Error::success();
}

namespace {
/// Streams constants, and takes one back when its contents were there already.
class DataWriter {
public:
  DataWriter(OutputFile &file, uint64_t start) : file(file), out(*file.stream), start(start) {}

  /// Where the constant lies.
  Expected<uint64_t> add(const ByteSource &source, PieceReader &reader) {
    uint64_t offset = alignTo(end, LATHE_DATA_ALIGN), written = 0;
    out.seek(start + offset);
    SmallString<64> beginning;
    for (uint64_t i = 0; i < source.pieces; ++i) {
      ArrayRef<char> bytes = reader.next();
      written += bytes.size();
      out.write(bytes.data(), bytes.size());
      beginning += toStringRef(bytes.take_front(comparedFirst - beginning.size()));
    }
    if (written != source.size)
      return createStringError(inconvertibleErrorCode(), "a constant of %llu bytes gave %llu", (unsigned long long)source.size,
                               (unsigned long long)written);
    std::vector<uint64_t> &alike = known[{written, xxh3_64bits(beginning.str())}];
    for (uint64_t other : alike) {
      Expected<bool> same = file.holdsTwice(start + other, start + offset, written);
      if (!same)
        return same.takeError();
      if (*same)
        return other;
    }
    alike.push_back(offset);
    end = offset + written;
    return offset;
  }
  uint64_t size() const { return end; }

private:
  /// Bytes that tell almost all constants of one size apart; others are compared as a whole.
  static constexpr size_t comparedFirst = 1 << 16;

  OutputFile &file;
  raw_fd_ostream &out;
  uint64_t start, end = 0;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<uint64_t>> known; ///< offsets, by size and hash of the first bytes
};
} // namespace

Error lathe::artifact::streamConstants(const ArtifactBuilder::State &state, OutputFile &out, uint64_t start, unsigned threads,
                                       ConstantLayout &layout) {
  DataWriter writer(out, start);
  PieceReader reader(state.constants, threads);
  for (const ByteSource &constant : state.constants) {
    Expected<uint64_t> offset = writer.add(constant, reader);
    if (!offset)
      return offset.takeError();
    layout.offsets.push_back(*offset);
  }
  layout.bytes = writer.size();
  return Error::success();
}
