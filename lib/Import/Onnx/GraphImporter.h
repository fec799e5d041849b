//===- GraphImporter.h - The walk over a model's graph ---------------------===//
//
// Brings nodes into an order in which values exist before they are used, resolves names scope by scope (subgraphs see their
// surroundings, functions do not), inlines model-local functions, calls each node's handler, and collects every failure.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_GRAPHIMPORTER_H
#define LATHE_LIB_IMPORT_ONNX_GRAPHIMPORTER_H

#include "Node.h"
#include "SizeModel.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace lathe::onnx {

/// What stays the same when a graph is imported again.
struct Session {
  ModelFile &file;
  mlir::MLIRContext *context;
  SizeModel sizes;
  bool declared = false; ///< sizes knows the inputs
  /// Where the branches of an If give results of different ranks, the one that is taken to run: the other fails when it does.
  bool takesElse = false;
  bool ranksDiffer = false; ///< there was such an If
  std::map<const TensorProto *, mlir::ElementsAttr> constants;
};

/// A failure with the node that it belongs to (no node: the model as a whole).
struct Report {
  std::string node, op;
  int64_t opset = 0;
  bool isUnsupported;
  std::string message;
};

class GraphImporter {
public:
  explicit GraphImporter(Session &session);

  /// The module; incomplete when there are reports.
  mlir::OwningOpRef<mlir::ModuleOp> run();
  const std::vector<Report> &reports() const { return failures; }

  /// Imports a subgraph of a node in place (a branch whose condition is known) and returns its outputs.
  std::vector<Value> inlineSubgraph(const GraphProto &graph, llvm::ArrayRef<Value> arguments);

  /// The elements of an integer tensor that is known when the model runs, as symbols; nothing where it is no input.
  std::optional<ir::Dims> elementsOf(Value v);

  /// A function that a step of the host program runs. What its body reads of its surroundings becomes an argument.
  struct Body {
    mlir::func::FuncOp function;
    std::vector<Value> results;  ///< inside
    std::vector<Value> captures; ///< outside, in the order of the arguments behind the first ones
    shape::Facts facts;          ///< what holds inside
  };
  /// `build` gets the arguments and gives the results. The name is no other body's. For a branch see SizeModel::enterBody.
  Body importBody(llvm::StringRef name, llvm::ArrayRef<Type> arguments, bool isBranch,
                  llvm::function_ref<std::vector<Value>(llvm::ArrayRef<Value>)> build);
  /// Ends the function with its results.
  void finishBody(Body &body);
  /// What there was before a body was built, to come back to when it is of no use.
  struct Attempt {
    std::shared_ptr<const SizeModel::Snapshot> sizes;
    unsigned numBodies;
    std::set<std::string> lateNames;
    size_t numFailures;
  };
  Attempt startAttempt() const { return {state.sizes.save(), numBodies, lateNames, failures.size()}; }
  /// What has failed since.
  llvm::ArrayRef<Report> failuresSince(const Attempt &attempt) const {
    return llvm::ArrayRef<Report>(failures).drop_front(attempt.numFailures);
  }
  void abandon(const Attempt &attempt);
  /// A value of a surrounding function as one of the function that is being built.
  Value bring(Value v);

  mlir::OpBuilder &builder() { return b; }
  Session &session() { return state; }
  /// The tensor's elements; those of narrow types as their codes.
  mlir::ElementsAttr constant(const TensorProto &tensor);
  Value constantValue(const TensorProto &tensor, mlir::Location loc);

private:
  struct Region {
    mlir::func::FuncOp function;
    Region *parent = nullptr;
    llvm::DenseMap<Value, Value> captured;
    std::vector<Value> captures;
    shape::Facts facts = {};
  };
  struct Scope {
    Scope *parent = nullptr;
    const FunctionProto *function = nullptr; ///< the model-local function whose body this is
    Region *region = nullptr;
    std::map<std::string, Value> values; ///< null for a value whose node failed
    std::map<std::string, const TensorProto *> initializers;
    std::map<std::string, int64_t> opsets;
    std::set<std::string> absent; ///< a function's operands that its caller leaves out
    Attributes attributes;        ///< of the function's caller
    std::string path;      ///< of the callers' names, ending in '/'
    unsigned depth = 0;
    bool sealed = false; ///< a function: names of the caller are not visible
  };
  using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

  bool checkInput(const ValueInfoProto &input);
  void importInputs(const GraphProto &graph, mlir::func::FuncOp main, llvm::ArrayRef<const ValueInfoProto *> inputs);
  Value boundInput(unsigned index, const ValueInfoProto &input, Value argument);
  void checkBoundInputs(llvm::ArrayRef<const ValueInfoProto *> inputs) const;
  void importOutputs(const GraphProto &graph, mlir::func::FuncOp main);
  void importNodes(const Nodes &nodes, Scope &scope);
  void importNode(const NodeProto &node, Scope &scope);
  void importCall(const NodeProto &node, const FunctionProto &function, Scope &scope);
  std::vector<Value> runHandler(const NodeProto &node, Scope &scope, int64_t version);
  void checkResult(Value v) const;

  Value capture(Value v, Region &into);
  std::optional<Value> lookup(const std::string &name, Scope &scope); ///< nothing when the name is unknown
  bool isAbsent(const std::string &name, const Scope &scope) const;
  bool readsFailure(const NodeProto &node, Scope &scope);
  void define(const std::string &name, Value v, Scope &scope);
  void addInitializers(const GraphProto &graph, Scope &scope);
  Attributes resolveAttributes(const NodeProto &node, const Scope &scope) const;
  std::map<std::string, int64_t> opsetsOf(const google::protobuf::RepeatedPtrField<OperatorSetIdProto> &imports) const;
  int64_t versionFor(const NodeProto &node, const Scope &scope);
  const FunctionProto *findFunction(const NodeProto &node) const;
  static std::string placeOf(const NodeProto &node, const Scope &scope); ///< the callers' names and its own
  void report(const NodeProto *node, const Scope *scope, int64_t version, const Failure &failure);

  Session &state;
  mlir::OpBuilder b;
  Scope top;
  Region root;
  Region *region = &root;                  ///< whose function is being built
  llvm::DenseMap<Value, ir::Dims> lateElements;
  std::set<std::string> lateNames;
  unsigned numBodies = 0;
  Scope *current = nullptr; ///< of the node whose handler runs
  std::vector<Report> failures;
  std::set<std::string> messages;
  std::set<std::string> missingDomains; ///< of which no operator set is imported
  size_t nodesLeft;
};

/// The nodes in an order in which each follows the producers of what it reads; a Failure names a node on a cycle.
std::vector<const NodeProto *> sortedNodes(const google::protobuf::RepeatedPtrField<NodeProto> &nodes);
/// The name for messages: the node's, or one made of its operator and first output.
std::string nameOf(const NodeProto &node);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_GRAPHIMPORTER_H
