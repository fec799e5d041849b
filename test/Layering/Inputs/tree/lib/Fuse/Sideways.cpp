//===- Sideways.cpp - Includes what it must not ----------------------------===//
#include "../Lower/Private.h"
#include "lathe/Import/Options.h"
#include "lathe/Shape/Expr.h"
#include <vector>
