//===- Groups.h - Which roots share a kernel -------------------------------===//
//
// Roots (see Trees.h) are placed in program order: each joins the kernel of one of its producers where the iteration domains
// are provably compatible, or starts its own. A contraction takes what follows it elementwise over the same elements; a row
// group takes elementwise ops and reductions over the same rows; a scan or a sort takes what follows it elementwise, and a sort
// also what is gathered in its order. Every refusal is kept with its reason.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_FUSE_GROUPS_H
#define LATHE_LIB_FUSE_GROUPS_H

#include "HostOrder.h"
#include "Trees.h"

namespace lathe::fuse {

/// Ordered: a scan, a sort or a Fourier transform. Host: one op of the host program, no kernel.
enum class GroupKind { Row, Contraction, Attention, Ordered, Scatter, Host };

struct Group {
  GroupKind kind;
  Domain domain;
  std::vector<mlir::Operation *> members; ///< roots, in program order
  std::set<unsigned> deps;                ///< groups whose results it reads
  std::vector<std::string> unfused;
  unsigned weight = 0; ///< of the members' trees
};

class Grouper {
public:
  /// `running`: what holds while a kernel runs, for proofs. `extendsRows`: what many elements need of one sum is computed in its kernel.
  /// `storesBothWays`: what is kept in two orders is stored by one.
  Grouper(mlir::Block &body, const shape::Facts &facts, Trees &trees, HostOrder &host, const shape::Facts &running, bool extendsRows,
          bool storesBothWays)
      : body(body), facts(facts), running(running), trees(trees), host(host), extendsRows(extendsRows), storesBothWays(storesBothWays) {}

  void run();
  /// Groups in an order in which they can run.
  std::vector<unsigned> order() const;

  /// The value whose layout a member's result is kept in: itself, or where every reader takes it through one chain of views
  /// that moves elements, the view. `domain` then has the view's indices.
  mlir::Value storageOf(const Group &group, mlir::Value v, Domain &domain) const;

  std::vector<Group> groups;
  llvm::DenseMap<mlir::Operation *, unsigned> groupOf;

private:
  // Groups.cpp.
  void place(mlir::Operation *op);
  void start(mlir::Operation *op, Group group);
  bool reaches(unsigned from, unsigned to) const;
  std::set<unsigned> producers(mlir::Operation *op) const;

  // TurnedRows.cpp: what a transpose behind a group would put into another order than the group works in.
  /// Whether a value with these indices is stored in its own order although the view, a transpose, follows: tiles of squares that are transposed in
  /// registers take no large bodies, and what is read along rows that are reduced or scanned is stored along them.
  bool staysInOrder(const Group &group, mlir::Operation *view, const Domain &domain, const Dims &indices) const;
  /// Whether an elementwise op takes such a value behind the view.
  bool readsTurned(const Group &group, mlir::Operation *op) const;
  /// Whether the group reduces rows of what it reads along them, as they lie.
  bool readsAlongRows(const Group &group) const;
  bool comesInOrder(const Group &group, mlir::Value value, llvm::SmallPtrSetImpl<mlir::Operation *> &seen) const;
  /// Whether a value of elements of such rows has others side by side than they do.
  bool liesAcrossRows(const Group &group, mlir::Value value, const Dims &indices) const;

  // GroupStarts.cpp.
  void startRow(mlir::Operation *op);
  Group startHeavy(mlir::Operation *op);
  Group startContraction(ir::ContractOp op);
  Group startAttention(ir::AttentionOp op);
  void startConv(ir::ConvOp op);
  void startOrdered(mlir::Operation *op);
  void startTransform(ir::FftOp op);
  void startScatter(ir::ScatterOp op);
  void startCompact(ir::CompactOp op);
  /// The copy that was put before the first operand whose memory no stride describes, or whose reads are not proven to stay
  /// inside of it; null when all are readable.
  mlir::Operation *copyUnreadable(Group &g, mlir::Operation *op);

  // GroupJoins.cpp: each says why not, or nothing.
  std::string tryJoin(unsigned id, mlir::Operation *op);
  /// Why a value of the group must not be compared in it; nothing where none is.
  std::string checkEquality(const Group &group, mlir::Operation *op) const;
  std::string joinPointwise(Group &trial, mlir::Operation *op, const Dims &indices, unsigned added,
                            size_t columnsBefore);
  /// Why the group's points are not those of a value with these indices, each once; nothing where they are.
  std::string checkCoverage(const Group &trial, mlir::Value value, const Dims &indices) const;
  /// Takes the elements of something else in the order of a sort.
  std::string joinTaken(Group &trial, ir::GatherNdOp op, const Dims &indices);
  std::string joinReduce(Group &trial, ir::ReduceOp op, const Dims &indices, unsigned added);
  std::string checkExtension(const Group &group, unsigned oldAxes);
  bool leavesFewRows(const Group &group, const std::set<std::string> &reduced) const;
  bool repeatsRow(const Group &group) const;
  /// Whether along the axes behind the first `oldAxes` a long sum would be made again many times.
  bool repeatsSum(const Group &group, unsigned oldAxes) const;
  bool takesWindows(mlir::Operation *member) const;
  bool sumsWithinRows(const Group &group) const;
  /// Indices of `value` over the group's axes, from a leaf whose indices are known; the trial that found them is assigned.
  std::optional<Dims> derive(Group &trial, mlir::Value value, unsigned &added);
  /// Walks the tree of `value` at these indices: what it reads of the group must be read where it was computed; what it reads
  /// else becomes known at its indices. Says why not, or nothing.
  std::string checkReads(Group &trial, mlir::Value value, const Dims &indices);

  mlir::Block &body;
  const shape::Facts &facts, &running;
  Trees &trees;
  HostOrder &host;
  bool extendsRows, storesBothWays;
};

/// Axes of a contraction's second operand; 0 for other groups.
size_t columnAxes(const Group &group);

/// A short name of an op for messages: its model node where it has one.
std::string nodeName(mlir::Operation *op);

} // namespace lathe::fuse

#endif // LATHE_LIB_FUSE_GROUPS_H
