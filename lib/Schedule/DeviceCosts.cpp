//===- DeviceCosts.cpp - What kernels are expected to take on a GPU ---------===//

#include "lathe/Schedule/DeviceCosts.h"
#include "lathe/Lower/AttentionRoles.h"
#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Schedule/Rows.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using lower::AxisSet;
using lower::BodyInfo;
using lower::RowSection;
using shape::Expr;

static int64_t bytesOf(Type t) { return std::max(1u, t.getIntOrFloatBitWidth() / 8); }

/// Bytes that all loads and stores move: what is the same along an axis is read once there.
static Expr bytesOnce(const BodyInfo &info) {
  Expr bytes(0);
  for (Operation *op : info.ops) {
    if (auto load = dyn_cast<kernel::LoadOp>(op))
      bytes = bytes + extentOf(info, info.axesOf(load.getResult())) * Expr(bytesOf(load.getType()));
    else if (isa<kernel::StoreOp>(op))
      bytes = bytes + extentOf(info, info.domainOf(op)) * Expr(bytesOf(accessedType(op)));
  }
  return bytes;
}

/// Bytes that later passes over a row read once more.
static Expr bytesAgain(const BodyInfo &info, const RowSection &section) {
  int64_t passes = lower::rowLevels(info, section.axes, section.roots).size();
  Expr bytes(0);
  for (kernel::LoadOp load : lower::readAgain(info, section.axes, section.roots))
    bytes = bytes + extentOf(info, info.axesOf(load.getResult())) * Expr(bytesOf(load.getType()) * (passes - 1));
  return bytes;
}

static Expr boundOf(const Expr &bytes, const Expr &arithmetic, const Machine &machine) {
  return Expr::max(Expr::ceildiv(bytes, Expr(int64_t(machine.costs.memoryBytes))), arithmetic);
}

Expr schedule::costOfRows(const BodyInfo &info, ArrayRef<RowSection> sections, ArrayRef<ThreadRows> rows, const Machine &machine) {
  Expr bytes = bytesOnce(info), instructions(0);
  for (auto [section, laid] : llvm::zip(sections, rows))
    if (!laid.persistent && !laid.kept)
      bytes = bytes + bytesAgain(info, section);
  for (Operation *op : info.ops)
    instructions = instructions + extentOf(info, info.domainOf(op)) * Expr(int64_t(weightOf(op)));
  return boundOf(bytes, Expr::ceildiv(instructions, Expr(int64_t(machine.costs.multiplyAdds))), machine);
}

/// Multiply-adds of a cycle, by operands of such a type.
static int64_t peakOf(const Machine &machine, Type type) {
  if (type.isF32() || type.isF64())
    return std::max(1u, type.isF32() ? machine.costs.multiplyAdds : machine.costs.multiplyAdds / 2);
  int64_t halves = machine.gpu.halfProducts;
  return type.isInteger(8) ? 2 * halves : halves;
}

Expr schedule::costOfAttention(const BodyInfo &info, const lower::AttentionRoles &roles, int64_t tile, const Machine &machine) {
  Type type = lower::attentionOf(info).getQ().getType().getElementType();
  Expr tiles = Expr::ceildiv(roles.queries, Expr(tile)) * roles.batches, width = roles.depths + roles.values;
  Expr bytes = (roles.queries * roles.batches + tiles * roles.keys) * width * Expr(bytesOf(type));
  Expr products = Expr::ceildiv(tiles * Expr(tile) * roles.keys * width, Expr(peakOf(machine, type)));
  return boundOf(bytes, products, machine);
}

Expr schedule::costOfProducts(const BodyInfo &info, const Machine &machine) {
  for (Operation *op : info.ops)
    if (auto product = dyn_cast<kernel::ContractOp>(op)) {
      Type type = product.getLhs().getType().getElementType();
      lower::ContractionRoles roles(info, product);
      AxisSet left = info.axesOf(product.getLhsExpr()), right = info.axesOf(product.getRhsExpr());
      Expr bytes = bytesOnce(info) + extentOf(info, left) * Expr(bytesOf(type)) +
                   extentOf(info, right) * Expr(bytesOf(product.getRhs().getType().getElementType()));
      return boundOf(bytes, Expr::ceildiv(extentOf(info, left | right | roles.reduced), Expr(peakOf(machine, type))), machine);
    }
  return Expr::unknown();
}
