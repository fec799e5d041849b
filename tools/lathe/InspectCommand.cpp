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
  bool json = false;
};
} // namespace

void lathe::tool::addInspectCommand(CLI::App &app, Action &action) {
  CLI::App *command = app.add_subcommand("inspect", "Describe a compiled model without running it");
  auto flags = std::make_shared<InspectFlags>();
  command->add_option("FILE", flags->file, "A shared object that lathe compile wrote")->required();
  command->add_flag("--json", flags->json, "Print JSON");
  command->callback([flags, &action] { action = [flags] { return inspectArtifact(flags->file, flags->json); }; });
}
