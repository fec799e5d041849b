//===- Registry.cpp - Finding an operator's entry ---------------------------===//

#include "Families.h"
#include "llvm/ADT/StringMap.h"

using namespace lathe;
using namespace lathe::fx;

static const llvm::StringMap<const OpEntry *> &table() {
  static const llvm::StringMap<const OpEntry *> all = [] {
    llvm::StringMap<const OpEntry *> map;
    for (auto family : {unaryOps, activationOps, binaryOps, compareOps, convertOps, reduceOps, scanOps, sortOps, shapeOps, sliceOps,
                        joinOps, indexOps, scatterOps, createOps, matmulOps, normOps, attentionOps, convOps, poolOps, padOps, resizeOps, recurrentOps,
                        assertOps})
      for (const OpEntry &entry : family())
        map.try_emplace(entry.name, &entry);
    return map;
  }();
  return all;
}

const OpEntry *fx::findOp(llvm::StringRef name) {
  auto found = table().find(name);
  return found == table().end() ? nullptr : found->second;
}
