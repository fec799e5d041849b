//===- Tuning.h - Measured choices from a file -----------------------------===//
//
// A line an entry, sorted, without duplicates; # begins a comment line:
//
//     KERNEL MACHINE SIZES SCHEDULE
//     3f9c61a07be2d815 avx512 * #schedule.rows<persist = 0>
//     3f9c61a07be2d815 avx512 s000=1024,s001=128 #schedule.rows<persist = 8>
//
// KERNEL is the hash of a kernel's canonical text, as `lathe inspect` and --report give it: names of sizes and of the model do not
// enter. SIZES are the sizes that the choice was measured at, in the order in which the kernel mentions them; it serves sizes within a
// factor of two of them. * is for all others.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_SCHEDULE_TUNING_H
#define LATHE_SCHEDULE_TUNING_H

#include "lathe/Schedule/ScheduleDialect.h"

namespace lathe::schedule {

struct TuningEntry {
  std::string kernel, machine;
  std::vector<std::pair<std::string, int64_t>> sizes; ///< none: all
  mlir::Attribute schedule;

  /// `sizes`: the kernel's size symbols, of which s000 is the first.
  Predicate conditionFor(llvm::ArrayRef<std::string> sizes) const;
};

class Tuning {
public:
  /// Errors are the user's, with the file and the line.
  static llvm::Expected<Tuning> parse(llvm::StringRef text, llvm::StringRef file, mlir::MLIRContext *context);
  static llvm::Expected<Tuning> read(llvm::StringRef file, mlir::MLIRContext *context);
  /// Entries for a kernel with this canonical text, in the file's order.
  std::vector<TuningEntry> find(llvm::StringRef canonical, llvm::StringRef machine) const;
  /// Whether there are any for it, for whatever machine.
  bool mentions(llvm::StringRef canonical) const;

private:
  std::vector<TuningEntry> entries;
};

/// What a tuning file calls a kernel with this canonical text.
std::string hashOf(llvm::StringRef canonical);

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_TUNING_H
