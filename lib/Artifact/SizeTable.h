//===- SizeTable.h - Expressions to slots and instructions -----------------===//
#ifndef LATHE_ARTIFACT_SIZETABLE_H
#define LATHE_ARTIFACT_SIZETABLE_H

#include "lathe/Artifact/Format.h"
#include "lathe/Shape/Expr.h"
#include <map>

namespace lathe::artifact {

/// Gives every distinct expression a slot and appends the instructions that compute it after those of its parts. Sums and
/// products are shared: `batch*seq` is computed once however many sizes contain it.
class SizeTable {
public:
  uint32_t newSlot() { return numSlots++; }
  void define(llvm::StringRef symbol, uint32_t slot) { k.symbols[symbol.str()] = slot; }
  void define(llvm::StringRef name, const shape::Expr &value) { k.derived.insert({name.str(), value}); }
  bool isDefined(llvm::StringRef symbol) const { return k.symbols.count(symbol.str()) || k.derived.count(symbol.str()); }

  /// The slot of a symbol that has one.
  std::optional<uint32_t> slotOfDefined(const std::string &symbol) const {
    auto it = k.symbols.find(symbol);
    return it == k.symbols.end() ? std::nullopt : std::optional<uint32_t>(it->second);
  }

  /// The slot of the value. A symbol that is not defined is an error.
  llvm::Expected<uint32_t> slotOf(const shape::Expr &value);
  uint32_t constant(int64_t value);
  void emit(LatheInstrOp op, uint32_t dst, uint32_t a, uint32_t b = 0) { instrs.push_back({uint32_t(op), dst, a, b}); }

  /// What is computed so far, for a place in the program where what came after it may not have been.
  struct Known {
    std::map<std::string, uint32_t> symbols;
    std::map<std::string, shape::Expr> derived;
    std::map<shape::Expr, uint32_t> values;
    std::map<int64_t, uint32_t> constants;
    std::map<std::tuple<uint32_t, uint32_t, uint32_t>, uint32_t> combined;
  };
  const Known &known() const { return k; }
  void restore(const Known &known) { k = known; }

  uint32_t numSlots = 0;
  std::vector<LatheInstr> instrs;

private:
  uint32_t combine(LatheInstrOp op, uint32_t a, uint32_t b);
  llvm::Expected<uint32_t> slotOfAtom(const shape::Atom &atom);
  llvm::Expected<uint32_t> slotOfSymbol(const std::string &name);

  Known k;
};

} // namespace lathe::artifact

#endif // LATHE_ARTIFACT_SIZETABLE_H
