//===- HostTensor.h - A tensor read from or written to a file --------------===//
#ifndef LATHE_TOOLS_HOSTTENSOR_H
#define LATHE_TOOLS_HOSTTENSOR_H

#include "lathe/Runtime/DLPack.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <complex>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::tool {

/// DLPack's numbers of the types that its first versions had no name for.
enum : uint8_t {
  Float8E4M3 = 8,
  Float8E4M3FN = 10,
  Float8E4M3FNUZ = 11,
  Float8E5M2 = 12,
  Float8E5M2FNUZ = 13,
  Float8E8M0 = 14,
  Float4E2M1 = 17,
};

inline bool operator==(const DLDataType &a, const DLDataType &b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

/// "float32", "bool", "bfloat16", "float8_e4m3fn".
std::string dtypeName(DLDataType type);
bool isFloating(DLDataType type);

/// Elements of a shape; nothing when a dimension is negative or the product overflows.
std::optional<uint64_t> countElements(llvm::ArrayRef<int64_t> shape);
/// Bytes of so many elements, sub-byte ones packed.
uint64_t bytesFor(uint64_t elements, DLDataType type);

/// Row-major, in memory aligned for vectors.
class HostTensor {
public:
  HostTensor() = default;
  /// Zeroed. Fails when the shape is impossible or memory is short.
  static llvm::Expected<HostTensor> create(DLDataType type, llvm::ArrayRef<int64_t> shape);

  std::string name;
  DLDataType dtype = {kDLFloat, 32, 1};
  std::vector<int64_t> shape;

  char *data() const { return memory.get(); }
  uint64_t elements() const { return *countElements(shape); }
  uint64_t bytes() const { return bytesFor(elements(), dtype); }
  /// A view for the runtime; valid as long as the tensor stays where it is.
  DLTensor view();

private:
  struct Free {
    void operator()(char *p) const { std::free(p); }
  };
  std::unique_ptr<char, Free> memory;
};

/// One element, widened. Integers are exact; the imaginary part is 0 but for complex types.
struct Element {
  bool isInteger = false;
  bool isNegative = false; ///< integers: the magnitude below is of a negative number
  uint64_t magnitude = 0;
  std::complex<double> number;
};
Element elementAt(const char *data, DLDataType type, uint64_t index);
inline Element elementAt(const DLTensor &tensor, uint64_t index) {
  return elementAt(static_cast<const char *>(tensor.data) + tensor.byte_offset, tensor.dtype, index);
}

/// "2x3x4", "scalar".
std::string shapeText(llvm::ArrayRef<int64_t> shape);

} // namespace lathe::tool

#endif // LATHE_TOOLS_HOSTTENSOR_H
