/*===- Elsewhere.c - A banner that names another file -----------------------===*/
#include "llvm/ADT/StringRef.h"
