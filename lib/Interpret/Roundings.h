//===- Roundings.h - What else a result may be -----------------------------===//
#ifndef LATHE_LIB_INTERPRET_ROUNDINGS_H
#define LATHE_LIB_INTERPRET_ROUNDINGS_H

#include "Interpreter.h"
#include <random>

namespace lathe::interpret {

/// Moves results up or down by what another order of additions, a multiplication and addition that rounds once, or
/// another good implementation of a function may make of them. The same seed gives the same moves.
class Roundings {
public:
  explicit Roundings(uint64_t seed) : generator(seed) {}
  /// `op`: with static types. Results that every implementation has are left alone.
  void apply(mlir::Operation *op, Inputs in, Tensor &out);

private:
  void move(double &v, double by, mlir::Type element);
  void moveSums(mlir::Operation *op, Inputs in, Tensor &out);
  void moveProducts(mlir::Operation *op, Inputs in, Tensor &out);

  std::mt19937_64 generator;
};

} // namespace lathe::interpret

#endif // LATHE_LIB_INTERPRET_ROUNDINGS_H
