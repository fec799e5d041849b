//===- ArtifactTestUtils.cpp - Artifacts out of hand-written kernels -------===//
#include "ArtifactTestUtils.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "gtest/gtest.h"
#include <dlfcn.h>

using namespace llvm;
using namespace lathe::artifact;

std::string lathe::artifact::compileIR(StringRef text) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  LLVMContext context;
  SMDiagnostic diagnostic;
  auto module = parseAssemblyString(text, diagnostic, context);
  if (!module) {
    ADD_FAILURE() << diagnostic.getMessage().str();
    return {};
  }
  std::string message, triple = sys::getDefaultTargetTriple();
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  std::unique_ptr<TargetMachine> machine(target->createTargetMachine(triple, "", "", TargetOptions(), Reloc::PIC_));
  module->setTargetTriple(triple);
  module->setDataLayout(machine->createDataLayout());
  SmallString<0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager passes;
  machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile);
  passes.run(*module);
  return object.str().str();
}

TestFolder::TestFolder() {
  SmallString<128> made;
  EXPECT_FALSE(sys::fs::createUniqueDirectory("lathe-test", made));
  path = made.str().str();
}
TestFolder::~TestFolder() { sys::fs::remove_directories(path); }

Opened::Opened(const std::string &path) {
  library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    ADD_FAILURE() << dlerror();
    return;
  }
  create = reinterpret_cast<decltype(create)>(dlsym(library, "lathe_create"));
  destroy = reinterpret_cast<decltype(destroy)>(dlsym(library, "lathe_destroy"));
  run = reinterpret_cast<decltype(run)>(dlsym(library, "lathe_run"));
  signature = reinterpret_cast<decltype(signature)>(dlsym(library, "lathe_signature"));
  outputShapes = reinterpret_cast<decltype(outputShapes)>(dlsym(library, "lathe_output_shapes"));
  workspaceSize = reinterpret_cast<decltype(workspaceSize)>(dlsym(library, "lathe_workspace_size"));
  setWorkspace = reinterpret_cast<decltype(setWorkspace)>(dlsym(library, "lathe_set_workspace"));
  lastError = reinterpret_cast<decltype(lastError)>(dlsym(library, "lathe_last_error"));
  entryCount = reinterpret_cast<decltype(entryCount)>(dlsym(library, "lathe_entry_count"));
  entryName = reinterpret_cast<decltype(entryName)>(dlsym(library, "lathe_entry_name"));
  entry = reinterpret_cast<decltype(entry)>(dlsym(library, "lathe_entry"));
}
Opened::~Opened() {
  if (library)
    dlclose(library);
}

FloatTensor::FloatTensor(std::vector<int64_t> dims, std::vector<float> data)
    : shape(std::move(dims)), values(std::move(data)) {
  tensor = {values.data(), {kDLCPU, 0}, int32_t(shape.size()), {kDLFloat, 32, 1}, shape.data(), nullptr, 0};
}
FloatTensor::FloatTensor(std::vector<int64_t> dims) : FloatTensor(dims, {}) {
  size_t count = 1;
  for (int64_t dim : shape)
    count *= dim;
  values.resize(count);
  tensor.data = values.data();
}
