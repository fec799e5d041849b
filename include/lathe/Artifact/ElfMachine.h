//===- ElfMachine.h - What an architecture is called in files --------------===//
#ifndef LATHE_ARTIFACT_ELFMACHINE_H
#define LATHE_ARTIFACT_ELFMACHINE_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace lathe::artifact {

enum class Machine;

/// A row of the table in ElfMachine.cpp.
struct ElfMachine {
  Machine machine;
  llvm::StringRef arch;      ///< as in --target
  uint32_t number;           ///< e_machine
  uint32_t flags;            ///< e_flags: which calling convention
  uint32_t absolute;         ///< the relocation that is a symbol's address of 64 bits
  llvm::StringRef emulation; ///< what lld calls it
  llvm::StringRef baseline;  ///< the variant that every machine of it runs
};

const ElfMachine &elfOf(Machine machine);
/// Of an architecture's name; null where there is none.
const ElfMachine *findElfMachine(llvm::StringRef arch);
/// The one with this e_machine; null where there is none.
const ElfMachine *findElfMachine(uint32_t number);
/// What this program runs on.
const ElfMachine &hostMachine();

} // namespace lathe::artifact

#endif // LATHE_ARTIFACT_ELFMACHINE_H
