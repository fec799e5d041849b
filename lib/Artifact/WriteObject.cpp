//===- WriteObject.cpp - A model as one object to link statically ----------===//
//
// The distance between the tables and the constants must be known before the user's linker has placed them, so both are one
// section. As in a shared object the constants never pass through a linker: the section's header is pointed at bytes behind
// the linked file.
//
//===----------------------------------------------------------------------===//
#include "Output.h"
#include "llvm/Object/ELFTypes.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace lathe::artifact;
using ELFT = object::ELF64LE;

static Error moveTables(std::string &image, uint64_t offset, uint64_t bytes) {
  auto *file = reinterpret_cast<ELFT::Ehdr *>(image.data());
  auto *headers = reinterpret_cast<ELFT::Shdr *>(image.data() + file->e_shoff);
  const char *names = image.data() + headers[file->e_shstrndx].sh_offset;
  for (unsigned i = 0; i < file->e_shnum; ++i) {
    if (StringRef(names + headers[i].sh_name) != LATHE_SECTION_META)
      continue;
    headers[i].sh_offset = offset;
    headers[i].sh_size = bytes;
    headers[i].sh_addralign = LATHE_DATA_ALIGN;
    return Error::success();
  }
  return createStringError(inconvertibleErrorCode(), "the linked object has no " LATHE_SECTION_META);
}

static Error writeHeader(StringRef path, StringRef prefix) {
  SmallString<256> header(path);
  sys::path::replace_extension(header, "h");
  Expected<std::unique_ptr<OutputFile>> out = OutputFile::create(header, 0644);
  if (!out)
    return out.takeError();
  std::string text = headerText(prefix);
  (*out)->stream->write(text.data(), text.size());
  return (*out)->commit(text.size());
}

Error ArtifactBuilder::writeObject(StringRef path, const Options &options) {
  ConstantLayout layout;
  Expected<std::string> image = linkTables(LinkKind::Relocatable, *state, layout, options.prefix);
  if (!image)
    return image.takeError();
  Expected<std::unique_ptr<OutputFile>> out = OutputFile::create(path, 0644);
  if (!out)
    return out.takeError();
  FunctionTable functions;
  Expected<std::string> blob = writeTables(*state, layout, functions);
  if (!blob)
    return blob.takeError();
  uint64_t tables = alignTo(image->size(), LATHE_DATA_ALIGN);
  layout.delta = alignTo(blob->size(), LATHE_DATA_ALIGN);
  if (Error error = streamConstants(*state, **out, tables + layout.delta, options.threads, layout))
    return error;
  if (!(blob = writeTables(*state, layout, functions)))
    return blob.takeError();
  uint64_t bytes = layout.delta + layout.bytes;
  if (Error error = moveTables(*image, tables, bytes))
    return error;
  blob->resize(layout.delta);
  image->resize(tables);
  (*out)->stream->seek(0);
  *(*out)->stream << *image << *blob;
  if (Error error = writeHeader(path, options.prefix))
    return error;
  return (*out)->commit(tables + bytes);
}
