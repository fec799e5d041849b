//===- Version.h - Which lathe this is --------------------------------------===//
#ifndef LATHE_SUPPORT_VERSION_H
#define LATHE_SUPPORT_VERSION_H

namespace lathe {

/// As CMake's project has it: "1.2.3".
const char *version();

} // namespace lathe

#endif // LATHE_SUPPORT_VERSION_H
