//===- Program.cpp - Reading an ExportedProgram's JSON ----------------------===//

#include "Program.h"
#include "JsonReader.h"
#include "lathe/Import/Elements.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/StringSwitch.h"

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;
using shape::Expr;

namespace {

constexpr int64_t schemaMajor = 8;
constexpr DType float64 = 8;

class ProgramReader : public JsonReader {
public:
  ProgramReader(const std::string &what) : JsonReader(what) {}

  void read(const Object &root);
  TensorMeta tensorMeta(const Value &value, StringRef where);
  Program program;

private:
  Graph *current = &program; ///< the graph that is being read
  int depth = 0;             ///< of graphs in nodes
  std::shared_ptr<Graph> innerGraph(const Value &value, StringRef where);
  Size size(const Value &value, StringRef where);
  void graphValues(const Object &graph);
  Argument argument(const Value &value, StringRef where);
  void fillArgument(Argument &a, StringRef key, const Value &value, StringRef where);
  Size symInt(const Value &value, StringRef where, std::string *symbol);
  std::string tensorName(const Value &value, StringRef where);
  Node node(const Value &value, StringRef where);
  InputSpec inputSpec(const Value &value, StringRef where);
  OutputSpec outputSpec(const Value &value, StringRef where);
  void ranges(const Object &root);
};

std::string indexed(StringRef list, size_t i) { return (list + "[" + llvm::Twine(i) + "]").str(); }

} // namespace

/// {"as_int": 3} or {"as_expr": {"expr_str": ...}}
Size ProgramReader::size(const Value &value, StringRef where) {
  auto [key, content] = variant(value, where);
  if (key == "as_int") {
    int64_t n = asInteger(*content, where);
    return {Expr(n), std::to_string(n)};
  }
  if (key == "as_expr") {
    std::string text = string(asObject(*content, where), "expr_str");
    return {parseSymPy(text), text};
  }
  fail(where + " is neither an integer nor an expression");
  return {Expr(0), ""};
}

TensorMeta ProgramReader::tensorMeta(const Value &value, StringRef where) {
  const Object &o = asObject(value, where);
  TensorMeta meta;
  meta.dtype = integer(o, "dtype");
  for (const Value &v : array(o, "sizes"))
    meta.sizes.push_back(size(v, where));
  int64_t count = 1;
  for (const Size &s : meta.sizes)
    if (std::optional<int64_t> n = s.expr ? s.expr->constant() : std::nullopt)
      if (!multiplyElements(count, *n)) {
        fail(where + " has too many elements");
        break;
      }
  if (const Array *strides = o.getArray("strides"))
    for (const Value &v : *strides)
      meta.strides.push_back(size(v, where));
  const Value *offset = o.get("storage_offset");
  meta.offset = offset ? size(*offset, where) : Size{Expr(0), "0"};
  meta.strided = o.getInteger("layout").value_or(7) == 7;
  return meta;
}

void ProgramReader::graphValues(const Object &graph) {
  for (const auto &[name, value] : object(graph, "tensor_values"))
    current->tensors.emplace(name.str(), tensorMeta(value, "tensor_values['" + name.str() + "']"));
  if (const Object *sizes = graph.getObject("sym_int_values"))
    for (const auto &[name, value] : *sizes)
      current->sizes.emplace(name.str(), size(value, "sym_int_values['" + name.str() + "']"));
  if (const Object *numbers = graph.getObject("sym_float_values")) // tensors of rank 0
    for (const auto &entry : *numbers) {
      TensorMeta meta;
      meta.dtype = float64;
      current->tensors.emplace(entry.first.str(), meta);
    }
  if (const Object *conditions = graph.getObject("sym_bool_values"))
    for (const auto &[name, value] : *conditions)
      if (const Object *o = value.getAsObject()) {
        if (const Object *e = o->getObject("as_expr")) {
          StringRef text = e->getString("expr_str").value_or("");
          current->conditions.emplace(name.str(), NamedCondition{parseSymPyCondition(text), text.str()});
        } else if (std::optional<bool> known = o->getBoolean("as_bool")) {
          current->conditions.emplace(name.str(), NamedCondition{*known ? Condition::all({}) : Condition::any({}), *known ? "True" : "False"});
        }
      }
}

std::string ProgramReader::tensorName(const Value &value, StringRef where) { return string(asObject(value, where), "name"); }

/// {"as_int": 3} or {"as_name": "sym_size_int_1"}
Size ProgramReader::symInt(const Value &value, StringRef where, std::string *symbol) {
  auto [key, content] = variant(value, where);
  if (key == "as_int") {
    int64_t n = asInteger(*content, where);
    return {Expr(n), std::to_string(n)};
  }
  if (key != "as_name") {
    fail(where + " is neither an integer nor the name of one");
    return {};
  }
  std::string name = asString(*content, where);
  if (symbol)
    *symbol = name;
  auto found = current->sizes.find(name);
  return found == current->sizes.end() ? Size{std::nullopt, name} : found->second;
}

Argument ProgramReader::argument(const Value &value, StringRef where) {
  auto [key, content] = variant(value, where);
  Argument a;
  if (content)
    fillArgument(a, key, *content, where);
  return a;
}

void ProgramReader::fillArgument(Argument &a, StringRef key, const Value &value, StringRef where) {
  using Kind = Argument::Kind;
  if (key == "as_sym_float") { // {"as_float": 2.5} or {"as_name": "item"}
    auto [form, content] = variant(value, where);
    a.kind = form == "as_name" ? Kind::Tensor : Kind::Float;
    if (form == "as_name")
      a.tensors.push_back(asString(*content, where));
    else if (content)
      a.floats.push_back(asNumber(*content, where));
    return;
  }
  a.kind = llvm::StringSwitch<Kind>(key)
               .Case("as_none", Kind::None)
               .Case("as_tensor", Kind::Tensor)
               .Cases("as_tensors", "as_optional_tensors", Kind::Tensors)
               .Cases("as_int", "as_sym_int", Kind::Int)
               .Cases("as_ints", "as_sym_ints", Kind::Ints)
               .Case("as_float", Kind::Float)
               .Case("as_floats", Kind::Floats)
               .Case("as_complex", Kind::Complex)
               .Case("as_bool", Kind::Bool)
               .Case("as_bools", Kind::Bools)
               .Case("as_string", Kind::String)
               .Case("as_scalar_type", Kind::DType)
               .Cases("as_layout", "as_device", "as_memory_format", Kind::Ignored)
               .Default(Kind::Other);
  auto plainInt = [&](const Value &v) {
    if (auto number = v.getAsNumber(); number && !v.getAsInteger() && *number >= 9223372036854775808.0) {
      a.ints.push_back({std::nullopt, std::to_string(*number)}); // torch's bound of a sum of counts
      return;
    }
    int64_t n = asInteger(v, where);
    a.ints.push_back({Expr(n), std::to_string(n)});
  };
  auto optionalTensor = [&](const Value &v) {
    const Object &o = asObject(v, where);
    const Value *inner = o.get("as_tensor"); // as_optional_tensors wraps each, as_tensors does not
    if (o.get("as_none"))
      a.tensors.push_back("");
    else
      a.tensors.push_back(tensorName(inner ? *inner : v, where));
  };
  switch (a.kind) {
  case Kind::None:
  case Kind::Ignored:
    return;
  case Kind::Tensor:
    a.tensors.push_back(tensorName(value, where));
    return;
  case Kind::Tensors:
    for (const Value &v : asArray(value, where))
      optionalTensor(v);
    return;
  case Kind::Int:
    if (key == "as_int")
      plainInt(value);
    else
      a.ints.push_back(symInt(value, where, &a.symbol));
    return;
  case Kind::DType:
    plainInt(value);
    return;
  case Kind::Ints:
    for (const Value &v : asArray(value, where))
      if (key == "as_ints")
        plainInt(v);
      else
        a.ints.push_back(symInt(v, where, nullptr));
    return;
  case Kind::Float:
    a.floats.push_back(asNumber(value, where));
    return;
  case Kind::Floats:
    for (const Value &v : asArray(value, where))
      a.floats.push_back(asNumber(v, where));
    return;
  case Kind::Complex:
    for (StringRef part : {"real", "imag"}) {
      const Value *number = asObject(value, where).get(part);
      a.floats.push_back(number ? asNumber(*number, where) : 0);
    }
    return;
  case Kind::Bool:
    a.ints.push_back({Expr(asBool(value, where)), ""});
    return;
  case Kind::Bools:
    for (const Value &v : asArray(value, where))
      a.ints.push_back({Expr(asBool(v, where)), ""});
    return;
  case Kind::String:
    a.text = asString(value, where);
    return;
  case Kind::Other:
    a.text = key.str();
    if (key == "as_graph")
      a.graph = innerGraph(value, where);
    if (const Object *o = value.getAsObject()) // the name of a condition, for assertions
      a.symbol = o->getString("as_name").value_or("").str();
    if (auto found = current->conditions.find(a.symbol); found != current->conditions.end())
      a.condition = found->second.condition;
    return;
  }
}

/// {"name": .., "graph": {..}}
std::shared_ptr<Graph> ProgramReader::innerGraph(const Value &value, StringRef where) {
  constexpr int deepest = 64;
  auto inner = std::make_shared<Graph>();
  if (++depth > deepest)
    fail(where + ": graphs are nested more than " + llvm::Twine(deepest) + " deep");
  if (!failed()) {
    Graph *outer = std::exchange(current, inner.get());
    const Object &graph = object(asObject(value, where), "graph");
    graphValues(graph);
    for (const Value &v : array(graph, "nodes"))
      if (!failed())
        inner->nodes.push_back(node(v, where));
    for (auto [name, list] : {std::pair("inputs", &inner->takes), std::pair("outputs", &inner->gives)})
      for (const Value &v : array(graph, name))
        list->push_back(argument(v, where));
    current = outer;
  }
  --depth;
  return inner;
}

/// The innermost of the lines that a stack trace lists: `File "/home/me/model.py", line 12, in forward`, then the code.
static std::string lineOf(StringRef trace) {
  constexpr size_t maxCode = 100;
  size_t last = trace.rfind("File \"");
  if (last == StringRef::npos)
    return "";
  auto [place, code] = trace.substr(last + 6).split('\n');
  auto [path, rest] = place.split("\", line ");
  StringRef number = rest.take_while([](char c) { return llvm::isDigit(c); });
  std::string line = (path.substr(path.find_last_of("/\\") + 1) + ":" + number).str();
  code = code.split('\n').first.trim();
  return code.empty() ? line : line + ": " + code.take_front(maxCode).str() + (code.size() > maxCode ? "..." : "");
}

std::string fx::describe(const Argument &a) {
  using Kind = Argument::Kind;
  bool symbolic = a.kind == Kind::Int && !a.ints.empty() && (!a.ints[0].expr || !a.ints[0].expr->constant());
  std::string name = a.symbol.empty() ? "" : " '" + a.symbol + "'";
  if (symbolic)
    return "the Python int" + name + ", which varies";
  if (a.kind == Kind::Int && !a.ints.empty())
    return "the Python int " + a.ints[0].expr->str();
  if (a.kind == Kind::Bool && !a.ints.empty())
    return a.ints[0].expr->isZero() ? "the Python bool False" : "the Python bool True";
  if (a.kind == Kind::Float && !a.floats.empty())
    return llvm::formatv("the Python float {0}", a.floats[0]).str();
  if (a.kind == Kind::Complex && a.floats.size() == 2)
    return llvm::formatv("the Python complex number {0} + {1}i", a.floats[0], a.floats[1]).str();
  if (a.kind == Kind::String)
    return "the Python text '" + a.text + "'";
  return a.kind == Kind::Other ? "a value of the kind " + a.text + name : "no tensor";
}

Node ProgramReader::node(const Value &value, StringRef where) {
  const Object &o = asObject(value, where);
  Node n;
  n.target = string(o, "target");
  StringRef target = n.target;
  target.consume_front("torch.ops.");
  n.target = target.str();
  std::string place = (where + " (" + n.target + ")").str();
  for (const Value &v : array(o, "inputs")) {
    const Object &in = asObject(v, place);
    const Value *arg = in.get("arg");
    if (!arg) {
      fail(place + ": an input has no 'arg'");
      return n;
    }
    n.inputs.push_back({in.getString("name").value_or("").str(), argument(*arg, place)});
  }
  for (const Value &v : array(o, "outputs"))
    n.outputs.push_back(argument(v, place));
  if (const Object *metadata = o.getObject("metadata"))
    n.line = lineOf(metadata->getString("stack_trace").value_or(""));
  if (auto name = o.getString("name"))
    n.name = name->str();
  else if (!n.outputs.empty() && !n.outputs[0].tensors.empty())
    n.name = n.outputs[0].tensors[0];
  return n;
}

InputSpec ProgramReader::inputSpec(const Value &value, StringRef where) {
  using Kind = InputSpec::Kind;
  auto [key, content] = variant(value, where);
  InputSpec spec{Kind::Other, "", key.str(), true, {}};
  if (!content)
    return spec;
  const Object &o = asObject(*content, where);
  spec.kind = llvm::StringSwitch<Kind>(key)
                  .Case("parameter", Kind::Parameter)
                  .Case("buffer", Kind::Buffer)
                  .Case("tensor_constant", Kind::Constant)
                  .Case("user_input", Kind::User)
                  .Case("constant_input", Kind::Fixed)
                  .Default(Kind::Other);
  const Value *arg = o.get("arg");
  if (spec.kind == Kind::Other || spec.kind == Kind::Fixed)
    return spec;
  if (!arg) {
    fail(where + " has no 'arg'");
    return spec;
  }
  if (spec.kind == Kind::User) {
    spec.argument = argument(*arg, where);
    if (!spec.argument.tensors.empty())
      spec.value = spec.argument.tensors[0];
    return spec;
  }
  spec.value = tensorName(*arg, where);
  spec.key = string(o, spec.kind == Kind::Parameter ? "parameter_name"
                       : spec.kind == Kind::Buffer  ? "buffer_name"
                                                    : "tensor_constant_name");
  spec.persistent = spec.kind != Kind::Constant && o.getBoolean("persistent").value_or(true);
  return spec;
}

OutputSpec ProgramReader::outputSpec(const Value &value, StringRef where) {
  auto [key, content] = variant(value, where);
  OutputSpec spec{key == "user_output", {}, key.str(), ""};
  if (!content)
    return spec;
  const Object &o = asObject(*content, where);
  if (spec.user) {
    if (const Value *arg = o.get("arg"))
      spec.argument = argument(*arg, where);
    else
      fail(where + " has no 'arg'");
  }
  for (StringRef name : {"buffer_name", "user_input_name", "parameter_name"})
    if (auto text = o.getString(name))
      spec.what += " of '" + text->str() + "'";
  if (key == "buffer_mutation" || key == "parameter_mutation") {
    spec.buffer = string(o, key == "buffer_mutation" ? "buffer_name" : "parameter_name");
    if (const Value *arg = o.get("arg"))
      spec.argument = {Argument::Kind::Tensor, {tensorName(*arg, where)}, {}, {}, "", "", {}, nullptr};
    else
      fail(where + " has no 'arg'");
  }
  return spec;
}

void ProgramReader::ranges(const Object &root) {
  const Object *constraints = root.getObject("range_constraints");
  if (!constraints)
    return;
  std::set<std::string> symbols; // a key is the name of one, as it is, or an expression
  for (const auto &[name, meta] : program.tensors)
    for (const Size &size : meta.sizes)
      if (size.expr)
        symbols.merge(size.expr->symbols());
  for (const auto &[key, value] : *constraints) {
    Expr named = Expr::size(key.str());
    auto expr = symbols.count(named.str()) ? named : parseSymPy(key.str());
    auto symbol = expr ? expr->asSymbol() : std::nullopt;
    const Object &o = asObject(value, "range_constraints");
    auto min = o.getInteger("min_val"), max = o.getInteger("max_val");
    if (max && *max < std::max<int64_t>(min.value_or(0), 0))
      fail("range_constraints: no size is from " + llvm::Twine(min.value_or(0)) + " to " + llvm::Twine(*max) + ", as '" + key.str() + "' is to be");
    constexpr int64_t mostElements = int64_t(1) << 56;
    if (min && *min > mostElements)
      fail("range_constraints: '" + llvm::Twine(key.str()) + "' is to be at least " + llvm::Twine(*min) + ", and no tensor is that large");
    if (symbol)
      program.ranges[*symbol] = {min, max};
    // PyTorch takes a least size of 2 for its own assumption of what is traced, and does not check it.
    if (min && *min <= 2)
      min = std::nullopt;
    for (auto [kind, end] : {std::pair(Condition::Kind::GreaterEqual, min), std::pair(Condition::Kind::LessEqual, max)})
      if (expr && !symbol && end)
        program.bounds.push_back(Condition::compare(kind, *expr, Expr(*end)));
  }
}

void ProgramReader::read(const Object &root) {
  if (const Object *version = root.getObject("schema_version")) {
    int64_t major = version->getInteger("major").value_or(-1);
    if (major != schemaMajor)
      fail("schema version " + llvm::Twine(major) + "; this reader knows version " + llvm::Twine(schemaMajor) +
           " (torch 2.6 and later)");
  } else {
    fail("'schema_version' is missing; is this an ExportedProgram?");
  }
  if (failed())
    return;
  program.torchVersion = root.getString("torch_version").value_or("").str();
  const Object &module = object(root, "graph_module");
  const Object &graph = object(module, "graph");
  graphValues(graph);
  const Array &nodes = array(graph, "nodes");
  for (size_t i = 0; i < nodes.size() && !failed(); ++i)
    program.nodes.push_back(node(nodes[i], indexed("nodes", i)));
  const Object &signature = object(module, "signature");
  const Array &inputs = array(signature, "input_specs"), &outputs = array(signature, "output_specs");
  for (size_t i = 0; i < inputs.size() && !failed(); ++i)
    program.inputs.push_back(inputSpec(inputs[i], indexed("input_specs", i)));
  for (size_t i = 0; i < outputs.size() && !failed(); ++i)
    program.outputs.push_back(outputSpec(outputs[i], indexed("output_specs", i)));
  ranges(root);
  if (const Array *guards = root.getArray("guards_code"))
    for (const Value &g : *guards)
      program.guards.push_back(asString(g, "guards_code"));
}

llvm::Expected<Program> fx::parseProgram(StringRef json, const std::string &what) {
  auto value = parseJson(json, what);
  if (!value)
    return value.takeError();
  ProgramReader reader(what);
  reader.read(reader.asObject(*value, "the program"));
  if (reader.failed())
    return reader.takeError();
  return std::move(reader.program);
}

llvm::Expected<std::map<std::string, WeightEntry>> fx::parseWeightsConfig(StringRef json, const std::string &what) {
  auto value = parseJson(json, what);
  if (!value)
    return value.takeError();
  ProgramReader reader(what);
  std::map<std::string, WeightEntry> result;
  for (const auto &[name, item] : reader.object(reader.asObject(*value, "the config"), "config")) {
    const Object &o = reader.asObject(item, name.str());
    WeightEntry entry{reader.string(o, "path_name"), o.getBoolean("use_pickle").value_or(false), std::nullopt};
    const Value *meta = o.get("tensor_meta");
    if (meta && meta->kind() != Value::Null)
      entry.meta = reader.tensorMeta(*meta, name.str());
    result.emplace(name.str(), std::move(entry));
  }
  if (reader.failed())
    return reader.takeError();
  return result;
}

void Graph::substitute(const std::map<std::string, Expr> &with) {
  auto apply = [&](Size &s) {
    if (s.expr)
      s.expr = s.expr->substitute(with);
  };
  auto applyAll = [&](std::vector<Size> &all) { llvm::for_each(all, apply); };
  auto applyArgument = [&](Argument &a) {
    applyAll(a.ints);
    if (a.graph) { // which copies of this program share
      a.graph = std::make_shared<Graph>(*a.graph);
      a.graph->substitute(with);
    }
  };
  for (auto &[name, meta] : tensors) {
    applyAll(meta.sizes);
    applyAll(meta.strides);
    apply(meta.offset);
  }
  for (auto &[name, size] : sizes)
    apply(size);
  for (auto &[name, condition] : conditions)
    if (condition.condition)
      condition.condition = condition.condition->substitute(with);
  for (Node &n : nodes) {
    for (NamedArgument &a : n.inputs)
      applyArgument(a.value);
    llvm::for_each(n.outputs, applyArgument);
  }
}

void Program::substitute(const std::map<std::string, Expr> &with) {
  if (with.empty())
    return;
  Graph::substitute(with);
  for (Condition &bound : bounds)
    bound = bound.substitute(with);
}
