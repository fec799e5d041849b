// The headers of the two dialects and of diagnostics, precompiled on top of LathePch.h.
#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Dialect/Lathe/Lathe.h"
#include "lathe/Support/Diagnostics.h"
