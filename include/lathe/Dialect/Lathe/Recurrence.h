//===- Recurrence.h - LSTM, GRU and plain recurrent layers ------------------===//
//
// A short sequence of constant length is written out, any other is a loop. What does not depend on the state (the operand
// times its weights) is computed for all steps at once, so that a step is one product and a few elementwise ops.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_LATHE_RECURRENCE_H
#define LATHE_DIALECT_LATHE_RECURRENCE_H

#include "lathe/Dialect/Lathe/CountedLoop.h"

namespace lathe::ir {

/// What goes from step to step: the hidden values [batch, H], and an LSTM's memory.
struct RecurrentState {
  mlir::Value hidden, memory;
};

/// What a step reads; all but `state` may be null.
struct RecurrentWeights {
  mlir::Value state;      ///< [gates * H, H], or as the cell's product takes it
  mlir::Value bias;       ///< of the state's product, [gates * H]
  mlir::Value peepholes;  ///< of an LSTM: how the memory acts on the input, output and forget gates, [3 * H]
  mlir::Value projection; ///< of an LSTM's hidden values
};

/// One step of a layer. Which block of H rows is whose is a matter of the format that the weights come from.
struct RecurrentCell {
  enum class Kind { Plain, Gru, Lstm };
  Kind kind;
  struct {
    int64_t input, output, forget, candidate;
  } lstm = {0, 3, 1, 2};
  struct {
    int64_t reset, update; ///< the candidate is the third
  } gru = {0, 1};
  /// 0: of the gates (of a plain layer, its only one); 1: of the candidate; 2: of the memory.
  std::function<mlir::Value(unsigned which, mlir::Value)> activate;
  /// The state times its weights, with the bias where there is one; null: `linear`.
  std::function<mlir::Value(mlir::Value hidden, mlir::Value weights, mlir::Value bias)> product;
  bool resetsAfter = true;    ///< of a GRU: the reset gate acts on the product, not on the state in front of it
  bool couplesForget = false; ///< of an LSTM: what the input gate lets in, the forget gate drops

  int64_t gates() const { return kind == Kind::Plain ? 1 : kind == Kind::Gru ? 3 : 4; }
  /// `in`: the operand's part, [batch, gates * H].
  RecurrentState step(GraphBuilder &g, mlir::Value in, const RecurrentState &before, const RecurrentWeights &weights) const;

private:
  RecurrentState gruStep(GraphBuilder &g, mlir::Value in, const RecurrentState &before, const RecurrentWeights &weights) const;
  RecurrentState lstmStep(GraphBuilder &g, mlir::Value in, const RecurrentState &before, const RecurrentWeights &weights) const;
  mlir::Value times(GraphBuilder &g, mlir::Value hidden, mlir::Value weights, mlir::Value bias) const;
};

/// A layer in one direction.
struct Recurrence {
  const RecurrentCell &cell;
  RecurrentState first;
  bool reversed = false;
  mlir::Value lengths = {}; ///< of each sequence, [batch], or null: beyond it the state stays and the output is zero
  llvm::SmallVector<mlir::Value> captured = {}; ///< what `weights` reads from outside of the loop
  std::function<RecurrentWeights(llvm::ArrayRef<mlir::Value> captured)> weights = {};
  std::string name = {}; ///< of the loop
  std::function<llvm::SmallVector<mlir::Value>(const CountedLoop &)> buildLoop = {};
  int64_t unrolledSteps = 0; ///< as many are written out
};

/// Over the operand's part in all steps, [steps, batch, gates * H]: the hidden values behind each, [steps, batch, H], and the last state.
std::pair<mlir::Value, RecurrentState> runRecurrence(GraphBuilder &g, mlir::Value in, const Recurrence &recurrence);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_RECURRENCE_H
