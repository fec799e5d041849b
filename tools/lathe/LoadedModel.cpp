//===- LoadedModel.cpp - An artifact, opened to run ------------------------===//
#include "LoadedModel.h"
#include "lathe/Artifact/ArtifactFile.h"
#include "lathe/Artifact/ElfMachine.h"
#include "lathe/Support/Diagnostics.h"
#include <dlfcn.h>
#include <utility>

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

Error LoadedModel::resolve(const std::string &path, const std::string &prefix) {
  // The tables first: loading a file that is no artifact would run its constructors.
  Expected<artifact::ArtifactFile> tables = artifact::ArtifactFile::open(path);
  if (!tables)
    return tables.takeError();
  const artifact::ElfMachine *known = artifact::findElfMachine(tables->header().machine);
  if (known != &artifact::hostMachine())
    return unsupported("'{0}' was compiled for {1}, this machine is {2}", path, known ? known->arch : "an unknown machine", artifact::hostMachine().arch);
  std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return userError("cannot load '{0}': {1}", path, dlerror());
  auto find = [&](const char *name, auto &function) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, (prefix + "_" + name).c_str()));
    return function != nullptr;
  };
  if (find("create", create) && find("destroy", destroy) && find("run", runFn) && find("signature", getSignature) &&
      find("last_error", lastError))
    return Error::success();
  return userError("'{0}' has no functions named {1}_create, {1}_run, ...: give --prefix as when it was compiled", path,
                   prefix);
}

Error LoadedModel::failure(LatheStatus status) const {
  std::string message = "'" + path + "': " + lastError(context);
  if (status == LATHE_INVALID || status == LATHE_NO_MEMORY)
    return userError("{0}", message);
  if (status == LATHE_UNSUPPORTED)
    return unsupported("{0}", message);
  return bug("{0}", message);
}

/// Artifacts of format 1.1 and before have no such function, and one entry point without a name.
Error LoadedModel::select(const std::string &prefix, const std::string &entry) {
  auto find = reinterpret_cast<decltype(&lathe_entry)>(dlsym(library, (prefix + "_entry").c_str()));
  if (!find)
    return userError("--entry {0}: the artifact was written before there were entry points", entry);
  LatheContext *found = nullptr;
  if (LatheStatus status = find(first, entry.c_str(), &found))
    return failure(status);
  context = found;
  return Error::success();
}

Expected<LoadedModel> LoadedModel::open(const std::string &path, const std::string &prefix, const LatheOptions &options,
                                        const std::string &entry) {
  LoadedModel model;
  model.path = path;
  if (Error error = model.resolve(path, prefix))
    return std::move(error);
  LatheStatus status = model.create(&options, &model.first);
  model.context = model.first;
  if (status)
    return model.failure(status);
  if (!entry.empty())
    if (Error error = model.select(prefix, entry))
      return std::move(error);
  return std::move(model);
}

LoadedModel::LoadedModel(LoadedModel &&other)
    : path(std::move(other.path)), library(std::exchange(other.library, nullptr)), first(std::exchange(other.first, nullptr)),
      context(other.context), create(other.create), destroy(other.destroy), runFn(other.runFn),
      getSignature(other.getSignature), lastError(other.lastError) {}

LoadedModel::~LoadedModel() {
  if (first)
    destroy(first);
  if (library)
    dlclose(library);
}

Error LoadedModel::run(ArrayRef<DLTensor *> inputs, ArrayRef<DLTensor *> outputs) {
  if (LatheStatus status = runFn(context, inputs.data(), inputs.size(), outputs.data(), outputs.size()))
    return failure(status);
  return Error::success();
}
