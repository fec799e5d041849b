//===- Output.h - Files and the constants that stream into them ------------===//
#ifndef LATHE_ARTIFACT_OUTPUT_H
#define LATHE_ARTIFACT_OUTPUT_H

#include "State.h"
#include "llvm/Support/raw_ostream.h"

namespace lathe::artifact {

/// A file that appears under its name only when it is complete.
class OutputFile {
public:
  static llvm::Expected<std::unique_ptr<OutputFile>> create(llvm::StringRef path, unsigned mode);
  ~OutputFile();
  /// Shortens the file to `bytes`, closes it and gives it its name.
  llvm::Error commit(uint64_t bytes);
  /// Whether `bytes` that were written from `a` on and from `b` on are equal.
  llvm::Expected<bool> holdsTwice(uint64_t a, uint64_t b, uint64_t bytes);

  std::unique_ptr<llvm::raw_fd_ostream> stream;

private:
  int fd = -1;
  std::string path, temporary;
};

/// Writes all constants from byte `start` of the file on, equal ones once, and says where they lie (relative to `start`).
llvm::Error streamConstants(const ArtifactBuilder::State &state, OutputFile &out, uint64_t start, unsigned threads, ConstantLayout &layout);

} // namespace lathe::artifact

#endif // LATHE_ARTIFACT_OUTPUT_H
