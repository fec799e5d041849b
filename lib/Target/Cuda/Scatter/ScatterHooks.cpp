//===- ScatterHooks.cpp - How a thread stores an update ------------------===//

#include "ScatterHooks.h"
#include "../Combine.h"
#include "ScatterPhases.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;

static std::optional<LLVM::AtomicBinOp> atomicOf(Combiner kind, Type element) {
  if (!element.isInteger(32) && !element.isInteger(64))
    return std::nullopt;
  switch (kind) {
  case Combiner::Add:
    return LLVM::AtomicBinOp::add;
  case Combiner::Max:
    return LLVM::AtomicBinOp::max;
  case Combiner::Min:
    return LLVM::AtomicBinOp::min;
  case Combiner::UMax:
    return LLVM::AtomicBinOp::umax;
  case Combiner::UMin:
    return LLVM::AtomicBinOp::umin;
  case Combiner::And:
    return LLVM::AtomicBinOp::_and;
  case Combiner::Or:
    return LLVM::AtomicBinOp::_or;
  case Combiner::Xor:
    return LLVM::AtomicBinOp::_xor;
  case Combiner::Mul:
  case Combiner::LogAddExp:
    break;
  }
  return std::nullopt;
}

bool cuda::isAtomic(Combiner kind, Type element) {
  return (element.isInteger(32) || element.isInteger(64)) && kind != Combiner::LogAddExp;
}

/// Where no instruction combines: until nobody else has written in between.
static void exchangeUntilDone(DeviceBuilder &d, Combiner kind, Value pointer, Value value) {
  Type type = value.getType();
  Value old = d.load(type, pointer, type.getIntOrFloatBitWidth() / 8);
  auto attempt = [&](OpBuilder &b, Location loc, ValueRange carried) {
    DeviceBuilder in(b, loc);
    auto order = LLVM::AtomicOrdering::monotonic;
    Value exchanged = b.create<LLVM::AtomicCmpXchgOp>(loc, pointer, carried[0], combine(in, kind, carried[0], value), order, order);
    Value found = b.create<LLVM::ExtractValueOp>(loc, exchanged, 0), done = b.create<LLVM::ExtractValueOp>(loc, exchanged, 1);
    b.create<scf::ConditionOp>(loc, in.bitXor(done, in.i1(true)), found);
  };
  auto again = [](OpBuilder &b, Location loc, ValueRange found) { b.create<scf::YieldOp>(loc, found); };
  d.b.create<scf::WhileOp>(d.loc, TypeRange{type}, ValueRange{old}, attempt, again);
}

void AtomicHooks::store(OpBuilder &b, Location loc, const lower::Access &a, Value value) {
  DeviceBuilder d(b, loc);
  if (std::optional<LLVM::AtomicBinOp> op = atomicOf(kind, value.getType()))
    atomicUpdate(d, *op, a.pointer, value);
  else
    exchangeUntilDone(d, kind, a.pointer, value);
}

void PrivateHooks::store(OpBuilder &b, Location loc, const lower::Access &a, Value value) {
  DeviceBuilder d(b, loc);
  Value index = indexOfElement(d, a.pointer, result, value.getType());
  atomicUpdate(d, LLVM::AtomicBinOp::add, d.at(words.shared, d.narrow(index), words.word), words.counts ? d.i32(1) : value);
}
