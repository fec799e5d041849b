//===- Importer.h - One attempt to import a program --------------------------===//
//
// Inputs and weights become values, and each node is translated in turn. A node that cannot be translated is noted and replaced
// by a placeholder of the type that the file gives, so that one run reports all of them. The file also says the type of every
// result, which is compared with what was built.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_IMPORTER_H
#define LATHE_LIB_IMPORT_FX_IMPORTER_H

#include "OpContext.h"
#include "Symbols.h"
#include "Values.h"
#include "Weights.h"
#include "lathe/Import/Fx/ImportFx.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::fx {

/// The tensors that nodes and results of a graph read.
std::set<std::string> readTensors(const Graph &graph);

/// The tensor results of a node in order; "" for one that it does not give.
std::vector<std::string> resultNames(const Node &node);

class Importer {
public:
  Importer(std::string file, Program program, Symbols symbols, Weights &weights, Needs &needs, const ImportOptions &options,
           mlir::MLIRContext &context);

  llvm::Error build();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Nodes, inputs and outputs that cannot be compiled, with reasons; also what is wrong in them.
  std::vector<NodeReport> refused;
  std::vector<std::string> bugs; ///< nodes that came out otherwise than they should
  bool isClean() const { return refused.empty() && bugs.empty(); }
  /// All of it.
  llvm::Error complaints() const;

private:
  llvm::Expected<mlir::RankedTensorType> typeOf(llvm::StringRef tensor, llvm::StringRef what, bool canonical);
  // Inputs and outputs (Importer.cpp).
  llvm::Error addInputs();
  llvm::Error addUserInput(const InputSpec &spec);
  llvm::Error addWeight(const InputSpec &spec);
  llvm::Expected<mlir::ElementsAttr> weightValue(const InputSpec &spec);
  // States (ImportStates.cpp).
  void findStates();
  llvm::Error addState(const InputSpec &spec);
  llvm::Error addNewStates(SmallVector<Value> &results, SmallVector<mlir::Attribute> &attributes);
  bool becomesState(llvm::StringRef value);
  llvm::Error addOutputs();
  // Nodes (ImportNodes.cpp).
  llvm::Error addNode(const Node &node);
  llvm::Error refreshOperands(const Node &node);
  llvm::Error requireBound(const Node &node, const shape::Expr &size, llvm::StringRef what) const;
  llvm::Error translate(const Node &node, llvm::StringRef op, bool inPlace);
  mlir::RankedTensorType unreadType(const std::string &name);
  llvm::Error readResultTypes(OpContext &c, bool inPlace);
  llvm::Error runHandler(OpContext &c, const OpEntry &entry);
  llvm::Error runAlone(OpContext &c, const OpEntry &entry);
  // Complex numbers (ImportComplex.cpp).
  bool isComplex(llvm::StringRef tensor) const;
  bool isComplex(const Node &node) const;
  llvm::Error runOnParts(OpContext &c, const OpEntry &entry);
  llvm::Error runProduct(OpContext &c, const OpEntry &entry, std::map<std::string, Value> re, std::map<std::string, Value> im,
                         SmallVector<Value> &reals, SmallVector<Value> &imaginaries);
  llvm::Expected<SmallVector<Value>> runWith(OpContext &c, const OpEntry &entry, const std::map<std::string, Value> &operands, ComplexPart numbers);
  llvm::Expected<Value> writeParts(const Node &node, const OpEntry &entry, const std::string &self, size_t i, Value of, Value written);
  llvm::Error giveResults(OpContext &c, const OpEntry &entry, bool inPlace);
  llvm::Error giveInPlace(OpContext &c, const OpEntry &entry, const std::string &self, const std::string &name, Value v);
  llvm::Error writeOperand(const OpContext &c, const std::string &self, const std::string &name, Value v);
  // Loops (ImportLoops.cpp).
  llvm::Error whileLoop(const Node &node);
  llvm::Error scanLoop(const Node &node);
  llvm::Error branches(const Node &node);
  llvm::Expected<mlir::func::FuncOp> branchFunction(OpContext &c, const Graph &inner, llvm::ArrayRef<Value> operands, bool isElse,
                                                    Dims &decided);
  std::vector<Statement> statedOfBranch(const Node &node, bool isElse) const;
  SmallVector<Value> inCanonicalSizes(llvm::ArrayRef<Value> list);
  struct Scan;
  llvm::Expected<Scan> readScan(const Node &node);
  llvm::Expected<SmallVector<Value>> buildScan(const Node &node, Scan scan);
  llvm::Expected<SmallVector<Value>> scanStep(const Node &node, const Scan &scan, llvm::ArrayRef<Value> carried,
                                              llvm::ArrayRef<Value> elements, llvm::ArrayRef<Value> others);
  llvm::Expected<SmallVector<Value>> listOf(const Node &node, size_t i);
  llvm::Error keepTypes(const Node &node, llvm::MutableArrayRef<Value> next, llvm::ArrayRef<Value> carried);
  std::string counterName(const Node &node);
  llvm::Expected<SmallVector<Value>> runGraph(const Node &node, const Graph &inner, llvm::ArrayRef<Value> takes);
  llvm::Expected<Value> loopCondition(const Node &node, const Graph &inner, llvm::ArrayRef<Value> takes);
  llvm::Expected<Value> conform(const OpContext &c, Value v, mlir::RankedTensorType want, size_t i);
  llvm::Error needSizes(const OpContext &c, const std::string &tensor) const;
  bool isMisdescribed(const Node &node) const;
  Sharing sharingWith(const Node &node, const OpEntry &entry, const std::string &self, const std::string &result) const;
  ViewLink linkTo(const Node &node, const OpEntry &entry, const std::string &self, size_t i);
  OpContext contextOf(const Node &node);
  llvm::Error readViewTypes(OpContext &c);
  llvm::Expected<Value> viewAgain(const Node &node, const OpEntry &entry, const std::string &self, size_t i, Value of);
  void placeholders(const Node &node);
  std::string operandTypes(const Node &node) const;
  /// Notes what is unsupported, wrong, or our bug, so that one does not hide the others.
  void note(llvm::Error error, llvm::StringRef name, llvm::StringRef op);
  void refuse(llvm::StringRef name, const llvm::Twine &reason) {
    refused.push_back({name.str(), "", 0, (file + ": " + reason).str()});
  }

  std::string file;
  Program program;
  Symbols symbols;
  Weights &weights;
  Needs &needs;
  const ImportOptions &options;
  mlir::OpBuilder builder;
  mlir::Location unknown;
  ir::GraphBuilder g;
  mlir::func::FuncOp main;
  LateSizes late;
  std::vector<std::string> counters; ///< symbols of loops' iterations
  std::set<std::string> counterNames;
  unsigned branchCount = 0;
  // Of the graph that is being built.
  const Graph *graph = &program;
  Values values;
  std::set<std::string> read;  ///< what some node or result reads
  std::set<std::string> misdescribed; ///< their types in the file are wrong, those of their values right
  std::set<std::string> given; ///< inputs and weights, which must not be written
  std::map<std::string, std::string> states; ///< buffers that are written, with the names of their new values; "" for themselves
};

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_IMPORTER_H
