//===- FxFuzzer.cpp - libFuzzer on the importer of exported programs -------===//
//
//   FxFuzzer [-runs=N] CORPUS [SEEDS]
// Inputs are programs' JSON, or whole archives. Any module or error is fine; a crash, a hang, an internal error is not, but
// for the one that says that the file describes another result than its node gives: that may be the file's fault as well.
//
//===----------------------------------------------------------------------===//

#include "Mutator.h"
#include "lathe/Import/Fx/ImportFx.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace lathe;

static llvm::SmallString<128> folder;

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  if (llvm::sys::fs::createUniqueDirectory("fx-fuzzer", folder))
    abort();
  std::atexit([] { llvm::sys::fs::remove_directories(folder); });
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  std::string path = (folder + "/fuzz" + (bytes.starts_with("PK") ? ".pt2" : ".json")).str();
  {
    std::error_code error;
    llvm::raw_fd_ostream(path, error) << bytes;
    if (error)
      abort();
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = importFx(path, ImportOptions(), context);
  if (module)
    return 0;
  llvm::handleAllErrors(
      module.takeError(), [](const UserError &) {}, [](const UnsupportedError &) {},
      [](const llvm::ErrorInfoBase &e) {
        llvm::errs() << e.message() << "\n";
        abort();
      });
  return 0;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// The program part of a lit test ("//--- model.json"), or the text itself.
static std::string programOf(llvm::StringRef text) {
  size_t part = text.find("//--- model.json\n");
  if (part == llvm::StringRef::npos)
    return text.str();
  llvm::StringRef program = text.substr(text.find('\n', part) + 1);
  return program.substr(0, program.find("//--- ")).str();
}

/// Mostly JSON, sometimes bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  std::string text = programOf(llvm::StringRef(reinterpret_cast<char *>(data), size));
  std::string before = text;
  if (seed % 8 != 0)
    fx::test::Mutator(seed).mutateJson(text);
  if (text == before || text.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(text.begin(), text.end(), data);
  return text.size();
}
