//===- FilterSpans.h - Rows of packed filters that are not zero ------------===//
#ifndef LATHE_LIB_TARGET_PASSES_FILTERSPANS_H
#define LATHE_LIB_TARGET_PASSES_FILTERSPANS_H

#include "Filters.h"

namespace lathe::target {

/// Rows of a filter's panels from the first that has something but zeros to the last one. A transposed convolution whose stride does not divide
/// its kernel has remainders with fewer places than others.
struct FilterSpans {
  struct Span {
    int64_t panels, first, rows;
  };
  std::vector<Span> runs; ///< of panels that are alike

  /// With the axes of the filter's columns and of its sum in these orders; nothing for a filter whose elements are not known.
  static std::optional<FilterSpans> of(const lower::BodyInfo &info, const Filter &f, mlir::Value source, llvm::ArrayRef<unsigned> columns,
                                       llvm::ArrayRef<unsigned> reduced, int64_t panel);
  /// Rows of all panels that are multiplied.
  int64_t rows() const;
  mlir::DenseI64ArrayAttr attribute(mlir::MLIRContext *context) const;
};

} // namespace lathe::target

#endif // LATHE_LIB_TARGET_PASSES_FILTERSPANS_H
