//===- ConstantTensor.h - Constants as numbers -----------------------------===//
//
// The elements of a constant, one number each, and the way back to an attribute.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_DIALECT_LATHE_CONSTANTTENSOR_H
#define LATHE_DIALECT_LATHE_CONSTANTTENSOR_H

#include "lathe/Dialect/Lathe/Lathe.h"

namespace lathe::ir {

/// Row-major elements: floats as doubles that hold a value of the element type, integers sign- or zero-extended.
struct ConstantTensor {
  mlir::RankedTensorType type;
  std::vector<double> floats;
  std::vector<int64_t> ints;

  ConstantTensor() = default;
  explicit ConstantTensor(mlir::RankedTensorType type);
  bool isFloat() const { return llvm::isa<mlir::FloatType>(type.getElementType()); }
  llvm::ArrayRef<int64_t> shape() const { return type.getShape(); }
  int64_t size() const { return type.getNumElements(); }
  /// Element i of another tensor of the same element type becomes element `to` of this one.
  void copyFrom(const ConstantTensor &other, int64_t from, int64_t to);
};

/// i1 counts as unsigned: true is 1.
bool isUnsignedElement(mlir::Type element);
/// The element types that a constant can be computed in.
bool isNumber(mlir::Type element);
/// The nearest value of the float type.
double roundTo(double value, mlir::Type element);
/// Values modulo an integer type's width; for many of them the type is asked once.
class Wrap {
public:
  explicit Wrap(mlir::Type element);
  int64_t operator()(int64_t value) const {
    uint64_t bits = static_cast<uint64_t>(value) & mask;
    return static_cast<int64_t>(bits & sign ? bits | ~mask : bits);
  }

private:
  uint64_t mask, sign; ///< the bits that there are; the top one of them, where it is a sign
};
inline int64_t wrapTo(int64_t value, mlir::Type element) { return Wrap(element)(value); }

std::optional<ConstantTensor> readConstant(mlir::ElementsAttr attr);
/// `name` is the hint for the resource that holds a large constant.
mlir::ElementsAttr writeConstant(const ConstantTensor &tensor, llvm::StringRef name);

/// The raw little-endian bytes of a constant of at least 8-bit elements; nothing for splats and bools. They may lie at any address (in the
/// middle of a model file), and so elements are read with memcpy.
std::optional<llvm::ArrayRef<char>> rawBytes(mlir::ElementsAttr attr);
/// A constant of the bytes that `fill` writes, little-endian, in its own place.
mlir::ElementsAttr constantFilled(mlir::RankedTensorType type, llvm::StringRef name,
                                  llvm::function_ref<void(llvm::MutableArrayRef<char>)> fill);
/// A constant of these bytes.
mlir::ElementsAttr constantFromBytes(mlir::RankedTensorType type, llvm::ArrayRef<char> bytes, llvm::StringRef name);

/// The one value of a constant all of whose elements are the same, seen through broadcasts and reshapes.
std::optional<double> splatValue(mlir::Value v);

/// Bytes that the elements of a static type take.
int64_t bytesOf(mlir::RankedTensorType type);

llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);

} // namespace lathe::ir

#endif // LATHE_DIALECT_LATHE_CONSTANTTENSOR_H
