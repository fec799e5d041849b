//===- KernelFrame.h - A device function and its launch plan ---------------===//
//
// What every generator starts from: the device function with a kernel's buffers and sizes as parameters, and the host
// function that plans its launch. Both evaluate the same symbolic sizes, one on the device, one on the host.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_LIB_TARGET_CUDA_KERNELFRAME_H
#define LATHE_LIB_TARGET_CUDA_KERNELFRAME_H

#include "DeviceBuilder.h"
#include "lathe/Lower/Divisibility.h"
#include "lathe/Artifact/Format.h"
#include "lathe/Lower/BodyEmitter.h"
#include "lathe/Schedule/Machine.h"
#include "lathe/Schedule/Predicate.h"
#include "lathe/Target/CudaTarget.h"
#include "mlir/IR/BuiltinOps.h"

namespace lathe::cuda {

/// A tensor map as the plan describes it: sizes innermost first, strides in bytes (the innermost has none).
struct MapSpec {
  unsigned buffer; ///< index among operands and results
  mlir::Type element;
  bool swizzle128 = true;
  std::vector<shape::Expr> dims, strides;
  std::vector<int64_t> box;
  /// Of a map for windows (im2col), one for each dimension of pixels: corners of the places, and the steps between them.
  std::vector<int64_t> lower = {}, upper = {}, steps = {};
};

/// Words of a plan: a launch, and one that follows where its grid is not empty.
struct LaunchWords {
  Value entry, grid, block, next, nextGrid, scratch;
  /// These where the condition holds, else the others.
  LaunchWords orElse(DeviceBuilder &h, Value condition, const LaunchWords &other) const {
    auto pick = [&](Value x, Value y) { return h.select(condition, x, y); };
    return {pick(entry, other.entry), pick(grid, other.grid),         pick(block, other.block),
            pick(next, other.next),   pick(nextGrid, other.nextGrid), pick(scratch, other.scratch)};
  }
};

/// `void plan(const int64_t *sizes, int64_t *out)`, see LATHE_CUDA_* in Format.h.
class PlanFunction {
public:
  PlanFunction(const lower::BodyInfo &info, mlir::ModuleOp module, llvm::StringRef name);
  DeviceBuilder d;
  Value size(const shape::Expr &e); ///< i64
  Value constant(int64_t v) { return d.i64(v); }
  void set(unsigned word, Value v);
  void set(unsigned word, int64_t v) { set(word, constant(v)); }
  void addMap(const MapSpec &map);
  /// A word of a tensor map that was added.
  void setOfMap(unsigned map, unsigned word, Value v) { set(LATHE_CUDA_MAP0 + map * LATHE_CUDA_MAP_WORDS + word, v); }
  /// How many multiprocessors the device has (i64).
  Value processors() { return word(LATHE_CUDA_PROCESSORS); }
  /// The first launch: a row of blocks.
  void launch(Value entry, Value grid, Value block);
  /// Another launch of the kernel, behind those before it; an empty grid is none. All entry points see the scratch
  /// memory. `shared`: bytes of a block's dynamic memory.
  void follow(Value entry, Value grid, Value block, Value shared = {});
  /// None of the launches so far follows where the condition holds.
  void dropFollowing(Value condition);
  /// Whether the sizes are such multiples (i1).
  Value holds(const lower::Divisibility &known);
  Value holds(const schedule::Predicate &condition);
  void finish();

  /// What was set before, or told.
  Value word(unsigned index);

private:
  mlir::OpBuilder builder;
  const lower::BodyInfo &info;
  mlir::LLVM::LLVMFuncOp func;
  Values sizes;
  unsigned maps = 0, following = 0;
};

/// Whether an entry point may start before the kernel ahead of it is done (programmatic dependent launch, sm_90), and who
/// waits for that kernel: the frame at once, or the generator, by awaitPrevious in every thread that reads what another
/// kernel wrote or writes anything.
enum class Dependent { No, Waits, WaitsLater };

/// Of a device function that reads and writes no floating-point numbers but those of 16 bits: their type, where it is one.
constexpr llvm::StringLiteral halvesAttr = "lathe.halves";

/// One entry point of a device module. Without `numBuffers` it has those of the kernel.
class KernelFrame {
public:
  KernelFrame(const lower::BodyInfo &info, mlir::ModuleOp module, llvm::StringRef name, unsigned threads, unsigned sm,
              unsigned numMaps = 0, Dependent dependent = Dependent::No, std::optional<unsigned> numBuffers = {});
  /// A part of another one, at its place: the same function, with a kernel's own buffers and sizes.
  KernelFrame(KernelFrame &outer, const lower::BodyInfo &info, Values refs, llvm::StringRef name, Value firstBlock);
  DeviceBuilder d;
  const lower::BodyInfo &info;
  mlir::ModuleOp module;
  unsigned threads, sm;
  Values refs, sizes, maps;
  lower::Divisibility known; ///< of the sizes that come to this entry point

  Value size(const shape::Expr &e); ///< i64
  /// Sizes that the condition says are numbers are these numbers. Where it holds, this entry point is called.
  void assume(const schedule::Predicate &condition);
  /// A size that is one symbol fits in 32 bits.
  void narrow(const shape::Expr &size);
  /// The memory that a kernel's launches share (its address is the parameter behind the sizes).
  Value scratch();
  /// It begins so many bytes (i64) further on: in front lies what tensor maps speak of.
  void skipScratch(Value bytes) { skipped = bytes; }
  /// Statically sized shared memory.
  Value sharedArray(llvm::StringRef name, Type element, int64_t count, unsigned alignment = 16);
  /// Numbers that the kernel's code brings with it, in global memory.
  Value constantArray(llvm::StringRef name, Type element, int64_t count, mlir::ElementsAttr values);
  /// A piece of 16 bytes in global memory, all of this value.
  Value constantPiece(llvm::StringRef name, int8_t byte);
  /// The shared memory whose size the launch gives, aligned to 1024 bytes.
  Value dynamicShared();
  /// So many blocks have to fit on a multiprocessor: the compiler keeps to the registers that they have.
  void fitBlocks(unsigned count);
  void awaitPrevious();
  void finish();

private:
  void assumeSizes();
  mlir::OpBuilder builder;
  mlir::LLVM::LLVMFuncOp func;
  bool dependent;
  Value skipped;
  std::string part; ///< in names of what the function has
};

/// Index of flattened axes to the index of each, innermost last; axes of extent 1 come out as 0.
Values delinearize(DeviceBuilder &d, Value index, llvm::ArrayRef<Value> extents);

} // namespace lathe::cuda

#endif // LATHE_LIB_TARGET_CUDA_KERNELFRAME_H
