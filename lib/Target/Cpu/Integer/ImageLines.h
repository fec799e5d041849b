//===- ImageLines.h - Lines of an image that windows slide over ------------===//
#ifndef LATHE_TARGET_CPU_IMAGELINES_H
#define LATHE_TARGET_CPU_IMAGELINES_H

#include "IntegerProduct.h"

namespace lathe::cpu {

/// Elements that windows at so many places in a row reach over.
shape::Expr spanOf(const lower::BodyInfo &info, const Slide &s, const shape::Expr &places);
/// Binds the axes of a dimension, so that the image is read at `place`, counted from the first window's start.
void bindPlace(VectorBuilder &v, const lower::BodyInfo &info, lower::BodyEmitter &at, const Slide &s, mlir::Value place);
/// The axis that stands for the places of a line where the image is copied.
const std::string &laneOf(const lower::BodyInfo &info, const Slide &x);

/// Where an image ends: the predicates of what is read for a value. All are conditions of indices that are linear in the lanes, which IntegerShape has
/// seen to for what rows and taps they mention.
class ImageBorders {
public:
  /// `bound`: axes that are bound where a line is.
  ImageBorders(VectorBuilder &v, const lower::BodyInfo &info, mlir::Value image, lower::AxisSet bound);
  llvm::ArrayRef<mlir::Value> all() const { return borders; }
  /// Whether each holds between any two places of a line at which it does.
  bool areIntervals() const { return intervals; }
  /// The places of a line, of `places`, of which all is read that is read anywhere: [first, second).
  std::pair<mlir::Value, mlir::Value> insideOf(const lower::BodyEmitter &line, const std::string &lane, mlir::Value places) const;
  /// Whether all is read at a point (i1); at a place of a line.
  mlir::Value isInside(lower::BodyEmitter &point) const;
  mlir::Value isInside(lower::BodyEmitter line, const std::string &lane, mlir::Value place) const {
    line.bindAxis(lane, place);
    return isInside(line);
  }
  /// The point lies inside, whose axes are all bound: one that is bound again is asked again. Or outside, of the one border that there is.
  void hold(lower::BodyEmitter &point, bool inside = true) const;

private:
  std::optional<std::pair<mlir::Value, mlir::Value>> solve(const lower::BodyEmitter &line, const std::string &lane, mlir::Value places) const;
  mlir::Value walk(const lower::BodyEmitter &line, const std::string &lane, mlir::Value from, mlir::Value last, int64_t step) const;

  VectorBuilder &v;
  llvm::SmallVector<mlir::Value> borders;
  bool intervals = true;
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_IMAGELINES_H
