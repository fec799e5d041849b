//===- Write.cpp - From a builder to a file --------------------------------===//
//
// The linker sees the code and the tables, with the constants' offsets still open; then the constants are streamed behind
// its output, equal ones once; then the tables, whose size does not depend on the offsets, are written again in place.
//
//===----------------------------------------------------------------------===//
#include "State.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;
using namespace lathe::artifact;

//===----------------------------------------------------------------------===//
// A file that appears under its name only when it is complete
//===----------------------------------------------------------------------===//

namespace {
class OutputFile {
public:
  static Expected<std::unique_ptr<OutputFile>> create(StringRef path, unsigned mode) {
    SmallString<256> temporary;
    int fd;
    if (std::error_code error = sys::fs::createUniqueFile(path + ".tmp-%%%%%%%%", fd, temporary, sys::fs::OF_None, mode))
      return createStringError(error, "cannot write '%s': %s", path.str().c_str(), error.message().c_str());
    auto file = std::make_unique<OutputFile>();
    file->path = path.str();
    file->temporary = temporary.str().str();
    file->fd = fd;
    file->stream = std::make_unique<raw_fd_ostream>(fd, /*shouldClose=*/true);
    return file;
  }
  ~OutputFile() {
    if (temporary.empty())
      return;
    stream->clear_error();
    stream.reset();
    sys::fs::remove(temporary);
  }

  /// Shortens the file to `bytes`, closes it and gives it its name.
  Error commit(uint64_t bytes) {
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
      return createStringError(error, "cannot write '%s': %s", path.c_str(), error.message().c_str());
    temporary.clear();
    return Error::success();
  }

  std::unique_ptr<raw_fd_ostream> stream;

private:
  int fd = -1;
  std::string path, temporary;
};

/// Streams constants, and takes one back when its contents were there already.
class DataWriter {
public:
  DataWriter(raw_fd_ostream &out, uint64_t start) : out(out), start(start) {}

  Expected<uint64_t> add(const ByteSource &source) {
    uint64_t offset = alignTo(end, LATHE_DATA_ALIGN), written = 0;
    out.seek(start + offset);
    std::vector<uint64_t> digests;
    std::string pending;
    if (Error error = source.stream([&](ArrayRef<char> bytes) {
          written += bytes.size();
          out.write(bytes.data(), bytes.size());
          hash(pending, digests, bytes);
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
  static void hash(std::string &pending, std::vector<uint64_t> &digests, ArrayRef<char> bytes) {
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
  std::map<std::pair<uint64_t, std::vector<uint64_t>>, uint64_t> known;
};
} // namespace

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

static Error streamConstants(const ArtifactBuilder::State &state, raw_fd_ostream &out, uint64_t start, ConstantLayout &layout) {
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

static Expected<std::string> link(const ArtifactBuilder::State &state, const ConstantLayout &layout, StringRef prefix) {
  FunctionTable functions;
  Expected<std::string> blob = writeTables(state, layout, functions);
  if (!blob)
    return blob.takeError();
  std::string tables = writeTableObject(state.machine, *blob, functions.names());
  SmallVector<StringRef> objects = {tables};
  for (const std::string &object : state.objects)
    objects.push_back(object);
  bool cuda = any_of(state.programs, [](const auto &program) { return program->isFor(2); });
  return linkArtifact(state.machine, objects, cuda, prefix);
}

Error ArtifactBuilder::write(StringRef path, const Options &options) {
  ConstantLayout layout;
  if (options.externalData && !state->constants.empty())
    layout.externalName = (sys::path::filename(path) + ".data").str();
  Expected<std::string> image = link(*state, layout, options.prefix);
  if (!image)
    return image.takeError();
  Expected<DataSegment> segment = planDataSegment(*image);
  if (!segment)
    return segment.takeError();

  Expected<std::unique_ptr<OutputFile>> out = OutputFile::create(path, 0755);
  if (!out)
    return out.takeError();
  std::unique_ptr<OutputFile> data;
  if (!layout.externalName.empty()) {
    Expected<std::unique_ptr<OutputFile>> made = OutputFile::create((path + ".data").str(), 0644);
    if (!made)
      return made.takeError();
    data = std::move(*made);
  }
  if (Error error = data ? streamConstants(*state, *data->stream, 0, layout)
                         : streamConstants(*state, *(*out)->stream, segment->fileOffset, layout))
    return error;

  layout.delta = segment->address - segment->blobAddress;
  FunctionTable functions;
  Expected<std::string> blob = writeTables(*state, layout, functions);
  if (!blob)
    return blob.takeError();
  image->replace(segment->blobFileOffset, blob->size(), *blob);
  bool embedded = !data && layout.bytes;
  if (embedded)
    patchDataSegment(*image, *segment, layout.bytes);
  (*out)->stream->seek(0);
  (*out)->stream->write(image->data(), image->size());
  if (data)
    if (Error error = data->commit(layout.bytes))
      return error;
  return (*out)->commit(embedded ? segment->fileOffset + layout.bytes : image->size());
}
