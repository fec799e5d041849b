//===- Graph.h - A random graph while it grows -----------------------------===//
#ifndef LATHE_TEST_FUZZ_GRAPH_H
#define LATHE_TEST_FUZZ_GRAPH_H

#include "Model.h"
#include "Rng.h"

namespace lathe::fuzz {

using Name = std::string;
using Names = std::vector<Name>;

/// Of the model while it is generated. The twin is the same value computed from inputs that differ by some rounding
/// errors: where a node makes the two differ by more than that, its result depends on how one rounds, and no comparison
/// of it would say anything.
struct Value {
  Tensor value, twin;
  bool constant = false;

  mlir::Type element() const { return value.type.getElementType(); }
  llvm::ArrayRef<int64_t> shape() const { return value.shape(); }
  int64_t rank() const { return value.type.getRank(); }
  int64_t dim(int64_t i) const { return value.shape()[i]; }
  bool isFloat() const { return value.isFloat(); }
  bool isBool() const { return element().isInteger(1); }
  bool isInt() const { return !isFloat() && !isBool(); }
};

class Graph {
public:
  Graph(uint64_t seed, mlir::MLIRContext &context);

  Rng rng;
  mlir::MLIRContext &context;
  mlir::Builder build;

  /// A value to go on with, recent ones more often.
  std::optional<Name> pick(llvm::function_ref<bool(const Value &)> ok);
  std::optional<Name> pickFloat(llvm::function_ref<bool(const Value &)> ok = [](const Value &) { return true; });
  const Value &operator[](const Name &name) const { return values.at(name); }

  Name input(mlir::Type element, Shape shape);
  Name constant(Tensor t);
  Name random(mlir::Type element, Shape shape, double scale = 1);
  Name ints(Shape values) { return ints(values, {int64_t(values.size())}); }
  Name ints(const Shape &values, const Shape &shape);
  Name scalar(mlir::Type element, double v);

  /// Adds a node if the importer takes it and its results are sound: finite, not too large, not subject to rounding.
  /// `captures` are values that its subgraphs use. The results are in `last`.
  bool add(const std::string &op, const Names &inputs, const std::vector<Attr> &attrs = {}, unsigned outputs = 1,
           const Names &captures = {});
  /// Several nodes as one step; `results` are those of its values that others may use.
  bool addGroup(const std::vector<onnx::NodeProto> &group, const Names &results, const Names &captures = {});
  Names last;
  Name name(const char *prefix) { return prefix + std::to_string(++counter); }

  /// The model; values that nobody reads, and some others, are its results. Sizes of inputs are symbols if `open`.
  Model finish(bool open);
  Tensors inputValues() const;
  size_t numNodes() const { return nodes.size(); }
  /// How often each operator was tried, and how often it was taken.
  std::map<std::string, std::pair<unsigned, unsigned>> tried;

private:
  bool sound(const Value &v) const;
  std::optional<std::vector<Tensor>> evaluate(mlir::ModuleOp module, const Names &inputs, bool twin);
  Model single(const std::vector<onnx::NodeProto> &group, const Names &results, const Names &captures, Names &inputs);
  void disturb(Tensor &t, double scale);

  std::map<Name, Value> values;
  Names order, inputs;
  std::vector<onnx::NodeProto> nodes;
  unsigned counter = 0;
};

/// One more node or a few; false when it came to nothing.
bool grow(Graph &g);
/// A whole graph.
void generate(Graph &g);

/// The relative size of a rounding error of the type.
double roundingOf(mlir::Type element);

/// Families of operators, by how often each is wanted.
using Step = bool (*)(Graph &);
struct Family {
  unsigned weight;
  Step step;
};
std::vector<Family> elementwiseSteps();
std::vector<Family> viewSteps();
std::vector<Family> reductionSteps();
std::vector<Family> windowSteps();
std::vector<Family> productSteps();
std::vector<Family> indexSteps();
std::vector<Family> integerSteps();
std::vector<Family> quantizationSteps();
std::vector<Family> controlSteps();
std::vector<Family> otherSteps();

} // namespace lathe::fuzz

#endif // LATHE_TEST_FUZZ_GRAPH_H
