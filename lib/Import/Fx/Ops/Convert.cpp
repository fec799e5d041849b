//===- Convert.cpp - Type conversions and copies ----------------------------===//

#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// The result's type is in the file, so that every form of `to` is this.
static llvm::Error convert(OpContext &c) { return c.give(c.g.cast(c.tensor("self"), c.resultElement())); }

static llvm::Error copy(OpContext &c) {
  LATHE_TRY(source, c.broadcastTo(c.g.cast(c.tensor("src"), c.resultElement()), dimsOf(c.tensor("self"))));
  return c.give(source);
}

/// Nothing is dropped when a model does not train.
static llvm::Error dropout(OpContext &c) {
  if (c.flag("train") && c.real("p") != 0)
    return c.cannot("dropout is on (train=True): call model.eval() before torch.export");
  Value x = c.tensor(c.has("self") ? "self" : "input"); // dropout_ calls it self
  return x ? c.give(x) : c.wrong("there is no input");
}

llvm::ArrayRef<OpEntry> fx::convertOps() {
  static const OpEntry table[] = {
      {"to.dtype", "self:T dtype:D?", convert, Converts},
      {"to.dtype_layout", "self:T dtype:D?", convert, Converts},
      {"to.device", "self:T dtype:D?", convert, Converts},
      {"to.other", "self:T other:T", convert, Converts},
      {"_to_copy.default", "self:T dtype:D?", convert},
      {"type_as.default", "self:T other:T", convert, Converts},
      {"contiguous.default", "self:T", convert, Converts},
      {"clone.default", "self:T", convert},
      {"alias.default", "self:T", convert, IsView},
      {"detach.default", "self:T", convert, IsView},
      {"positive.default", "self:T", convert, IsView},
      {"lift_fresh_copy.default", "self:T", convert},
      {"lift_fresh.default", "self:T", convert, IsView},
      {"copy.default", "self:T src:T", copy},
      {"dropout.default", "input:T? self:T? p:F train:B", dropout, IsView},
      {"feature_dropout.default", "input:T? self:T? p:F train:B", dropout, IsView},
  };
  return table;
}
