//===- Model.h - ONNX models in memory -------------------------------------===//
#ifndef LATHE_TEST_FUZZ_MODEL_H
#define LATHE_TEST_FUZZ_MODEL_H

#include "OnnxModel.pb.h"
#include "lathe/Interpret/Interpret.h"
#include <variant>

namespace lathe::fuzz {

using interpret::Tensor;
using Shape = std::vector<int64_t>;
using Model = onnx::ModelProto;
using Module = mlir::OwningOpRef<mlir::ModuleOp>;
using Tensors = std::map<std::string, Tensor>;

/// An attribute of a node.
struct Attr {
  std::string name;
  std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
               onnx::GraphProto>
      value;
  Attr(const char *name, int i) : name(name), value(int64_t(i)) {}
  Attr(const char *name, int64_t i) : name(name), value(i) {}
  Attr(const char *name, double f) : name(name), value(float(f)) {}
  Attr(const char *name, const char *s) : name(name), value(std::string(s)) {}
  Attr(const char *name, std::string s) : name(name), value(std::move(s)) {}
  Attr(const char *name, std::vector<int64_t> v) : name(name), value(std::move(v)) {}
  Attr(const char *name, std::vector<float> v) : name(name), value(std::move(v)) {}
  Attr(const char *name, std::vector<std::string> v) : name(name), value(std::move(v)) {}
  Attr(const char *name, onnx::GraphProto g) : name(name), value(std::move(g)) {}
};

int32_t dataTypeOf(mlir::Type element);
mlir::Type elementOf(int32_t dataType, mlir::MLIRContext *context);

onnx::TensorProto toProto(const Tensor &t, const std::string &name);
Tensor fromProto(const onnx::TensorProto &t, mlir::MLIRContext *context);
/// Dimensions other than 1 are these symbols, as far as there are any.
void setType(onnx::ValueInfoProto &info, const Tensor &t, const std::vector<std::string> &symbols = {});
onnx::NodeProto makeNode(const std::string &op, const std::vector<std::string> &inputs,
                         const std::vector<std::string> &outputs, const std::vector<Attr> &attrs = {});
/// A model without nodes, of the operator set that all generated models have.
Model emptyModel();

llvm::Expected<Module> import(const Model &model, mlir::MLIRContext &context);
/// Inputs of a module's @main by name.
std::vector<Tensor> ordered(mlir::ModuleOp module, const Tensors &inputs);

/// Model, inputs: FOLDER/NAME.onnx and .npz.
llvm::Error save(const Model &model, const Tensors &inputs, const std::string &path);
llvm::Expected<Model> loadModel(const std::string &path);
llvm::Expected<Tensors> loadInputs(const std::string &path, mlir::MLIRContext *context);
/// Nodes, inputs and results, one a line.
std::string textOf(const Model &model);

} // namespace lathe::fuzz

#endif // LATHE_TEST_FUZZ_MODEL_H
