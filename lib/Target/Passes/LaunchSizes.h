//===- LaunchSizes.h - Sizes that launches give to kernels -----------------===//
#ifndef LATHE_LIB_TARGET_PASSES_LAUNCHSIZES_H
#define LATHE_LIB_TARGET_PASSES_LAUNCHSIZES_H

#include "lathe/Dialect/Lathe/Lathe.h"
#include <set>

namespace lathe::target {

/// Symbols of a module that stand for an expression. The model's signature knows nothing of them: they are marked as
/// `lathe.launch_size`, and a launch gives their values.
class LaunchSizes {
public:
  explicit LaunchSizes(mlir::ModuleOp module) : module(module) {
    for (auto s : module.getOps<ir::SymbolOp>())
      taken.insert(s.getName().str());
  }
  /// The size with this name, or one like it where the model has one; declared with this least value where it is new.
  shape::Expr sizeOf(llvm::StringRef name, const shape::Expr &value, int64_t least = 0) {
    auto [it, fresh] = known.try_emplace(name.str());
    if (!fresh)
      return it->second;
    std::string free = name.str();
    while (taken.count(shape::Expr::size(free).str()))
      free += "'";
    it->second = shape::Expr::size(free);
    int64_t most = value.constant().value_or(-1);
    mlir::OpBuilder b = mlir::OpBuilder::atBlockBegin(module.getBody());
    auto symbol = b.create<ir::SymbolOp>(module.getLoc(), it->second.str(), value.constant().value_or(least), most, mlir::ArrayRef<int64_t>(),
                                         b.getStringAttr(value.str()), mlir::DenseI64ArrayAttr());
    symbol->setAttr(ir::launchSizeAttr, b.getUnitAttr());
    return it->second;
  }

private:
  mlir::ModuleOp module;
  std::set<std::string> taken; ///< names of the model's sizes
  std::map<std::string, shape::Expr> known;
};

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_LAUNCHSIZES_H
