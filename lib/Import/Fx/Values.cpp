//===- Values.cpp - The values that a graph's names stand for ---------------===//

#include "Values.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace lathe::fx;

unsigned Values::addTensor(const std::string &name, mlir::Value v, unsigned memory) {
  tensors.push_back({v, memory, memories[memory].version, -1, {}, {name}});
  byName[name] = v;
  return tensorOf[name] = tensors.size() - 1;
}

unsigned Values::addMemory(const std::string &root, std::optional<unsigned> kin) {
  memories.push_back({root, 0, kin.value_or(memories.size())});
  return memories.size() - 1;
}

void Values::define(const std::string &name, mlir::Value v) { addTensor(name, v, addMemory(name, std::nullopt)); }

void Values::defineView(const std::string &name, mlir::Value v, const std::string &of, Sharing sharing, ViewLink link) {
  auto base = tensorOf.find(of);
  if (sharing == Sharing::No || base == tensorOf.end())
    return define(name, v);
  unsigned parent = base->second, memory = tensors[parent].memory;
  if (sharing == Sharing::Maybe) {
    addTensor(name, v, addMemory(name, memories[memory].kin));
    return;
  }
  Tensor &view = tensors[addTensor(name, v, memory)];
  view.parent = parent;
  view.link = std::move(link);
}

void Values::setValue(unsigned tensor, mlir::Value v) {
  Tensor &t = tensors[tensor];
  t.value = v;
  t.version = memories[t.memory].version;
  for (const std::string &name : t.names)
    byName[name] = v;
}

/// From the root of its memory down to the tensor.
std::vector<unsigned> Values::pathTo(unsigned tensor) const {
  std::vector<unsigned> path;
  for (int at = tensor; at >= 0; at = tensors[at].parent)
    path.push_back(at);
  std::reverse(path.begin(), path.end());
  return path;
}

llvm::Error Values::refresh(const std::string &name) {
  auto found = tensorOf.find(name);
  if (found == tensorOf.end())
    return llvm::Error::success();
  Tensor &tensor = tensors[found->second];
  if (tensor.version == memories[tensor.memory].version)
    return llvm::Error::success();
  for (unsigned at : pathTo(found->second)) {
    Tensor &t = tensors[at];
    if (t.version == memories[t.memory].version)
      continue;
    auto value = t.link.read(tensors[t.parent].value);
    if (!value)
      return value.takeError();
    setValue(at, *value);
  }
  return llvm::Error::success();
}

llvm::Error Values::overwrite(const std::string &self, const std::string &result, mlir::Value v, const std::string &writer) {
  unsigned written = tensorOf.at(self);
  if (result != self) {
    tensors[written].names.push_back(result);
    tensorOf[result] = written;
    byName[result] = v;
  }
  // Upwards: each tensor's old value has its part replaced.
  std::vector<unsigned> path = pathTo(written);
  std::vector<mlir::Value> values{v};
  for (unsigned at : llvm::drop_end(llvm::reverse(path))) {
    const Tensor &t = tensors[at];
    auto whole = t.link.write(tensors[t.parent].value, values.back());
    if (!whole)
      return whole.takeError();
    values.push_back(*whole);
  }
  Memory &memory = memories[tensors[written].memory];
  ++memory.version;
  for (auto [at, value] : llvm::zip(llvm::reverse(path), values))
    setValue(at, value);
  for (const auto &[name, other] : tensorOf)
    if (tensors[other].memory != tensors[written].memory && memories[tensors[other].memory].kin == memory.kin)
      stale.emplace(name, writer);
  return llvm::Error::success();
}

void Values::become(const std::string &self, const std::string &view) {
  unsigned from = tensorOf.at(self), to = tensorOf.at(view);
  if (from == to)
    return;
  for (const std::string &name : std::exchange(tensors[from].names, {})) {
    tensors[to].names.push_back(name);
    tensorOf[name] = to;
    byName[name] = tensors[to].value;
  }
}

std::optional<std::string> Values::overwrittenBy(const std::string &name) const {
  auto found = stale.find(name);
  return found == stale.end() ? std::nullopt : std::optional<std::string>(found->second);
}

const std::string &Values::rootOf(const std::string &name) const {
  return memories[memories[tensors[tensorOf.at(name)].memory].kin].root;
}

mlir::Value Values::placeholder(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type) {
  return b.create<mlir::UnrealizedConversionCastOp>(loc, type, mlir::ValueRange()).getResult(0);
}
