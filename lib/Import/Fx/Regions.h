//===- Regions.h - Higher-order operators as plain nodes --------------------===//
#ifndef LATHE_LIB_IMPORT_FX_REGIONS_H
#define LATHE_LIB_IMPORT_FX_REGIONS_H

#include "Program.h"
#include <set>

namespace lathe::fx {

/// Puts the nodes of graphs that nodes run in those nodes' place, where that is possible:
///  - regions that only say how to trace (no_grad, autocast, checkpoints): once;
///  - `cond`: both branches, whose results a selection chooses from, unless there is a loop or an assertion in one, or its
///    name is among `branches`;
///  - `map`, `scan` and `associative_scan` of a length that is known and not large: once for each element.
/// Others stay, for the importer to report or to build; so it goes on in the graphs that they run.
void flattenRegions(Program &program, const std::set<std::string> &branches);

} // namespace lathe::fx

#endif // LATHE_LIB_IMPORT_FX_REGIONS_H
