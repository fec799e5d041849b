//===- Model.cpp - ONNX models in memory -----------------------------------===//

#include "Model.h"
#include "../../tools/lathe-opt/TensorFiles.h"
#include "lathe/Import/Onnx/OnnxImporter.h"
#include "lathe/Support/Diagnostics.h"
#include <fstream>

using namespace mlir;
using namespace lathe;
using namespace lathe::fuzz;
using llvm::Error;
using llvm::Expected;

namespace {
struct TypeRow {
  int32_t dataType;
  Type (*get)(Builder);
  const char *name;
};
} // namespace

static const TypeRow typeRows[] = {
    {onnx::TensorProto::FLOAT, [](Builder b) -> Type { return b.getF32Type(); }, "float"},
    {onnx::TensorProto::FLOAT16, [](Builder b) -> Type { return b.getF16Type(); }, "float16"},
    {onnx::TensorProto::BFLOAT16, [](Builder b) -> Type { return b.getBF16Type(); }, "bfloat16"},
    {onnx::TensorProto::DOUBLE, [](Builder b) -> Type { return b.getF64Type(); }, "double"},
    {onnx::TensorProto::BOOL, [](Builder b) -> Type { return b.getI1Type(); }, "bool"},
    {onnx::TensorProto::INT8, [](Builder b) -> Type { return b.getI8Type(); }, "int8"},
    {onnx::TensorProto::INT16, [](Builder b) -> Type { return b.getI16Type(); }, "int16"},
    {onnx::TensorProto::INT32, [](Builder b) -> Type { return b.getI32Type(); }, "int32"},
    {onnx::TensorProto::INT64, [](Builder b) -> Type { return b.getI64Type(); }, "int64"},
    {onnx::TensorProto::UINT8, [](Builder b) -> Type { return b.getIntegerType(8, false); }, "uint8"},
    {onnx::TensorProto::UINT16, [](Builder b) -> Type { return b.getIntegerType(16, false); }, "uint16"},
    {onnx::TensorProto::UINT32, [](Builder b) -> Type { return b.getIntegerType(32, false); }, "uint32"},
    {onnx::TensorProto::UINT64, [](Builder b) -> Type { return b.getIntegerType(64, false); }, "uint64"},
};

int32_t fuzz::dataTypeOf(Type element) {
  for (const TypeRow &row : typeRows)
    if (row.get(Builder(element.getContext())) == element)
      return row.dataType;
  return 0;
}

Type fuzz::elementOf(int32_t dataType, MLIRContext *context) {
  for (const TypeRow &row : typeRows)
    if (row.dataType == dataType)
      return row.get(Builder(context));
  return {};
}

onnx::TensorProto fuzz::toProto(const Tensor &t, const std::string &name) {
  onnx::TensorProto p;
  p.set_name(name);
  p.set_data_type(dataTypeOf(t.type.getElementType()));
  for (int64_t d : t.shape())
    p.add_dims(d);
  std::vector<char> bytes = interpret::toBytes(t);
  p.set_raw_data(bytes.data(), bytes.size());
  return p;
}

Tensor fuzz::fromProto(const onnx::TensorProto &t, MLIRContext *context) {
  Shape shape(t.dims().begin(), t.dims().end());
  return interpret::fromBytes(RankedTensorType::get(shape, elementOf(t.data_type(), context)), t.raw_data().data());
}

void fuzz::setType(onnx::ValueInfoProto &info, const Tensor &t, const std::vector<std::string> &symbols) {
  auto *type = info.mutable_type()->mutable_tensor_type();
  type->set_elem_type(dataTypeOf(t.type.getElementType()));
  type->mutable_shape()->clear_dim();
  for (auto [i, d] : llvm::enumerate(t.shape())) {
    auto *dim = type->mutable_shape()->add_dim();
    if (i < symbols.size() && d != 1) // a 1 may be there to be repeated
      dim->set_dim_param(symbols[i]);
    else
      dim->set_dim_value(d);
  }
}

namespace {
/// Puts a value of any kind into the message.
struct AttrWriter {
  onnx::AttributeProto &to;
  void operator()(int64_t v) { to.set_type(to.INT), to.set_i(v); }
  void operator()(float v) { to.set_type(to.FLOAT), to.set_f(v); }
  void operator()(const std::string &v) { to.set_type(to.STRING), to.set_s(v); }
  void operator()(const std::vector<int64_t> &v) {
    to.set_type(to.INTS), to.mutable_ints()->Assign(v.begin(), v.end());
  }
  void operator()(const std::vector<float> &v) {
    to.set_type(to.FLOATS), to.mutable_floats()->Assign(v.begin(), v.end());
  }
  void operator()(const std::vector<std::string> &v) {
    to.set_type(to.STRINGS);
    for (const std::string &s : v)
      to.add_strings(s);
  }
  void operator()(const onnx::GraphProto &v) { to.set_type(to.GRAPH), *to.mutable_g() = v; }
};
} // namespace

onnx::NodeProto fuzz::makeNode(const std::string &op, const std::vector<std::string> &inputs,
                               const std::vector<std::string> &outputs, const std::vector<Attr> &attrs) {
  onnx::NodeProto node;
  node.set_op_type(op);
  for (const std::string &s : inputs)
    node.add_input(s);
  for (const std::string &s : outputs)
    node.add_output(s);
  if (!outputs.empty())
    node.set_name(outputs[0]);
  for (const Attr &a : attrs) {
    onnx::AttributeProto &p = *node.add_attribute();
    p.set_name(a.name);
    std::visit(AttrWriter{p}, a.value);
  }
  return node;
}

Model fuzz::emptyModel() {
  Model m;
  m.set_ir_version(10);
  m.add_opset_import()->set_version(23);
  m.mutable_opset_import(0)->set_domain("");
  m.mutable_graph()->set_name("g");
  return m;
}

Expected<Module> fuzz::import(const Model &model, MLIRContext &context) {
  std::string bytes = model.SerializeAsString();
  return importOnnxBytes(bytes, "model.onnx", /*isText=*/false, ImportOptions(), context);
}

std::vector<Tensor> fuzz::ordered(ModuleOp module, const Tensors &inputs) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  std::vector<Tensor> out;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    auto name = main.getArgAttrOfType<StringAttr>(i, "lathe.name");
    auto it = inputs.find(name ? name.str() : "");
    if (it != inputs.end())
      out.push_back(it->second);
  }
  return out;
}

Error fuzz::save(const Model &model, const Tensors &inputs, const std::string &path) {
  std::ofstream(path + ".onnx", std::ios::binary) << model.SerializeAsString();
  return tool::npyFiles().write(path + ".npz", {inputs.begin(), inputs.end()});
}

Expected<Model> fuzz::loadModel(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  Model model;
  if (!file || !model.ParseFromString(bytes))
    return userError("{0}: cannot be read", path);
  return model;
}

Expected<Tensors> fuzz::loadInputs(const std::string &path, MLIRContext *context) {
  return tool::npyFiles().read(path, context);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string typeText(const onnx::ValueInfoProto &info) {
  const auto &type = info.type().tensor_type();
  std::string text;
  for (const TypeRow &row : typeRows)
    if (row.dataType == type.elem_type())
      text = row.name;
  std::vector<std::string> dims;
  for (const auto &d : type.shape().dim())
    dims.push_back(d.has_dim_param() ? d.dim_param() : std::to_string(d.dim_value()));
  return text + "[" + llvm::join(dims, ",") + "]";
}

static std::string attrText(const onnx::AttributeProto &a) {
  std::string text = a.name() + "=";
  llvm::raw_string_ostream os(text);
  if (a.type() == a.INT)
    os << a.i();
  else if (a.type() == a.FLOAT)
    os << llvm::format("%g", a.f());
  else if (a.type() == a.STRING)
    os << a.s();
  else if (a.type() == a.INTS)
    llvm::interleave(a.ints(), os << "[", ","), os << "]";
  else if (a.type() == a.FLOATS)
    llvm::interleave(a.floats(), os << "[", ","), os << "]";
  else if (a.type() == a.GRAPH)
    os << "{" << a.g().node_size() << " nodes}";
  return text;
}

/// Small integer constants are worth seeing: shapes, axes, pads.
static std::string constantText(const onnx::TensorProto &t) {
  int64_t count = 1;
  std::string text = t.name() + " = const[";
  for (int64_t d : t.dims()) {
    text += (text.back() == '[' ? "" : ",") + std::to_string(d);
    count *= d;
  }
  text += "]";
  if (t.data_type() != onnx::TensorProto::INT64 || count > 8)
    return text;
  std::vector<std::string> values;
  for (int64_t i = 0; i < count; ++i) {
    int64_t v;
    std::memcpy(&v, t.raw_data().data() + 8 * i, 8);
    values.push_back(std::to_string(v));
  }
  return text + " {" + llvm::join(values, ",") + "}";
}

std::string fuzz::textOf(const Model &model) {
  std::string text;
  for (const auto &i : model.graph().input())
    text += "  input " + i.name() + " " + typeText(i) + "\n";
  for (const auto &t : model.graph().initializer())
    text += "  " + constantText(t) + "\n";
  for (const onnx::NodeProto &n : model.graph().node()) {
    std::vector<std::string> attrs;
    for (const auto &a : n.attribute())
      attrs.push_back(attrText(a));
    text += "  " + llvm::join(n.output(), ", ") + " = " + n.op_type() + "(" + llvm::join(n.input(), ", ") + ")" +
            (attrs.empty() ? "" : " " + llvm::join(attrs, " ")) + "\n";
  }
  std::vector<std::string> outputs;
  for (const auto &o : model.graph().output())
    outputs.push_back(o.name());
  return text + "  results " + llvm::join(outputs, ", ") + "\n";
}
