//===- DescribeFx.cpp - The inputs and outputs that a program declares ------===//

#include "OpContext.h"
#include "OpenProgram.h"
#include "Weights.h"
#include "lathe/Import/Signature.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace lathe;
using namespace lathe::fx;

/// "f32 [s0, 3]"
static std::string typeText(const Program &program, const Argument &argument, mlir::MLIRContext &context) {
  if (argument.kind != Argument::Kind::Tensor)
    return describe(argument);
  auto meta = program.tensors.find(argument.tensors[0]);
  if (meta == program.tensors.end())
    return "a tensor";
  std::string text;
  if (mlir::Type element = elementType(meta->second.dtype, &context))
    llvm::raw_string_ostream(text) << element;
  else
    text = dtypeName(meta->second.dtype);
  std::vector<std::string> dims;
  for (const Size &size : meta->second.sizes)
    dims.push_back(size.expr ? size.expr->str() : size.text);
  return text + " [" + llvm::join(dims, ", ") + "]";
}

llvm::Expected<ModelSignature> lathe::describeFx(llvm::StringRef path, mlir::MLIRContext &context, llvm::StringRef which) {
  LATHE_TRY(opened, openProgram(path, which));
  const Program &program = opened.program;
  ModelSignature signature;
  auto nameOf = [](const Argument &a) { return a.tensors.empty() ? a.symbol : a.tensors[0]; };
  for (const InputSpec &input : program.inputs)
    if (input.kind == InputSpec::Kind::User && input.argument.kind != Argument::Kind::None)
      signature.inputs.push_back({nameOf(input.argument), typeText(program, input.argument, context)});
  for (const OutputSpec &output : program.outputs)
    if (output.user && output.argument.kind != Argument::Kind::None)
      signature.outputs.push_back({nameOf(output.argument), typeText(program, output.argument, context)});
  for (const auto &[name, range] : program.ranges)
    signature.sizes.push_back(name);
  return signature;
}
