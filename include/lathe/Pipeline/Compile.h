//===- Compile.h - From a model file to an artifact ------------------------===//
#ifndef LATHE_PIPELINE_COMPILE_H
#define LATHE_PIPELINE_COMPILE_H

#include "lathe/Import/Options.h"
#include "lathe/Schedule/Limits.h"
#include "lathe/Target/TargetSpec.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
}

namespace lathe {

class Observer;
class CodeCache;

/// Where compilation stops; every stage before Artifact is text on the output (stdout where none is named).
enum class EmitStage { Graph, Kernels, Llvm, Asm, Ptx, Object, Artifact };

/// A model to compile, and what the artifact calls it.
struct EntryPoint {
  std::string model; ///< the file
  std::string name;  ///< empty: after the file
  ImportOptions import;
  std::string program = ""; ///< of a file that holds several
};

struct CompileOptions {
  std::vector<EntryPoint> entries; ///< at least one, in the artifact's order
  std::string output;
  std::vector<TargetSpec> targets;
  EmitStage emit = EmitStage::Artifact;
  bool externalWeights = false;
  std::string prefix = "lathe";
  std::string report;            ///< JSON file; empty: none
  std::string depFile;           ///< make rule of the model's files; empty: none
  std::string precision;         ///< of contractions: f32, tf32 (GPUs), bf16, f16; empty: the model's
  std::string toolkit;           ///< folder of a device's tools; empty: found
  bool directConvolutions = false; ///< on CPUs with all of their products
  unsigned maxSchedules = schedule::usualSchedules; ///< of one kernel for CPUs
  std::string tuning;            ///< file of measured schedules for CPUs; empty: none
  unsigned threads = 2;          ///< of code generation, and of packing constants
  unsigned effort = 2;           ///< of code generation for CPUs, 0 to 3
  bool sharesAll = false;        ///< threads share the smallest of kernels, which takes longer: for tests, whose tensors are small
  std::string cacheFolder;       ///< of machine code made before; empty: none
  uint64_t cacheBytes = 1 << 30; ///< what was not used for longest goes beyond this; 0: no bound
  CodeCache *cache = nullptr;    ///< that folder, once it is open
  Observer *observer = nullptr;  ///< is told what happens; may be null
};

/// What the artifact calls it: as the user says, else as its program in a file of several, else after the file.
std::string nameOf(const EntryPoint &entry);

/// Makes an entry point of each program of a file that holds several, and refuses names that are given twice.
llvm::Error expandEntries(CompileOptions &options);

/// Architectures that backends have, each perhaps with variants (ARCH[:V+V..]), comma separated; "host" is this machine's.
llvm::Expected<std::vector<TargetSpec>> parseTargets(llvm::StringRef text);

/// Compiles the model and writes the output, all or nothing.
llvm::Error compile(const CompileOptions &options);

/// The stages in front of code generation, the first target's passes among them, without an output.
llvm::Error checkStages(const CompileOptions &options);

/// The dialects that any stage makes.
void registerAllLatheDialects(mlir::DialectRegistry &registry);

} // namespace lathe

#endif // LATHE_PIPELINE_COMPILE_H
