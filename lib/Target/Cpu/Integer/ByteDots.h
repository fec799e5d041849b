//===- ByteDots.h - Sums of four products of bytes in a word ---------------===//
#ifndef LATHE_TARGET_CPU_BYTEDOTS_H
#define LATHE_TARGET_CPU_BYTEDOTS_H

#include "IntegerProduct.h"

namespace lathe::cpu {

/// A panel of columns, and behind it the list of its words that are multiplied in halves; null: none is.
struct ColumnPanel {
  mlir::Value words, list;
};

/// What is requested from memory beside a tile's words: for each of them `step` bytes more, from pass to pass over the rows `passStep`.
struct Request {
  mlir::Value from, step, passStep;
};

/// Words as the instructions of a form take them.
struct ByteWords {
  mlir::Value whole, even, odd;
  static ByteWords of(VectorBuilder &v, schedule::ByteForm form, mlir::Value words, bool isSigned);
};

/// acc + the four products in each word of 32 bits: `rows` unsigned bytes, `columns` signed ones.
mlir::Value dotBytes(VectorBuilder &v, schedule::ByteForm form, mlir::Value acc, const ByteWords &rows, const ByteWords &columns);
/// `only`: of all columns no byte but the first so many is other than zero.
mlir::Value dotBytes(VectorBuilder &v, mlir::Value acc, mlir::Value rows, mlir::Value columns, int64_t only = quad);

/// x[2i] * y[2i] + x[2i + 1] * y[2i + 1] of 16-bit lanes, in 32 bits.
mlir::Value addPairs(VectorBuilder &v, mlir::Value x, mlir::Value y);
/// The vector's bits as 16-bit lanes.
mlir::VectorType halvesOf(VectorBuilder &v);
/// Bytes 0 and 2 of each word, then bytes 1 and 3, as 16-bit lanes.
std::pair<mlir::Value, mlir::Value> splitBytes(VectorBuilder &v, mlir::Value words, bool isSigned);

/// A vector of words, and one in all lanes.
mlir::Value loadWords(VectorBuilder &v, mlir::Value pointer, mlir::Value word);
mlir::Value loadWord(VectorBuilder &v, mlir::Value pointer, mlir::Value word);
/// Where a word lies, of a table of i64.
mlir::Value loadOffset(VectorBuilder &v, mlir::Value table, mlir::Value word);

/// Calls body(form, word, number in its trip, sums) for all words: what is listed in halves, the others in `form`. A trip has `perTrip` words where these
/// are dot products; with one word it stays a loop, however few words there are.
using WordBody = llvm::function_ref<VectorBuilder::Values(schedule::ByteForm, mlir::Value, unsigned, VectorBuilder::Values)>;
VectorBuilder::Values eachWord(VectorBuilder &v, schedule::ByteForm form, mlir::Value list, mlir::Value words, VectorBuilder::Values sums,
                               unsigned perTrip, WordBody body);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_BYTEDOTS_H
