//===- Write.cpp - From a builder to a file --------------------------------===//
//
// The linker sees the code and the tables, with the constants' offsets still open; then the constants are streamed
// behind its output, equal ones once; then the tables, whose size does not depend on the offsets, are written again in
// place.
//
//===----------------------------------------------------------------------===//
#include "Output.h"
#include "State.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace lathe::artifact;

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

Expected<std::string> lathe::artifact::linkTables(LinkKind kind, const ArtifactBuilder::State &state,
                                                  const ConstantLayout &layout, StringRef prefix) {
  FunctionTable functions;
  Expected<std::string> blob = writeTables(state, layout, functions);
  if (!blob)
    return blob.takeError();
  std::string tables = writeTableObject(state.machine, *blob, functions.names());
  SmallVector<StringRef> objects = {tables};
  for (const std::string &object : state.objects)
    objects.push_back(object);
  bool cuda = any_of(state.entries[0].programs, [](const auto &program) { return program->isFor(2); });
  return linkArtifact(kind, state.machine, objects, cuda, prefix);
}

Error ArtifactBuilder::write(StringRef path, const Options &options) {
  ConstantLayout layout;
  if (options.externalData && !state->constants.empty())
    layout.externalName = (sys::path::filename(path) + ".data").str();
  Expected<std::string> image = linkTables(LinkKind::Shared, *state, layout, options.prefix);
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
  if (Error error = streamConstants(*state, data ? *data : **out, data ? 0 : segment->fileOffset, options.threads, layout))
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
