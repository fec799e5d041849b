//===- VectorBuilder.h - Emits micro-kernels over 1-D vectors --------------===//
//
// The micro-kernels of contractions and attention are built from register-sized vectors, i64 index arithmetic and flat
// pointers. This helper spells them shortly and hides what differs between instruction sets: the width, whether there is a
// fused multiply-add, and how half types are widened.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_VECTORBUILDER_H
#define LATHE_TARGET_CPU_VECTORBUILDER_H

#include "Isa.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace lathe::cpu {

class VectorBuilder {
public:
  /// Vectors hold `element` (f32 or f64).
  VectorBuilder(mlir::OpBuilder &b, mlir::Location loc, const Isa &target, mlir::FloatType element);

  using Values = llvm::SmallVector<mlir::Value>;

  mlir::OpBuilder &b;
  mlir::Location loc;
  const Isa &target;
  mlir::FloatType element;
  unsigned lanes;
  mlir::VectorType vec, intVec;

  //===--- i64 arithmetic, folded where constant ---------------------------===//
  mlir::Value i(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::AddIOp>(loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::SubIOp>(loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MulIOp>(loc, x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::DivUIOp>(loc, x, y); }
  mlir::Value rem(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::RemUIOp>(loc, x, y); }
  mlir::Value min(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MinSIOp>(loc, x, y); }
  mlir::Value max(mlir::Value x, mlir::Value y) { return b.createOrFold<mlir::arith::MaxSIOp>(loc, x, y); }
  mlir::Value add(mlir::Value x, int64_t y) { return y ? add(x, i(y)) : x; }
  mlir::Value sub(mlir::Value x, int64_t y) { return y ? sub(x, i(y)) : x; }
  mlir::Value mul(mlir::Value x, int64_t y) { return y == 1 ? x : mul(x, i(y)); }
  /// Of non-negative values.
  mlir::Value div(mlir::Value x, int64_t y) { return y == 1 ? x : div(x, i(y)); }
  mlir::Value ceilDiv(mlir::Value x, mlir::Value y) { return div(add(x, sub(y, 1)), y); }
  mlir::Value ceilDiv(mlir::Value x, int64_t y) { return div(add(x, y - 1), y); }
  /// A number's last coordinate, of `count` places; `number` is left with those before it.
  mlir::Value takeLast(mlir::Value &number, mlir::Value count) {
    mlir::Value last = rem(number, count);
    number = div(number, count);
    return last;
  }
  /// Down to a multiple of a power of two.
  mlir::Value roundDown(mlir::Value x, int64_t powerOfTwo);
  mlir::Value less(mlir::Value x, mlir::Value y);
  mlir::Value equal(mlir::Value x, mlir::Value y);
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y);

  //===--- memory: element offsets from a pointer --------------------------===//
  mlir::Value at(mlir::Value pointer, mlir::Value offset, mlir::Type elementType);
  mlir::Value at(mlir::Value pointer, mlir::Value offset) { return at(pointer, offset, element); }
  /// The same pointer, whose relation to others the code generator does not see (what it may alias it does).
  mlir::Value apart(mlir::Value pointer);
  /// The same vector or pointer, of whose making the code generator sees nothing: of two vectors that are one element spread it makes two, and what is
  /// loaded twice it keeps.
  mlir::Value opaque(mlir::Value value);
  /// What is in vector registers waits in memory from here to its next use. The code generator rather keeps what it took out of outer loops there, and
  /// spills the sums of the loops within; of sixteen registers a micro-kernel needs all.
  void freeRegisters();
  mlir::Value load(mlir::Value pointer, mlir::Value offset);
  void store(mlir::Value v, mlir::Value pointer, mlir::Value offset);
  /// One element of `type` (f32, f64, bf16, f16), converted to the vector's element type.
  mlir::Value loadScalar(mlir::Value pointer, mlir::Value offset, mlir::Type type);
  mlir::Value loadScalar(mlir::Value pointer, mlir::Value offset) { return loadScalar(pointer, offset, element); }
  /// A vector of elements of `type`, converted; with a mask the lanes outside hold zero.
  mlir::Value loadConverted(mlir::Value pointer, mlir::Value offset, mlir::Type type, mlir::Value mask = {});
  /// `count` elements, fewer than a vector has.
  mlir::Value loadPart(mlir::Value pointer, mlir::Value offset, unsigned count);
  mlir::Value broadcast(mlir::Value pointer, mlir::Value offset) { return splat(loadScalar(pointer, offset)); }
  void storeScalar(mlir::Value v, mlir::Value pointer, mlir::Value offset);
  /// Requests a line for the caches from `level` outwards.
  void prefetch(mlir::Value pointer, mlir::Value offset, mlir::Type elementType, unsigned level = 1);
  /// Lanes 0 .. count-1 (as a vector of i1), of a vector of `width` elements where that is not 0.
  mlir::Value firstLanes(mlir::Value count, unsigned width = 0);
  mlir::Value firstLanes(unsigned count);
  /// Lanes first .. end-1.
  mlir::Value lanesFrom(mlir::Value first, mlir::Value end);

  //===--- vectors ---------------------------------------------------------===//
  mlir::Value f(double value);
  mlir::Value intSplat(int64_t value);
  mlir::Value splat(mlir::Value scalar);
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z);
  mlir::Value addf(mlir::Value x, mlir::Value y) { return b.create<mlir::arith::AddFOp>(loc, x, y); }
  mlir::Value subf(mlir::Value x, mlir::Value y) { return b.create<mlir::arith::SubFOp>(loc, x, y); }
  mlir::Value mulf(mlir::Value x, mlir::Value y) { return b.create<mlir::arith::MulFOp>(loc, x, y); }
  mlir::Value divf(mlir::Value x, mlir::Value y) { return b.create<mlir::arith::DivFOp>(loc, x, y); }
  /// x > y ? x : y, which is one instruction; a NaN in x gives y.
  mlir::Value maxOr(mlir::Value x, mlir::Value y);
  mlir::Value shuffle(mlir::Value x, mlir::Value y, llvm::ArrayRef<int64_t> mask);
  /// As many vectors as each has elements, a power of two: a butterfly of two-source shuffles.
  Values transpose(Values rows);
  /// 2^x to about 2 ulp (f32); exactly zero below -126.5; NaN stays NaN.
  mlir::Value exp2(mlir::Value x);

  //===--- control ---------------------------------------------------------===//
  Values loop(mlir::Value from, mlir::Value to, int64_t step, Values init,
              llvm::function_ref<Values(mlir::Value, Values)> body);
  void loop(mlir::Value from, mlir::Value to, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  /// main from `from` in steps of `unroll`, then the rest one by one; body(k, u, state): point k + u.
  Values unrolled(mlir::Value from, mlir::Value to, int64_t unroll, Values init,
                  llvm::function_ref<Values(mlir::Value, unsigned, Values)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> then, llvm::function_ref<void()> otherwise = {});
  /// body(c) for the one of these cases that `number` is: each has code of its own.
  void choose(mlir::Value number, llvm::ArrayRef<int64_t> cases, llvm::function_ref<void(int64_t)> body);
  Values ifValues(mlir::Value condition, llvm::function_ref<Values()> then, llvm::function_ref<Values()> otherwise);

private:
  mlir::Value widen(mlir::Value raw, mlir::Type from, mlir::Type to);
  mlir::Value widenHalf(mlir::Value raw, mlir::Type to);
};

/// Moves elements about in vectors. Booleans and half types go as the integers that they are in memory.
VectorBuilder::Values movedAsIntegers(mlir::OpBuilder &b, mlir::Location loc, VectorBuilder::Values vectors,
                                      llvm::function_ref<VectorBuilder::Values(VectorBuilder::Values)> move);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_VECTORBUILDER_H
