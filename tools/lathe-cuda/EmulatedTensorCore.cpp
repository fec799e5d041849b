//===- EmulatedTensorCore.cpp - Matrix instructions on the CPU -------------===//

#include "Emulator.h"

using namespace lathe::emulator;

Semantics lathe::emulator::tensorCoreInstructionFor(const std::string &text) { return nullptr; }
