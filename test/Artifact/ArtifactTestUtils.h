//===- ArtifactTestUtils.h - Artifacts out of hand-written kernels ---------===//
#ifndef LATHE_TEST_ARTIFACT_ARTIFACTTESTUTILS_H
#define LATHE_TEST_ARTIFACT_ARTIFACTTESTUTILS_H

#include "lathe/Artifact/ArtifactBuilder.h"
#include "lathe/Runtime/lathe.h"

namespace lathe::artifact {

/// The object that LLVM makes of a module in text form for this machine.
std::string compileIR(llvm::StringRef text);

/// A temporary folder that is removed with the object.
class TestFolder {
public:
  TestFolder();
  ~TestFolder();
  std::string file(llvm::StringRef name) const { return path + "/" + name.str(); }
  std::string path;
};

/// An opened artifact's functions.
class Opened {
public:
  explicit Opened(const std::string &path);
  ~Opened();
  void *library = nullptr;
  decltype(&lathe_create) create = nullptr;
  decltype(&lathe_destroy) destroy = nullptr;
  decltype(&lathe_run) run = nullptr;
  decltype(&lathe_signature) signature = nullptr;
  decltype(&lathe_output_shapes) outputShapes = nullptr;
  decltype(&lathe_workspace_size) workspaceSize = nullptr;
  decltype(&lathe_set_workspace) setWorkspace = nullptr;
  decltype(&lathe_last_error) lastError = nullptr;
  decltype(&lathe_entry_count) entryCount = nullptr;
  decltype(&lathe_entry_name) entryName = nullptr;
  decltype(&lathe_entry) entry = nullptr;
};

/// A float32 tensor with its own data.
struct FloatTensor {
  FloatTensor(std::vector<int64_t> shape, std::vector<float> values);
  explicit FloatTensor(std::vector<int64_t> shape);
  std::vector<int64_t> shape;
  std::vector<float> values;
  DLTensor tensor;
};

} // namespace lathe::artifact

#endif // LATHE_TEST_ARTIFACT_ARTIFACTTESTUTILS_H
