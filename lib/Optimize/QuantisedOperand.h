//===- QuantisedOperand.h - What operands of products are quantised from ---===//
#ifndef LATHE_LIB_OPTIMIZE_QUANTISEDOPERAND_H
#define LATHE_LIB_OPTIMIZE_QUANTISEDOPERAND_H

#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "lathe/Dialect/Lathe/Evaluate.h"
#include "lathe/Dialect/Lathe/GraphBuilder.h"

namespace lathe::opt {

/// scale * (bytes - zero). The zero point (i32) and the scale have the rank of the bytes, each dimension 1 or theirs; null for none.
struct Quantised {
  mlir::Value bytes, zero, scale;
};

/// What the bytes are: integers of 8 bits, or codes of floats of 8 bits, which have no zero point.
enum class CodesOf { Integers, Floats };

bool isByte(mlir::Type element);
/// The operand as the bytes that it is made of, seen through views; nothing where it is not made so.
std::optional<Quantised> matchQuantised(ir::GraphBuilder &g, mlir::Value v, CodesOf codes);

/// Whether it is one number of all elements.
bool isScalar(mlir::Value v);
/// Whether it does not vary along the axes; nothing does not.
bool isOneAlong(mlir::Value v, llvm::ArrayRef<int64_t> axes);
/// A constant, seen through views.
bool isConstant(mlir::Value v);
/// What follows from constants alone, as zero points do.
std::optional<ir::ConstantTensor> numbersOf(mlir::Value v);

/// A tensor of an operand's dimensions, the contracted ones 1, among the dimensions of the result.
mlir::Value placedAmongResults(ir::GraphBuilder &g, mlir::Value v, ir::ContractOp op, bool lhs);
/// [O, 1, ..] or ones as [1, O, 1, ..] spread to the result's dimensions.
mlir::Value spreadOverChannels(ir::GraphBuilder &g, mlir::Value v, const ir::Dims &dims);

} // namespace lathe::opt

#endif // LATHE_LIB_OPTIMIZE_QUANTISEDOPERAND_H
