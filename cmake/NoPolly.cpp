//===- NoPolly.cpp - The polyhedral optimiser is left out ------------------===//
//
// LLVM's static libraries, as the distribution builds them, name Polly as an extension of the pass builder. Programs that
// hold LLVM link without it; this is the extension that registers nothing.
//
//===----------------------------------------------------------------------===//
#include "llvm/Passes/PassPlugin.h"

llvm::PassPluginLibraryInfo getPollyPluginInfo();

llvm::PassPluginLibraryInfo getPollyPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "no-polly", "0", [](llvm::PassBuilder &) {}};
}
