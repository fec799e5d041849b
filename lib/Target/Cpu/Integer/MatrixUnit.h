//===- MatrixUnit.h - Products of tiles of bytes (AMX) ----------------------===//
//
// Eight registers of up to 16 rows of 64 bytes: sums are 16 x 16 words of 32 bits; the first factor has a row of sums in each of its rows, as
// words of four points of the sum; the second one has a word of the sum in each of its rows, for 16 columns, which is how panels of
// columns are packed anyway. Signs are those of the instruction. How high and how wide the registers are is a configuration
// that a thread loads, and that makes all of them zero.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_MATRIXUNIT_H
#define LATHE_TARGET_CPU_MATRIXUNIT_H

#include "../VectorBuilder.h"

namespace lathe::cpu {

class MatrixUnit {
public:
  /// Rows of a register, and words of 32 bits in one.
  static constexpr int64_t rows = 16, words = 16, rowBytes = 64;
  /// Of sums, a block of two by two; of the first factor; of the second one.
  static constexpr unsigned sums[2][2] = {{0, 1}, {2, 3}}, firsts[2] = {4, 5}, seconds[2] = {6, 7};

  /// Reserves the configuration, on the stack, where the builder stands: at the function's entry.
  explicit MatrixUnit(VectorBuilder &v);
  /// From here on sums and the first factor have `height` rows, and products go over `depth` words: 1 to 16 both.
  void configure(mlir::Value height, mlir::Value depth);
  /// The thread is left without a configuration, as the system and other code expect it.
  void release();
  void zero(unsigned tile) { call("tilezero", {number(tile)}); }
  /// Rows lie `pitch` bytes apart.
  void load(unsigned tile, mlir::Value from, int64_t pitch) { call("tileloadd64", {number(tile), from, v.i(pitch)}); }
  void store(unsigned tile, mlir::Value to, int64_t pitch) { call("tilestored64", {number(tile), to, v.i(pitch)}); }
  /// sums += first * second, whose bytes are signed or not.
  void multiply(unsigned sums, unsigned first, unsigned second, bool firstSigned, bool secondSigned);

private:
  mlir::Value number(unsigned tile);
  void call(llvm::StringRef instruction, llvm::ArrayRef<mlir::Value> operands);

  VectorBuilder &v;
  mlir::Value configuration;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_MATRIXUNIT_H
