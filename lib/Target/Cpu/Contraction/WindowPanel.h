//===- WindowPanel.h - Panels of what windows read, line by line -----------===//
//
// The columns of a product may be the pixels of an image: several axes that are walked as one, where what a window reads does not go on at
// one stride from line to line. A vector that crosses the end of a line gathers, with a division for each lane. The others lie on one line,
// of which the ends alone need predicates: there vectors are loaded whole, or as many as the window's stride, of which a shuffle takes some.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_WINDOWPANEL_H
#define LATHE_TARGET_CPU_WINDOWPANEL_H

#include "Contraction.h"

namespace lathe::cpu {

/// The second factor of a product over the axes that its columns are made of.
struct WindowLines {
  const lower::BodyInfo &info;
  AxisGroup columns;
  mlir::Value value;
};

/// As emitComputePanel. `base` has the joined column axis, `line` the axes of `lines`; the batch is bound in both. `cacheBytes`: of the first-level cache.
void emitWindowPanel(VectorBuilder &v, const ContractionShape &shape, const WindowLines &lines, const lower::BodyEmitter &base,
                     const lower::BodyEmitter &line, mlir::Value first, mlir::Value columns, mlir::Value panel,
                     int64_t cacheBytes);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_WINDOWPANEL_H
