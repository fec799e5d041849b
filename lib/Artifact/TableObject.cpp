//===- TableObject.cpp - A relocatable ELF object, written by hand ---------===//
//
// The tables are bytes and addresses of functions, which need no code generator. Sections:
//   .lathe.meta        the blob, symbol lathe_meta
//   .data.rel.ro.lathe one address per function, symbol lathe_functions
//   .lathe.data        a note that holds a place: the linker gives it a program header and a section header of its own,
//                      which planDataSegment and patchDataSegment turn into those of the constants
//
//===----------------------------------------------------------------------===//
#include "State.h"
#include "lathe/Artifact/ElfMachine.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFTypes.h"
#include <cstring>

using namespace llvm;
using namespace llvm::ELF;
using namespace lathe::artifact;
using ELFT = object::ELF64LE;

namespace {
/// A string table section under construction.
class StringTable {
public:
  uint32_t add(StringRef text) {
    uint32_t offset = bytes.size();
    bytes.append(text.data(), text.size());
    bytes.push_back('\0');
    return offset;
  }
  std::string bytes = std::string(1, '\0');
};

class ObjectWriter {
public:
  explicit ObjectWriter(Machine machine) : machine(machine) { sections.resize(1); }

  uint32_t addSection(StringRef name, uint32_t type, uint64_t flags, uint64_t align, std::string contents) {
    ELFT::Shdr header;
    std::memset(&header, 0, sizeof header);
    header.sh_name = names.add(name);
    header.sh_type = type;
    header.sh_flags = flags;
    header.sh_addralign = align;
    sections.push_back({header, std::move(contents)});
    return sections.size() - 1;
  }
  ELFT::Shdr &header(uint32_t section) { return sections[section].header; }

  std::string finish() {
    uint32_t shstrtab = addSection(".shstrtab", SHT_STRTAB, 0, 1, {});
    sections[shstrtab].contents = names.bytes;
    std::string out(sizeof(ELFT::Ehdr), '\0');
    for (Section &section : drop_begin(sections)) {
      uint64_t align = section.header.sh_addralign;
      out.resize((out.size() + align - 1) / align * align);
      section.header.sh_offset = out.size();
      section.header.sh_size = section.contents.size();
      out += section.contents;
    }
    out.resize((out.size() + 7) & ~size_t(7));
    writeHeader(out, shstrtab);
    for (const Section &section : sections)
      out.append(reinterpret_cast<const char *>(&section.header), sizeof section.header);
    return out;
  }

private:
  struct Section {
    ELFT::Shdr header = {};
    std::string contents;
  };

  void writeHeader(std::string &out, uint32_t shstrtab) {
    ELFT::Ehdr header;
    std::memset(&header, 0, sizeof header);
    std::memcpy(header.e_ident, ElfMagic, 4);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_REL;
    header.e_machine = elfOf(machine).number;
    header.e_flags = elfOf(machine).flags;
    header.e_version = EV_CURRENT;
    header.e_ehsize = sizeof header;
    header.e_shoff = out.size();
    header.e_shentsize = sizeof(ELFT::Shdr);
    header.e_shnum = sections.size();
    header.e_shstrndx = shstrtab;
    std::memcpy(out.data(), &header, sizeof header);
  }

  Machine machine;
  std::vector<Section> sections;
  StringTable names;
};

/// Symbols and the relocations that put functions' addresses into their table.
struct Symbols {
  StringTable names;
  std::string table = std::string(sizeof(ELFT::Sym), '\0');
  std::string relocations;

  uint32_t add(StringRef name, uint8_t type, uint16_t section, uint64_t size) {
    ELFT::Sym symbol;
    std::memset(&symbol, 0, sizeof symbol);
    symbol.st_name = names.add(name);
    symbol.setBindingAndType(STB_GLOBAL, type);
    symbol.setVisibility(section ? STV_HIDDEN : STV_DEFAULT);
    symbol.st_shndx = section;
    symbol.st_size = size;
    table.append(reinterpret_cast<const char *>(&symbol), sizeof symbol);
    return table.size() / sizeof(ELFT::Sym) - 1;
  }
  void relocate(uint64_t offset, uint32_t symbol, uint32_t type) {
    ELFT::Rela relocation;
    std::memset(&relocation, 0, sizeof relocation);
    relocation.r_offset = offset;
    relocation.setSymbolAndType(symbol, type, false);
    relocations.append(reinterpret_cast<const char *>(&relocation), sizeof relocation);
  }
};
} // namespace

/// A well-formed note, so that a reader that meets the placeholder unchanged (an artifact without constants) is content.
static std::string placeholderNote() {
  ELFT::Nhdr note;
  std::memset(&note, 0, sizeof note);
  note.n_namesz = 6;
  note.n_type = 1;
  return std::string(reinterpret_cast<const char *>(&note), sizeof note) + std::string("lathe\0\0\0", 8);
}

std::string lathe::artifact::writeTableObject(Machine machine, StringRef blob, ArrayRef<std::string> functions) {
  ObjectWriter object(machine);
  Symbols symbols;
  const uint32_t absolute = elfOf(machine).absolute;
  uint64_t tableBytes = 8 * std::max<size_t>(functions.size(), 1);
  uint32_t meta = object.addSection(LATHE_SECTION_META, SHT_PROGBITS, SHF_ALLOC, 64, blob.str());
  uint32_t table = object.addSection(".data.rel.ro.lathe", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 8, std::string(tableBytes, '\0'));
  object.addSection(LATHE_SECTION_DATA, SHT_NOTE, SHF_ALLOC, 4, placeholderNote());
  symbols.add("lathe_meta", STT_OBJECT, meta, blob.size());
  symbols.add("lathe_functions", STT_OBJECT, table, tableBytes);
  for (size_t i = 0; i < functions.size(); ++i)
    symbols.relocate(8 * i, symbols.add(functions[i], STT_NOTYPE, SHN_UNDEF, 0), absolute);

  uint32_t strtab = object.addSection(".strtab", SHT_STRTAB, 0, 1, symbols.names.bytes);
  uint32_t symtab = object.addSection(".symtab", SHT_SYMTAB, 0, 8, symbols.table);
  object.header(symtab).sh_link = strtab;
  object.header(symtab).sh_info = 1; // the first global symbol
  object.header(symtab).sh_entsize = sizeof(ELFT::Sym);
  uint32_t rela = object.addSection(".rela.data.rel.ro.lathe", SHT_RELA, SHF_INFO_LINK, 8, symbols.relocations);
  object.header(rela).sh_link = symtab;
  object.header(rela).sh_info = table;
  object.header(rela).sh_entsize = sizeof(ELFT::Rela);
  return object.finish();
}
