//===- Assert.cpp - Assertions that torch.export leaves in a graph ----------===//
//
// What they state of sizes was learned before the graph is built (Guards.cpp) and is checked at entry, or where its values are read;
// what they state of types is checked against every result. Those of elements are checked when these have been computed.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

static llvm::Error assertElement(OpContext &c) {
  Value x = c.tensor("self");
  if (!c.g.facts.provablyEqual(shape::product(dimsOf(x)), Expr(1)))
    return c.cannot("an assertion of {0}", x.getType());
  std::string text = c.text("assert_msg");
  c.assertTrue(c.g.compare(CompareKind::NE, c.g.reshape(x, {}), c.g.splat(0, {}, elementOf(x))),
               "node '" + c.node.name + "': " + (text.empty() ? "an asserted value is 0" : text));
  return llvm::Error::success();
}

llvm::ArrayRef<OpEntry> fx::assertOps() {
  static const OpEntry table[] = {
      {"_assert_tensor_metadata.default", nullptr, nullptr},
      {"_assert_scalar.default", nullptr, nullptr},
      {"_assert_async.msg", "self:T assert_msg:X", assertElement, Checks},
      {"_assert_async.default", "self:T", assertElement, Checks},
      {"sym_constrain_range.default", nullptr, nullptr},
      {"sym_constrain_range_for_size.default", nullptr, nullptr},
  };
  return table;
}
