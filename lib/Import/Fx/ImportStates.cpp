//===- ImportStates.cpp - Buffers that a program writes ----------------------===//
//
// They are states of the model: arguments and results of @main that belong to the context (States.h). A program that
// was functionalised lists them among its outputs; another one writes to them in place, which is known only when the
// write comes, and the attempt after that one has them as states from its start.
//
//===----------------------------------------------------------------------===//

#include "Importer.h"
#include "lathe/Dialect/Lathe/States.h"

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;

static bool isWeight(const InputSpec &spec) {
  return spec.kind == InputSpec::Kind::Buffer || spec.kind == InputSpec::Kind::Parameter ||
         spec.kind == InputSpec::Kind::Constant;
}

void Importer::findStates() {
  for (const OutputSpec &output : program.outputs)
    if (!output.buffer.empty() && llvm::none_of(program.inputs, [&](const InputSpec &spec) {
          return isWeight(spec) && spec.key == output.buffer;
        }))
      refused.push_back({"", "output", 0,
                         file + ": the model writes to '" + output.buffer + "', and has no such buffer",
                         /*isUnsupported=*/false});
  for (const InputSpec &spec : program.inputs) {
    if (!isWeight(spec))
      continue;
    if (needs.states.count(spec.value))
      states[spec.value] = "";
    for (const OutputSpec &output : program.outputs)
      if (!output.buffer.empty() && output.buffer == spec.key && !output.argument.tensors.empty())
        states[spec.value] = output.argument.tensors[0];
  }
}

/// Makes what a node writes to a state of the next attempt.
bool Importer::becomesState(StringRef value) {
  if (graph != &program)
    return false;
  for (const InputSpec &spec : program.inputs)
    if (spec.value == value && isWeight(spec)) {
      needs.grew |= needs.states.insert(spec.value).second;
      return true;
    }
  return false;
}

llvm::Error Importer::addState(const InputSpec &spec) {
  LATHE_TRY(initial, weightValue(spec));
  std::string member = weights.memberOf(spec);
  for (const InputSpec &other : program.inputs)
    if (&other != &spec && isWeight(other) && !member.empty() && weights.memberOf(other) == member &&
        read.count(other.value))
      return lathe::unsupported(
          "{0}: '{1}', which the model writes to, shares its memory with '{2}'; give each its own tensor", file,
          spec.key, other.key);
  unsigned index = main.getNumArguments();
  mlir::Location loc = mlir::NameLoc::get(builder.getStringAttr(spec.key));
  llvm::SmallVector<mlir::NamedAttribute> attributes{
      builder.getNamedAttr(ir::stateAttr, builder.getStringAttr(spec.key))};
  if (!ir::isZeros(initial))
    attributes.push_back(builder.getNamedAttr(ir::initialAttr, initial));
  main.insertArgument(index, initial.getType(), builder.getDictionaryAttr(attributes), loc);
  values.define(spec.value, main.getArgument(index));
  return llvm::Error::success();
}

llvm::Error Importer::addNewStates(SmallVector<Value> &results, SmallVector<mlir::Attribute> &attributes) {
  for (const InputSpec &spec : program.inputs) {
    auto state = states.find(spec.value);
    if (state == states.end())
      continue;
    const std::string &name = state->second.empty() ? spec.value : state->second;
    if (!values.has(name) || !values.has(spec.value)) {
      if (isClean())
        return userError("{0}: '{1}', the new value of '{2}', is given by no node", file, name, spec.key);
      continue;
    }
    if (auto writer = values.overwrittenBy(name))
      refuse(name, "the buffer '" + spec.key + "' may share memory with a tensor that '" + *writer +
                       "' has written in place, or be a copy of it: the file does not say which");
    note(values.refresh(name), name, "output");
    Value v = values.current().at(name);
    auto type = typeOf(spec.value, "state", /*canonical=*/true);
    if (!type)
      return type.takeError();
    if (v.getType() != *type && isClean())
      return userError("{0}: the buffer '{1}' gets the value '{2}', which has another type", file, spec.key, name);
    results.push_back(v);
    attributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(ir::stateAttr, builder.getStringAttr(spec.key))));
  }
  return llvm::Error::success();
}
