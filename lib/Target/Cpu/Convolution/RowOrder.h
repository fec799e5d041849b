//===- RowOrder.h - Kernels whose items follow the rows of an image --------===//
//
// A kernel that makes an image from one end to the other, and needs for each row of it a window of its operand, can run in turns with the
// kernel that makes that operand (lib/Runtime/Stripes.c). Here is found whether it does, from its accesses.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_ROWORDER_H
#define LATHE_TARGET_CPU_ROWORDER_H

#include "../AxisGroup.h"
#include "../KernelEmitters.h"

namespace lathe::cpu {

/// The kernel writes one result, whose rows follow one another as those of `rows` do; `unit` items make a group of rows. Nothing elsewhere.
std::optional<StagePlan> stageOfRows(const KernelFunction &f, const AxisGroup &rows, const shape::Expr &unit);
/// Row r of the result reads row r of what `image` loads, and nothing else does.
void addOperandOfRows(StagePlan &stage, const lower::BodyInfo &info, kernel::LoadOp image, const AxisGroup &rows);
/// A window that slides along the last two axes of `rows`, an image for each point of the one in front of them: `taps` are its axes.
void addOperandOfWindows(StagePlan &stage, const lower::BodyInfo &info, kernel::LoadOp image, const AxisGroup &rows, const AxisGroup &taps);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_ROWORDER_H
