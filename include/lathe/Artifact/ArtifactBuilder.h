//===- ArtifactBuilder.h - Writing OUT.so ----------------------------------===//
//
// Collects what an artifact consists of, in plain structs with symbolic sizes, and writes the shared object: tables
// (see Format.h), compiled kernels, constants and the C runtime, linked in process. The file depends on libc.so.6 alone
// and its bytes on nothing but what was added, in the order it was added.
//
//===----------------------------------------------------------------------===//
#ifndef LATHE_ARTIFACT_ARTIFACTBUILDER_H
#define LATHE_ARTIFACT_ARTIFACTBUILDER_H

#include "lathe/Artifact/Format.h"
#include "lathe/Shape/Expr.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include <map>
#include <memory>

namespace lathe::artifact {

/// DLPack's names of element types: {kDLFloat, 32} is {2, 32, 1}.
enum DTypeCode : uint8_t { Int = 0, UInt = 1, Float = 2, BFloat = 4, Complex = 5, Bool = 6 };
inline LatheDType dtype(DTypeCode code, unsigned bits) {
  return {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
}

/// Which machine the artifact is for.
enum class Machine { X86_64, AArch64, RiscV64 }; // ElfMachine.h says what each is

struct SymbolInfo {
  std::string name; ///< the symbol's text (see Expr.h); the artifact has its name
  int64_t min = 0, max = INT64_MAX;
  std::vector<int64_t> hints;
  std::optional<LatheRead> element = std::nullopt; ///< of an input, read when the model runs
  bool late = false;                               ///< given its value by a step of the program
};

struct TensorInfo {
  std::string name;
  LatheDType dtype;
  std::vector<shape::Expr> dims;
};

using BufferId = uint32_t;
using ConstantId = uint32_t;
using KernelId = uint32_t;

/// A tensor that a context keeps from run to run; without a constant it holds zeros at first. Entry points share those
/// of one name.
struct StateInfo {
  TensorInfo tensor;
  std::optional<ConstantId> initial;
};

/// Bytes that are produced when they are written, so that a large model is never held twice: in pieces, `size` bytes in
/// all. ArtifactBuilder::write asks for them; of states they are also asked for when they are added.
struct ByteSource {
  uint64_t size = 0, pieces = 0;
  /// A piece, made in `scratch` or lying elsewhere. Several threads ask at once, for different ones.
  std::function<llvm::ArrayRef<char>(uint64_t piece, llvm::SmallVectorImpl<char> &scratch)> make;
  /// What a piece should have about: enough that handing it over costs nothing, and few enough to stay in a core's cache.
  static constexpr uint64_t pieceBytes = 1 << 18;
  /// Of bytes that stay where they are until the artifact is written.
  static ByteSource borrow(llvm::ArrayRef<char> bytes);
  static ByteSource own(std::string bytes);
};

struct VariantInfo {
  LatheLevel level = LATHE_LEVEL_BASELINE;
  std::string fn, plan; ///< symbols of an added object: a LatheKernelFn and a LathePlanFn
};

struct KernelInfo {
  std::string name;
  std::string kernelClass;
  std::vector<std::string> nodes;   ///< model nodes that it covers
  std::vector<std::string> unfused; ///< "producer -> consumer: reason"
  std::vector<VariantInfo> variants;
  uint32_t launch = LATHE_NONE;       ///< of a device: its index among all launches
  std::vector<std::string> schedules; ///< how it runs, and what is slow about it, a line each
};

/// One kernel's code for one capability of a device: entry points of an image, and the symbol of an added object's
/// LathePlanFn that picks one of them and says how to launch it.
struct DeviceVariantInfo {
  uint32_t capability = 0, image = 0;
  std::vector<std::string> entries;
  std::string plan;
};

/// The steps that run on one device and the buffers between them. Lifetimes of temporaries follow from the steps.
class Program {
public:
  BufferId input(unsigned index);  ///< the same id each time
  BufferId output(unsigned index); ///< the same id each time
  BufferId state(unsigned index);  ///< the same id each time
  BufferId temp(LatheDType type, const shape::Expr &bytes);
  BufferId constant(LatheDType type, ConstantId constant);
  /// The memory of `of`, from byte `offset` on: a reshape, or a part of it.
  BufferId view(LatheDType type, BufferId of, const shape::Expr &bytes, uint64_t offset = 0);

  /// `sizes`: the kernel's size parameters, in its order. `when`, of a device: it is left out where that is 0.
  void kernel(KernelId kernel, llvm::ArrayRef<BufferId> operandsThenResults, llvm::ArrayRef<shape::Expr> sizes,
              const std::optional<shape::Expr> &when = std::nullopt);
  void copy(BufferId from, BufferId to, const shape::Expr &bytes);
  /// A call on the calling thread of an added object's function, a LatheHostFn.
  void call(llvm::StringRef fn, llvm::ArrayRef<BufferId> buffers, llvm::ArrayRef<shape::Expr> sizes);

  // The host's part. Symbols of steps are those declared as late, and the host's own (Expr::host).
  using Label = uint32_t;
  /// Memory that is allocated when a step says so, of a size that is known then.
  BufferId dynamic(LatheDType type);
  void allocate(BufferId buffer, const shape::Expr &bytes);
  void grow(BufferId buffer, const shape::Expr &bytes); ///< as allocate, but keeps what the buffer holds
  void swap(BufferId a, BufferId b);                    ///< of two dynamic buffers
  void copyPart(BufferId from, BufferId to, const shape::Expr &bytes, const shape::Expr &offsetInTo);
  void read(BufferId from, int64_t element, llvm::StringRef symbol);
  /// All at once. Unless `checked`, what the model claims of the symbols is left to `verify`.
  void assign(llvm::ArrayRef<std::pair<std::string, shape::Expr>> values, bool checked = true);
  void verify(llvm::ArrayRef<std::string> symbols);
  void check(LatheCheckKind kind, const shape::Expr &a, const shape::Expr &b, llvm::StringRef says);
  Label newLabel() { return numLabels++; }
  /// `kept` are written piece by piece in the loop that begins here.
  void place(Label label, llvm::ArrayRef<BufferId> kept = {});
  void jump(Label label);
  void branchIfZero(const shape::Expr &condition, Label label);

  bool isFor(uint32_t device) const { return deviceType == device; }

private:
  friend class ArtifactBuilder;
  friend class ProgramWriter;
  struct Buffer {
    LatheBufferKind kind;
    uint32_t index;
    LatheDType dtype;
    shape::Expr bytes;
    uint64_t offset;
  };
  struct Step {
    LatheStepKind kind;
    uint32_t target;
    std::vector<BufferId> buffers;
    std::vector<shape::Expr> sizes;
    std::string fn;
    std::vector<std::string> defines = {}; ///< symbols that get values: of a read, of an assignment (an EVAL step)
    bool conditional = false;              ///< the last one of `sizes` says whether it is run
  };
  static constexpr LatheStepKind LabelStep = LatheStepKind(15);  ///< no step: where `target` is
  static constexpr LatheStepKind VerifyStep = LatheStepKind(14); ///< no step of its own: the checks of `defines`
  uint32_t deviceType = 1;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  uint32_t numLabels = 0;
  std::map<std::pair<uint32_t, uint32_t>, BufferId> known;
  BufferId add(LatheBufferKind kind, uint32_t index, LatheDType type, const shape::Expr &bytes, uint64_t offset);
};

class ArtifactBuilder {
public:
  /// `entries`: the names of the entry points, at least one; empty: one, called after the model.
  ArtifactBuilder(Machine machine, std::string modelName, llvm::ArrayRef<std::string> entries = {});
  ~ArtifactBuilder();

  /// Symbols, sizes, inputs, outputs, checks and programs that are added from here on are this entry point's; at first,
  /// number 0's.
  void select(unsigned entry);

  /// A size symbol of the model. Each must occur in an input's dimension from which it can be solved: as the dimension
  /// itself, or linearly beside symbols that are already bound; or be an element of an input.
  void addSymbol(SymbolInfo symbol);
  /// A name for a computed size that later expressions may mention.
  void addDerived(llvm::StringRef name, const shape::Expr &value);
  unsigned addInput(TensorInfo tensor);
  unsigned addOutput(TensorInfo tensor);
  /// Its number among the states of all entry points. One that another entry point has already must have its type, its
  /// fixed sizes and what it holds at first.
  llvm::Expected<unsigned> addState(StateInfo info);
  /// The number of a state that was added.
  unsigned stateNamed(llvm::StringRef name) const;
  /// A relation that must hold at entry besides the inputs' dimensions; `text` is how a message states it ("4 divides
  /// seq").
  void addCheck(LatheCheckKind kind, const shape::Expr &a, const shape::Expr &b, std::string text,
                bool ofValues = false);
  void addNote(std::string key, std::string value);

  /// Equal contents are stored once.
  ConstantId addConstant(ByteSource bytes);
  /// A compiled relocatable object for the machine. Its global symbols must be unique in the artifact.
  void addObject(std::string bytes);
  /// Machine code, or an assembler's text, for a capability of a device (of CUDA a cubin or PTX); gives its index for DeviceVariantInfo::image.
  uint32_t addDeviceImage(uint32_t capability, bool text, std::string bytes);
  /// Gives the index for KernelInfo::launch. Kernels may share one.
  uint32_t addLaunch(std::vector<DeviceVariantInfo> variants);
  KernelId addKernel(KernelInfo kernel);
  /// The entry point's program for a device (DLPack's numbers: 1 CPU, 2 CUDA), created on the first call.
  Program &program(uint32_t deviceType);

  struct Options {
    std::string prefix = "lathe"; ///< of the ABI's names: PREFIX_create, PREFIX_run, ...
    bool externalData = false;    ///< constants go to a file beside the artifact, named OUT.data
    unsigned threads = 1;         ///< that make pieces of constants, the one that writes among them
  };
  /// Writes the shared object: a temporary beside it first, then renamed. A failure leaves nothing behind.
  llvm::Error write(llvm::StringRef path, const Options &options);
  llvm::Error write(llvm::StringRef path) { return write(path, Options()); }
  /// Writes a relocatable object to link into a program, constants included, and a C header of the same name beside it.
  llvm::Error writeObject(llvm::StringRef path, const Options &options);

  struct State;

private:
  std::unique_ptr<State> state;
};

} // namespace lathe::artifact

#endif // LATHE_ARTIFACT_ARTIFACTBUILDER_H
