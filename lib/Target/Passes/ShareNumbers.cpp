//===- ShareNumbers.cpp - Kernels that differ in numbers share their code ---===//
//
// A detector that picks its boxes class by class comes with a kernel for each class, of which each reads another column; a quantised model
// has layers that differ in their scales and zero points. They differ in numbers; as sizes these are arguments of the one kernel they become.
//
//===----------------------------------------------------------------------===//

#include "LaunchSizes.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Target/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/MapVector.h"

namespace lathe::target {
#define GEN_PASS_DEF_SHARENUMBERS
#include "lathe/Target/Passes.h.inc"
} // namespace lathe::target

using namespace mlir;
using namespace lathe;
using namespace lathe::target;
using kernel::GenericOp;
using shape::Expr;

static int64_t constantTermOf(const Expr &e) {
  int64_t sum = 0;
  for (const Expr::Term &term : e.terms())
    if (term.atoms.empty())
      sum += term.coefficient;
  return sum;
}

/// What is stored, chosen or added is any number; of a bound, and of an index that divides or is a factor, more is made when compiling.
static bool isPlainUse(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<kernel::StoreOp, arith::AddIOp>(op) || (isa<arith::SelectOp>(op) && use.getOperandNumber() > 0))
    return true;
  return !use.get().getType().isInteger(64) &&
         isa<arith::SubIOp, arith::MulIOp, arith::ExtSIOp, arith::ExtUIOp, arith::SIToFPOp, arith::UIToFPOp, arith::AddFOp, arith::SubFOp, arith::MulFOp,
             arith::DivFOp, arith::CmpFOp>(op);
}

/// A number as the size that it becomes: an index, or the bits of something smaller.
static std::optional<int64_t> numberOf(arith::ConstantOp constant, bool isLoop) {
  Type type = constant.getType();
  if (!llvm::all_of(constant->getUses(), isPlainUse))
    return std::nullopt;
  if (type.isInteger(64))
    return isLoop ? std::optional(cast<IntegerAttr>(constant.getValue()).getInt()) : std::nullopt;
  if (type.isF32())
    return cast<FloatAttr>(constant.getValue()).getValue().bitcastToAPInt().getZExtValue();
  if (type.isInteger(8) || type.isInteger(16) || type.isInteger(32))
    return cast<IntegerAttr>(constant.getValue()).getValue().getZExtValue();
  return std::nullopt;
}

namespace {
/// A place of a kernel's body that holds a number: the constant term of an offset, or a constant.
struct Site {
  Operation *op;
  int64_t value;

  bool isOffset() const { return !isa<arith::ConstantOp>(op); }
  Expr offset() const { return Expr::parsed(op->getAttrOfType<StringAttr>("offset").getValue()); }
  /// The site with something else for its number.
  void setOffset(const Expr &number) const {
    op->setAttr("offset", StringAttr::get(op->getContext(), (offset() - Expr(value) + number).str()));
  }
};

struct Member {
  GenericOp kernel;
  std::vector<Site> sites;

  std::vector<int64_t> numbers() const {
    std::vector<int64_t> out;
    for (const Site &s : sites)
      out.push_back(s.value);
    return out;
  }
};
using Family = std::vector<Member>;
} // namespace

/// Offsets and indices of loops alone: how windows and matrices lie is a matter of what emits their products.
static std::vector<Site> sitesOf(GenericOp kernel) {
  std::vector<Site> sites;
  bool isLoop = kernel.getKernelClass() == kernel::KernelClass::Loop;
  for (Operation &op : kernel.getBody().front()) {
    if (isLoop && isa<kernel::LoadOp, kernel::StoreOp>(op))
      sites.push_back({&op, constantTermOf(Expr::parsed(op.getAttrOfType<StringAttr>("offset").getValue()))});
    auto constant = dyn_cast<arith::ConstantOp>(op);
    if (std::optional<int64_t> number = constant ? numberOf(constant, isLoop) : std::nullopt)
      sites.push_back({&op, *number});
  }
  return sites;
}

/// Equal for kernels that differ in the numbers of their sites alone.
static std::string textWithoutNumbers(GenericOp kernel) {
  lower::DetachedKernel copy = lower::detachText(kernel);
  for (const Site &s : sitesOf(copy.kernel))
    if (s.isOffset())
      s.setOffset(Expr(0));
    else
      cast<arith::ConstantOp>(s.op).setValueAttr(cast<TypedAttr>(OpBuilder(s.op).getZeroAttr(s.op->getResult(0).getType())));
  std::string text;
  llvm::raw_string_ostream(text) << *copy.module;
  return text;
}

/// Which sites hold several numbers. Sizes are not negative: kernels with such numbers are left out.
static std::vector<bool> differing(Family &family) {
  std::vector<bool> differs(family.front().sites.size(), false);
  for (const Member &m : family)
    for (size_t i = 0; i < differs.size(); ++i)
      differs[i] = differs[i] || m.sites[i].value != family.front().sites[i].value;
  llvm::erase_if(family, [&](const Member &m) {
    for (size_t i = 0; i < differs.size(); ++i)
      if (differs[i] && m.sites[i].value < 0)
        return true;
    return false;
  });
  return differs;
}

static void makeSize(const Site &site, const Expr &number) {
  if (site.isOffset())
    return site.setOffset(number);
  OpBuilder b(site.op);
  Location loc = site.op->getLoc();
  Type type = site.op->getResult(0).getType();
  Value value = b.create<kernel::IndexOp>(loc, b.getI64Type(), b.getStringAttr(number.str()), ValueRange());
  if (!type.isInteger(64))
    value = b.create<arith::TruncIOp>(loc, b.getIntegerType(type.getIntOrFloatBitWidth()), value);
  if (type.isF32())
    value = b.create<arith::BitcastOp>(loc, type, value);
  site.op->getResult(0).replaceAllUsesWith(value);
  site.op->erase();
}

namespace {
struct ShareNumbersPass : target::impl::ShareNumbersBase<ShareNumbersPass> {
  using ShareNumbersBase::ShareNumbersBase;
  void runOnOperation() override {
    llvm::MapVector<StringAttr, Family> families;
    getOperation().walk([&](GenericOp kernel) {
      kernel::KernelClass c = kernel.getKernelClass();
      if (c != kernel::KernelClass::Loop && c != kernel::KernelClass::Reduction && c != kernel::KernelClass::Contraction)
        return;
      if (std::vector<Site> sites = sitesOf(kernel); !sites.empty())
        families[StringAttr::get(&getContext(), textWithoutNumbers(kernel))].push_back({kernel, std::move(sites)});
    });
    LaunchSizes sizes(getOperation());
    for (auto &[text, family] : families)
      share(family, sizes);
  }

  /// Few are compiled faster than they are told apart, and know their numbers.
  void share(Family &family, LaunchSizes &sizes) {
    std::vector<bool> differs = differing(family);
    std::set<std::vector<int64_t>> kinds;
    for (const Member &m : family)
      kinds.insert(m.numbers());
    if (kinds.size() < size_t(fewest))
      return;
    for (Member &m : family)
      for (auto [i, site] : llvm::enumerate(m.sites))
        if (differs[i]) // named by the site first, so that the sizes of a family's kernels are in one order
          makeSize(site, sizes.sizeOf("number " + std::to_string(i) + " is " + std::to_string(site.value), site.value));
  }
};
} // namespace
