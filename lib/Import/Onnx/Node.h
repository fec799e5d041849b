//===- Node.h - What an operator's handler sees ----------------------------===//
//
// One node of the model: its operands as values of the lathe dialect, its attributes, its results, and a builder whose
// location is the node. Every accessor checks what the file claims and throws Failure (Failure.h) when it does not hold, so
// handlers are straight-line code.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_NODE_H
#define LATHE_LIB_IMPORT_ONNX_NODE_H

#include "Failure.h"
#include "ModelFile.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::onnx {

using ir::Dims;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;
using shape::Expr;

class GraphImporter;
using Attributes = std::map<std::string, const AttributeProto *>;

/// `tensor<2x3xf32>`, and `tensor<batch x 3 x f32>` where sizes are symbols.
std::string describe(Type type);

class Node {
public:
  Node(GraphImporter &importer, const NodeProto &proto, int64_t opset, Attributes attributes, std::vector<Value> inputs,
       mlir::Location loc);

  ir::GraphBuilder g;
  GraphImporter &importer;
  const NodeProto &proto;

  int64_t opset() const { return version; }

  // Operands.
  unsigned numInputs() const { return inputs.size(); }
  bool has(unsigned i) const { return i < inputs.size() && inputs[i]; }
  Value in(unsigned i) const;                                        ///< a Failure when it is absent
  Value maybe(unsigned i) const { return has(i) ? inputs[i] : Value(); } ///< null when it is absent

  // Attributes; the default where the node has none, a Failure where it has one of another type.
  bool hasAttribute(llvm::StringRef name) const { return attributes.count(name.str()); }
  int64_t integer(llvm::StringRef name, int64_t otherwise) const;
  bool flag(llvm::StringRef name, bool otherwise) const { return integer(name, otherwise) != 0; }
  int64_t requiredInteger(llvm::StringRef name) const;
  double real(llvm::StringRef name, double otherwise) const;
  std::string text(llvm::StringRef name, llvm::StringRef otherwise) const;
  llvm::SmallVector<int64_t> integers(llvm::StringRef name) const; ///< empty when absent
  const TensorProto *tensor(llvm::StringRef name) const;           ///< null when absent
  const GraphProto *graph(llvm::StringRef name) const;             ///< null when absent
  const AttributeProto *attribute(llvm::StringRef name) const;     ///< of any type, null when absent
  /// The rank that the model declares for a result, where it does.
  std::optional<int64_t> declaredRank(unsigned output) const;

  // Axes, counted from the end when negative.
  int64_t axis(int64_t value, int64_t rank) const;
  llvm::SmallVector<int64_t> axes(llvm::ArrayRef<int64_t> values, int64_t rank) const; ///< sorted, each once

  // Operands that say sizes, positions or axes: they follow from constants, sizes and elements of the model's inputs (symbols
  // like `k[0]`, bound when the model runs), or a Failure.
  Dims sizes(unsigned input) const;                           ///< rank 0 or 1, checked to be >= 0 where they are not known
  Dims values(unsigned input) const;                          ///< of either sign
  Dims sizesOf(Value integers) const;                         ///< the same of a value that a handler made
  Expr sizeScalarOf(Value number, unsigned input) const;      ///< one size as any numeric type
  llvm::SmallVector<int64_t> constants(unsigned input) const; ///< as sizes, and all constant
  Expr sizeScalar(unsigned input) const;
  Expr valueScalar(unsigned input) const; ///< of either sign
  int64_t constantScalar(unsigned input) const;
  /// Axes, which may be elements of an input: 0 to rank - 1 each, as one-hot flags where they are not known (see axisFlag).
  Dims axisValues(unsigned input, int64_t rank) const;
  /// 1 where the axis is `place`, else 0.
  Expr axisFlag(const Expr &axis, int64_t place);
  /// A name for a computed size (see SizeModel::define).
  Expr define(llvm::StringRef what, const Expr &value, std::optional<int64_t> max = std::nullopt);
  /// Whether the value depends on what is known only when the model runs.
  bool readsElement(const Expr &e) const;
  /// e >= min: known, or checked by the artifact.
  void requireAtLeast(const Expr &e, int64_t min, llvm::StringRef what);
  /// The artifact checks left KIND right (eq, le, ne).
  void require(const Expr &left, const char *kind, const Expr &right, llvm::StringRef says);
  /// From the attribute (before the operator took an operand) or the operand; empty when there is neither.
  llvm::SmallVector<int64_t> attributeOrInput(llvm::StringRef name, unsigned input) const;

  // Types.
  int64_t rank(Value v) const { return ir::typeOf(v).getRank(); }
  Dims dims(Value v) const { return ir::dimsOf(v); }
  /// One of them. Throws Failure where the operand has too few.
  shape::Expr dim(Value v, int64_t index) const;
  Type element(Value v) const { return ir::elementOf(v); }
  bool isFloat(Value v) const { return llvm::isa<mlir::FloatType>(element(v)); }
  bool isInteger(Value v) const { return llvm::isa<mlir::IntegerType>(element(v)) && !isBool(v); }
  bool isBool(Value v) const { return element(v).isInteger(1); }
  void requireFloat(Value v) const;
  void requireNumber(Value v) const;
  void requireInteger(Value v) const;
  void requireBool(Value v) const;
  void requireSameElement(llvm::ArrayRef<Value> values) const;
  void requireRank(Value v, int64_t rank) const;
  void requireRankAtLeast(Value v, int64_t rank) const;
  Type elementOfOnnx(int64_t dataType) const;

  /// Brings the values to common sizes (numpy's rule). Sizes that are equal only at run time become a relation of the model.
  void broadcast(llvm::MutableArrayRef<Value> values);
  Value broadcastTo(Value v, llvm::ArrayRef<Expr> dims); ///< one-way
  Dims commonDims(llvm::ArrayRef<Expr> a, llvm::ArrayRef<Expr> b, llvm::ArrayRef<Value> blame);
  /// The value with its dimensions repeated that may be 1 in a run and are not among the result's, `dims`.
  Value spread(Value v, llvm::ArrayRef<Expr> dims);
  /// A run checks that `room` elements beside a window are none or more, or a whole stride less (SizeModel::requireRoom).
  void requireRoom(const shape::Expr &room, const shape::Expr &stride);
  /// An axis that may be shorter than `to` in a run, with the last place again behind the others. Null where it is as long, or one place known to be
  /// meant for all.
  Value stretch(Value v, int64_t axis, const Expr &to);
  /// The value with its open sizes brought to the constants that `dims` has there: each is 1 in a run, or the constant.
  Value spreadToConstants(Value v, llvm::ArrayRef<Expr> dims);
  /// Two sizes that must be the same: proven, or a relation of the model, or a Failure that says what they are.
  void requireEqual(const Expr &a, const Expr &b, llvm::StringRef what);
  /// a / b, where b divides a: proven, or a relation of the model, or a Failure.
  /// Whether large sizes of the model's inputs leave some (SizeModel.h).
  bool countsElements(const Expr &e) const;
  /// It is no less than 0, in all that is built.
  void assumeNotNegative(const Expr &e, llvm::StringRef what);
  Expr exactQuotient(const Expr &a, const Expr &b, llvm::StringRef what);
  /// The size with everything known applied.
  Expr simplify(const Expr &e) const { return g.facts.simplify(e); }
  /// The same elements under other sizes, which are as many: proven, or a relation of the model, or a Failure.
  Value reshape(Value v, llvm::ArrayRef<Expr> dims);

  /// Half-precision values as f32, others as they are: what compositions compute in.
  Value wide(Value v) { return element(v).isF16() || element(v).isBF16() ? g.cast(v, g.b.getF32Type()) : v; }
  /// A rank-0 constant of the element type, at full precision for integers.
  Value constantInteger(int64_t value, Type element);
  Value constant(const TensorProto &tensor);
  Value constant(mlir::ElementsAttr value) { return g.b.create<ir::ConstantOp>(g.loc, value); }

  // Results.
  unsigned numOutputs() const { return proto.output_size(); }
  bool wants(unsigned i) const { return int(i) < proto.output_size() && !proto.output(i).empty(); }
  void out(unsigned i, Value v);
  void out(Value v) { out(0, v); }
  const std::vector<Value> &results() const { return outputs; }

private:
  Expr commonSize(const Expr &x, const Expr &y);
  int64_t version;
  Attributes attributes;
  std::vector<Value> inputs, outputs;
  static constexpr unsigned maxDefined = 256;
  unsigned numDefined = 0; ///< sizes, by define()
};

/// Builds a node's results or throws Failure.
using Handler = void (*)(Node &);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_NODE_H
