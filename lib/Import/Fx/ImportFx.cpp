//===- ImportFx.cpp - torch.export programs into the lathe dialect ----------===//
//
// Order: the program is read, the user's sizes are applied to it, its symbols become facts, and an Importer builds the
// graph.
//
//===----------------------------------------------------------------------===//

#include "lathe/Import/Fx/ImportFx.h"
#include "Importer.h"
#include "OpenProgram.h"
#include "Regions.h"

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Attempts
//===----------------------------------------------------------------------===//

namespace {

/// An opened file, and the attempts to import it. Operators may need conditions that the program does not assert, and
/// each attempt starts with those that the ones before it asked for.
class Attempts {
public:
  Attempts(std::string file, Program program, Weights weights, const ImportOptions &options, mlir::MLIRContext &context)
      : file(std::move(file)), program(std::move(program)), weights(std::move(weights)), options(options),
        context(context) {}

  using Result = llvm::Expected<std::unique_ptr<Importer>>;
  Result run();

private:
  Result runWith(const Program &assumed);
  /// With sizes that may be 1; null where that is not possible.
  Result withOnes(Program base, llvm::ArrayRef<std::string> sizes);
  bool keepsResultsNonEmpty(const Program &assumed);

  std::string file;
  Program program;
  Weights weights;
  const ImportOptions &options;
  mlir::MLIRContext &context;
};

constexpr unsigned maxAttempts = 8;

} // namespace

Attempts::Result Attempts::runWith(const Program &assumed) {
  Needs needs;
  for (unsigned attempt = 1;; ++attempt) {
    needs.grew = false;
    Program copy = assumed;
    flattenRegions(copy, needs.branches);
    LATHE_TRY(symbols, Symbols::learn(copy, options, needs.stated, file));
    auto importer =
        std::make_unique<Importer>(file, std::move(copy), std::move(symbols), weights, needs, options, context);
    llvm::Error error = importer->build();
    if (needs.grew && attempt < maxAttempts) {
      llvm::consumeError(std::move(error));
      continue;
    }
    if (error)
      return error;
    return importer;
  }
}

/// Whether every size that is at least 1 in the program as it stands is so with these ranges.
bool Attempts::keepsResultsNonEmpty(const Program &assumed) {
  Program before = program, after = assumed;
  for (Program *copy : {&before, &after})
    flattenRegions(*copy, {});
  auto strict = Symbols::learn(before, options, {}, file), loose = Symbols::learn(after, options, {}, file);
  bool keeps = strict && loose;
  for (auto &[name, meta] : before.tensors)
    for (size_t i = 0; i < meta.sizes.size() && keeps; ++i)
      if (const auto &size = meta.sizes[i].expr)
        keeps = loose->facts().provablyPositive(*size) || !strict->facts().provablyPositive(*size);
  for (auto *learned : {&strict, &loose})
    if (!*learned)
      llvm::consumeError(learned->takeError());
  return keeps;
}

Attempts::Result Attempts::withOnes(Program base, llvm::ArrayRef<std::string> sizes) {
  for (const std::string &name : sizes)
    base.ranges[name].first = 1;
  if (sizes.empty() || !keepsResultsNonEmpty(base))
    return nullptr;
  Result result = runWith(base);
  if (result && (*result)->isClean())
    return result;
  if (!result)
    llvm::consumeError(result.takeError());
  return nullptr;
}

/// torch.export assumes that open sizes are at least 2, and PyTorch runs the program at 1 all the same. Where the
/// program makes sense there (no operator relies on the assumption, and no result becomes empty), so does the artifact:
/// all sizes together if that can be, else one after the other.
Attempts::Result Attempts::run() {
  std::set<std::string> given;
  for (const auto &[input, sizes] : inputSizes(program))
    for (const Expr &size : sizes)
      given.merge(size.symbols());
  std::vector<std::string> open;
  for (const auto &[name, range] : program.ranges)
    if (range.first == std::optional<int64_t>(2) && given.count(name))
      open.push_back(name);
  if (Result all = withOnes(program, open); !all || *all)
    return all;
  Result best = runWith(program);
  if (!best || !(*best)->isClean() || open.size() > maxAttempts)
    return best;
  std::vector<std::string> taken;
  for (const std::string &name : open) {
    taken.push_back(name);
    Result more = withOnes(program, taken);
    if (!more)
      return more;
    if (*more)
      best = std::move(more);
    else
      taken.pop_back();
  }
  return best;
}

static llvm::Expected<std::unique_ptr<Importer>> import(StringRef path, const ImportOptions &options,
                                                        mlir::MLIRContext &context, StringRef program = "") {
  context.loadDialect<mlir::func::FuncDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, ir::LatheDialect>();
  std::string file = path.str();
  if (!options.values.empty())
    return userError("--value {0}: values are bound in ONNX models only; export the program with the value fixed",
                     options.values[0].input);
  if (!options.states.empty())
    return userError(
        "--state {0}={1}: states are named for ONNX models; those of a PyTorch program are the buffers that it writes",
        options.states[0].input, options.states[0].output);
  LATHE_TRY(opened, openProgram(path, program));
  LATHE_TRY(weights, Weights::open(*opened.archive, opened.model, file));
  return Attempts(file, std::move(opened.program), std::move(weights), options, context).run();
}

llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> lathe::importFx(StringRef path, const ImportOptions &options,
                                                                  mlir::MLIRContext &context, StringRef program) {
  LATHE_TRY(importer, import(path, options, context, program));
  if (llvm::Error error = importer->complaints())
    return error;
  return std::move(importer->module);
}

llvm::Expected<std::vector<NodeReport>> lathe::checkFx(StringRef path, const ImportOptions &options,
                                                       mlir::MLIRContext &context, StringRef program) {
  auto importer = import(path, options, context, program);
  if (importer && !(*importer)->bugs.empty())
    return (*importer)->complaints();
  if (importer)
    return std::move((*importer)->refused);
  std::vector<NodeReport> refused;
  llvm::Error rest = llvm::handleErrors(importer.takeError(), [&](const UnsupportedError &e) {
    for (const std::string &item : e.items)
      refused.push_back({"", "", 0, item});
  });
  if (rest)
    return rest;
  return refused;
}
