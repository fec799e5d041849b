//===- TargetSpec.h - An architecture and its variants ---------------------===//
#ifndef LATHE_TARGET_TARGETSPEC_H
#define LATHE_TARGET_TARGETSPEC_H

#include <string>
#include <vector>

namespace lathe {

/// One --target: an architecture that a backend has (lathe/Target/Backend.h), and variants of it, smallest first.
struct TargetSpec {
  std::string arch;
  std::vector<std::string> variants;
};

} // namespace lathe

#endif // LATHE_TARGET_TARGETSPEC_H
