//===- ScatterEmitter.cpp - Code of updates at computed places -----------===//

#include "ScatterEmitter.h"
#include "../Generator.h"
#include "lathe/Lower/ContractionRoles.h"
#include "lathe/Schedule/ThreadRows.h"
#include "ScatterPhases.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using lower::BodyEmitter;
using shape::Expr;

void ScatterEmitter::storeOne(BodyEmitter &point, Value only) {
  for (Value v : updates.store.getIndices())
    point.emit(v);
  Value stored = only;
  auto require = [&](Value c) { stored = stored ? d.both(stored, c) : c; };
  if (updates.predicate)
    require(point.emit(updates.predicate));
  if (part) {
    Value at = point.emit(part);
    require(d.compare(arith::CmpIPredicate::sge, at, first));
    require(d.less(at, last));
  }
  auto put = [&] {
    BodyEmitter inside = point;
    inside.emitStore(updates.store);
  };
  if (stored)
    d.when(stored, put);
  else
    put();
}

Value cuda::scatterThread(DeviceBuilder &d) {
  return d.add(d.mul(d.wide(d.blockId()), scatterThreads), d.wide(d.threadId()));
}

void ScatterEmitter::emitEach(llvm::function_ref<void(Value)> started) {
  Value thread = scatterThread(d), mine = d.less(thread, frame.size(extentOf(info, axes.all())));
  d.when(mine, [&] {
    started(thread);
    BodyEmitter point = base;
    bindAxes(point, frame, lower::axesIn(info, axes.all()), thread);
    storeOne(point);
  });
}

void ScatterEmitter::emitInOrder(const std::optional<lower::SharedIndex> &shared, const Expr &parts) {
  Value thread = scatterThread(d), own = frame.size(extentOf(info, axes.own)), shares = frame.size(parts);
  d.when(d.less(thread, d.mul(own, shares)), [&] {
    BodyEmitter outer = base;
    bindAxes(outer, frame, lower::axesIn(info, axes.own), d.rem(thread, own)); // neighbours in a warp write neighbours in memory
    if (shared) {
      Value size = frame.size(Expr::ceildiv(shared->places, parts)), number = d.div(thread, own);
      part = shared->index;
      first = d.mul(number, size);
      last = d.add(first, size);
    }
    d.loop(d.i64(0), frame.size(extentOf(info, axes.serial)), d.i64(1), [&](Value i) {
      BodyEmitter point = outer;
      bindAxes(point, frame, lower::axesIn(info, axes.serial), i);
      storeOne(point);
    });
  });
}

/// The last update stands for what is past it: the largest of numbers is the same.
Values ScatterEmitter::emitRange(unsigned count, llvm::function_ref<Values(Value, Value)> find) {
  Value all = frame.size(extentOf(info, axes.all())), last = d.sub(all, d.i64(1));
  Value threads = d.mul(d.wide(d.gridSize()), scatterThreads);
  return d.loop(scatterThread(d), all, d.mul(threads, scatterAhead), Values(count, d.i32(0)), [&](Value first, ValueRange carried) {
    Values largest(carried), values, counts;
    for (int64_t i = 0; i < scatterAhead; ++i) {
      BodyEmitter point = base;
      bindAxes(point, frame, lower::axesIn(info, axes.all()), d.minU(d.add(first, d.mul(threads, i)), last));
      values.push_back(point.emit(updates.store.getValue()));
      counts.push_back(updates.predicate ? point.emit(updates.predicate) : Value());
    }
    for (auto [value, one] : llvm::zip(values, counts))
      for (auto [old, found] : llvm::zip(largest, find(value, one)))
        old = d.b.create<arith::MaxUIOp>(d.loc, old, found);
    return largest;
  });
}

void ScatterEmitter::emitPrivate(const PrivateWords &w, llvm::function_ref<void(Value, Value)> flush) {
  unsigned bytes = w.word.getIntOrFloatBitWidth() / 8;
  auto eachElement = [&](llvm::function_ref<void(Value)> f) {
    d.loop(d.threadId(), w.elements, d.i32(scatterThreads), f);
  };
  eachElement([&](Value i) { d.store(d.constant(w.word, 0), d.at(w.shared, i, w.word), bytes); });
  d.barrier();
  Value all = frame.size(extentOf(info, axes.all())), last = d.sub(all, d.i64(1));
  Value threads = d.mul(d.wide(d.gridSize()), scatterThreads);
  d.loop(scatterThread(d), all, d.mul(threads, scatterAhead), [&](Value first) {
    std::vector<std::pair<BodyEmitter, Value>> points; // what they read is in flight together
    for (int64_t i = 0; i < scatterAhead; ++i) {
      Value number = d.add(first, d.mul(threads, i));
      points.emplace_back(base, d.less(number, all));
      BodyEmitter &point = points.back().first;
      bindAxes(point, frame, lower::axesIn(info, axes.all()), d.minU(number, last));
      for (Value v : updates.store.getIndices())
        point.emit(v);
      point.emit(updates.store.getValue());
      if (updates.predicate)
        point.emit(updates.predicate);
    }
    for (auto &[point, exists] : points)
      storeOne(point, exists);
  });
  d.barrier();
  eachElement([&](Value i) {
    Value sum = d.load(w.word, d.at(w.shared, i, w.word), bytes);
    d.when(d.compare(arith::CmpIPredicate::ne, sum, d.constant(w.word, 0)), [&] { flush(d.wide(i), sum); });
  });
}
