//===- StripReader.h - What the points of a strip read, once ---------------===//
#ifndef LATHE_LIB_TARGET_CUDA_STRIPREADER_H
#define LATHE_LIB_TARGET_CUDA_STRIPREADER_H

#include "../KernelFrame.h"
#include "lathe/Lower/BodyEmitter.h"
#include "lathe/Schedule/ThreadRows.h"

namespace lathe::cuda {

/// Reads at known distances: an access brings as many elements as lie side by side and are wanted, and is made once, wherever it is wanted first. Nothing is
/// asked in front of it: a place outside of the operand becomes its last one. An access that holds a wanted element lies inside as a whole, since operands are
/// multiples of it; of the others nothing is taken, as their predicates say.
class StripReader {
public:
  StripReader(KernelFrame &frame, const schedule::ThreadRows &s) : frame(frame), s(s), reads(frame.info, s.strip, frame.known, s.lane, s.width) {}

  /// From here on, until `leave`, what is read is of this point, at which the strip's axis has the strip's number.
  void enter(const lower::BodyEmitter &origin) { scopes.push_back({origin, {}}); }
  void leave() { scopes.pop_back(); }
  /// What is read next is for a point of the strip, at these places of the window.
  void goTo(unsigned point, llvm::ArrayRef<int64_t> taps) {
    at = point;
    places.assign(taps.begin(), taps.end());
  }
  lower::BodyEmitter &origin() { return scopes.back().origin; }
  /// The element, or the vector of lanes, that the load reads there, or `fill` where the predicate does not hold; null: it is read as any other.
  Value read(kernel::LoadOp load, Value predicate, Value fill);

private:
  struct Scope {
    lower::BodyEmitter origin;
    std::map<std::pair<unsigned, int64_t>, Value> pieces; ///< by run and first place
  };
  Value fetch(unsigned run, const schedule::StripPiece &piece);
  Value chosen(Value predicate, Value v, Value fill);

  KernelFrame &frame;
  schedule::ThreadRows s;
  schedule::StripReads reads;
  std::vector<Scope> scopes;
  unsigned at = 0;
  llvm::SmallVector<int64_t> places;
};

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_STRIPREADER_H
