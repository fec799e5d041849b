//===- Options.h - What the user says of a model's sizes --------------------===//
//
// Both importers take these. The driver fills them from --dim, --shape and --value.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_IMPORT_OPTIONS_H
#define LATHE_IMPORT_OPTIONS_H

#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe {

/// --dim NAME=MIN..MAX@HINTS; NAME=N fixes the size (min = max = N). A missing end keeps what the model says.
struct DimOption {
  std::string name;
  std::optional<int64_t> min, max;
  std::vector<int64_t> hints;
  std::optional<int64_t> fixed() const { return min && max && *min == *max ? min : std::nullopt; }
};

/// --shape INPUT=1x3xheightxwidth: a number fixes a dimension, a name makes it a symbol, "?" leaves it as the model has it.
struct ShapeOption {
  std::string input;
  std::vector<std::string> dims;
};

/// --value INPUT=16000 or INPUT=0,1,true: the elements of an input of rank 0 or 1, which the artifact's entry checks.
struct ValueOption {
  std::string input;
  std::vector<int64_t> elements;
};

/// --state INPUT=OUTPUT: an input and an output that are one tensor of the context, before and behind a run.
struct StateOption {
  std::string input, output;
};

struct ImportOptions {
  std::vector<DimOption> dims;
  std::vector<ShapeOption> shapes;
  std::vector<ValueOption> values;
  std::vector<StateOption> states;
  /// Recurrences over more steps, or over a number of steps that is not known, become loops of the host program. Targets that
  /// run no loops want a larger limit.
  int64_t unrolledSteps = 16;
  /// Fourier transforms of open length are a function's of the runtime, not products with a matrix.
  bool hostTransforms = true;
  /// Positions of true elements are listed by a function of the runtime, not by kernels.
  bool hostPositions = true;
  /// Accepts operators that make random numbers, and is the seed of those that say none; without it they are refused.
  std::optional<uint32_t> seed;
  /// Receives the files beside the model that its constants come from, for dependency files; may be null.
  std::vector<std::string> *filesRead = nullptr;
};

/// Takes `NAME=N`, `NAME=MIN..MAX` or `NAME=MIN..MAX@H1,H2` (either end of the range may be missing).
llvm::Error parseDim(llvm::StringRef text, ImportOptions &options);
/// Takes `INPUT=1x3xheightxwidth`, or with commas where a name holds an x; `INPUT=` is a scalar.
llvm::Error parseShape(llvm::StringRef text, ImportOptions &options);

/// Takes `INPUT=16000`, `INPUT=true`, or several with commas.
llvm::Error parseValue(llvm::StringRef text, ImportOptions &options);

/// Takes `INPUT=OUTPUT`, or several with commas.
llvm::Error parseStates(llvm::StringRef text, ImportOptions &options);

/// One node of a model that cannot be compiled.
struct NodeReport {
  std::string node, op;
  int64_t opset = 0;
  std::string reason; ///< the whole message, with the node's name
  bool isUnsupported = true; ///< else the model is wrong
};

} // namespace lathe

#endif // LATHE_IMPORT_OPTIONS_H
