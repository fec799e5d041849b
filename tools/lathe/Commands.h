//===- Commands.h - The subcommands of lathe -------------------------------===//
#ifndef LATHE_TOOLS_COMMANDS_H
#define LATHE_TOOLS_COMMANDS_H

#include "lathe/Import/Options.h"
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

/// What `lathe inspect FILE` does with an artifact.
llvm::Error inspectArtifact(const std::string &path, bool json);

/// And with a model file: its inputs, outputs and sizes; or every node that cannot be compiled.
bool isModel(llvm::StringRef path);
llvm::Error inspectModel(const std::string &path, const ImportOptions &options, bool json);
llvm::Error checkModel(const std::string &path, const ImportOptions &options, bool json);

} // namespace lathe::tool

#endif // LATHE_TOOLS_COMMANDS_H
