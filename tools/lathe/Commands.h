//===- Commands.h - The subcommands of lathe -------------------------------===//
#ifndef LATHE_TOOLS_COMMANDS_H
#define LATHE_TOOLS_COMMANDS_H

#include "llvm/Support/Error.h"
#include <CLI/CLI.hpp>
#include <functional>

namespace lathe::tool {

/// What the command line chose to do.
using Action = std::function<llvm::Error()>;

/// Each adds its subcommand, which sets `action` when it is chosen.
void addCompileCommand(CLI::App &app, Action &action);
void addRunCommand(CLI::App &app, Action &action);
void addInspectCommand(CLI::App &app, Action &action);

/// What `lathe inspect FILE` does with an artifact; models are for the compiler's side.
llvm::Error inspectArtifact(const std::string &path, bool json);

} // namespace lathe::tool

#endif // LATHE_TOOLS_COMMANDS_H
