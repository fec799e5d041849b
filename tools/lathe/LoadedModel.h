//===- LoadedModel.h - An artifact, opened to run --------------------------===//
#ifndef LATHE_TOOLS_LOADEDMODEL_H
#define LATHE_TOOLS_LOADEDMODEL_H

#include "HostTensor.h"
#include "lathe/Runtime/lathe.h"

namespace lathe::tool {

class LoadedModel {
public:
  /// Loads the shared object and creates a context. `prefix` is that of its functions' names; `entry` the entry point
  /// to run, empty: the first one.
  static llvm::Expected<LoadedModel> open(const std::string &path, const std::string &prefix,
                                          const LatheOptions &options, const std::string &entry = "");
  LoadedModel(LoadedModel &&other);
  ~LoadedModel();

  const LatheSignature &signature() const { return *getSignature(context); }
  llvm::ArrayRef<LatheTensorInfo> inputs() const { return {signature().inputs, signature().numInputs}; }
  llvm::ArrayRef<LatheTensorInfo> outputs() const { return {signature().outputs, signature().numOutputs}; }

  /// Outputs without data become the library's, valid until the next run, on the device where they say so.
  llvm::Error run(llvm::ArrayRef<DLTensor *> inputs, llvm::ArrayRef<DLTensor *> outputs);

private:
  LoadedModel() = default;
  llvm::Error resolve(const std::string &path, const std::string &prefix);
  llvm::Error failure(LatheStatus status) const;

  llvm::Error select(const std::string &prefix, const std::string &entry);

  std::string path; ///< which messages name
  void *library = nullptr;
  LatheContext *first = nullptr, *context = nullptr; ///< of the first entry point, and of the one to run
  decltype(&lathe_create) create = nullptr;
  decltype(&lathe_destroy) destroy = nullptr;
  decltype(&lathe_run) runFn = nullptr;
  decltype(&lathe_signature) getSignature = nullptr;
  decltype(&lathe_last_error) lastError = nullptr;
};

} // namespace lathe::tool

#endif // LATHE_TOOLS_LOADEDMODEL_H
