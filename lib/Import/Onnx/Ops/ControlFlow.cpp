//===- ControlFlow.cpp - Branches that are known when compiling ------------===//

#include "GraphImporter.h"

using namespace lathe;

namespace lathe::onnx {

/// A condition that follows from constants and sizes chooses its branch here; exporters write such branches around squeezes.
void ifOp(Node &n) {
  Value condition = n.in(0);
  n.requireBool(condition);
  n.requireEqual(shape::product(n.dims(condition)), Expr(1), "the elements of the condition");
  std::optional<Dims> known = ir::symbolicValue(condition);
  if (!known || !(*known)[0].constant())
    failUnsupported("the condition is not known when compiling");
  const GraphProto *branch = n.graph((*known)[0].isZero() ? "else_branch" : "then_branch");
  if (!branch)
    failWrong("the attribute of the chosen branch is missing");
  std::vector<Value> results = n.importer.inlineSubgraph(*branch, {});
  if (results.size() < n.numOutputs())
    failWrong("the branch has {0} results, the node {1}", results.size(), n.numOutputs());
  for (unsigned i = 0; i < n.numOutputs(); ++i)
    n.out(i, results[i]);
}

} // namespace lathe::onnx
