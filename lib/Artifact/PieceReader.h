//===- PieceReader.h - Pieces of constants, made ahead ----------------------===//
#ifndef LATHE_ARTIFACT_PIECEREADER_H
#define LATHE_ARTIFACT_PIECEREADER_H

#include "lathe/Artifact/ArtifactBuilder.h"
#include <condition_variable>
#include <mutex>
#include <thread>

namespace lathe::artifact {

/// All pieces of sources, in order. While one thread takes and writes them, others make the next ones; a piece that nobody has begun when
/// it is asked for is made by who asks. How many threads there are makes no difference to what is read.
class PieceReader {
public:
  /// `threads`: with the one that reads.
  PieceReader(llvm::ArrayRef<ByteSource> sources, unsigned threads);
  ~PieceReader();
  /// The next one; it stays until the next call.
  llvm::ArrayRef<char> next();

private:
  struct Slot {
    llvm::SmallVector<char, 0> scratch;
    llvm::ArrayRef<char> bytes;
    bool isMade = false;
  };
  struct Task {
    const ByteSource *source;
    uint64_t piece;
    Slot *slot;
  };
  Task begin();
  void make(const Task &task);
  bool mayBegin() const { return source != sources.size() && begun < taken + slots.size() - 1; }
  void helpAlong();

  llvm::ArrayRef<ByteSource> sources;
  std::vector<Slot> slots; ///< piece n is in slot n % size
  std::mutex mutex;        ///< of all below
  std::condition_variable changed;
  size_t source = 0;       ///< of the next piece to begin
  uint64_t piece = 0;      ///< in it
  uint64_t begun = 0, taken = 0;
  bool ends = false;
  std::vector<std::thread> helpers;
};

} // namespace lathe::artifact

#endif // LATHE_ARTIFACT_PIECEREADER_H
