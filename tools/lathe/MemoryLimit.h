//===- MemoryLimit.h - No more memory than there is ------------------------===//
#ifndef LATHE_TOOLS_LATHE_MEMORYLIMIT_H
#define LATHE_TOOLS_LATHE_MEMORYLIMIT_H

namespace lathe::tool {

/// Lets allocations fail that the machine (or the process' control group) has no memory for. Without it they succeed, and the
/// process is killed, or the machine swaps, where they are first written to. A limit that is lower already stays.
void limitMemory();

} // namespace lathe::tool

#endif // LATHE_TOOLS_LATHE_MEMORYLIMIT_H
