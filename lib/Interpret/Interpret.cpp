//===- Interpret.cpp - The interpreter as a pass ---------------------------===//

#include "lathe/Interpret/Interpret.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassRegistry.h"

namespace lathe::interpret {
#define GEN_PASS_DECL_INTERPRET
#define GEN_PASS_DEF_INTERPRET
#include "lathe/Interpret/Passes.h.inc"
} // namespace lathe::interpret

using namespace mlir;
using namespace lathe;
using namespace lathe::interpret;
using llvm::Error;
using llvm::Expected;

/// Of argument or result i; "" where it has none.
static StringRef nameIn(ArrayAttr attrs, unsigned i) {
  auto dict = attrs && i < attrs.size() ? dyn_cast<DictionaryAttr>(attrs[i]) : DictionaryAttr();
  auto name = dict ? dict.getAs<StringAttr>("lathe.name") : StringAttr();
  return name ? name.getValue() : "";
}

/// Numbers from -2 to 2 in steps of 1/64, whole ones for integers; splitmix64.
static Tensor numbers(RankedTensorType type, uint64_t &state) {
  Tensor t(type);
  Type e = type.getElementType();
  for (int64_t i = 0; i < t.size(); ++i) {
    uint64_t z = state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    int64_t n = int64_t((z ^ (z >> 31)) % 257) - 128;
    if (t.isFloat())
      t.floats[i] = ir::roundTo(double(n) / 64, e);
    else
      t.ints[i] = isa<IntegerType>(e) ? ir::wrapTo(ir::isUnsignedElement(e) ? n & 1 : n / 32, e) : n & 7;
  }
  return t;
}

namespace {

class Interpret : public lathe::interpret::impl::InterpretBase<Interpret> {
public:
  Interpret(TensorFiles files) : files(std::move(files)) {}
  Interpret(const Interpret &other) : InterpretBase(other), files(other.files) {}
  void runOnOperation() override {
    if (Error e = execute(getOperation())) {
      getOperation().emitError() << llvm::toString(std::move(e));
      signalPassFailure();
    }
    markAllAnalysesPreserved();
  }

private:
  Error execute(ModuleOp module);
  Expected<std::vector<Tensor>> inputsOf(func::FuncOp main);
  Expected<std::map<std::string, int64_t>> givenSizes(ModuleOp module);
  void print(const std::vector<std::pair<std::string, Tensor>> &results);

  TensorFiles files;
};

} // namespace

static Error mistake(const Twine &text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }

Expected<std::map<std::string, int64_t>> Interpret::givenSizes(ModuleOp module) {
  std::map<std::string, int64_t> sizes;
  for (ir::SymbolOp s : module.getOps<ir::SymbolOp>())
    if (!s.getDefinition())
      sizes[s.getName().str()] = std::max<int64_t>(2, s.getMin());
  for (const std::string &text : dims) {
    auto [name, number] = StringRef(text).rsplit('=');
    int64_t n;
    if (number.getAsInteger(10, n))
      return mistake("dims: '" + text + "' is not NAME=N");
    sizes[name.str()] = n;
  }
  return sizes;
}

Expected<std::vector<Tensor>> Interpret::inputsOf(func::FuncOp main) {
  std::vector<Tensor> out;
  ArrayAttr attrs = main.getArgAttrsAttr();
  if (inputs.empty()) {
    Expected<std::map<std::string, int64_t>> sizes = givenSizes(getOperation());
    if (!sizes)
      return sizes.takeError();
    uint64_t state = seed;
    for (Type t : main.getArgumentTypes()) {
      Expected<RankedTensorType> type = typeAt(t, *sizes);
      if (!type)
        return type.takeError();
      out.push_back(numbers(*type, state));
    }
    return out;
  }
  Expected<std::map<std::string, Tensor>> arrays = files.read(inputs, &getContext());
  if (!arrays)
    return arrays.takeError();
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto it = arrays->find(nameIn(attrs, i).str());
    if (it == arrays->end())
      return mistake(inputs + " has no array '" + nameIn(attrs, i) + "'");
    out.push_back(it->second);
  }
  return out;
}

void Interpret::print(const std::vector<std::pair<std::string, Tensor>> &results) {
  for (const auto &[name, t] : results) {
    llvm::outs() << name << ": " << t.type << " [";
    for (int64_t i = 0; i < t.size(); ++i)
      llvm::outs() << (i ? ", " : "") << elementText(t, i);
    llvm::outs() << "]\n";
  }
}

Error Interpret::execute(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (!main)
    return mistake("there is no function @main");
  Expected<std::vector<Tensor>> in = inputsOf(main);
  if (!in)
    return in.takeError();
  Expected<std::vector<Tensor>> results = interpret::interpret(module, *in, {}, roundings ? std::optional<uint64_t>(roundings) : std::nullopt);
  if (!results)
    return results.takeError();
  std::vector<std::pair<std::string, Tensor>> named;
  for (auto [i, t] : llvm::enumerate(*results)) {
    StringRef name = nameIn(main.getResAttrsAttr(), i);
    named.emplace_back(name.empty() ? "result" + std::to_string(i) : name.str(), std::move(t));
  }
  if (!outputs.empty())
    return files.write(outputs, named);
  print(named);
  return Error::success();
}

void interpret::registerInterpretPass(TensorFiles files) {
  PassRegistration<Interpret>([files] { return std::make_unique<Interpret>(files); });
}
