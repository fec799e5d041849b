//===- ImageWords.h - Images of bytes as words of four channels ------------===//
#ifndef LATHE_TARGET_CPU_IMAGEWORDS_H
#define LATHE_TARGET_CPU_IMAGEWORDS_H

#include "ImageLines.h"
#include "IntegerEmitter.h"

namespace lathe::cpu {

/// All that is read for each channel has them side by side.
bool channelsLieTogether(const lower::BodyInfo &info, const IntegerShape &shape);

/// A block is some lines of one image. The part of the image under its windows lies in scratch as words of four channels, border
/// and all: [outer taps][channels / 4][y][x], or, where channels lie side by side, [outer taps][y][x][channels / 4]. Word w of the sum lies
/// at a fixed distance from where the window starts, which a table holds, and neighbouring places of a line at another.
///
/// Where sums have places in the lanes, the words of neighbouring windows lie side by side: of a window's steps the first places of all, then the
/// second ones, [phase of y][phase of x][y / step][x / step]. Lines follow one another, so that vectors may go on from line to line.
class ImageWords : protected IntegerEmitter {
protected:
  /// For the matrix unit with the words of its steps and the operands' signs; `shape` is unshifted then.
  struct Steps {
    int64_t words;
    bool rowsSigned;
  };
  ImageWords(KernelFunction &f, const IntegerShape &shape, std::optional<Steps> steps);

  /// Places whose sums there are at a time, where they are in the lanes.
  static constexpr int64_t mostPlaces = 256;
  const Slide &x() const { return shape.slides.back(); }
  const Slide *y() const { return shape.slides.size() > 1 ? &shape.slides[shape.slides.size() - 2] : nullptr; }
  shape::Expr width() const { return extentOf(x().row); }
  shape::Expr height() const { return y() ? extentOf(y()->row) : shape::Expr(1); }
  /// Of an image.
  shape::Expr blocks() const;
  shape::Expr linesPerBlock() const { return shape::Expr::ceildiv(height(), shape::Expr::max(blocks(), shape::Expr(1))); }
  shape::Expr imageWords() const;
  void fillTable();
  /// The image under the windows of a block.
  void packImage(const lower::BodyEmitter &point, mlir::Value firstLine, mlir::Value lines);
  /// Whether a vector of places stays in a line, because that is what fills it, or because a line's sums are all there is room for.
  bool goesByLine() const;

  std::optional<Steps> steps;
  bool lieTogether; ///< channels, in the image
  bool together;    ///< and in scratch
  bool inPlaces;    ///< places are in the lanes
  /// Behind the image: where words of the sum lie, and room for a panel.
  mlir::Value table, room;
  mlir::Value lineLength, rowLength; ///< in words of a line of the image, and in places of one of windows
  mlir::Value placeStep;             ///< from a place to the next one, in words

private:
  /// A vector of places becomes two where windows step by two.
  static constexpr int64_t mostPhases = 2;
  shape::Expr extentOf(std::optional<unsigned> axis) const { return axis ? f.info.extents[*axis] : shape::Expr(1); }
  shape::Expr spanOf(const Slide &s, const shape::Expr &places) const { return cpu::spanOf(f.info, s, places); }
  shape::Expr channelWords() const { return shape::Expr::ceildiv(f.info.extents[shape.channels()], shape::Expr(quad)); }
  int64_t phases(const Slide *s) const { return inPlaces && s ? s->stride : 1; }
  shape::Expr lineWords() const;
  shape::Expr phaseWords() const;
  shape::Expr planeWords() const;
  bool fillsLanes();
  void forOuterTaps(const lower::BodyEmitter &point, llvm::function_ref<void(const lower::BodyEmitter &, mlir::Value)> body);
  void bindPlace(lower::BodyEmitter &at, const Slide &s, mlir::Value place) { cpu::bindPlace(v, f.info, at, s, place); }
  /// Where a place of a line lies from the line's start on, and a line from the plane's.
  mlir::Value placeAt(mlir::Value place);
  mlir::Value lineAt(mlir::Value line);

  void findRuns();
  bool isRunOfBytes(kernel::LoadOp load) const;
  void packTogether(const lower::BodyEmitter &line, mlir::Value outer, mlir::Value number);
  void packLine(const lower::BodyEmitter &at, mlir::Value plane, mlir::Value line);
  void packVector(const lower::BodyEmitter &at, const std::string &lane, mlir::Value place, mlir::Value plane, mlir::Value to, mlir::Value mask,
                  mlir::Value from = {}, bool inside = false);
  void transposeSquare(mlir::Value to);
  void storeWords(mlir::Value quads, mlir::Value plane, mlir::Value to);

  ImageBorders borders;
  llvm::SmallVector<kernel::LoadOp> runs; ///< bytes side by side along lines
  bool shifts = false; ///< a vector of bytes is a word of the machine, and all that is read has the one border
  mlir::Value square;  ///< words of as many channels as lanes at a vector of places
  mlir::Value places, phaseLength, planeLength;
  mlir::Value channelStep, outerStep; ///< from four channels and an outer tap to the next one, in words
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_IMAGEWORDS_H
