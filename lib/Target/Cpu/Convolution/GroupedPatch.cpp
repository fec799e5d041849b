//===- GroupedPatch.cpp - What a block of a grouped convolution reads ------===//

#include "GroupedPatch.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cpu;
using lower::BodyEmitter;

GroupedPatch::GroupedPatch(VectorBuilder &v, const GroupedShape &shape, const lower::BodyInfo &info, Value scratch)
    : v(v), shape(shape), info(info), scratch(scratch) {
  int64_t lanes = v.lanes, pitch = (shape.blockInputs() + lanes - 1) / lanes * lanes;
  for (const PatchDim &d : llvm::reverse(shape.dims)) {
    pitches.insert(pitches.begin(), pitch);
    pitch *= d.places();
  }
  total = pitch + (lanes + 1) * pitches.back(); // a square of pixels and channels may run over the end
  channels = shape.groups * shape.inPerGroup;
}

void GroupedPatch::pack(const BodyEmitter &point, const PixelBlock &block, Value channel) {
  packDim(point, 0, block, channel, v.i(0));
}

/// The body at each place of a dimension that the block reads, with its number in the patch.
void GroupedPatch::eachPlace(const BodyEmitter &point, size_t dim, const PixelBlock &block, Body body) {
  const PatchDim &d = shape.dims[dim];
  Value base = block.first[dim], count = block.count[dim];
  auto at = [&](Value pixel, Value tap, Value place) {
    BodyEmitter inner = point;
    inner.bindAxis(info.axes[d.pixels], pixel);
    if (d.tap)
      inner.bindAxis(info.axes[*d.tap], tap);
    body(inner, place);
  };
  Value steps = v.sub(count, 1);
  switch (d.form()) {
  case PatchDim::Form::EachPixel:
    return v.loop(v.i(0), v.add(steps, (d.taps - 1) * d.dilation + 1), 1, [&](Value u) { at(v.add(base, u), v.i(0), u); });
  case PatchDim::Form::EachPlace:
    return v.loop(v.i(0), v.add(v.mul(steps, d.stride), d.taps), 1, [&](Value u) { at(base, u, u); });
  case PatchDim::Form::Apart:
    return v.loop(v.i(0), v.i(d.taps), 1, [&](Value t) {
      v.loop(v.i(0), count, 1, [&](Value r) { at(v.add(base, r), t, v.add(v.mul(t, d.block), r)); });
    });
  }
}

void GroupedPatch::packDim(const BodyEmitter &point, size_t dim, const PixelBlock &block, Value channel, Value at) {
  const PatchDim &d = shape.dims[dim];
  if (dim + 1 < shape.dims.size())
    return eachPlace(point, dim, block, [&](const BodyEmitter &inner, Value place) {
      packDim(inner, dim + 1, block, channel, v.add(at, v.mul(place, pitches[dim])));
    });
  if (shape.channelsTogether)
    return eachPlace(point, dim, block, [&](const BodyEmitter &inner, Value place) {
      packChannels(inner, channel, v.add(at, v.mul(place, pitches[dim])));
    });
  Value base = block.first[dim], count = block.count[dim], steps = v.sub(count, 1);
  StringRef pixels = info.axes[d.pixels];
  BodyEmitter inner = point;
  auto bindTap = [&](Value tap) {
    if (d.tap)
      inner.bindAxis(info.axes[*d.tap], tap);
  };
  switch (d.form()) {
  case PatchDim::Form::EachPixel:
    bindTap(v.i(0));
    return packRun(inner, pixels, base, v.add(steps, (d.taps - 1) * d.dilation + 1), channel, at);
  case PatchDim::Form::EachPlace:
    inner.bindAxis(pixels, base);
    return packRun(inner, info.axes[*d.tap], v.i(0), v.add(v.mul(steps, d.stride), d.taps), channel, at);
  case PatchDim::Form::Apart:
    return v.loop(v.i(0), v.i(d.taps), 1, [&](Value t) {
      bindTap(t);
      packRun(inner, pixels, base, count, channel, v.add(at, v.mul(t, d.block * pitches[dim])));
    });
  }
}

/// The channels of a place, side by side in the image.
void GroupedPatch::packChannels(const BodyEmitter &point, Value channel, Value at) {
  const std::string &lane = info.axes[shape.inChannels.carrier()];
  for (int64_t q = 0; q < shape.blockInputs(); q += v.lanes) {
    Value first = v.add(channel, q), mask;
    if (shape.blockInputs() % v.lanes || channels % v.lanes)
      mask = v.firstLanes(v.min(v.i(shape.blockInputs() - q), v.sub(v.i(channels), first)));
    BodyEmitter inner = point;
    shape.inChannels.bind(v, inner, first, /*flat=*/true);
    inner.bindLane(lane, first, v.lanes, mask);
    v.store(inner.emitLanes(shape.image), scratch, v.add(at, q));
  }
}

/// `count` places from index `from` of the axis on, side by side in the image: squares are transposed in registers.
void GroupedPatch::packRun(const BodyEmitter &point, StringRef lane, Value from, Value count, Value channel, Value at) {
  v.loop(v.i(0), count, v.lanes, [&](Value u) {
    for (int64_t q = 0; q < shape.blockInputs(); q += v.lanes)
      packSquare(point, lane, v.add(from, u), v.sub(count, u), channel, q, v.add(at, v.mul(u, pitches.back())));
  });
}

void GroupedPatch::packSquare(const BodyEmitter &point, StringRef lane, Value place, Value valid, Value channel,
                              int64_t firstOfBlock, Value at) {
  Value mask = v.firstLanes(valid);
  VectorBuilder::Values rows;
  for (int64_t l = 0; l < v.lanes; ++l) {
    if (firstOfBlock + l >= shape.blockInputs()) {
      rows.push_back(v.f(0));
      continue;
    }
    BodyEmitter inner = point;
    shape.inChannels.bind(v, inner, v.min(v.add(channel, firstOfBlock + l), v.i(channels - 1)), /*flat=*/true);
    inner.bindLane(lane, place, v.lanes, mask);
    rows.push_back(inner.emitLanes(shape.image));
  }
  rows = v.transpose(rows);
  for (int64_t l = 0; l < v.lanes; ++l)
    v.store(rows[l], scratch, v.add(at, l * pitches.back() + firstOfBlock));
}
