//===- RoiAlign.cpp - Samples of regions of a feature map ------------------===//

#include "Node.h"
#include "lathe/Dialect/Lathe/RoiAlign.h"

namespace lathe::onnx {

void roiAlign(Node &n) {
  Value input = n.in(0), rois = n.in(1), images = n.in(2);
  n.requireFloat(input);
  n.requireRank(input, 4);
  n.requireRank(rois, 2);
  n.requireRank(images, 1);
  n.requireInteger(images);
  n.requireSameElement({input, rois});
  Expr regions = n.simplify(n.dim(images, 0));
  n.requireEqual(n.dim(rois, 0), regions, "one image per region");
  n.requireEqual(n.dim(rois, 1), Expr(4), "the coordinates of a region");
  std::string mode = n.text("mode", "avg"), transform = n.text("coordinate_transformation_mode", "half_pixel");
  if ((mode != "avg" && mode != "max") || (transform != "half_pixel" && transform != "output_half_pixel"))
    failWrong("mode '{0}' with coordinates '{1}'", mode, transform);
  ir::RoiAlignment how;
  how.halfPixel = n.opset() >= 16 && transform == "half_pixel";
  how.isMax = mode == "max";
  how.samples = n.integer("sampling_ratio", 0);
  how.height = n.integer("output_height", 1);
  how.width = n.integer("output_width", 1);
  how.scale = n.real("spatial_scale", 1);
  if (how.samples < 0 || how.height < 1 || how.width < 1 || how.samples > 1024 || how.height > (1 << 16) || how.width > (1 << 16))
    failWrong("{0} x {1} bins of {2} x {2} samples", how.height, how.width, how.samples);
  Value x = n.wide(input);
  rois = n.reshape(n.g.cast(rois, n.element(x)), {regions, 4});
  Value y = ir::roiAlign(n.g, how, x, rois, images, [&](Value sizes) { return n.sizesOf(sizes); });
  n.out(n.g.cast(y, n.element(input)));
}

} // namespace lathe::onnx
