//===- DataSegment.cpp - Room for constants behind a linked file -----------===//
//
// Constants never pass through the linker: hundreds of megabytes would be copied twice and held in memory. The linked file
// has a placeholder note (TableObject.cpp) with a program header and a section header of its own. Both are rewritten here to
// describe bytes that follow the linked file, mapped behind all that the file maps already, read only.
//
//===----------------------------------------------------------------------===//
#include "State.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::ELF;
using namespace lathe::artifact;
using ELFT = object::ELF64LE;

static Error missing(const char *what) {
  return createStringError(inconvertibleErrorCode(), "the linked file has no %s", what);
}

template <typename Fn> static void eachSection(std::string &image, Fn fn) {
  auto *file = reinterpret_cast<ELFT::Ehdr *>(image.data());
  auto *headers = reinterpret_cast<ELFT::Shdr *>(image.data() + file->e_shoff);
  const char *names = image.data() + headers[file->e_shstrndx].sh_offset;
  for (unsigned i = 0; i < file->e_shnum; ++i)
    fn(StringRef(names + headers[i].sh_name), headers[i]);
}

Expected<DataSegment> lathe::artifact::planDataSegment(StringRef image) {
  auto file = object::ELFFile<ELFT>::create(image);
  if (!file)
    return file.takeError();
  auto segments = file->program_headers();
  if (!segments)
    return segments.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  uint64_t end = 0, align = 4096;
  for (const ELFT::Phdr &segment : *segments)
    if (segment.p_type == PT_LOAD) {
      end = std::max<uint64_t>(end, segment.p_vaddr + segment.p_memsz);
      align = std::max<uint64_t>(align, segment.p_align);
    }
  DataSegment result = {alignTo(image.size(), align), alignTo(end, align), 0, 0};
  for (const ELFT::Shdr &section : *sections) {
    auto name = file->getSectionName(section);
    if (!name)
      return name.takeError();
    if (*name == LATHE_SECTION_META) {
      result.blobFileOffset = section.sh_offset;
      result.blobAddress = section.sh_addr;
    }
  }
  if (!result.blobFileOffset)
    return missing(LATHE_SECTION_META);
  return result;
}

void lathe::artifact::patchDataSegment(std::string &image, const DataSegment &segment, uint64_t dataBytes) {
  auto *file = reinterpret_cast<ELFT::Ehdr *>(image.data());
  uint64_t align = 4096, place = 0;
  auto *segments = reinterpret_cast<ELFT::Phdr *>(image.data() + file->e_phoff);
  eachSection(image, [&](StringRef name, ELFT::Shdr &section) {
    if (name != LATHE_SECTION_DATA)
      return;
    place = section.sh_addr;
    section.sh_type = SHT_PROGBITS;
    section.sh_addr = segment.address;
    section.sh_offset = segment.fileOffset;
    section.sh_size = dataBytes;
    section.sh_addralign = LATHE_DATA_ALIGN;
  });
  for (unsigned i = 0; i < file->e_phnum; ++i) {
    if (segments[i].p_type == PT_LOAD)
      align = std::max<uint64_t>(align, segments[i].p_align);
    if (segments[i].p_type != PT_NOTE || segments[i].p_vaddr != place)
      continue;
    segments[i].p_type = PT_LOAD;
    segments[i].p_flags = PF_R;
    segments[i].p_offset = segment.fileOffset;
    segments[i].p_vaddr = segment.address;
    segments[i].p_paddr = segment.address;
    segments[i].p_filesz = dataBytes;
    segments[i].p_memsz = dataBytes;
    segments[i].p_align = align;
  }
}
