//===- Advice.cpp - What the user can do about a size that is open ----------===//

#include "Advice.h"
#include "GraphImporter.h"
#include "llvm/ADT/StringExtras.h"

using namespace lathe;
using namespace lathe::onnx;

std::string onnx::adviceFor(const Node &n, const Expr &e) {
  const SizeModel &sizes = n.importer.session().sizes;
  std::set<std::string> flags;
  for (const std::string &symbol : e.symbols()) {
    if (sizes.isLate(Expr::symbol(symbol)))
      return "";
    llvm::StringRef input = llvm::StringRef(symbol).rsplit('[').first;
    if (shape::kindOf(symbol) == shape::SymbolKind::Element)
      flags.insert("--value " + input.str() + "=...");
    else if (std::string name = shape::nameOf(symbol); sizes.isNamed(name))
      flags.insert("--dim " + name + "=N");
  }
  return flags.empty() ? "" : "; fix it with " + llvm::join(flags, " and ");
}

std::string onnx::adviceForLength(const Node &n, Value list) {
  RankedTensorType type = ir::typeOf(list);
  return type.hasStaticShape() ? "" : adviceFor(n, ir::dimsOf(list).front());
}
