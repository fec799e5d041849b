//===- States.cpp - Inputs and outputs that are one tensor of the context ---===//

#include "States.h"
#include "lathe/Dialect/Lathe/States.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lathe;
using llvm::Error;
using llvm::Expected;

static std::string textOf(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << cast<RankedTensorType>(type).getElementType();
  std::vector<std::string> dims;
  for (const shape::Expr &e : ir::dimsOf(type))
    dims.push_back(e.str());
  return text + " [" + llvm::join(dims, ", ") + "]";
}

/// The number of the name among the function's arguments or results.
template <typename GetName>
static Expected<unsigned> indexOf(const StateOption &state, StringRef wanted, StringRef what, unsigned count,
                                  GetName getName) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; ++i) {
    auto name = dyn_cast_if_present<StringAttr>(getName(i));
    if (name && name.getValue() == wanted)
      return i;
    if (name)
      names.push_back("'" + name.str() + "'");
  }
  return userError("--state {0}={1}: the model has no {2} '{3}'; there are {4}", state.input, state.output, what,
                   wanted, llvm::join(names, ", "));
}

static Error addState(func::FuncOp main, const StateOption &state, const shape::Facts &facts) {
  Expected<unsigned> input = indexOf(state, state.input, "input", main.getNumArguments(),
                                     [&](unsigned i) { return main.getArgAttr(i, "lathe.name"); });
  if (!input)
    return input.takeError();
  Expected<unsigned> output = indexOf(state, state.output, "output", main.getNumResults(),
                                      [&](unsigned i) { return main.getResultAttr(i, "lathe.name"); });
  if (!output)
    return output.takeError();
  auto before = cast<RankedTensorType>(main.getArgument(*input).getType()),
       after = cast<RankedTensorType>(main.getResultTypes()[*output]);
  ir::Dims from = ir::dimsOf(before), to = ir::dimsOf(after);
  bool same = before.getElementType() == after.getElementType() && from.size() == to.size();
  for (size_t d = 0; same && d < from.size(); ++d)
    same = facts.provablyEqual(from[d], to[d]);
  if (!same)
    return userError("--state {0}={1}: the input is {2} and the output {3}; a state has one type and size", state.input,
                     state.output, textOf(before), textOf(after));
  StringAttr name = StringAttr::get(main.getContext(), state.input);
  main.removeArgAttr(*input, "lathe.name");
  main.removeResultAttr(*output, StringAttr::get(main.getContext(), "lathe.name"));
  main.setArgAttr(*input, ir::stateAttr, name);
  main.setResultAttr(*output, ir::stateAttr, name);
  return Error::success();
}

/// A state's sizes are those that the inputs have: nobody brings it with a run.
static Error checkSizes(func::FuncOp main) {
  std::set<std::string> known;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (!ir::stateOfArgument(main, i))
      for (const shape::Expr &e : ir::dimsOf(main.getArgument(i)))
        known.merge(e.symbols());
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (StringAttr name = ir::stateOfArgument(main, i))
      for (const shape::Expr &e : ir::dimsOf(main.getArgument(i)))
        for (const std::string &symbol : e.symbols())
          if (!known.count(symbol))
            return userError("--state {0}: the size '{1}' of {2} follows from no other input; fix it with --dim {1}=N",
                             name.getValue(), shape::nameOf(symbol), textOf(main.getArgument(i).getType()));
  return Error::success();
}

Error onnx::addStates(ModuleOp module, const ImportOptions &options) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  if (options.states.empty() || !main)
    return Error::success();
  shape::Facts facts = ir::factsOf(module);
  for (const StateOption &state : options.states)
    if (Error e = addState(main, state, facts))
      return e;
  return checkSizes(main);
}
