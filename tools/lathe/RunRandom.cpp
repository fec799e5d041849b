//===- RunRandom.cpp - Made-up inputs --------------------------------------===//
#include "RunInputs.h"
#include "lathe/Shape/Expr.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/APFloat.h"
#include <cstring>

using namespace llvm;
using namespace lathe;
using namespace lathe::tool;

/// "2x128"; "scalar" or nothing for rank 0.
static bool parseShape(StringRef text, std::vector<int64_t> &shape) {
  if (text.empty() || text == "scalar")
    return true;
  SmallVector<StringRef> parts;
  text.split(parts, 'x');
  for (StringRef part : parts) {
    int64_t dim;
    if (part.getAsInteger(10, dim) || dim < 0)
      return false;
    shape.push_back(dim);
  }
  return true;
}

/// Sizes of symbols: from the given shapes where a dimension is a symbol itself, else the smallest that is not zero.
static std::map<std::string, int64_t> chooseSymbols(const LoadedModel &model, const std::map<StringRef, std::vector<int64_t>> &given) {
  std::map<std::string, int64_t> values;
  for (bool fromShapes : {true, false})
    for (const LatheTensorInfo &info : model.inputs()) {
      auto it = given.find(info.name);
      for (int32_t d = 0; d < info.ndim; ++d) {
        auto dim = shape::Expr::parse(info.dims[d]);
        if (!dim) {
          consumeError(dim.takeError());
          continue;
        }
        if (fromShapes && it != given.end() && it->second.size() == size_t(info.ndim)) {
          if (auto symbol = dim->asSymbol())
            values.try_emplace(*symbol, it->second[d]);
        } else if (!fromShapes) {
          auto symbol = dim->asSymbol();
          int64_t smallest = symbol ? std::max<int64_t>(info.min[d], std::min<int64_t>(info.max[d], 1)) : 1;
          for (const std::string &name : dim->symbols())
            values.try_emplace(name, smallest);
        }
      }
    }
  return values;
}

static Expected<std::vector<int64_t>> shapeOf(const LatheTensorInfo &info, const std::map<std::string, int64_t> &symbols) {
  std::vector<int64_t> shape;
  for (int32_t d = 0; d < info.ndim; ++d) {
    auto dim = shape::Expr::parse(info.dims[d]);
    if (!dim)
      return dim.takeError();
    std::optional<int64_t> size = dim->evaluate(symbols);
    if (!size || *size < 0)
      return userError("--random: no size is known for dimension {0} of input '{1}', {2}: give {1}=SHAPE", d, info.name, info.dims[d]);
    shape.push_back(*size);
  }
  return shape;
}

namespace {
/// A linear congruential generator: the same inputs on every machine.
struct Generator {
  uint64_t state = 0x853c49e6748fea9bull;
  uint64_t next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return state >> 33;
  }
  double uniform() { return double(next()) / double(1ull << 31) * 2 - 1; }
};
} // namespace

static void fill(HostTensor &tensor, Generator &random) {
  uint64_t count = tensor.elements();
  unsigned bytes = tensor.dtype.bits / 8;
  if (tensor.dtype.code == kDLComplex) {
    count *= 2;
    bytes /= 2;
  }
  bool isFloat = tensor.dtype.code == kDLFloat || tensor.dtype.code == kDLComplex;
  for (uint64_t i = 0; bytes && i < count; ++i) {
    double real = random.uniform();
    uint64_t bits = random.next() & 1;
    if (isFloat && bytes == 4) {
      float single = float(real);
      std::memcpy(&bits, &single, 4);
    } else if (isFloat && bytes == 8) {
      std::memcpy(&bits, &real, 8);
    } else if (tensor.dtype.code == kDLBfloat || (isFloat && bytes == 2)) {
      APFloat value(real);
      bool losesInfo;
      value.convert(isFloat ? APFloat::IEEEhalf() : APFloat::BFloat(), APFloat::rmNearestTiesToEven, &losesInfo);
      bits = value.bitcastToAPInt().getZExtValue();
    }
    std::memcpy(tensor.data() + i * bytes, &bits, bytes);
  }
}

Expected<std::vector<HostTensor>> lathe::tool::inputsAtRandom(const LoadedModel &model, const std::vector<std::string> &arguments) {
  std::map<StringRef, std::vector<int64_t>> given;
  for (StringRef argument : arguments) {
    auto [name, text] = argument.split('=');
    bool known = any_of(model.inputs(), [&, name = name](const LatheTensorInfo &info) { return name == info.name; });
    if (!known || !parseShape(text, given[name]))
      return userError("--random {0}: expected INPUT=2x128 with the name of an input", argument);
  }
  std::map<std::string, int64_t> symbols = chooseSymbols(model, given);
  std::vector<HostTensor> inputs;
  Generator random;
  for (const LatheTensorInfo &info : model.inputs()) {
    auto it = given.find(info.name);
    Expected<std::vector<int64_t>> shape = it != given.end() ? Expected<std::vector<int64_t>>(it->second) : shapeOf(info, symbols);
    if (!shape)
      return shape.takeError();
    Expected<HostTensor> tensor = HostTensor::create(info.dtype, *shape);
    if (!tensor)
      return tensor.takeError();
    fill(*tensor, random);
    inputs.push_back(std::move(*tensor));
  }
  return inputs;
}
