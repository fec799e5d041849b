//===- ProgramWriter.h - The steps of a program as tables ------------------===//
#ifndef LATHE_LIB_ARTIFACT_PROGRAMWRITER_H
#define LATHE_LIB_ARTIFACT_PROGRAMWRITER_H

#include "Blob.h"
#include "SizeTable.h"
#include "State.h"
#include "lathe/Artifact/LateSymbols.h"

namespace lathe::artifact {

llvm::Expected<LatheCheck> writeCheck(const CheckInfo &check, SizeTable &sizes, Blob &blob);

class ProgramWriter {
public:
  ProgramWriter(const Program &program, const EntryInfo &owner, const ArtifactBuilder::State &state,
                const ConstantLayout &data, SizeTable &sizes, FunctionTable &functions, const LateSymbols &late,
                std::vector<LatheCheck> &checks)
      : program(&program), owner(&owner), state(&state), data(&data), sizes(&sizes), functions(&functions), late(&late),
        checks(&checks) {}

  /// Instructions for every size that is known at the entry.
  llvm::Error evaluateEarly();
  /// The steps, with instructions for the other sizes where they are known. The outputs' sizes are evaluated at the
  /// end.
  llvm::Expected<LatheProgram> write(Blob &blob);

private:
  llvm::Error writeBuffers();
  llvm::Error writeStep(const Program::Step &step, Blob &blob);
  llvm::Error writeDefinition(const Program::Step &step, Blob &blob);
  llvm::Error writeLateChecks(const std::vector<std::string> &defined, Blob &blob);
  llvm::Error evaluateOutputs();
  void push(LatheStepKind kind, uint32_t target, llvm::ArrayRef<BufferId> buffers, llvm::ArrayRef<uint32_t> slots,
            Blob *blob, bool dynamic);
  void flushInstructions();
  void touch(BufferId id, uint32_t step);
  void finishLoops();
  uint32_t symbolSlot(const std::string &name);
  bool isDynamic(BufferId id) const;
  void forget();

  const Program *program;
  const EntryInfo *owner; ///< the entry point that it is of
  const ArtifactBuilder::State *state;
  const ConstantLayout *data;
  SizeTable *sizes;
  FunctionTable *functions;
  const LateSymbols *late;
  std::vector<LatheCheck> *checks;
  SizeTable::Known entry; ///< what is known wherever the program is
  std::vector<LatheBuffer> buffers;
  std::vector<LatheStep> steps;
  std::map<uint32_t, uint32_t> labels; ///< to steps
  std::set<std::string> available;     ///< late symbols that have a value
  std::map<std::string, const SymbolInfo *> lateInfo;
  size_t flushed = 0; ///< instructions that the entry or a step runs
};

} // namespace lathe::artifact

#endif // LATHE_LIB_ARTIFACT_PROGRAMWRITER_H
