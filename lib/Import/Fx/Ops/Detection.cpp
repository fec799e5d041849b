//===- Detection.cpp - torchvision's own operators --------------------------===//

#include "Families.h"
#include "lathe/Dialect/Lathe/RoiAlign.h"
#include <limits>

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

/// Regions [R, 5]: the image, then x1, y1, x2, y2.
static llvm::Error roiAlign(OpContext &c) {
  Value x = c.tensor("input"), rois = c.tensor("rois");
  auto height = c.size("pooled_height").constant(), width = c.size("pooled_width").constant();
  int64_t samples = c.integer("sampling_ratio");
  constexpr int64_t mostBins = 1 << 16;
  if (typeOf(x).getRank() != 4 || typeOf(rois).getRank() != 2 || !dimsOf(rois)[1].constant() || *dimsOf(rois)[1].constant() != 5 ||
      !llvm::isa<mlir::FloatType>(elementOf(x)) || elementOf(x) != elementOf(rois))
    return c.wrong("regions of {0} in {1}", rois.getType(), x.getType());
  if (!height || !width || *height < 1 || *width < 1 || *height > mostBins || *width > mostBins || samples > 1024)
    return c.wrong("{0} x {1} bins of {2} x {2} samples", c.size("pooled_height").str(), c.size("pooled_width").str(), samples);
  if (samples <= 0)
    return c.cannot("as many samples as a region has elements (sampling_ratio {0})", samples);
  RoiAlignment how;
  how.height = *height;
  how.width = *width;
  how.samples = samples;
  how.scale = c.real("spatial_scale");
  how.halfPixel = c.flag("aligned");
  Dims regions{dimsOf(rois)[0]};
  return c.give(inFloat(c, x, [&](Value v) {
    Value all = c.g.cast(rois, elementOf(v)), images = c.g.reshape(c.g.slice(all, 1, Expr(0), Expr(1)), regions);
    Value boxes = c.g.slice(all, 1, Expr(1), Expr(4));
    return ir::roiAlign(c.g, how, v, boxes, c.g.cast(images, c.g.b.getI64Type()), [](Value) { return Dims(); });
  }));
}

/// The boxes that are kept, by falling scores; on the host.
static llvm::Error nonMaxSuppression(OpContext &c) {
  Value boxes = c.tensor("dets"), scores = c.tensor("scores");
  Type i64 = c.g.b.getI64Type(), f32 = c.g.b.getF32Type();
  if (typeOf(boxes).getRank() != 2 || typeOf(scores).getRank() != 1 || dimsOf(boxes)[1].constant() != std::optional<int64_t>(4) ||
      c.resultDims().size() != 1 || !llvm::isa<mlir::FloatType>(elementOf(boxes)) || !llvm::isa<mlir::FloatType>(elementOf(scores)))
    return c.wrong("boxes of {0} with scores of {1}", boxes.getType(), scores.getType());
  Expr count = dimsOf(boxes)[0];
  if (llvm::Error e = c.needEqual(count, dimsOf(scores)[0]))
    return e;
  Value operands[] = {c.g.reshape(c.g.cast(boxes, f32), {Expr(1), count, Expr(4)}), c.g.reshape(c.g.cast(scores, f32), {Expr(1), Expr(1), count}), c.g.size(count),
                      c.g.scalar(c.real("iou_threshold"), f32), c.g.scalar(-std::numeric_limits<double>::infinity(), f32)};
  SmallVector<Type> types{tensorType({count, Expr(3)}, i64), tensorType({}, i64), tensorType({count, Expr(4)}, i64)};
  auto call = c.g.b.create<CallOp>(c.g.loc, types, "non_max_suppression", operands, exprArray(c.g.b, {Expr(1), Expr(1), count, Expr(0)}));
  Expr kept = c.resultDims()[0];
  if (llvm::Error e = c.bindSize(kept, call.getResult(1)))
    return e;
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, kept, count)))
    return e;
  return c.give(c.g.reshape(c.g.slice(c.g.slice(call.getResult(0), 1, Expr(2), Expr(1)), 0, Expr(0), kept), {kept}));
}

llvm::ArrayRef<OpEntry> fx::detectionOps() {
  static const OpEntry table[] = {
      {"torchvision.nms.default", "dets:T scores:T iou_threshold:F", nonMaxSuppression},
      {"torchvision.roi_align.default",
       "input:T rois:T spatial_scale:F pooled_height:N pooled_width:N sampling_ratio:I aligned:B", roiAlign},
  };
  return table;
}
