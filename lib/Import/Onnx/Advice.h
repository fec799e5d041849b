//===- Advice.h - What the user can do about a size that is open ------------===//
#ifndef LATHE_LIB_IMPORT_ONNX_ADVICE_H
#define LATHE_LIB_IMPORT_ONNX_ADVICE_H

#include "Node.h"

namespace lathe::onnx {

/// "; fix it with --dim n=N" and the like, of what e depends on; nothing where it is known only when the model runs.
std::string adviceFor(const Node &n, const Expr &e);

/// The same of the number of elements of a list of sizes, which has to be known for the list to be.
std::string adviceForLength(const Node &n, Value list);

} // namespace lathe::onnx

#endif // LATHE_LIB_IMPORT_ONNX_ADVICE_H
