//===- State.h - What was added to a builder -------------------------------===//
#ifndef LATHE_ARTIFACT_STATE_H
#define LATHE_ARTIFACT_STATE_H

#include "lathe/Artifact/ArtifactBuilder.h"

namespace lathe::artifact {

struct CheckInfo {
  LatheCheckKind kind;
  shape::Expr a, b;
  std::string text;
  bool ofValues;
};

struct DeviceImageInfo {
  uint32_t capability;
  bool text;
  ConstantId code;
  uint64_t bytes;
};

/// What belongs to one entry point.
struct EntryInfo {
  std::string name;
  std::vector<SymbolInfo> symbols;
  std::vector<std::pair<std::string, shape::Expr>> derived;
  std::vector<TensorInfo> inputs, outputs;
  std::map<uint32_t, std::vector<shape::Expr>> stateDims; ///< of the states that it touches, in its own sizes
  std::vector<CheckInfo> checks;
  std::vector<std::unique_ptr<Program>> programs;
};

struct ArtifactBuilder::State {
  Machine machine;
  std::string modelName;
  std::vector<EntryInfo> entries;
  unsigned current = 0;          ///< the entry point that is added to
  std::vector<StateInfo> states; ///< with the sizes of the first entry point that has it
  std::vector<std::pair<std::string, std::string>> notes;
  std::vector<ByteSource> constants;
  std::vector<std::string> objects;
  std::vector<KernelInfo> kernels;
  std::vector<DeviceImageInfo> deviceImages;
  std::vector<std::vector<DeviceVariantInfo>> launches;

  EntryInfo &entry() { return entries[current]; }
};

/// The function pointer table: names of the added objects' symbols, in the order of first use.
class FunctionTable {
public:
  uint32_t indexOf(llvm::StringRef name);
  const std::vector<std::string> &names() const { return all; }

private:
  std::map<std::string, uint32_t> known;
  std::vector<std::string> all;
};

/// Where the constants ended up. Before they are written: all zero.
struct ConstantLayout {
  std::vector<uint64_t> offsets; ///< per constant
  uint64_t bytes = 0;
  int64_t delta = 0; ///< see LatheHeader::dataDelta
  std::string externalName;
};

/// The blob of Format.h. Its size does not depend on `data`.
llvm::Expected<std::string> writeTables(const ArtifactBuilder::State &state, const ConstantLayout &data,
                                        FunctionTable &functions);

enum class LinkKind { Shared, Relocatable };

/// A relocatable object with the blob, the function table and a placeholder that becomes the data segment.
std::string writeTableObject(Machine machine, llvm::StringRef blob, llvm::ArrayRef<std::string> functions);

/// Tables and code as one object of the kind.
llvm::Expected<std::string> linkTables(LinkKind kind, const ArtifactBuilder::State &state, const ConstantLayout &layout,
                                       llvm::StringRef prefix);

/// Links a shared or relocatable object out of objects' bytes and the runtime; returns its bytes. Only the ABI is
/// visible.
llvm::Expected<std::string> linkArtifact(LinkKind kind, Machine machine, llvm::ArrayRef<llvm::StringRef> objects,
                                         bool cuda, llvm::StringRef prefix);

/// The entry points without their prefix.
llvm::ArrayRef<const char *> abiNames();
/// A C header that declares the entry points under the prefix and needs no other file.
std::string headerText(llvm::StringRef prefix);

/// The linked file, with its placeholder turned into a data segment of `dataBytes` that begins `dataOffset` bytes into
/// the file.
struct DataSegment {
  uint64_t fileOffset, address;
  uint64_t blobFileOffset, blobAddress;
};
llvm::Expected<DataSegment> planDataSegment(llvm::StringRef image);
void patchDataSegment(std::string &image, const DataSegment &segment, uint64_t dataBytes);

} // namespace lathe::artifact

#endif // LATHE_ARTIFACT_STATE_H
