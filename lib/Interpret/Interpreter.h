//===- Interpreter.h - The parts of the interpreter ------------------------===//
#ifndef LATHE_LIB_INTERPRET_INTERPRETER_H
#define LATHE_LIB_INTERPRET_INTERPRETER_H

#include "Sizes.h"
#include "lathe/Dialect/Kernel/Kernel.h"

namespace lathe::interpret {

using Inputs = llvm::ArrayRef<const Tensor *>;

/// An op of arith or math, element by element: operands and result have one shape.
llvm::Expected<Tensor> runScalarOp(mlir::Operation *op, Inputs operands, llvm::ArrayRef<int64_t> shape);

/// An op of the lathe dialect that is no step of the host program, with static types and sizes.
llvm::Expected<Tensor> runGraphOp(mlir::Operation *op, Inputs operands);
/// Transforms.cpp
Tensor runFft(ir::FftOp op, const Tensor &x);
llvm::Expected<Tensor> runConv(ir::ConvOp op, const Tensor &x, const Tensor &w);
llvm::Expected<Tensor> runAttention(ir::AttentionOp op, Inputs operands);
/// Casts and bitcasts from and to a type that is for storage only.
bool isNarrowCast(mlir::Operation *op);
Tensor runNarrowCast(mlir::Operation *op, const Tensor &x);

/// A function of the runtime, by its name.
llvm::Expected<std::vector<Tensor>> runCall(ir::CallOp op, Inputs operands, const Sizes &sizes);

/// `unpacked`: for operands that a kernel.pack made, what it was made from (else null). What is marked `packed` reads
/// there, since its offsets are those before packing.
llvm::Expected<std::vector<Tensor>> runKernel(kernel::GenericOp op, Inputs operands, Inputs unpacked,
                                              const Sizes &sizes);
llvm::Expected<Tensor> runPack(kernel::PackOp op, const Tensor &source);

/// Scores to weights, in place. Where all are -inf the weights are NaN, or zeros.
void softmax(llvm::MutableArrayRef<double> scores, bool zeroMasked);

} // namespace lathe::interpret

#endif // LATHE_LIB_INTERPRET_INTERPRETER_H
