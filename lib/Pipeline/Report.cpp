//===- Report.cpp - What --report says of the kernels ----------------------===//

#include "Report.h"
#include "Constants.h"
#include "HostProgram.h"
#include "lathe/Lower/DetachKernel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace lathe;
using shape::Expr;

static llvm::json::Array strings(std::optional<ArrayAttr> texts) {
  llvm::json::Array out;
  if (texts)
    for (Attribute a : *texts)
      out.push_back(cast<StringAttr>(a).getValue());
  return out;
}

/// The points at which a value is computed.
static Expr pointsOf(Value v, kernel::GenericOp op, const kernel::ValueAxes &axes) {
  Expr n(1);
  for (const std::string &axis : axes.at(v))
    n = n * *op.getExtent(axis);
  return n;
}

static Expr extentsOf(ArrayAttr axes, kernel::GenericOp op) {
  Expr n(1);
  for (Attribute a : axes)
    n = n * op.getExtent(cast<StringAttr>(a).getValue()).value_or(Expr(1));
  return n;
}

/// Arithmetic on floats, one per element; a contraction counts two per product, attention four.
static Expr flopsOf(kernel::GenericOp op) {
  kernel::ValueAxes axes = kernel::axesOfValues(op);
  Expr total(0);
  for (Operation &o : op.getBody().front()) {
    if (auto c = dyn_cast<kernel::ContractOp>(o))
      total = total + Expr(2) * pointsOf(c.getResult(), op, axes) * extentsOf(c.getAxes(), op);
    else if (auto r = dyn_cast<kernel::ReduceOp>(o))
      total = total + pointsOf(r.getResult(), op, axes) * extentsOf(r.getAxes(), op);
    else if (auto s = dyn_cast<kernel::ScanOp>(o))
      total = total + pointsOf(s.getResult(), op, axes);
    else if (auto t = dyn_cast<kernel::FftOp>(o)) // 5 n log2 n of n complex numbers
      total = total + pointsOf(t.getResult(), op, axes) * Expr(int64_t(llvm::Log2_64_Ceil(t.getLength()) * 5 / 2));
    else if (auto a = dyn_cast<kernel::AttentionOp>(o))
      total = total + Expr(4) * pointsOf(a.getResult(), op, axes) * op.getExtent(a.getKeyAxis()).value_or(Expr(1));
    else if (o.getNumResults() == 1 && isa<FloatType>(o.getResult(0).getType()) && o.getNumOperands() &&
             !isa<kernel::LoadOp>(o))
      total = total + pointsOf(o.getResult(0), op, axes);
  }
  return total;
}

/// Every operand read and every result written once.
static Expr bytesOf(kernel::GenericOp op) {
  Expr total(0);
  auto add = [&](Type t) {
    total = total +
            shape::product(ir::dimsOf(t)) * Expr(pipeline::elementBytes(cast<RankedTensorType>(t).getElementType()));
  };
  llvm::for_each(op.getInputs().getTypes(), add);
  llvm::for_each(op.getOutputs().getTypes(), add);
  return total;
}

static llvm::json::Object describe(kernel::GenericOp op) {
  llvm::json::Array axes;
  for (unsigned i = 0; i < op.getNumAxes(); ++i)
    axes.push_back(llvm::json::Object{{"axis", op.getAxisName(i)}, {"extent", op.getAxisExtent(i).str()}});
  return llvm::json::Object{{"name", op.getName()},
                            {"function", op->getParentOfType<func::FuncOp>().getName()},
                            {"class", kernel::stringifyKernelClass(op.getKernelClass())},
                            {"domain", std::move(axes)},
                            {"nodes", strings(op.getNodes())},
                            {"flops", flopsOf(op).str()},
                            {"bytes", bytesOf(op).str()},
                            {"unfused", strings(op.getUnfused())}};
}

llvm::json::Value pipeline::reportOf(ArrayRef<ModuleOp> modules, StringRef target, const CompileOptions &options) {
  llvm::json::Array kernels;
  for (auto [entry, module] : llvm::zip_equal(options.entries, modules))
    for (kernel::GenericOp op : lower::kernelsOf(module)) {
      llvm::json::Object described = describe(op);
      if (modules.size() > 1)
        described["entry"] = nameOf(entry);
      kernels.push_back(std::move(described));
    }
  return llvm::json::Object{{"target", target}, {"kernels", std::move(kernels)}};
}
