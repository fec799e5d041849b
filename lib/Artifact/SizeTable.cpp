//===- SizeTable.cpp - Expressions to slots and instructions ---------------===//
#include "SizeTable.h"

using namespace llvm;
using namespace lathe;
using namespace lathe::artifact;

uint32_t SizeTable::constant(int64_t value) {
  auto [it, isNew] = k.constants.try_emplace(value, 0);
  if (isNew) {
    it->second = newSlot();
    emit(LATHE_INSTR_CONST, it->second, static_cast<uint32_t>(value), static_cast<uint32_t>(uint64_t(value) >> 32));
  }
  return it->second;
}

uint32_t SizeTable::combine(LatheInstrOp op, uint32_t a, uint32_t b) {
  auto [it, isNew] = k.combined.try_emplace({op, a, b}, 0);
  if (isNew) {
    it->second = newSlot();
    emit(op, it->second, a, b);
  }
  return it->second;
}

Expected<uint32_t> SizeTable::slotOfSymbol(const std::string &name) {
  if (auto it = k.symbols.find(name); it != k.symbols.end())
    return it->second;
  auto it = k.derived.find(name);
  if (it == k.derived.end())
    return createStringError(inconvertibleErrorCode(), "size symbol '%s' is not bound by any input's dimension",
                             shape::nameOf(name).c_str());
  // Erased while it is expanded: a definition in terms of itself ends as an undefined symbol.
  shape::Expr value = it->second;
  k.derived.erase(it);
  Expected<uint32_t> slot = slotOf(value);
  if (slot)
    k.symbols[name] = *slot;
  return slot;
}

Expected<uint32_t> SizeTable::slotOfAtom(const shape::Atom &atom) {
  if (atom.kind == shape::Atom::Kind::Symbol)
    return slotOfSymbol(atom.name);
  Expected<uint32_t> a = slotOf(atom.operands[0]);
  if (!a)
    return a;
  Expected<uint32_t> b = slotOf(atom.operands[1]);
  if (!b)
    return b;
  switch (atom.kind) {
  case shape::Atom::Kind::FloorDiv:
    return combine(LATHE_INSTR_FLOORDIV, *a, *b);
  case shape::Atom::Kind::Mod:
    return combine(LATHE_INSTR_MOD, *a, *b);
  case shape::Atom::Kind::Min:
    return combine(LATHE_INSTR_MIN, *a, *b);
  default:
    return combine(LATHE_INSTR_MAX, *a, *b);
  }
}

Expected<uint32_t> SizeTable::slotOf(const shape::Expr &value) {
  if (value.isUnknown())
    return createStringError(inconvertibleErrorCode(), "a size does not fit 64-bit arithmetic");
  if (auto constant = value.constant())
    return this->constant(*constant);
  if (auto it = k.values.find(value); it != k.values.end())
    return it->second;
  std::optional<uint32_t> sum;
  for (const shape::Expr::Term &term : value.terms()) {
    std::optional<uint32_t> product;
    for (const shape::Atom &atom : term.atoms) {
      Expected<uint32_t> factor = slotOfAtom(atom);
      if (!factor)
        return factor;
      product = product ? combine(LATHE_INSTR_MUL, *product, *factor) : *factor;
    }
    if (!product)
      product = constant(term.coefficient);
    else if (term.coefficient != 1)
      product = combine(LATHE_INSTR_MUL, *product, constant(term.coefficient));
    sum = sum ? combine(LATHE_INSTR_ADD, *sum, *product) : *product;
  }
  k.values.insert({value, *sum});
  return *sum;
}
