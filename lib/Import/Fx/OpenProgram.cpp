//===- OpenProgram.cpp - From a file to its program -------------------------===//

#include "OpenProgram.h"
#include "OpContext.h"
#include "lathe/Import/Fx/ImportFx.h"
#include "llvm/ADT/StringExtras.h"

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;

static std::vector<std::string> modelsOf(const Archive &archive) {
  std::vector<std::string> models;
  for (StringRef name : archive.names())
    if (name.consume_front("models/") && name.consume_back(".json") && !name.contains('/'))
      models.push_back(name.str());
  return models;
}

/// The name of the archive's model: its only one, or "model".
static llvm::Expected<std::string> modelName(const Archive &archive, StringRef file) {
  std::vector<std::string> models = modelsOf(archive);
  if (models.size() == 1)
    return models[0];
  if (llvm::is_contained(models, "model"))
    return std::string("model");
  if (!models.empty())
    return userError("{0}: the archive holds several models ({1}) and none is called 'model'", file,
                     llvm::join(models, ", "));
  if (archive.has("serialized_exported_program.json"))
    return lathe::unsupported("{0}: this is the layout of torch 2.7 and older; export again with torch 2.9 or later",
                              file);
  return userError("{0}: the archive holds no models/NAME.json; was it written by torch.export.save?", file);
}

llvm::Expected<std::vector<std::string>> lathe::programsOfFx(StringRef path) {
  LATHE_TRY(archive, Archive::open(path));
  return modelsOf(*archive);
}

llvm::Expected<OpenedProgram> fx::openProgram(StringRef path, StringRef wanted) {
  std::string file = path.str(), name = wanted.str();
  LATHE_TRY(archive, Archive::open(path));
  if (name.empty()) {
    LATHE_TRY(only, modelName(*archive, file));
    name = only;
  }
  if (archive->has("byteorder")) {
    LATHE_TRY(order, archive->read("byteorder"));
    if (StringRef(order.data.data(), order.data.size()).trim() != "little")
      return lathe::unsupported("{0}: its weights are big-endian", file);
  }
  LATHE_TRY(json, archive->read("models/" + name + ".json"));
  LATHE_TRY(program, parseProgram(StringRef(json.data.data(), json.data.size()), file));
  return OpenedProgram{std::move(archive), std::move(name), std::move(program)};
}
