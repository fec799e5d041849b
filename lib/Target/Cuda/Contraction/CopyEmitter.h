//===- CopyEmitter.h - Device code of copies in front of a product ----------===//
#ifndef LATHE_LIB_TARGET_CUDA_COPYEMITTER_H
#define LATHE_LIB_TARGET_CUDA_COPYEMITTER_H

#include "BulkProblem.h"

namespace lathe::cuda {

/// Copies have lines of whole pieces of 16 bytes.
constexpr int64_t pieceBytes = 16;
shape::Expr piecesOf(const OperandMap &map); ///< of a line
shape::Expr linesOf(const OperandMap &map);
/// How many warps copy the operand.
shape::Expr unitsOf(const OperandMap &map);

/// Copies an operand of a product, each line to where a piece begins.
class CopyEmitter : public EntryEmitter {
public:
  CopyEmitter(const BulkProblem &bulk, KernelFrame &frame) : EntryEmitter(frame), bulk(bulk) {}
  /// Units from `unit` (i64) on are other operands'.
  void copy(const OperandMap &map, const ProductOperand &o, llvm::ArrayRef<unsigned> lineAxes, Value unit, Value at);
  /// The same where the operand's lines lie side by side.
  void copyTurned(const OperandMap &map, const ProductOperand &o, llvm::ArrayRef<unsigned> lineAxes, Value unit, Value at);

private:
  Values words(const OperandMap &map, const ProductOperand &o, llvm::ArrayRef<unsigned> lineAxes, Value batch, Value line, Value depth);
  void storeTurned(const OperandMap &map, llvm::ArrayRef<Value> words, Value place, Value line, Value depth);
  Value startOf(const OperandMap &map, const ProductOperand &o, llvm::ArrayRef<unsigned> inner, llvm::ArrayRef<unsigned> outer, Value line);
  Value piece(const ProductOperand &o, Value start, Value first, Value length, unsigned elements, unsigned width);
  const BulkProblem &bulk;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_COPYEMITTER_H
