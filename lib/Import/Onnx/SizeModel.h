//===- SizeModel.h - The sizes of a model ----------------------------------===//
//
// Names the dynamic dimensions of the model's inputs, applies what the user says of them, and collects the relations that
// the operators need (past + seq = total, 4 divides n). A relation found while importing changes the types of values that
// exist already, so the graph is imported again with all relations known from the start.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_SIZEMODEL_H
#define LATHE_LIB_IMPORT_ONNX_SIZEMODEL_H

#include "OnnxModel.pb.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Import/Options.h"

namespace lathe::onnx {

class SizeModel {
public:
  explicit SizeModel(const ImportOptions &options) : options(options) {}

  /// The dimensions of every input, from the file and the options. Throws Failure (unknown names, no shape, ...).
  void declareInputs(llvm::ArrayRef<const ValueInfoProto *> inputs);
  /// The dimensions of a declared input, by its place, in the model's own names.
  const ir::Dims &inputDims(unsigned index) const { return inputs[index]; }

  /// Records that the sizes are equal; false when they cannot be.
  bool assumeEqual(const shape::Expr &a, const shape::Expr &b);
  /// Records that k divides e; false when it cannot.
  bool assumeDivides(const shape::Expr &k, const shape::Expr &e);

  const shape::Facts &facts() const { return known; }
  /// How much has been assumed so far.
  size_t numAssumptions() const { return numFound; }

  /// Builds the symbol and relation ops.
  void emit(mlir::OpBuilder &b, mlir::Location loc) const;

private:
  shape::Expr inputDim(const std::string &input, unsigned index, const TensorShapeProto::Dimension *dim,
                       const std::string *option);
  bool assumeLimit(const shape::Expr &a, const shape::Expr &b);
  shape::Expr named(const std::string &name);
  void declareSymbol(const std::string &name);
  void collectNames(llvm::ArrayRef<const ValueInfoProto *> inputs);
  void checkOptions(llvm::ArrayRef<const ValueInfoProto *> inputs) const;

  struct Symbol {
    std::string name;
    int64_t min, max;
    std::vector<int64_t> hints;
  };
  struct Relation {
    shape::Expr left, right;
    const char *kind;
  };
  const ImportOptions &options;
  std::vector<Symbol> symbols;
  std::set<std::string> plainNames; ///< names that stand alone as a dimension somewhere
  std::set<std::string> seen;       ///< every name that an input has, fixed or not
  std::vector<Relation> relations;
  std::vector<ir::Dims> inputs;
  shape::Facts known;
  size_t numFound = 0;
};

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_SIZEMODEL_H
