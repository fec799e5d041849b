//===- SymPy.h - Size expressions as torch.export writes them ---------------===//
#ifndef LATHE_LIB_IMPORT_FX_SYMPY_H
#define LATHE_LIB_IMPORT_FX_SYMPY_H

#include "Condition.h"
#include <map>
#include <optional>

namespace lathe::fx {

/// sympy's srepr form ("Add(Symbol('s0', integer=True), Integer(-1))"), torch's functions (FloorDiv, Mod, ModularIndexing,
/// Max, ...) and plain infix ("2*s0"). Nothing for what is no integer polynomial over floordiv, mod, min and max.
std::optional<shape::Expr> parseSymPy(llvm::StringRef text);

/// "Or(Eq(Mod(s0, 4), 0), Not(...))" in srepr form.
std::optional<Condition> parseSymPyCondition(llvm::StringRef text);

/// One guard in Python: `L['x'].size()[2] % 4 == 0 or not (...)`. `inputs` gives the sizes of the model's inputs by name; a path as
/// L['a'][0] is the input "a_0". Nothing for any other form.
std::optional<Condition> parseGuard(llvm::StringRef text, const std::map<std::string, std::vector<shape::Expr>> &inputs);

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_SYMPY_H
