//===- IntegerRows.h - Operands of integer products in words ---------------===//
#ifndef LATHE_TARGET_CPU_INTEGERROWS_H
#define LATHE_TARGET_CPU_INTEGERROWS_H

#include "IntegerProduct.h"
#include "TiledWords.h"
#include <functional>

namespace lathe::cpu {

class ImageBorders;

/// A byte, or a vector of them, as the other sign has it: 128 is added or taken away.
mlir::Value withOtherSign(VectorBuilder &v, mlir::Value bytes);

/// Packs operands as the micro-kernels read them: four points of the sum in a word, bytes past the sum zero, rows unsigned and
/// columns signed.
class WordPacker {
public:
  WordPacker(VectorBuilder &v, const IntegerShape &shape, const lower::BodyInfo &info, mlir::Value rowsRef, mlir::Value columnsRef)
      : v(v), shape(shape), info(info), rowsRef(rowsRef), columnsRef(columnsRef) {}

  /// Words of rows that are evaluated before they are stored in tiles.
  static constexpr int64_t lines = 8;
  /// Whether rows lie in memory as the sum goes along them.
  bool rowsAreRuns() const;
  /// Of such rows: where they lie, how many bytes each has, and the first one of a row.
  struct Runs {
    mlir::Value memory, length;
    std::function<mlir::Value(mlir::Value)> startOf;
  };
  Runs runs(const lower::BodyEmitter &point);
  /// Words of rows, line by line with the rows in the lanes; whenever there are `count` lines, and behind the last word, take(last) has them,
  /// up to that word.
  void evaluate(const lower::BodyEmitter &point, mlir::Value first, mlir::Value rows, mlir::Value words, int64_t count, mlir::Value room,
                int64_t pitch, llvm::function_ref<void(mlir::Value)> take);
  /// Rows first .. first + count - 1. `room`: for so many lines of `pitch` words, a vector more than there are rows.
  void rows(const lower::BodyEmitter &point, mlir::Value first, mlir::Value count, const TiledWords &to, mlir::Value room, int64_t pitch);
  /// A panel of columns that are not packed.
  void columns(const lower::BodyEmitter &point, mlir::Value first, mlir::Value to);
  /// Words of the image, lanes along its innermost dimension: four channels from `channel` on at width places. `at` has the
  /// other dimensions bound; `lane` is the kernel axis that stands for the place. With `from` the bytes of `runs` are loaded from that
  /// place on, all of which can be read, and shifted: what comes in is of no matter. With `inside` no place is beyond these borders.
  mlir::Value imageWords(const lower::BodyEmitter &at, mlir::Value channel, const std::string &lane, mlir::Value place, mlir::Value mask,
                         mlir::Value from = {}, llvm::ArrayRef<kernel::LoadOp> runs = {}, const ImageBorders *inside = nullptr);

private:
  using Values = VectorBuilder::Values;
  mlir::Value join(mlir::ArrayRef<mlir::Value> bytes, bool flip);
  const std::string &lastAxis() const { return info.axes[shape.channels()]; }
  mlir::Value rowWord(const lower::BodyEmitter &at, mlir::Value word, mlir::Value extent, bool lanes, mlir::Value laneFrom, mlir::Value mask);
  void copyRuns(const lower::BodyEmitter &point, mlir::Value first, mlir::Value count, const TiledWords &to);
  void runsTail(mlir::ArrayRef<mlir::Value> starts, mlir::Value whole, mlir::Value depth,
                llvm::function_ref<void(mlir::Value, mlir::Value, unsigned)> put);
  void evaluateRows(const lower::BodyEmitter &point, mlir::Value first, mlir::Value count, const TiledWords &to, mlir::Value room, int64_t pitch);
  void storeLines(const TiledWords &to, mlir::Value count, mlir::Value room, int64_t pitch, mlir::Value last);
  /// Calls body(point, word, channel word) for each word of the sum, with all but the last summed axis bound.
  void forWords(const lower::BodyEmitter &point,
                llvm::function_ref<void(const lower::BodyEmitter &, mlir::Value, mlir::Value)> body);
  void store(mlir::Value words, mlir::Value to, mlir::Value at);
  mlir::Value shiftedBytes(mlir::Value pointer, mlir::Value places);

  VectorBuilder &v;
  const IntegerShape &shape;
  const lower::BodyInfo &info;
  mlir::Value rowsRef, columnsRef;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_INTEGERROWS_H
