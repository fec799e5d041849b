//===- MutationTest.cpp - Damaged models must not bring the importer down --===//
//
// Changes fields of the models in this folder (the seeds of the lit tests) and bytes of their serialised form, and imports the
// result. Any module or error is fine; a crash, an internal error or a hang is not, nor is it to take
// much time or memory (MutationLimits.h).
//   OnnxMutationTest [--seeds FOLDER] [--count N] [--first N]
// takes other seeds (.textproto and .onnx, also in subfolders), more mutations, or goes on from one of them.
//
//===----------------------------------------------------------------------===//

#include "../Mutation.h"
#include "Mutator.h"
#include "lathe/Import/Onnx/OnnxImporter.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <google/protobuf/text_format.h>

using namespace lathe;
using onnx::test::Mutator;

namespace {

std::vector<onnx::ModelProto> loadSeeds() {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator it(test::mutationFlags.seedFolder, error), end; it != end && !error; it.increment(error))
    paths.push_back(it->path());
  llvm::sort(paths);
  std::vector<onnx::ModelProto> seeds;
  for (const std::string &path : paths) {
    llvm::StringRef extension = llvm::sys::path::extension(path);
    auto buffer = llvm::MemoryBuffer::getFile(path);
    onnx::ModelProto model;
    if (!buffer || (*buffer)->getBufferSize() > 100000)
      continue;
    std::string bytes = (*buffer)->getBuffer().str();
    bool ok = extension == ".textproto" ? google::protobuf::TextFormat::ParseFromString(bytes, &model)
                                        : extension == ".onnx" && model.ParseFromString(bytes);
    if (ok)
      seeds.push_back(std::move(model));
  }
  return seeds;
}

TEST(OnnxMutation, NothingInAFileBringsTheImporterDown) {
  google::protobuf::SetLogHandler(nullptr);
  std::vector<onnx::ModelProto> seeds = loadSeeds();
  ASSERT_FALSE(seeds.empty()) << "no seeds in " << test::mutationFlags.seedFolder;
  onnx::ModelProto model;
  auto import = [&](unsigned seed, mlir::MLIRContext &context) {
    Mutator mutator(seed);
    model = seeds[mutator.pick(seeds.size())];
    if (mutator.pick(4) != 0)
      mutator.mutate(model);
    std::string bytes = model.SerializePartialAsString();
    if (mutator.pick(4) == 0)
      mutator.mutate(bytes);
    return importOnnxBytes(bytes, "mutated.onnx", /*isText=*/false, ImportOptions(), context);
  };
  test::importMutations(import, [&](const std::string &message) { ADD_FAILURE() << message << '\n' << model.ShortDebugString(); });
}

} // namespace

int main(int argc, char **argv) { return test::runMutationTests(argc, argv); }
