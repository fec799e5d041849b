//===- InspectCommand.cpp - lathe inspect ----------------------------------===//
#include "Commands.h"
#include "lathe/Artifact/ArtifactFile.h"
#include "lathe/Support/Diagnostics.h"

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

namespace {
struct InspectFlags {
  std::string file;
  bool json = false, check = false;
  std::vector<std::string> dims, shapes, values, states;
};

Error inspect(const InspectFlags &flags) {
  if (!isModel(flags.file)) {
    if (flags.check || !flags.dims.empty() || !flags.shapes.empty() || !flags.values.empty() || !flags.states.empty())
      return userError("{0}: --check, --dim, --shape, --value and --state are for models (.onnx, .pt2)", flags.file);
    return inspectArtifact(flags.file, flags.json);
  }
  ImportOptions options;
  for (const std::string &text : flags.dims)
    if (Error e = parseDim(text, options))
      return e;
  for (const std::string &text : flags.shapes)
    if (Error e = parseShape(text, options))
      return e;
  for (const std::string &text : flags.values)
    if (Error e = parseValue(text, options))
      return e;
  for (const std::string &text : flags.states)
    if (Error e = parseStates(text, options))
      return e;
  return flags.check ? checkModel(flags.file, options, flags.json) : inspectModel(flags.file, options, flags.json);
}
} // namespace

void lathe::tool::addInspectCommand(CLI::App &app, Action &action) {
  CLI::App *command = app.add_subcommand("inspect", "Describe a model, or a compiled one without running it");
  auto flags = std::make_shared<InspectFlags>();
  command->add_option("FILE", flags->file, "A shared object that lathe compile wrote, or a model (.onnx, .pt2)")->required();
  command->add_flag("--json", flags->json, "Print JSON");
  command->add_flag("--check", flags->check, "List every node of a model that cannot be compiled, and why");
  command->add_option("--dim", flags->dims, "As for lathe compile")->allow_extra_args(false);
  command->add_option("--shape", flags->shapes, "As for lathe compile")->allow_extra_args(false);
  command->add_option("--value", flags->values, "As for lathe compile")->allow_extra_args(false);
  command->add_option("--state", flags->states, "As for lathe compile")->allow_extra_args(false);
  command->callback([flags, &action] { action = [flags] { return inspect(*flags); }; });
}
