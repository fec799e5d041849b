//===- Winograd.h - Convolutions with fewer products -----------------------===//
//
// A 3x3 convolution as 36 products of matrices, one for each place of Winograd's minimal filtering, of a quarter of the direct
// form's multiplications: tiles of 4x4 results against channels. An item is a block of tiles and a panel of columns. The block's
// images are transformed once into scratch, [place][tile][channel]; for a panel the tiles of contractions multiply them with the
// filter's places, [panel][place][channel][column]; the products are transformed to lines of results, and what follows the sum is
// applied to these as it is in the direct form.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_CPU_WINOGRAD_H
#define LATHE_TARGET_CPU_WINOGRAD_H

#include "Convolution.h"
#include "lathe/Dialect/Kernel/Winograd.h"
#include "lathe/Lower/SlidingWindow.h"
#include "lathe/Schedule/ScheduleDialect.h"

namespace lathe::cpu {

struct WinogradShape {
  ConvolutionShape direct;
  lower::SlidingWindow window; ///< taps that are not transformed are among its depth
  kernel::Winograd high{1}, wide{1};
  int64_t depth = 0;
  unsigned filter = 0; ///< the operand that it is
  bool both = false;   ///< the kernel has the filter of the direct form, too
  bool channelsTogether = false; ///< in the image; else pixels are

  /// In tiles as the schedule says, or as the filter was packed for. Nothing for a kernel whose filter was not packed so.
  static std::optional<WinogradShape> of(const lower::BodyInfo &info, schedule::WinogradAttr schedule);
  int64_t places() const { return high.places() * wide.places(); }
  int64_t packedPlaces() const { return high.packedPlaces() * wide.packedPlaces(); }
};

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_WINOGRAD_H
