//===- OnnxFuzzer.cpp - libFuzzer on the ONNX importer ---------------------===//
//
//   OnnxFuzzer [-runs=N] CORPUS [SEEDS]
// Inputs are models, serialised or (from the lit tests) in readable text. Any module or error is fine; a crash, a hang, an
// internal error is not. Configure with -fsanitize=fuzzer-no-link (the preset asan) to be led by coverage.
//
//===----------------------------------------------------------------------===//

#include "Mutator.h"
#include "lathe/Import/Onnx/OnnxImporter.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <google/protobuf/text_format.h>

using namespace lathe;

static bool isText(llvm::StringRef bytes) { return bytes.starts_with("#") || bytes.starts_with("ir_version"); }

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto module = importOnnxBytes(bytes, "fuzz.onnx", isText(bytes), ImportOptions(), context);
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

/// Mostly fields, sometimes bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  std::string bytes(reinterpret_cast<char *>(data), size);
  onnx::ModelProto model;
  bool parsed = isText(bytes) ? google::protobuf::TextFormat::ParseFromString(bytes, &model) : model.ParsePartialFromString(bytes);
  if (!parsed || seed % 8 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  onnx::test::Mutator(seed).mutate(model);
  bytes = model.SerializePartialAsString();
  if (bytes.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}
