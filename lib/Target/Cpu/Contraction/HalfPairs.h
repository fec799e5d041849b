//===- HalfPairs.h - Products of half types in words of two bf16 -----------===//
//
// One instruction multiplies the two bf16 in each word of 32 bits and adds both products to a sum of f32. So the points of a sum are
// taken in pairs: a panel becomes [K / 2][32] words, the rows of a tile become bf16 one after the other, of which a word of a row is
// spread over a register. To the micro-kernel words are f32 as any others, of half as many points, with another multiply-add.
//
// An f16 is the sum of two bf16, and a word has both. Words of rows times words of columns are two of the four products of such sums; with the
// halves of the rows' words exchanged they are the other two. All are exact in f32, so the sum is the one of f32. Where a matrix unit multiplies
// words, that is a quarter of the work of multiply-adds. See docs/Rationale/Integers.md.
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
  /// `byUnit`: the matrix unit multiplies, in steps that are filled up with zeros, and long sums part by part.
  HalfPairs(VectorBuilder &v, const ContractionShape &shape, bool byUnit) : v(v), shape(shape), byUnit(byUnit) {}
  /// Whether some machine's instruction of vectors may serve the kernel.
  static bool mayFit(const lower::BodyInfo &info);
  /// The same of the matrix unit.
  static bool mayFitTiles(const lower::BodyInfo &info);
  /// Whether the machine multiplies the operands so.
  static bool fit(const ContractionShape &shape, const Isa &isa);
  /// By its matrix unit.
  static bool fitTiles(const ContractionShape &shape, const Isa &isa);
  /// 1 where making words takes less than they save, and else 0: of constant weights always, of others where each row's words serve some panels, and each
  /// panel's some rows.
  static shape::Expr pays(const ContractionShape &shape);

  /// Parts of the sum. A part of a panel and of a tile's rows lies in near caches.
  int64_t parts() const { return llvm::divideCeil(wordsOf(shape), words()); }
  /// Words of a row, of one part, and points that they are.
  int64_t words() const;
  int64_t points() const { return words() * pointsOfWord(shape); }
  /// Words from a row to the next one: a line more than whole lines, since rows that lie a power of two apart share few sets of a cache.
  int64_t pitch() const { return passes() * passPitch() + line; }
  /// `count` points of a part of a panel as words, and zeros up to a part's end. Elements at `from` are of the panel's half type, or f32 that are such numbers
  /// and may lie where words are written to.
  void packPanel(mlir::Value from, mlir::Type type, mlir::Value count, mlir::Value to);
  /// `count` rows of `lhs` from `row` on, at a batch point: the part of each that begins at point `first`.
  void packRows(const lower::BodyEmitter &point, mlir::Value lhs, mlir::Value row, mlir::Value count, mlir::Value first, mlir::Value to);
  /// Words of a step of the unit.
  int64_t step() const { return std::min(words(), MatrixUnit::words); }
  /// Rows and columns that were packed, multiplied by the unit: `height` rows of a register, of which the first are at `rows`. Adds to the sums at
  /// `before`, if any.
  void multiply(MatrixUnit &unit, mlir::Value rows, mlir::Value panel, unsigned columns, mlir::Value height, mlir::Value before, mlir::Value to);
  /// The first or the second elements of words' pairs as f32, whose upper half a bf16 is.
  static mlir::Value elementsOf(VectorBuilder &v, mlir::Value words, bool second);
  /// A vector of f32 as bf16 at element `offset` of memory.
  static void storeRounded(VectorBuilder &v, mlir::Value vector, mlir::Value memory, mlir::Value offset);
  /// sum + the products of the words' pairs.
  static mlir::Value dot(VectorBuilder &v, mlir::Value rows, mlir::Value columns, mlir::Value sum);

private:
  static constexpr int64_t line = 16, mostWords = 1024;
  static bool splits(const ContractionShape &shape) { return shape.rhsType.isF16(); }
  static int64_t pointsOfWord(const ContractionShape &shape) { return splits(shape) ? 1 : 2; }
  static int64_t wordsOf(const ContractionShape &shape) {
    return llvm::divideCeil(*shape.reduced.extent().constant(), pointsOfWord(shape));
  }
  /// So many times a panel's words are multiplied, with words of a row that lie passPitch() words apart.
  unsigned passes() const { return splits(shape) ? 2 : 1; }
  int64_t passPitch() const { return llvm::alignTo(words(), line); }
  int64_t depth() const { return *shape.reduced.extent().constant(); }
  void pairPanel(mlir::Value from, mlir::Type type, mlir::Value count, mlir::Value to);
  std::pair<mlir::Value, mlir::Value> pairsOfHalves(mlir::Value from, mlir::Value even, mlir::Value odd);
  std::pair<mlir::Value, mlir::Value> pairsOfSingles(mlir::Value from, mlir::Value even, mlir::Value odd);
  void splitPanel(mlir::Value from, mlir::Type type, mlir::Value count, mlir::Value to);
  mlir::Value splitWords(mlir::Value vector);
  mlir::Value exchanged(mlir::Value words);
  void putRow(mlir::Value from, mlir::Value point, mlir::Value left, mlir::Value to, mlir::Value place);

  VectorBuilder &v;
  const ContractionShape &shape;
  const bool byUnit;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_HALFPAIRS_H
