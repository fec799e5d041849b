//===- Version.cpp - Which lathe this is -----------------------------------===//

#include "lathe/Support/Version.h"

const char *lathe::version() { return LATHE_VERSION; }
