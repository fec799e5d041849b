//===- CodedWeights.cpp - Words of codes, and what blocks have ----------------===//

#include "CodedWeights.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

CodedWeights::CodedWeights(const CodedProblem &p, KernelFrame &frame, Value lane)
    : p(p), frame(frame), d(frame.d), hooks(frame.info, frame.known),
      base(frame.info, d.b, d.loc, frame.sizes, frame.refs, hooks), quad(d.shr(lane, 2)), inQuad(d.bitAnd(lane, 3)) {
  hooks.setLane(frame.info.axes[p.columnAxis], lines);
}

CodedWeights::Panel CodedWeights::at(Value panel) {
  lower::BodyEmitter point = base;
  bindAxes(point, frame, p.panelAxes, panel);
  point.bindLane(frame.info.axes[p.columnAxis], d.wide(d.mul(quad, lines)), lines);
  Value own = d.wide(d.add(d.mul(inQuad, p.panelColumns), d.mul(quad, lines)));
  return {point, d.add(d.mul(panel, p.depth / p.perWord() * p.panelColumns), own)};
}

Value CodedWeights::words(const Panel &panel, Value group) {
  Value buffer = frame.refs[cast<BlockArgument>(kernel::LoadOp(p.words).getRef()).getArgNumber()];
  Value index = d.add(panel.start, d.mul(d.wide(group), p.wordsTogether * p.panelColumns));
  return d.load(d.vector(lines, d.i32Type()), d.at(buffer, index, d.i32Type()), 16);
}

std::pair<Value, Value> CodedWeights::blockAt(const Panel &panel, Value depth) {
  lower::BodyEmitter point = panel.point;
  bindAxes(point, frame, p.depthAxes, d.wide(d.div(depth, p.perWord())));
  auto lanes = [&](Value v) { return v ? point.emitLanes(v) : Value(); };
  Value scale = lanes(p.scale);
  return {scale, lanes(p.zero)};
}
