//===- Notes.cpp - How an artifact was compiled ------------------------------===//

#include "Notes.h"
#include "lathe/Target/Backend.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/Path.h"

using namespace lathe;

static std::string targetText(const std::vector<TargetSpec> &targets) {
  std::vector<std::string> all;
  for (const TargetSpec &t : targets)
    all.push_back(t.arch + ":" + llvm::join(t.variants, "+"));
  return llvm::join(all, ",");
}

static std::string dimText(const DimOption &dim) {
  auto end = [](std::optional<int64_t> value) { return value ? std::to_string(*value) : std::string(); };
  std::vector<std::string> hints;
  for (int64_t hint : dim.hints)
    hints.push_back(std::to_string(hint));
  return dim.name + "=" + (dim.fixed() ? end(dim.min) : end(dim.min) + ".." + end(dim.max)) +
         (hints.empty() ? "" : "@") + llvm::join(hints, ",");
}

std::string pipeline::flagsOf(const CompileOptions &options) {
  std::vector<std::string> flags{"--target " + targetText(options.targets)};
  bool several = options.entries.size() > 1;
  for (const EntryPoint &entry : options.entries) {
    std::string of = several ? nameOf(entry) + ":" : "";
    for (const DimOption &dim : entry.import.dims)
      flags.push_back("--dim " + of + dimText(dim));
    for (const ShapeOption &shape : entry.import.shapes)
      flags.push_back("--shape " + of + shape.input + "=" + llvm::join(shape.dims, ","));
    for (const StateOption &state : entry.import.states)
      flags.push_back("--state " + of + state.input + "=" + state.output);
  }
  if (llvm::any_of(options.targets, [](const TargetSpec &t) { return target::findBackend(t.arch)->isHost(); }))
    flags.push_back("-O " + std::to_string(options.effort));
  if (options.maxSchedules != CompileOptions().maxSchedules)
    flags.push_back("--max-schedules " + std::to_string(options.maxSchedules));
  if (options.directConvolutions)
    flags.push_back("--convolutions direct");
  if (!options.tuning.empty())
    flags.push_back("--tuning " + llvm::sys::path::filename(options.tuning).str());
  if (options.externalWeights)
    flags.push_back("--weights external");
  if (options.prefix != "lathe")
    flags.push_back("--prefix " + options.prefix);
  if (!options.precision.empty())
    flags.push_back("--precision " + options.precision);
  if (options.entries[0].import.seed)
    flags.push_back("--seed " + std::to_string(*options.entries[0].import.seed));
  return llvm::join(flags, " ");
}

void pipeline::addNotes(artifact::ArtifactBuilder &builder, const CompileOptions &options) {
  std::vector<std::string> formats;
  for (const EntryPoint &entry : options.entries) {
    llvm::StringRef extension = llvm::sys::path::extension(entry.model);
    std::string format = extension == ".onnx" || extension == ".textproto" ? "ONNX" : "PyTorch export";
    if (!llvm::is_contained(formats, format))
      formats.push_back(format);
  }
  builder.addNote("format", llvm::join(formats, ", "));
  builder.addNote("flags", flagsOf(options));
  builder.addNote("LLVM", LLVM_VERSION_STRING);
}
