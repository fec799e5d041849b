//===- HalfPairs.h - Products of pairs of bf16 -----------------------------===//
//
// One instruction multiplies the two bf16 in each word of 32 bits and adds both products to a sum of f32. So the points of a sum are
// taken in pairs: a panel becomes [K / 2][32] words, the rows of a tile become bf16 one after the other, of which a word of a row is
// spread over a register. To the micro-kernel words are f32 as any others, of half as many points, with another multiply-add.
// See docs/Rationale/Integers.md.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_HALFPAIRS_H
#define LATHE_TARGET_CPU_HALFPAIRS_H

#include "Contraction.h"
#include "../MatrixUnit.h"
#include "lathe/Lower/BodyEmitter.h"

namespace lathe::cpu {

class HalfPairs {
public:
  HalfPairs(VectorBuilder &v, const ContractionShape &shape) : v(v), shape(shape) {}
  /// Whether some machine's instruction may serve the kernel.
  static bool mayFit(const lower::BodyInfo &info);
  /// The same of the matrix unit.
  static bool mayFitTiles(const lower::BodyInfo &info);
  /// Whether the machine multiplies the operands so.
  static bool fit(const ContractionShape &shape, const Isa &isa);

  /// Words of a row, and from a row to the next one: a line more than whole lines, since rows that lie a power of two apart share few sets
  /// of a cache.
  int64_t words() const { return wordsOf(shape); }
  int64_t pitch() const { return (words() + 15) / 16 * 16 + 16; }
  /// The packed panel of bf16 at `from` as words.
  void packPanel(mlir::Value from, mlir::Value to);
  /// `count` rows of `lhs` from `row` on, at a batch point.
  void packRows(const lower::BodyEmitter &point, mlir::Value lhs, mlir::Value row, mlir::Value count, mlir::Value to);
  /// Words that the matrix unit multiplies in a step; none where it does not.
  static std::optional<int64_t> step(const ContractionShape &shape, const Isa &isa) {
    return isa.multipliesHalfTiles() ? MatrixUnit::stepOf(wordsOf(shape)) : std::nullopt;
  }
  /// The first or the second elements of words' pairs as f32, whose upper half a bf16 is.
  static mlir::Value elementsOf(VectorBuilder &v, mlir::Value words, bool second);
  /// A vector of f32 as bf16 at element `offset` of memory.
  static void storeRounded(VectorBuilder &v, mlir::Value vector, mlir::Value memory, mlir::Value offset);
  /// sum + the products of the words' pairs.
  static mlir::Value dot(VectorBuilder &v, mlir::Value rows, mlir::Value columns, mlir::Value sum);

private:
  static int64_t wordsOf(const ContractionShape &shape) { return (*shape.reduced.extent().constant() + 1) / 2; }
  int64_t depth() const { return *shape.reduced.extent().constant(); }

  VectorBuilder &v;
  const ContractionShape &shape;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_HALFPAIRS_H
