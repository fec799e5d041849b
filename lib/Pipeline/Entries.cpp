//===- Entries.cpp - The entry points of an artifact ------------------------===//

#include "lathe/Import/Fx/ImportFx.h"
#include "lathe/Pipeline/Compile.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace lathe;
using llvm::Error;
using llvm::Expected;

std::string lathe::nameOf(const EntryPoint &entry) {
  if (!entry.name.empty())
    return entry.name;
  return entry.program.empty() ? llvm::sys::path::stem(entry.model).str() : entry.program;
}

/// The file's programs as entry points; itself where it has one.
static Expected<std::vector<EntryPoint>> programsOf(const EntryPoint &entry) {
  if (llvm::sys::path::extension(entry.model) != ".pt2" && !llvm::sys::fs::is_directory(entry.model))
    return std::vector<EntryPoint>{entry};
  Expected<std::vector<std::string>> programs = programsOfFx(entry.model);
  if (!programs)
    return programs.takeError();
  if (programs->size() < 2)
    return std::vector<EntryPoint>{entry};
  if (!entry.name.empty())
    return userError("--entry {0}={1}: the file holds several programs, which have names of their own: {2}", entry.name,
                     entry.model, llvm::join(*programs, ", "));
  std::vector<EntryPoint> out;
  for (const std::string &program : *programs)
    out.push_back({entry.model, "", entry.import, program});
  return out;
}

static Error refuseTwice(const std::vector<EntryPoint> &entries) {
  for (size_t i = 0; i < entries.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (nameOf(entries[i]) == nameOf(entries[j]))
        return userError("two entry points are called '{0}', of {1} and {2}: name them with --entry NAME=MODEL",
                         nameOf(entries[i]), entries[j].model, entries[i].model);
  return Error::success();
}

Error lathe::expandEntries(CompileOptions &options) {
  std::vector<EntryPoint> all;
  for (const EntryPoint &entry : options.entries) {
    Expected<std::vector<EntryPoint>> programs = programsOf(entry);
    if (!programs)
      return programs.takeError();
    all.insert(all.end(), programs->begin(), programs->end());
  }
  options.entries = std::move(all);
  return refuseTwice(options.entries);
}
