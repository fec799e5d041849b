//===- Program.h - An ExportedProgram as plain data -------------------------===//
//
// The JSON's content with its unions resolved and its size expressions parsed. Names are not yet looked up.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_PROGRAM_H
#define LATHE_LIB_IMPORT_FX_PROGRAM_H

#include "SymPy.h"
#include "lathe/Shape/Expr.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::fx {

/// A size: its expression, or (when that is no size that the compiler knows) its text.
struct Size {
  std::optional<shape::Expr> expr;
  std::string text;
};

/// torch's serialised ScalarType, as in the file (7 is float32).
using DType = int64_t;

struct TensorMeta {
  DType dtype = 0;
  std::vector<Size> sizes, strides;
  Size offset;
  bool strided = true;
};

struct Graph;

/// A value that a node takes or gives.
struct Argument {
  enum class Kind { None, Tensor, Tensors, Int, Ints, Float, Floats, Complex, Bool, Bools, String, DType, Ignored, Other };
  Kind kind = Kind::None;
  std::vector<std::string> tensors; ///< of Tensor and Tensors; "" for a missing one
  std::vector<Size> ints;           ///< of Int and Ints (symbolic or not), Bool and Bools (0 or 1), DType
  std::vector<double> floats;       ///< of Float and Floats; of Complex, both parts
  std::string text;                 ///< of String; of Other, the union's key
  std::string symbol;               ///< of a symbolic Int as a result: its name
  std::optional<Condition> condition; ///< of Other: what a truth value says of sizes
  std::shared_ptr<Graph> graph;     ///< of Other: a graph that a higher-order operator runs
};

struct NamedArgument {
  std::string name;
  Argument value;
};

struct Node {
  std::string name, target;
  std::string line; ///< of the user's program that it comes from: "model.py:12: y = x + 1"; may be empty
  std::string branch; ///< the `cond` in a branch of which it stood; empty: it is meant to run
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
};

struct InputSpec {
  enum class Kind { Parameter, Buffer, Constant, User, Fixed, Other }; ///< Fixed: a Python value that the program was exported with
  Kind kind;
  std::string value;       ///< the graph's name of it
  std::string key;         ///< the weight's name; of Other, what it is
  bool persistent = true;  ///< of Buffer
  Argument argument;       ///< of User
};

/// "the Python int 3" and the like, for messages.
std::string describe(const Argument &argument);

struct OutputSpec {
  bool user;
  Argument argument;
  std::string what;   ///< "buffer_mutation of 'cache'", where it is no user output
  std::string buffer; ///< the buffer or parameter that has the argument's value from then on; empty for others
};

/// An assertion's operand: its condition, or (when that is none between sizes) its text.
struct NamedCondition {
  std::optional<Condition> condition;
  std::string text;
};

struct Graph {
  std::map<std::string, TensorMeta> tensors;
  std::map<std::string, Size> sizes;                ///< sym_int_values
  std::map<std::string, NamedCondition> conditions; ///< sym_bool_values
  std::vector<Node> nodes;
  std::vector<Argument> takes, gives; ///< of a graph in a node: what it is given and gives

  /// Replaces symbols everywhere.
  void substitute(const std::map<std::string, shape::Expr> &with);
};

struct Program : Graph {
  std::string torchVersion;
  std::vector<InputSpec> inputs;
  std::vector<OutputSpec> outputs;
  std::map<std::string, std::pair<std::optional<int64_t>, std::optional<int64_t>>> ranges; ///< by symbol
  std::vector<Condition> bounds; ///< ranges of other expressions
  std::vector<std::string> guards;

  /// Replaces symbols everywhere.
  void substitute(const std::map<std::string, shape::Expr> &with);
};

/// One entry of a weights or constants config.
struct WeightEntry {
  std::string member;
  bool pickled = false;
  std::optional<TensorMeta> meta;
};

llvm::Expected<Program> parseProgram(llvm::StringRef json, const std::string &what);
llvm::Expected<std::map<std::string, WeightEntry>> parseWeightsConfig(llvm::StringRef json, const std::string &what);

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_PROGRAM_H
