//===- main.cpp - The driver -----------------------------------------------===//
//
// Exit codes: 0 done, 1 the user's input is wrong, 2 unsupported by this version, 3 a bug in lathe.
//
//===----------------------------------------------------------------------===//
#include "Commands.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Support/Version.h"
#include "llvm/Support/raw_ostream.h"

using namespace lathe;
using namespace lathe::tool;

int main(int argc, char **argv) {
  CLI::App app("lathe compiles trained models to shared objects, and runs and describes them.", "lathe");
  app.set_version_flag("--version", std::string("lathe ") + version());
  app.require_subcommand(1);
  Action action;
  addCompileCommand(app, action);
  addRunCommand(app, action);
  addInspectCommand(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    llvm::errs() << "error: " << error.what() << " (see lathe --help)\n";
    return int(ExitCode::UserMistake);
  }
  return int(report(action()));
}
