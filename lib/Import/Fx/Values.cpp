//===- Values.cpp - The values that a graph's names stand for ---------------===//

#include "Values.h"
#include "mlir/IR/BuiltinOps.h"

using namespace lathe::fx;

void Values::define(const std::string &name, mlir::Value v, const std::string &viewOf) {
  byName[name] = v;
  Place place{++next, next};
  if (auto base = places.find(viewOf); base != places.end())
    place.memory = base->second.memory;
  places[name] = place;
}

void Values::overwrite(const std::string &self, const std::string &result, mlir::Value v, const std::string &writer) {
  Place place = places[self];
  for (const auto &[name, other] : places) {
    if (other.tensor == place.tensor)
      byName[name] = v;
    else if (other.memory == place.memory)
      stale.emplace(name, writer);
  }
  byName[result] = v;
  places[result] = place;
}

std::optional<std::string> Values::overwrittenBy(const std::string &name) const {
  auto found = stale.find(name);
  return found == stale.end() ? std::nullopt : std::optional<std::string>(found->second);
}

bool Values::sharesWith(const std::string &name, const std::set<std::string> &others) const {
  auto place = places.find(name);
  if (place == places.end())
    return false;
  for (const std::string &other : others)
    if (auto found = places.find(other); found != places.end() && found->second.memory == place->second.memory)
      return true;
  return false;
}

mlir::Value Values::placeholder(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type) {
  return b.create<mlir::UnrealizedConversionCastOp>(loc, type, mlir::ValueRange()).getResult(0);
}
