//===- MutationTest.cpp - Damaged models must not bring the importer down --===//
//
// Changes fields of the models in this folder (the seeds of the lit tests) and bytes of their serialised form, and imports the
// result. Any module or error is fine; a crash, an internal error or a hang is not, nor is it to take
// much time or memory (MutationLimits.h).
//   OnnxMutationTest [--seeds FOLDER] [--count N] [--first N]
// takes other seeds (.textproto and .onnx, also in subfolders), more mutations, or goes on from one of them.
//
//===----------------------------------------------------------------------===//

#include "../MutationLimits.h"
#include "Mutator.h"
#include "lathe/Import/Onnx/OnnxImporter.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

using namespace lathe;
using onnx::test::Mutator;

static std::string seedFolder = LATHE_SEED_FOLDER;
static unsigned mutationCount = 400, firstMutation = 0;

namespace {

std::vector<onnx::ModelProto> loadSeeds() {
  std::vector<std::string> paths;
  std::error_code error;
  for (llvm::sys::fs::recursive_directory_iterator it(seedFolder, error), end; it != end && !error; it.increment(error))
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
  ASSERT_FALSE(seeds.empty()) << "no seeds in " << seedFolder;
  unsigned imported = 0;
  test::MutationLimits limits;
  for (unsigned i = firstMutation; i < firstMutation + mutationCount; ++i) {
    test::MutationLimits::Watch watch(limits, i);
    Mutator mutator(i);
    onnx::ModelProto model = seeds[mutator.pick(seeds.size())];
    if (mutator.pick(4) != 0)
      mutator.mutate(model);
    std::string bytes = model.SerializePartialAsString();
    if (mutator.pick(4) == 0)
      mutator.mutate(bytes);
    SCOPED_TRACE("mutation " + std::to_string(i));
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    auto module = importOnnxBytes(bytes, "mutated.onnx", /*isText=*/false, ImportOptions(), context);
    if (module) {
      ++imported;
      continue;
    }
    llvm::handleAllErrors(
        module.takeError(), [](const UserError &) {}, [](const UnsupportedError &) {},
        [&](const llvm::ErrorInfoBase &e) { ADD_FAILURE() << e.message() << '\n' << model.ShortDebugString(); });
  }
  limits.report(imported);
  EXPECT_GT(imported, 0u) << "not a single mutation was harmless: the seeds no longer import";
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    llvm::StringRef flag = argv[i];
    if (flag == "--seeds")
      seedFolder = argv[i + 1];
    else if (flag == "--count")
      mutationCount = std::stoul(argv[i + 1]);
    else if (flag == "--first")
      firstMutation = std::stoul(argv[i + 1]);
  }
  return RUN_ALL_TESTS();
}
