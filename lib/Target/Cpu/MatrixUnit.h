//===- MatrixUnit.h - Products of tiles of bytes, or of bf16 (AMX) ----------===//
//
// Eight registers of up to 16 rows of 64 bytes: sums are 16 x 16 words of 32 bits; the first factor has a row of sums in each of its rows, as
// words of four points of the sum (of bf16: two); the second one has a word of the sum in each of its rows, for 16 columns, which is how panels
// of columns are packed anyway. Signs are those of the instruction. How high and how wide the registers are is a configuration
// that a thread loads, and that makes all of them zero.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_MATRIXUNIT_H
#define LATHE_TARGET_CPU_MATRIXUNIT_H

#include "VectorBuilder.h"
#include <optional>

namespace lathe::cpu {

class MatrixUnit {
public:
  /// Rows of a register, and words of 32 bits in one.
  static constexpr int64_t rows = 16, words = 16, rowBytes = 64;
  /// Of rows, that are multiplied together.
  static constexpr unsigned tilesOfGroup = 2;
  static constexpr int64_t groupRows = tilesOfGroup * rows;

  /// Reserves the configuration, on the stack, where the builder stands: at the function's entry.
  explicit MatrixUnit(VectorBuilder &v);
  /// From here on sums and the first factor have `height` rows, and products go over `depth` words: 1 to 16 both.
  void configure(mlir::Value height, mlir::Value depth);
  /// The thread is left without a configuration, as the system and other code expect it.
  void release();

  /// Instructions: of bytes that are signed or not.
  static std::string ofBytes(bool firstSigned, bool secondSigned) {
    return std::string("tdpb") + (firstSigned ? "s" : "u") + (secondSigned ? "s" : "u") + "d";
  }
  /// Words of steps that go up in a run of so many; none where steps would be short, and leave most of a tile empty.
  static std::optional<int64_t> stepOf(int64_t run) {
    for (int64_t step = words; step >= words / 2; --step)
      if (run && run % step == 0)
        return step;
    return std::nullopt;
  }

  struct Factors {
    std::string product;
    mlir::Value firstPitch; ///< bytes from row to row of the first factor
    /// Where a step's words of the first row of a tile of rows lie, and those of a panel of columns. The latter is asked once a step.
    llvm::function_ref<mlir::Value(unsigned tile, mlir::Value step)> first;
    llvm::function_ref<mlir::Value(mlir::Value step)> second;
    /// The panel's words are multiplied so many times, with words of the rows that lie so many bytes behind those of the time before.
    unsigned passes = 1;
    int64_t passBytes = 0;
  };
  /// Words of two bf16 that lie in rows, `pitch` words apart, and in a panel, in steps of so many.
  struct HalfWords {
    mlir::Value rows, panel, steps;
    int64_t pitch, step;
    unsigned passes = 1;
    int64_t passPitch = 0; ///< words of rows from one pass to the next
  };
  /// The products of a group, two tiles of `height` rows, with so many columns of a panel, stored as sums[row][panelColumns]; added to those at
  /// `before`, if there are any.
  void multiply(const Factors &factors, mlir::Value steps, unsigned columns, mlir::Value sums, mlir::Value height, mlir::Value before = {});
  void multiply(const HalfWords &factors, unsigned columns, mlir::Value sums, mlir::Value height, mlir::Value before = {});

private:
  void zero(unsigned tile) { call("tilezero", {number(tile)}); }
  void load(unsigned tile, mlir::Value from, mlir::Value pitch) { call("tileloadd64", {number(tile), from, pitch}); }
  void store(unsigned tile, mlir::Value to, mlir::Value pitch) { call("tilestored64", {number(tile), to, pitch}); }
  mlir::Value number(unsigned tile);
  void call(llvm::StringRef instruction, llvm::ArrayRef<mlir::Value> operands);

  VectorBuilder &v;
  mlir::Value configuration;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_MATRIXUNIT_H
