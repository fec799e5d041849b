//===- ArtifactFile.cpp - Reading an artifact's tables from disk -----------===//
#include "lathe/Artifact/ArtifactFile.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/Object/ELF.h"
#include <cstring>

using namespace llvm;
using namespace lathe;
using namespace lathe::artifact;
using ELFT = object::ELF64LE;

/// The contents of the section with the tables; nothing when the file is no artifact.
static std::optional<ArrayRef<uint8_t>> findBlob(StringRef image) {
  auto file = object::ELFFile<ELFT>::create(image);
  if (!file) {
    consumeError(file.takeError());
    return std::nullopt;
  }
  auto sections = file->sections();
  if (!sections) {
    consumeError(sections.takeError());
    return std::nullopt;
  }
  for (const ELFT::Shdr &section : *sections) {
    auto name = file->getSectionName(section);
    if (!name) {
      consumeError(name.takeError());
      continue;
    }
    if (*name != LATHE_SECTION_META)
      continue;
    auto contents = file->getSectionContents(section);
    if (contents)
      return *contents;
    consumeError(contents.takeError());
  }
  return std::nullopt;
}

Expected<ArtifactFile> ArtifactFile::open(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return userError("cannot read '{0}': {1}", path, buffer.getError().message());
  std::optional<ArrayRef<uint8_t>> blob = findBlob((*buffer)->getBuffer());
  if (!blob)
    return userError("'{0}' is no artifact of lathe: it has no tables (section {1})", path, LATHE_SECTION_META);
  ArtifactFile file;
  file.size = (*buffer)->getBufferSize();
  file.blob.resize((std::max(blob->size(), sizeof(LatheHeader)) + 7) / 8);
  std::memcpy(file.blob.data(), blob->data(), blob->size());
  const LatheHeader &header = file.header();
  constexpr size_t firstHeader = offsetof(LatheHeader, states); // of format 1.0
  if (blob->size() < firstHeader || std::memcmp(header.magic, LATHE_FORMAT_MAGIC, sizeof header.magic))
    return userError("'{0}' is damaged: its tables do not begin as they should", path);
  if (header.major != LATHE_FORMAT_MAJOR)
    return userError("'{0}' has tables of format {1}.{2}, this lathe reads {3}.x: use the version that wrote it", path,
                     header.major, header.minor, LATHE_FORMAT_MAJOR);
  if (header.headerBytes < sizeof(LatheHeader)) // what its writer did not know is empty
    std::memset(reinterpret_cast<char *>(file.blob.data()) + std::max<size_t>(header.headerBytes, firstHeader), 0,
                sizeof(LatheHeader) - std::max<size_t>(header.headerBytes, firstHeader));
  return std::move(file);
}

std::vector<StringRef> ArtifactFile::texts(LatheArray ref) const {
  std::vector<StringRef> result;
  for (LatheString one : array<LatheString>(ref))
    result.push_back(text(one));
  return result;
}

std::vector<ArtifactFile::Entry> ArtifactFile::entries() const {
  std::vector<Entry> result;
  for (const LatheEntry &entry : array<LatheEntry>(header().entries))
    if (!entry.tables)
      result.push_back({text(entry.name), &header()});
    else if (ArrayRef<LatheHeader> tables = array<LatheHeader>({entry.tables, 1}); !tables.empty())
      result.push_back({text(entry.name), tables.data()});
  if (result.empty())
    result.push_back({"", &header()});
  return result;
}
