//===- OpContext.h - What the translation of one node works with ------------===//
//
// An operator's entry lists the arguments that it takes in a short form of its schema:
//
//   "self:T other:TS alpha:S=1"
//
// name:KIND with an optional default. Kinds: T tensor, TS tensor or number, S number, N size (symbolic), I integer, F float,
// B boolean, D dtype, X text; TZ and Z: as TS and S, and the number is complex where the tensors are. A '*' makes it a list, a '?' lets it
// be absent or None. Every argument is checked against this
// before the translation runs, so that a translation reads arguments of the right kind without further checks.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_IMPORT_FX_OPCONTEXT_H
#define LATHE_LIB_IMPORT_FX_OPCONTEXT_H

#include "Program.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"
#include "lathe/Support/Diagnostics.h"

/// Binds a name to what an Expected holds, or returns its error.
#define LATHE_TRY(NAME, EXPECTED)                                                                                              \
  auto NAME##OrError = (EXPECTED);                                                                                             \
  if (!NAME##OrError)                                                                                                          \
    return NAME##OrError.takeError();                                                                                          \
  auto NAME = std::move(*NAME##OrError)

namespace lathe::fx {

using ir::Dims;
using mlir::SmallVector;
using mlir::Type;
using mlir::Value;
using shape::Expr;

/// A number argument of an operator: a literal, or a size.
struct Number {
  enum class Kind { Bool, Int, Float } kind = Kind::Int;
  Expr size = Expr(0);  ///< of Bool and Int
  double value = 0;     ///< of Float; of Bool and Int where constant
  double imaginary = 0; ///< of a complex one, whose real part is the value
};

/// What a translation sees of complex numbers: of those that are arguments, and of constants that it makes.
enum class ComplexPart { None, Real, Imaginary, Both };

/// A tensor, or a number that takes part as torch's "wrapped number".
struct Operand {
  Value tensor;
  Number number;
};

/// "model.pt2: node 'add' (aten.add.Tensor) at model.py:12: y = x + 1: ", for messages.
std::string placeOf(llvm::StringRef file, const Node &node);

/// Conditions that operators rely on beyond what the program asserts. One that is new ends this attempt; the next one starts
/// with it among the facts and the entry's checks.
struct Needs {
  std::vector<Statement> stated;
  std::set<std::string> states; ///< buffers that nodes write in place, by the graph's name: the next attempt knows that they are states
  std::set<std::string> branches; ///< `cond`s of whose branches one needs what the other does not: the next attempt runs one of them
  bool grew = false;
};

/// Symbols of values that nodes compute, and which of them have one already.
struct LateSizes {
  std::function<bool(const std::string &)> isLate;
  std::set<std::string> bound;
  std::map<std::string, std::string> places; ///< the functions of the host program that read some, but for @main
  std::string branch; ///< which is being built, by a name that is the same in each attempt; empty: none
  std::vector<std::pair<std::string, std::string>> asserted; ///< names of values that must not be 0, and what a message says else
  /// An op where the builder stands gives the symbol its value.
  void bind(const std::string &symbol, mlir::OpBuilder &b);
  /// Where a relation between these sizes is checked that holds in a body: null for @main.
  mlir::FlatSymbolRefAttr scopeOf(llvm::ArrayRef<Expr> of, llvm::StringRef body, mlir::MLIRContext *context) const;
  std::vector<std::pair<std::string, Expr>> again; ///< names of values that are to be equal to sizes that are bound; of others the size is unknown
};

class OpContext {
public:
  OpContext(ir::GraphBuilder &g, const Node &node, const std::map<std::string, Value> &values, Needs &needs)
      : g(g), node(node), values(values), needs(needs) {}

  /// Checks the node's arguments against the entry's list and fills in defaults.
  llvm::Error bind(llvm::StringRef signature);

  // Arguments, by name. Absent ones: null, empty, nullopt.
  Value tensor(llvm::StringRef name) const;
  /// What the file says of the tensor's memory; null where it does not.
  const TensorMeta *metaOf(llvm::StringRef name) const;
  SmallVector<Value> tensors(llvm::StringRef name) const;
  Operand operand(llvm::StringRef name) const;
  bool has(llvm::StringRef name) const;
  Number number(llvm::StringRef name) const;
  std::optional<Number> optionalNumber(llvm::StringRef name) const;
  Expr size(llvm::StringRef name) const;
  Dims sizes(llvm::StringRef name) const;
  int64_t integer(llvm::StringRef name) const;
  SmallVector<int64_t> integers(llvm::StringRef name) const;
  double real(llvm::StringRef name) const;
  SmallVector<double> reals(llvm::StringRef name) const;
  bool flag(llvm::StringRef name) const;
  std::string text(llvm::StringRef name) const;

  // Checked readings.
  /// A dimension of x; negative ones count from its end.
  llvm::Expected<int64_t> axis(llvm::StringRef name, Value x) const { return axisOf(integer(name), ir::typeOf(x).getRank()); }
  llvm::Expected<int64_t> axisOf(int64_t axis, int64_t rank) const;
  /// A list of dimensions, sorted; all of them when the list is empty or absent.
  llvm::Expected<SmallVector<int64_t>> axes(llvm::StringRef name, Value x) const;

  /// Relies on the condition, which the entry checks unless it follows from what is known.
  llvm::Error need(const Condition &condition) const;
  llvm::Error needEqual(const Expr &a, const Expr &b) const { return need(Condition::compare(Condition::Kind::Equal, a, b)); }
  /// Whether the sizes are equal. Where they may be, but need not, the answer is no, and the next attempt relies on it.
  bool fits(const Expr &a, const Expr &b) const;

  /// The size that the file gives by a symbol is the value of this integer, read while the program runs; one that it gives by sizes that are
  /// known before is checked to be.
  llvm::Error bindSize(const Expr &size, Value count);
  /// Likewise; for a symbol that is bound already, as PyTorch gives one name to what it knows to be equal, a symbol of its own, which is
  /// checked to be equal when it is read.
  llvm::Expected<Expr> bindSizeAgain(const Expr &size, Value count);
  /// Likewise, for a count that the file has no symbol for.
  Expr bindOwnSize(Value count);
  /// Runs for which the element is 0 end there, with these words.
  void assertTrue(Value held, const std::string &says);

  /// The operand's memory holds this from here on.
  void write(llvm::StringRef name, Value v) { written.push_back({slot(name).argument->tensors[0], v}); }
  /// The first result is a view of the operand, by what the other arguments are.
  void share(llvm::StringRef name) { shared = slot(name).argument->tensors[0]; }

  // Results.
  Type resultElement(size_t i = 0) const { return resultType(i).getElementType(); }
  /// Whether anybody reads the i-th result.
  bool asked(size_t i) const { return i < wanted.size() && wanted[i]; }
  Dims resultDims(size_t i = 0) const { return ir::dimsOf(resultType(i)); }
  /// As the file has it, which may be a symbol that is known to be another size.
  std::optional<Expr> toldSize(size_t i, size_t axis) const;
  /// Of a result that the file does not list, and so nobody reads: the last one's.
  mlir::RankedTensorType resultType(size_t i) const { return resultTypes[std::min(i, resultTypes.size() - 1)]; }
  llvm::Error give(Value v) {
    results.push_back(v);
    return llvm::Error::success();
  }

  // Errors, with the node's name and operator in front.
  template <typename... Ts> llvm::Error wrong(const char *format, Ts &&...args) const {
    return userError("{0}{1}", place(), llvm::formatv(format, std::forward<Ts>(args)...).str());
  }
  template <typename... Ts> llvm::Error cannot(const char *format, Ts &&...args) const {
    return lathe::unsupported("{0}{1}", place(), llvm::formatv(format, std::forward<Ts>(args)...).str());
  }
  std::string place() const;

  // Building.
  /// A number that is no argument.
  Number literal(int64_t value) const { return {Number::Kind::Int, Expr(part == ComplexPart::Imaginary ? 0 : value), part == ComplexPart::Imaginary ? 0 : double(value)}; }
  /// The number as a rank-0 constant (or size) of the element type.
  Value scalarOf(const Number &n, Type element);
  /// The operand in the element type.
  Value materialize(const Operand &o, Type element) { return o.tensor ? g.cast(o.tensor, element) : scalarOf(o.number, element); }
  /// Both in the element type, broadcast to each other.
  llvm::Expected<std::pair<Value, Value>> pair(const Operand &a, const Operand &b, Type element);
  llvm::Error broadcast(llvm::MutableArrayRef<Value> values) const;
  llvm::Expected<Value> broadcastTo(Value x, llvm::ArrayRef<Expr> dims) const;
  /// The type in which torch computes with these together.
  Type promote(llvm::ArrayRef<Operand> operands) const;

  ir::GraphBuilder &g;
  const Node &node;
  SmallVector<mlir::RankedTensorType> resultTypes; ///< what the file says of the results, in the canonical sizes
  SmallVector<bool> wanted;                        ///< which of them somebody reads
  SmallVector<Value> results;
  SmallVector<std::pair<std::string, Value>> written; ///< operands that the node writes beside its results, with their new values
  std::string shared;                                 ///< the tensor whose memory the first result has, where its entry does not say so
  std::string file;
  /// A tensor that another value stands for in this translation.
  std::pair<std::string, Value> replaced;
  const std::map<std::string, TensorMeta> *metas = nullptr;
  LateSizes *late = nullptr;
  ComplexPart part = ComplexPart::None;
  std::optional<uint32_t> seed; ///< of random numbers, where the user accepts them
  int64_t unrolledSteps = 0;    ///< recurrences over more steps are loops
  bool hostTransforms = true;   ///< Fourier transforms of open length are the runtime's
  bool hostPositions = true;    ///< and so are positions of true elements

private:
  void readSize(const std::string &symbol, Value count);
  Expr readAgain(const Expr &same, Value count);
  struct Slot {
    const Argument *argument = nullptr; ///< null: the default or nothing
    std::string defaultText;
    std::string kind;
  };
  const Slot &slot(llvm::StringRef name) const;
  Value valueOf(const std::string &tensor) const { return tensor == replaced.first ? replaced.second : values.at(tensor); }
  llvm::Error check(llvm::StringRef name, const Slot &slot) const;

  const std::map<std::string, Value> &values;
  Needs &needs;
  std::map<std::string, Slot, std::less<>> slots;
};

using Handler = llvm::Error (*)(OpContext &);

/// What the result has to do with the memory of the first argument. MayCopy: it is copied only where its strides ask for that;
/// Converts: it is the argument itself where it has its type and its strides. SharesEach: result i may share the memory of tensor i of a list.
/// TakesPairs: complex numbers come as pairs, a last dimension of 2. OwnElements: the file may describe the elements' types wrongly, and the operator knows them.
/// WritesOut: the result is written to the argument `out`. Checks: it has no result, and is there for what it checks.
enum OpFlags : unsigned { NoFlags = 0, IsView = 1, MayCopy = 2, Converts = 4, SharesEach = 8, OwnElements = 16, TakesPairs = 32, WritesOut = 64, Checks = 128 };

struct OpEntry {
  const char *name;      ///< without "aten."
  const char *arguments; ///< see the top of this file
  Handler handler;
  unsigned flags = NoFlags;
};

/// The entry of an operator ("add.Tensor"), or null.
const OpEntry *findOp(llvm::StringRef name);
/// What an operator of real numbers does with complex ones, where that is more than with their parts; or null.
const OpEntry *findComplexOp(llvm::StringRef name);

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_OPCONTEXT_H
