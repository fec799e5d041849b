//===- HostOrder.h - What runs behind the step that its sizes come from ----===//
//
// A size symbol that is known only while the model runs is no operand of the ops that mention it. This is that missing edge:
// from the host op that gives the symbol its value to every op whose types or attributes mention it.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_FUSE_HOSTORDER_H
#define LATHE_LIB_FUSE_HOSTORDER_H

#include "lathe/Dialect/Lathe/Lathe.h"
#include "llvm/ADT/DenseMap.h"

namespace lathe::fuse {

class HostOrder {
public:
  explicit HostOrder(mlir::Block &body);

  /// No op of the block gives a symbol its value.
  bool empty() const { return owners.empty(); }
  /// The block's ops that give values to symbols which this op mentions.
  const std::set<unsigned> &ownersOf(mlir::Operation *op);
  mlir::Operation *owner(unsigned index) const { return ops[index]; }
  /// Brings the block into an order in which every op follows those; else the program's.
  void sort();

private:
  mlir::Block &body;
  std::vector<mlir::Operation *> ops;
  std::map<std::string, std::set<unsigned>> owners; ///< by symbol, also of symbols that are computed from others
  llvm::DenseMap<mlir::Operation *, std::set<unsigned>> known;
};

} // namespace lathe::fuse

#endif // LATHE_LIB_FUSE_HOSTORDER_H
