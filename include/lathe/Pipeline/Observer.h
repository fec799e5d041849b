//===- Observer.h - Who is told what a compilation does ---------------------===//
#ifndef LATHE_PIPELINE_OBSERVER_H
#define LATHE_PIPELINE_OBSERVER_H

#include "llvm/ADT/StringRef.h"

namespace lathe {

class Observer {
public:
  virtual ~Observer() = default;
  virtual void began(llvm::StringRef stage) {}
  /// `size`: what there is behind the stage, as in "12 kernels".
  virtual void finished(llvm::StringRef stage, double seconds, llvm::StringRef size) {}
  virtual void finishedPass(llvm::StringRef pass, double seconds) {}
  /// The code of one kernel, of `total` in this stage. From several threads.
  virtual void finishedKernel(llvm::StringRef kernel, double seconds, unsigned total) {}
  /// Something about the speed of what was compiled that its user should know.
  virtual void advised(llvm::StringRef text) {}
};

} // namespace lathe

#endif // LATHE_PIPELINE_OBSERVER_H
