//===- Options.cpp - What the user says of a model's sizes -----------------===//

#include "lathe/Import/Options.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace lathe;
using llvm::StringRef;

static bool parseSize(StringRef text, int64_t &value) { return !text.getAsInteger(10, value) && value >= 0; }
static bool parseEnd(StringRef text, std::optional<int64_t> &end) {
  int64_t value;
  if (text.empty())
    return true;
  if (!parseSize(text, value))
    return false;
  end = value;
  return true;
}

llvm::Error lathe::parseDim(StringRef text, ImportOptions &options) {
  auto wrong = [&] { return userError("--dim {0}: expected NAME=N, NAME=MIN..MAX or NAME=MIN..MAX@H1,H2", text); };
  auto [name, spec] = text.split('=');
  auto [range, hints] = spec.split('@');
  if (name.empty() || range.empty())
    return wrong();
  DimOption dim;
  dim.name = name.str();
  bool isRange = range.contains("..");
  auto [low, high] = isRange ? range.split("..") : std::make_pair(range, range);
  if (!parseEnd(low, dim.min) || !parseEnd(high, dim.max))
    return wrong();
  if (dim.min && dim.max && *dim.max < *dim.min)
    return userError("--dim {0}: the maximum is below the minimum", text);
  llvm::SmallVector<StringRef> parts;
  hints.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    int64_t hint;
    if (!parseSize(part, hint))
      return wrong();
    if ((dim.min && hint < *dim.min) || (dim.max && hint > *dim.max))
      return userError("--dim {0}: the expected size {1} is outside of the range", text, hint);
    dim.hints.push_back(hint);
  }
  if (llvm::any_of(options.dims, [&](const DimOption &other) { return other.name == dim.name; }))
    return userError("--dim {0}: '{1}' is given twice", text, name);
  options.dims.push_back(std::move(dim));
  return llvm::Error::success();
}

llvm::Error lathe::parseValue(StringRef text, ImportOptions &options) {
  auto [name, spec] = text.rsplit('=');
  if (name.empty() || spec.empty())
    return userError("--value {0}: expected INPUT=16000, INPUT=true, or several values with commas", text);
  ValueOption value;
  value.input = name.str();
  llvm::SmallVector<StringRef> parts;
  spec.split(parts, ',');
  for (StringRef part : parts) {
    int64_t element = part == "true";
    if (part != "true" && part != "false" && part.getAsInteger(10, element))
      return userError("--value {0}: '{1}' is no integer, true or false", text, part);
    value.elements.push_back(element);
  }
  if (llvm::any_of(options.values, [&](const ValueOption &other) { return other.input == value.input; }))
    return userError("--value {0}: '{1}' is given twice", text, name);
  options.values.push_back(std::move(value));
  return llvm::Error::success();
}

llvm::Error lathe::parseStates(StringRef text, ImportOptions &options) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    auto [input, output] = part.split('=');
    if (input.empty() || output.empty())
      return userError("--state {0}: expected INPUT=OUTPUT, or several with commas", text);
    for (const StateOption &other : options.states)
      if (other.input == input || other.output == output)
        return userError("--state {0}: '{1}' is given twice", text, other.input == input ? input : output);
    options.states.push_back({input.str(), output.str()});
  }
  return llvm::Error::success();
}

llvm::Error lathe::parseShape(StringRef text, ImportOptions &options) {
  auto [name, spec] = text.rsplit('=');
  if (name.empty() || !text.contains('='))
    return userError("--shape {0}: expected INPUT=1x3x224x224 or INPUT=batch,3,224,224", text);
  ShapeOption shape;
  shape.input = name.str();
  llvm::SmallVector<StringRef> parts;
  if (!spec.empty())
    spec.split(parts, spec.contains(',') ? ',' : 'x');
  for (StringRef part : parts) {
    int64_t value;
    bool number = !part.empty() && (llvm::isDigit(part[0]) || part[0] == '-');
    if (part.empty() || (number && !parseSize(part, value)))
      return userError("--shape {0}: '{1}' is neither a size nor a name", text, part);
    shape.dims.push_back(part.str());
  }
  if (llvm::any_of(options.shapes, [&](const ShapeOption &other) { return other.input == shape.input; }))
    return userError("--shape {0}: '{1}' is given twice", text, name);
  options.shapes.push_back(std::move(shape));
  return llvm::Error::success();
}
