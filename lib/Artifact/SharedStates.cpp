//===- SharedStates.cpp - States of several entry points -------------------===//
//
// One entry point fills a cache that another one reads: states of one name are one, whichever entry points have them.
// Each sees it in its own sizes, and so what is fixed in one must be so in all.
//
//===----------------------------------------------------------------------===//
#include "State.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace lathe;
using namespace lathe::artifact;

static std::string textOf(const TensorInfo &tensor) {
  static const char *const names[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  std::vector<std::string> dims;
  for (const shape::Expr &dim : tensor.dims)
    dims.push_back(dim.str());
  std::string type = tensor.dtype.code < std::size(names) ? names[tensor.dtype.code] : "unknown";
  return type + (tensor.dtype.code == Bool ? "" : std::to_string(tensor.dtype.bits)) + " [" + join(dims, ", ") + "]";
}

static bool fits(const TensorInfo &a, const TensorInfo &b) {
  auto sameSize = [](const shape::Expr &x, const shape::Expr &y) { return x.constant() == y.constant(); };
  return a.dtype.code == b.dtype.code && a.dtype.bits == b.dtype.bits && a.dims.size() == b.dims.size() &&
         all_of(zip(a.dims, b.dims), [&](const auto &pair) { return sameSize(std::get<0>(pair), std::get<1>(pair)); });
}

static std::string bytesOf(const ByteSource &source) {
  std::string out;
  out.reserve(source.size);
  SmallVector<char, 0> scratch;
  for (uint64_t i = 0; i < source.pieces; ++i)
    out += toStringRef(source.make(i, scratch));
  return out;
}

/// Whether both hold the same at first.
static bool beginAlike(const std::vector<ByteSource> &constants, const StateInfo &a, const StateInfo &b) {
  if (!a.initial || !b.initial)
    return a.initial == b.initial;
  return bytesOf(constants[*a.initial]) == bytesOf(constants[*b.initial]);
}

unsigned ArtifactBuilder::stateNamed(StringRef name) const {
  return find_if(state->states, [&](const StateInfo &s) { return s.tensor.name == name; }) - state->states.begin();
}

Expected<unsigned> ArtifactBuilder::addState(StateInfo info) {
  unsigned index = stateNamed(info.tensor.name);
  auto known = state->states.begin() + index;
  state->entry().stateDims[index] = info.tensor.dims;
  if (known == state->states.end()) {
    state->states.push_back(std::move(info));
    return index;
  }
  const EntryInfo &first = *find_if(state->entries, [&](const EntryInfo &e) { return e.stateDims.count(index) != 0; });
  if (!fits(known->tensor, info.tensor))
    return userError(
        "state '{0}' is {1} in entry point '{2}' and {3} in '{4}': entry points share the states of one name, which "
        "must have one type and one size",
        info.tensor.name, textOf(known->tensor), first.name, textOf(info.tensor), state->entry().name);
  if (!beginAlike(state->constants, *known, info))
    return userError(
        "state '{0}' holds other values at first in entry point '{1}' than in '{2}', and entry points share the states "
        "of one name",
        info.tensor.name, state->entry().name, first.name);
  return index;
}
