//===- Backend.h - What the compiler asks of a kind of device --------------===//
//
// A backend turns kernels into code for one kind of device: its architectures and their variants, its passes, its code as
// text or for an artifact. The pipeline asks this interface and names no device; lib/Target/Backends/Backends.cpp lists those
// that there are.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_TARGET_BACKEND_H
#define LATHE_TARGET_BACKEND_H

#include "lathe/Artifact/Format.h"
#include "lathe/Dialect/Kernel/Kernel.h"
#include "lathe/Schedule/Limits.h"
#include "lathe/Target/TargetSpec.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
class OpPassManager;
} // namespace mlir

namespace lathe {
class CodeCache;
namespace schedule {
struct Machine;
}
} // namespace lathe

namespace lathe::target {

//===----------------------------------------------------------------------===//
// What comes in
//===----------------------------------------------------------------------===//

/// An architecture that --target may name.
struct Architecture {
  std::string name;
  std::vector<std::string> variants;  ///< all, smallest first
  std::vector<std::string> byDefault; ///< where --target names none
};

/// Text that a backend can print of its code instead of making an artifact's.
enum class TextStage { Llvm, Asm, Ptx };

struct CodeOptions {
  TargetSpec target;
  std::string hostArch;          ///< of the artifact's host code
  unsigned threads = 2;          ///< of code generation
  unsigned effort = 2;           ///< of LLVM, 0 to 3
  unsigned mostSchedules = schedule::usualSchedules; ///< of one kernel
  bool directConvolutions = false; ///< with all of their products
  bool sharesAll = false;        ///< threads share the smallest of kernels: for tests
  std::string precision;         ///< of contractions, where the device multiplies in several; empty: the model's
  std::string toolkit;           ///< folder of a vendor's tools; empty: found
  CodeCache *cache = nullptr;    ///< code that was made before; may be null
  std::string tuning;            ///< file of measured schedules; empty: none
  /// Told of each job that is done, of how many, from several threads; may be empty.
  std::function<void(llvm::StringRef kernel, double seconds, unsigned total)> finished;
};

/// What the stages in front of a backend do otherwise for it.
struct Preferences {
  /// Loops of at most so many steps are unrolled.
  std::optional<int64_t> unrolledSteps;
  /// A matrix of bytes with scales for its columns is multiplied with floats as it lies (`lathe.contract` of f32 and i8), its scales behind
  /// the sum. Otherwise it comes in blocks, as codes of fewer bits do. Convolutions of single channels of bytes stay such, and are floats otherwise.
  bool multipliesBytes = true;
  /// Convolutions put the image that they read into the order of their product: what scales its channels is computed there, for
  /// less than a trip through memory. Otherwise images are read by copies of whole tiles.
  bool packsImages = true;
  /// A row program makes a sum once and then goes along the few elements that need it, and over a row several times, each time from memory. Otherwise each element
  /// is a thread's, which makes the sum again, and rows stay in registers.
  bool extendsRows = true;
  /// What is kept in two orders, its own and a transpose's, is stored in both by one kernel. Otherwise the second is made of the first.
  bool storesBothWays = true;
  /// Fourier transforms of a length that a run finds are made by a function of the runtime, in the memory of the host. Otherwise they are
  /// products with a matrix, which stay on the device.
  bool hostTransforms = true;
  /// Where a mask is true is listed by a function of the runtime, in the memory of the host. Otherwise kernels count up to each element and store
  /// the positions of those that are true.
  bool hostPositions = true;
  /// A Fourier transform of constant length is one kernel where that can hold it. Otherwise it is a product for each of the length's factors.
  bool wholeTransforms = false;
  /// Floats of 8 bits (e4m3fn, e5m2) are converted in kernels and multiplied as they lie. Otherwise they are bytes like any other narrow
  /// type, whose numbers a table holds, and products of them are those of floats.
  bool float8 = false;
};

//===----------------------------------------------------------------------===//
// What goes out
//===----------------------------------------------------------------------===//

/// What a way is expected to take at some sizes.
struct ExpectedCost {
  std::vector<std::pair<std::string, int64_t>> sizes;
  int64_t cycles; ///< of one core
};

/// One way in which a kernel runs, for those who read about it, in the names of the kernel's own sizes.
struct CompiledCase {
  std::string when, schedule;      ///< the condition, empty: all others; the schedule
  std::string form;                ///< who emitted it: "row program", "contraction in tiles", ..
  std::vector<ExpectedCost> costs; ///< at sizes where it serves
};

/// A kernel for one variant of the host's architecture.
struct CompiledVariant {
  std::string variant;  ///< as in the options
  std::string fn, plan; ///< global symbols of one of the objects
  std::vector<CompiledCase> cases;
  std::vector<std::string> remarks;
  std::optional<double> efficiency; ///< the share of the machine's peak that is expected
};

struct CompiledKernel {
  std::string hash;                      ///< what a tuning file calls it
  std::vector<std::string> sizes;        ///< those that it calls s000, s001, ..
  std::vector<CompiledVariant> variants; ///< in the order of the options
};

/// Machine code, or an assembler's text for devices that come later, of a capability.
struct DeviceImage {
  uint32_t capability;
  bool text;
  std::string bytes;
};

/// A kernel for one capability: entry points of an image, and the planning function that picks one of them.
struct LaunchVariant {
  uint32_t capability;
  uint32_t image; ///< among the code's images
  std::vector<std::string> entries;
  std::string plan; ///< symbol of one of the objects
};

/// Ops that are one launch together: a kernel of these buffers, which stands where the last of them does.
struct CompiledGroup {
  std::string kind;        ///< what is said of its class
  kernel::GenericOp first; ///< that it is called after
  std::vector<mlir::Operation *> ops;
  std::vector<mlir::Value> operands; ///< also constants of the bodies
  std::vector<mlir::Value> results;
  std::vector<std::string> sizes;
  unsigned launch; ///< among the code's launches
  /// Where it is not 0, the ops are launched one by one: they are among the code's kernels, too.
  shape::Expr apart = shape::Expr(0);
};

/// A kernel's code in MLIR, or a part of it.
struct CodeModule {
  std::string name; ///< of the part; empty where there is one
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// All code of an artifact for one target.
struct TargetCode {
  std::vector<std::string> objects; ///< relocatable objects for the host, in a fixed order
  std::vector<DeviceImage> images;
  std::vector<std::vector<LaunchVariant>> launches; ///< each for all capabilities
  /// Those that stand alone, in program order, and beside each its code: functions of the objects, or a launch.
  std::vector<kernel::GenericOp> kernels;
  std::vector<CompiledKernel> functions; ///< of each kernel, or none at all
  std::vector<unsigned> launchOf;        ///< of each kernel, or none at all
  std::vector<CompiledGroup> groups;
  std::vector<std::pair<std::string, std::string>> notes; ///< what else made it, for the artifact to say
};

//===----------------------------------------------------------------------===//
// The interface
//===----------------------------------------------------------------------===//

class Backend {
public:
  virtual ~Backend() = default;

  /// What it is called among stages.
  virtual llvm::StringRef name() const = 0;
  virtual const std::vector<Architecture> &architectures() const = 0;
  /// DLPack's number of the devices that its programs run on.
  virtual uint32_t deviceType() const = 0;
  /// Its code runs on the machine that loads the artifact: an artifact has one such architecture.
  virtual bool isHost() const { return false; }
  virtual Preferences preferences() const { return {}; }
  virtual void registerDialects(mlir::DialectRegistry &registry) const {}

  /// Kernels -> kernels in the form that its generators want.
  virtual void addPasses(mlir::OpPassManager &pm, const CodeOptions &options) const = 0;
  /// The code of a prepared module's kernels as text. A stage that it has not is the user's mistake.
  virtual llvm::Expected<std::string> print(mlir::ModuleOp module, TextStage stage, const CodeOptions &options) const = 0;
  /// The code of all kernels of prepared modules. Equal kernels share their code; all that are not supported are named in
  /// one error.
  virtual llvm::Expected<TargetCode> compile(llvm::ArrayRef<mlir::ModuleOp> modules, const CodeOptions &options) const = 0;
  /// A kernel's code for a machine before it is lowered. These two are `compile`'s first stages, for each kernel by itself.
  virtual llvm::Expected<std::vector<CodeModule>> emit(kernel::GenericOp kernel, const schedule::Machine &machine) const = 0;
  /// Such a part in the llvm dialect, in place.
  virtual llvm::Error lower(mlir::ModuleOp module, llvm::StringRef part, const schedule::Machine &machine) const = 0;
  /// The level at which the runtime takes a variant of a host's architecture.
  virtual LatheLevel levelOf(llvm::StringRef variant) const { return LATHE_LEVEL_BASELINE; }
};

/// All backends, the host's first.
llvm::ArrayRef<const Backend *> backends();

/// The host that code for devices alone is for: that of today's servers.
const std::string &usualHost();

/// The one that has the architecture; null: none.
const Backend *findBackend(llvm::StringRef arch);

} // namespace lathe::target

#endif // LATHE_TARGET_BACKEND_H
