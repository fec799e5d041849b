//===- lathe-import.cpp - A model file as a lathe graph --------------------===//
//
// Prints the graph that the importer builds, with large constants left out, or with --check every node that cannot be
// compiled. For the importer's tests.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Import/Fx/ImportFx.h"
#include "lathe/Import/Onnx/OnnxImporter.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace lathe;
namespace cl = llvm::cl;

static cl::OptionCategory category("lathe-import options");
static cl::opt<std::string> path(cl::Positional, cl::Required, cl::desc("MODEL"), cl::cat(category));
static cl::list<std::string> dims("dim", cl::desc("NAME=N or NAME=MIN..MAX[@H1,H2]"), cl::cat(category));
static cl::list<std::string> shapes("shape", cl::desc("INPUT=1x3xheightxwidth"), cl::cat(category));
static cl::opt<bool> check("check", cl::desc("List what cannot be compiled"), cl::cat(category));
static cl::opt<bool> quiet("quiet", cl::desc("Print nothing but diagnostics"), cl::cat(category));
static cl::opt<bool> generic("generic", cl::desc("Print the generic form, with all constants"), cl::cat(category));
static cl::opt<bool> locations("locations", cl::desc("Print the locations"), cl::cat(category));

/// A .pt2 archive, its JSON, or a folder with its members; all else is ONNX.
static bool isFx() {
  llvm::StringRef name = path;
  return name.ends_with(".pt2") || name.ends_with(".json") || llvm::sys::fs::is_directory(name);
}

static llvm::Error run() {
  ImportOptions options;
  for (const std::string &text : dims)
    if (llvm::Error e = parseDim(text, options))
      return e;
  for (const std::string &text : shapes)
    if (llvm::Error e = parseShape(text, options))
      return e;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  if (check) {
    auto reports = isFx() ? checkFx(path, options, context) : checkOnnx(path, options, context);
    if (!reports)
      return reports.takeError();
    for (const NodeReport &r : *reports)
      llvm::outs() << r.reason << "\n";
    return llvm::Error::success();
  }
  auto module = isFx() ? importFx(path, options, context) : importOnnx(path, options, context);
  if (!module)
    return module.takeError();
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(locations, /*prettyForm=*/true);
  if (generic)
    flags.printGenericOpForm();
  else
    flags.elideLargeElementsAttrs(16).elideLargeResourceString(16);
  if (!quiet)
    (*module)->print(llvm::outs(), flags);
  return llvm::Error::success();
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "prints the graph of a model\n");
  if (llvm::Error error = run())
    return int(report(std::move(error)));
  return 0;
}
