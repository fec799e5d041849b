//===- ElfMachine.cpp - What an architecture is called in files ------------===//

#include "lathe/Artifact/ElfMachine.h"
#include "lathe/Artifact/ArtifactBuilder.h"
#include "llvm/BinaryFormat/ELF.h"

using namespace lathe::artifact;
using namespace llvm::ELF;

static const ElfMachine table[] = {
    {Machine::X86_64, "x86_64", EM_X86_64, 0, R_X86_64_64, "elf_x86_64", "baseline"},
    {Machine::AArch64, "aarch64", EM_AARCH64, 0, R_AARCH64_ABS64, "aarch64linux", "neon"},
    {Machine::RiscV64, "riscv64", EM_RISCV, EF_RISCV_RVC | EF_RISCV_FLOAT_ABI_DOUBLE, R_RISCV_64, "elf64lriscv", "rvv"},
};

const ElfMachine &lathe::artifact::elfOf(Machine machine) { return table[unsigned(machine)]; }

const ElfMachine *lathe::artifact::findElfMachine(llvm::StringRef arch) {
  for (const ElfMachine &m : table)
    if (m.arch == arch)
      return &m;
  return nullptr;
}

const ElfMachine *lathe::artifact::findElfMachine(uint32_t number) {
  for (const ElfMachine &m : table)
    if (m.number == number)
      return &m;
  return nullptr;
}

const ElfMachine &lathe::artifact::hostMachine() {
#if defined(__aarch64__)
  return elfOf(Machine::AArch64);
#elif defined(__riscv)
  return elfOf(Machine::RiscV64);
#else
  return elfOf(Machine::X86_64);
#endif
}
