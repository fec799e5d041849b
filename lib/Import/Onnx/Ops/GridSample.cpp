//===- GridSample.cpp - Sampling an image at given positions ---------------===//

#include "lathe/Dialect/Lathe/GridSample.h"
#include "Node.h"

using namespace lathe;

namespace lathe::onnx {

void gridSample(Node &n) {
  Value input = n.in(0), grid = n.in(1);
  if (!n.isFloat(input))
    failUnsupported("samples of {0}: the format does not say how integers are rounded", describe(input.getType()));
  n.requireFloat(input);
  n.requireFloat(grid);
  n.requireRankAtLeast(input, 3);
  int64_t spatial = n.rank(input) - 2;
  if (spatial > 3)
    failUnsupported("{0} spatial dimensions", spatial);
  n.requireRank(grid, n.rank(input));
  std::string mode = n.text("mode", n.opset() >= 20 ? "linear" : "bilinear");
  mode = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  ir::GridSampling how{mode, n.text("padding_mode", "zeros"), n.flag("align_corners", false)};
  if ((mode != "linear" && mode != "nearest" && mode != "cubic") ||
      (how.padding != "zeros" && how.padding != "border" && how.padding != "reflection"))
    failWrong("mode '{0}' with padding '{1}'", mode, how.padding);
  Dims dims = n.dims(input), shape = n.dims(grid);
  n.requireEqual(shape[0], dims[0], "the batch of the operand and of the grid");
  n.requireEqual(shape.back(), Expr(spatial), "the coordinates of a grid position");
  shape[0] = dims[0];
  Value y = ir::gridSample(n.g, how, n.wide(input), n.reshape(n.g.cast(grid, n.element(n.wide(input))), shape));
  n.out(n.g.cast(y, n.element(input)));
}

} // namespace lathe::onnx
