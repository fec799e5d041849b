//===- Interpret.h - What a module computes --------------------------------===//
//
// Executable semantics of the lathe and of the kernel dialect, written from their descriptions: slow, plain, and apart
// from all that emits code. A module of either dialect, or of both, is run on given inputs. What a module must not do
// (a load outside of its buffer, an element that nothing writes) is an error that says where.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_INTERPRET_INTERPRET_H
#define LATHE_INTERPRET_INTERPRET_H

#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Dialect/Lathe/ConstantTensor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace lathe::interpret {

/// A tensor of a static type. Floats are values of their element type, of float8 as well; float4 and powers of two are
/// their codes.
using Tensor = ir::ConstantTensor;

/// Told of each kernel that was run: its operands, the values of its size symbols in their order, and its results. An error
/// ends the run.
using KernelObserver = std::function<llvm::Error(kernel::GenericOp kernel, llvm::ArrayRef<const Tensor *> operands,
                                                 llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<Tensor> results)>;

/// The results of @main. An error is the user's where the inputs do not fit the model, else a fault of the module (a
/// BugError). `observer`: tries what was generated for a kernel on the same operands. `roundings`: a seed; what ops of the
/// lathe dialect give is then moved, up or down, by as much as another good implementation of them may differ (another
/// order of additions, a multiplication and addition that rounds once, another polynomial for a function).
llvm::Expected<std::vector<Tensor>> interpret(mlir::ModuleOp module, llvm::ArrayRef<Tensor> inputs,
                                              const KernelObserver &observer = {},
                                              std::optional<uint64_t> roundings = std::nullopt);

/// The sizes that an input has whose dimensions are these symbols; nothing where a size has no value.
llvm::Expected<mlir::RankedTensorType> typeAt(mlir::Type type, const std::map<std::string, int64_t> &sizes);

/// From and to memory as the artifact's interface has it: row-major, little-endian, booleans as bytes.
Tensor fromBytes(mlir::RankedTensorType type, const char *bytes);
std::vector<char> toBytes(const Tensor &tensor);

/// Element i as text: `-1.5`, `nan`, `true`, `7`.
std::string elementText(const Tensor &tensor, int64_t i);

/// Reads and writes tensors by name; given by the program that has the pass, since files are none of the compiler's
/// business.
struct TensorFiles {
  std::function<llvm::Expected<std::map<std::string, Tensor>>(llvm::StringRef path, mlir::MLIRContext *)> read;
  std::function<llvm::Error(llvm::StringRef path, const std::vector<std::pair<std::string, Tensor>> &)> write;
};
/// Registers --lathe-interpret.
void registerInterpretPass(TensorFiles files);

} // namespace lathe::interpret

#endif // LATHE_INTERPRET_INTERPRET_H
