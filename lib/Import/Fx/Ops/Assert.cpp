//===- Assert.cpp - Assertions that torch.export leaves in a graph ----------===//
//
// What they state of sizes was learned before the graph is built (Symbols.cpp) and is checked at entry; what they state of
// types is checked against every result. They compute nothing.
//
//===----------------------------------------------------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;

static llvm::Error nothing(OpContext &) { return llvm::Error::success(); }

llvm::ArrayRef<OpEntry> fx::assertOps() {
  static const OpEntry table[] = {
      {"_assert_tensor_metadata.default", nullptr, nothing},
      {"_assert_scalar.default", nullptr, nothing},
      {"_assert_async.msg", nullptr, nothing},
      {"_assert_async.default", nullptr, nothing},
      {"sym_constrain_range.default", nullptr, nothing},
      {"sym_constrain_range_for_size.default", nullptr, nothing},
  };
  return table;
}
