//===- HostSteps.h - A function as steps of a program ----------------------===//
#ifndef LATHE_LIB_PIPELINE_HOSTSTEPS_H
#define LATHE_LIB_PIPELINE_HOSTSTEPS_H

#include "HostProgram.h"
#include "lathe/Artifact/ArtifactBuilder.h"
#include "lathe/Artifact/LateSymbols.h"
#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::pipeline {

/// What a relation op asks for.
struct SizeCheck {
  LatheCheckKind kind;
  shape::Expr a, b;
  std::string says;
};
SizeCheck checkOf(ir::RelationOp op);

/// Gives every tensor of a function a buffer and every kernel a step. Branches and loops are written out in place: their
/// functions' arguments are the buffers that they are given, and what they return goes where the caller wants it.
class StepWriter {
public:
  using BufferId = artifact::BufferId;

  /// Memory for a result. One whose size is known only when the model runs is allocated before it is written.
  struct Target {
    BufferId buffer;
    bool allocate;
  };

  StepWriter(artifact::ArtifactBuilder &builder, artifact::Program &program, mlir::ModuleOp module,
             const llvm::DenseMap<mlir::Operation *, artifact::KernelId> &kernels, llvm::ArrayRef<LaunchedTogether> together);

  llvm::Error run(mlir::func::FuncOp function, llvm::ArrayRef<BufferId> arguments, llvm::ArrayRef<Target> results);
  bool isLate(mlir::Type type) const;

private:
  using Values = std::vector<std::pair<std::string, shape::Expr>>;
  struct Loop;

  llvm::Error addOp(mlir::Operation &op);
  void addKernel(kernel::GenericOp op, const std::optional<shape::Expr> &when = std::nullopt);
  /// What a launch gives for these symbols.
  std::vector<shape::Expr> sizesOf(llvm::ArrayRef<std::string> symbols) const;
  void addRead(ir::ReadOp op);
  void addChecks(std::vector<SizeCheck> &due);
  void addCall(ir::CallOp op);
  llvm::Error addIf(ir::IfOp op);
  // HostLoops.cpp
  llvm::Error addLoop(ir::LoopOp op);
  llvm::Error addTogether(const LaunchedTogether &together, mlir::Operation *op);
  void startLoop(Loop &loop);
  void placeCarried(Loop &loop);
  void placeCollected(Loop &loop);
  llvm::Error addIteration(Loop &loop);
  void collect(Loop &loop, unsigned index);

  static Values assignments(mlir::ArrayAttr symbols, mlir::ArrayAttr values);
  static shape::Expr bytesOf(mlir::Type type);
  static LatheDType dtypeOfValue(mlir::Value v);
  void place(mlir::func::ReturnOp ret, llvm::ArrayRef<Target> results);
  bool endsInPlace(mlir::Value v);
  bool mayBeWrittenEarly(mlir::func::ReturnOp ret, unsigned result);
  void finish(mlir::func::ReturnOp ret, llvm::ArrayRef<Target> results);
  void finishStates(mlir::func::ReturnOp ret, llvm::ArrayRef<Target> results);
  llvm::Expected<BufferId> constant(mlir::Type type, llvm::Expected<artifact::ByteSource> bytes);
  Target newTarget(mlir::Type type);
  Target targetFor(mlir::Value v);
  BufferId bufferFor(mlir::Value v);
  BufferId inPlaceOf(BufferId operand, mlir::Value v);
  mlir::Value replacedBy(kernel::GenericOp op);
  mlir::func::FuncOp function(mlir::FlatSymbolRefAttr ref);

  artifact::ArtifactBuilder &builder;
  artifact::Program &program;
  mlir::ModuleOp module;
  const llvm::DenseMap<mlir::Operation *, artifact::KernelId> &kernels;
  llvm::DenseMap<mlir::Operation *, const LaunchedTogether *> launched; ///< by each of a launch's ops
  artifact::LateSymbols late;
  std::set<std::string> launchSizes; ///< those of them that only launches are given
  llvm::StringMap<std::vector<SizeCheck>> scoped; ///< by function
  std::set<std::string> available;                ///< late symbols that have values
  unsigned numFlags = 0, numBranches = 0; ///< branches around the function that is written
  llvm::DenseMap<mlir::Value, BufferId> buffers;
  llvm::DenseMap<mlir::Value, std::pair<Target, unsigned>> targetOf; ///< kernels' results that are written where they go
};

} // namespace lathe::pipeline

#endif // LATHE_LIB_PIPELINE_HOSTSTEPS_H
