//===- Trees.h - Which ops are computed where they are used ----------------===//
//
// Before kernels are formed the graph is cut into trees: a root (a reduction, a contraction, attention, or an elementwise op
// that several others use) with the cheap ops below it that only it uses. Views, constants and what follows from sizes alone
// belong to whoever reads them. Kernels then are groups of roots.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_FUSE_TREES_H
#define LATHE_LIB_FUSE_TREES_H

#include "Domain.h"
#include "llvm/ADT/DenseSet.h"

namespace lathe::fuse {

/// Trees and kernels end where their code would grow beyond these, in instructions: that bounds the compiler's recursion and
/// keeps the time it takes linear, and what goes through memory more often is little beside so much work.
constexpr unsigned largestTree = 400, largestKernel = 1200;

class Trees {
public:
  /// `packsImages`: what scales the channels that a convolution reads is computed there. `gathersLanes`: elements that are taken one by one cost more than a trip
  /// through memory.
  Trees(mlir::Block &body, bool packsImages, bool gathersLanes);

  /// Is the value kept in memory or computed in its own right (against: computed at its use)?
  bool isRoot(mlir::Operation *op) const { return roots.contains(op); }
  void addRoot(mlir::Operation *op) { roots.insert(op); }
  /// Whether the op's tree, which reads elements where they lie, is too large for tiles that are transposed in registers: it is stored first as it is computed.
  bool isLargeToTurn(mlir::Operation *op) const;
  /// An estimate of the instructions that the op and its tree take.
  unsigned weightOf(mlir::Operation *op) const { return weights.lookup(op); }
  /// How often the value would be computed if those who read it had not been refused; 0 where they were not.
  int64_t repeatsOf(mlir::Operation *op) const { return repeats.lookup(op); }
  /// Read from memory by everybody: a function argument, a host op's result, or a constant that is no splat.
  static bool isExternal(mlir::Value v);
  /// A constant with one value everywhere.
  static bool isSplat(mlir::Value v);

  /// One way from a value up to something that uses it in its tree: the ops passed, nearest to the leaf first.
  struct Leaf {
    mlir::Value value;
    std::vector<mlir::Operation *> path;
  };
  /// What the tree of `value` reads: results of other roots and external values, each with one path (the first found).
  std::vector<Leaf> leaves(mlir::Value value) const;
  /// The leaves of a root's operands.
  std::vector<Leaf> leavesOf(mlir::Operation *root) const;
  /// Slices that an element of a root is made of: places of a window. `stepped`: some go along the last dimension in steps; `repeated`: some elements lie
  /// side by side several times.
  struct Taps {
    unsigned count = 0;
    bool stepped = false, repeated = false;
  };
  Taps tapsOf(mlir::Operation *root) const;
  /// Whether elements along the last dimension are taken by a list, or computed from such, where lanes gather.
  bool takesEach(mlir::Operation *op) const;
  /// The op itself and what it computes inside its tree.
  std::vector<mlir::Operation *> opsOf(mlir::Operation *root) const;

private:
  void collect(mlir::Value v, std::vector<mlir::Operation *> &path, std::vector<Leaf> &out,
               llvm::DenseSet<mlir::Value> &seen) const;
  bool mustBeRoot(mlir::Operation *op);
  bool areStoredBytes(mlir::Operation *op) const;
  /// Weighs the op with its tree; makes roots of the heaviest below where that is too much.
  void weigh(mlir::Operation *op);

  bool packsImages, gathersLanes;
  llvm::DenseSet<mlir::Operation *> roots;
  llvm::DenseMap<mlir::Operation *, unsigned> weights;
  llvm::DenseMap<mlir::Operation *, int64_t> repeats;
};

/// Ops that compute with elements and can be evaluated at any index: elementwise, concat, pad, gathers.
bool isPointwise(mlir::Operation *op);
/// The step of a slice along the last dimension; 1 of anything else.
int64_t lastStep(mlir::Operation *op);
/// A cost that is not worth paying twice: transcendental functions, divisions, roots.
bool isHeavy(mlir::Operation *op);
/// A reduction, a convolution, a scan, a sort: computed in a loop of its own, from elements that may be computed.
bool hasOwnLoop(mlir::Operation *op);
/// Contraction or attention: reads its operands from memory.
bool isHeavyRoot(mlir::Operation *op);
/// A sum of products with a matrix that is unpacked from words: a contraction but for how its second factor is made.
bool isUnpackedProduct(mlir::Operation *op);

} // namespace lathe::fuse

#endif // LATHE_LIB_FUSE_TREES_H
