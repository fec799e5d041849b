//===- OnnxImporter.cpp - ONNX models as lathe graphs ----------------------===//

#include "lathe/Import/Onnx/OnnxImporter.h"
#include "GraphImporter.h"
#include "States.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::onnx;

/// Each import may discover relations between sizes, which the next one knows from its start. More rounds than this change
/// nothing that matters: a late relation only leaves reshapes between equal sizes.
static constexpr unsigned kMaxRounds = 4;

namespace {
struct Imported {
  OwningOpRef<ModuleOp> module;
  std::vector<Report> reports;
  bool ranksDiffer; ///< see Session
  bool hasUnnamed;  ///< dimensions without a name
};
} // namespace

static Imported importRounds(ModelFile &file, const ImportOptions &options, MLIRContext &context, int64_t leastUnnamed,
                             bool takesElse) {
  context.loadDialect<ir::LatheDialect, func::FuncDialect>();
  Session session{file, &context, SizeModel(options, leastUnnamed), false, takesElse, false, {}};
  Imported result;
  for (unsigned round = 0; round < kMaxRounds; ++round) {
    size_t assumptions = session.sizes.numAssumptions();
    GraphImporter importer(session);
    result.module = importer.run();
    result.reports = importer.reports();
    if (!result.reports.empty() || session.sizes.numAssumptions() == assumptions)
      break;
  }
  result.ranksDiffer = session.ranksDiffer;
  result.hasUnnamed = session.sizes.hasUnnamed();
  return result;
}

/// A dimension without a name may be 0, where nothing forbids that; where branches differ in rank, what is behind them tells
/// which rank is meant.
static Imported importModel(ModelFile &file, const ImportOptions &options, MLIRContext &context) {
  Imported result;
  for (bool takesElse : {false, true})
    for (int64_t leastUnnamed : {0, 1}) {
      Imported next = importRounds(file, options, context, leastUnnamed, takesElse);
      if (next.reports.empty() || !takesElse)
        result = std::move(next);
      if (result.reports.empty())
        return result;
      if (leastUnnamed == 0 && result.hasUnnamed)
        continue;
      if (!result.ranksDiffer)
        return result;
      break;
    }
  return result;
}

/// Shape arithmetic is gone once the operators that read it are built.
static void eraseDead(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.getBody().front())))
      if (isOpTriviallyDead(&op))
        op.erase();
}

/// The mistakes and the unsupported nodes, each kind as one error.
static llvm::Error errorOf(const std::vector<Report> &reports) {
  std::vector<std::string> unsupportedItems;
  llvm::Error error = llvm::Error::success();
  for (const Report &r : reports)
    if (r.isUnsupported)
      unsupportedItems.push_back(r.message);
    else
      error = llvm::joinErrors(std::move(error), llvm::make_error<UserError>(r.message));
  if (!unsupportedItems.empty())
    error = llvm::joinErrors(std::move(error), llvm::make_error<UnsupportedError>(std::move(unsupportedItems)));
  return error;
}

static llvm::Expected<OwningOpRef<ModuleOp>> importFile(ModelFile &file, const ImportOptions &options, MLIRContext &context) {
  Imported imported = importModel(file, options, context);
  if (llvm::Error error = errorOf(imported.reports))
    return std::move(error);
  eraseDead(*imported.module);
  if (llvm::Error error = addStates(*imported.module, options))
    return std::move(error);
  std::string complaint;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
    if (complaint.empty()) {
      llvm::raw_string_ostream os(complaint);
      os << d.getLocation() << ": " << d;
    }
    return success();
  });
  if (failed(verify(*imported.module)))
    return bug("{0}: the imported graph is malformed: {1}", file.name(), complaint);
  return std::move(imported.module);
}

llvm::Expected<OwningOpRef<ModuleOp>> lathe::importOnnx(StringRef path, const ImportOptions &options, MLIRContext &context) {
  auto file = ModelFile::open(path);
  if (!file)
    return file.takeError();
  auto module = importFile(**file, options, context);
  if (options.filesRead)
    *options.filesRead = (*file)->externalLocations();
  return module;
}

llvm::Expected<OwningOpRef<ModuleOp>> lathe::importOnnxBytes(StringRef bytes, StringRef name, bool isText,
                                                             const ImportOptions &options, MLIRContext &context) {
  auto file = ModelFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes, name), name, isText);
  if (!file)
    return file.takeError();
  return importFile(**file, options, context);
}

llvm::Expected<std::vector<NodeReport>> lathe::checkOnnx(StringRef path, const ImportOptions &options, MLIRContext &context) {
  auto file = ModelFile::open(path);
  if (!file)
    return file.takeError();
  std::vector<NodeReport> out;
  for (Report &r : importModel(**file, options, context).reports)
    out.push_back({r.node, r.op, r.opset, r.message, r.isUnsupported});
  return out;
}
