//===- Options.h - What the user says of a model's sizes --------------------===//
//
// Both importers take these. The driver fills them from --dim and --shape.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_IMPORT_OPTIONS_H
#define LATHE_IMPORT_OPTIONS_H

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

struct ImportOptions {
  std::vector<DimOption> dims;
  std::vector<ShapeOption> shapes;
};

} // namespace lathe

#endif // LATHE_IMPORT_OPTIONS_H
