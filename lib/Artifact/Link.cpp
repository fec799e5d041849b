//===- Link.cpp - lld, in process ------------------------------------------===//
#include "State.h"
#include "lathe/Artifact/ElfMachine.h"
#include "lathe/Support/Diagnostics.h"
#include "lld/Common/Driver.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ObjCopy/ConfigManager.h"
#include "llvm/ObjCopy/ObjCopy.h"
#include "llvm/Object/Binary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <mutex>

LLD_HAS_DRIVER(elf)

using namespace llvm;
using namespace lathe::artifact;

//===----------------------------------------------------------------------===//
// What lathe carries for each machine (lib/Runtime/CMakeLists.txt)
//===----------------------------------------------------------------------===//

#define LATHE_EMBEDDED(name, attribute) extern const char name[] attribute, name##_end[] attribute;
#define LATHE_OPTIONAL __attribute__((weak))

extern "C" {
LATHE_EMBEDDED(lathe_embedded_runtime_x86_64, )
LATHE_EMBEDDED(lathe_embedded_runtime_aarch64, )
LATHE_EMBEDDED(lathe_embedded_runtime_riscv64, )
LATHE_EMBEDDED(lathe_embedded_libc_x86_64, )
LATHE_EMBEDDED(lathe_embedded_libc_aarch64, )
LATHE_EMBEDDED(lathe_embedded_libc_riscv64, )
LATHE_EMBEDDED(lathe_embedded_cuda_x86_64, LATHE_OPTIONAL)
LATHE_EMBEDDED(lathe_embedded_cuda_aarch64, LATHE_OPTIONAL)
LATHE_EMBEDDED(lathe_embedded_cuda_riscv64, LATHE_OPTIONAL)
}

namespace {
struct Embedded {
  StringRef runtime, libc, cuda;
};
} // namespace

static StringRef between(const char *begin, const char *end) { return StringRef(begin, end - begin); }

static Embedded embeddedFor(Machine machine) {
#define BYTES(name) between(name, name##_end)
#define EMBEDDED(arch) {BYTES(lathe_embedded_runtime_##arch), BYTES(lathe_embedded_libc_##arch), BYTES(lathe_embedded_cuda_##arch)}
  switch (machine) {
  case Machine::X86_64:
    return EMBEDDED(x86_64);
  case Machine::AArch64:
    return EMBEDDED(aarch64);
  case Machine::RiscV64:
    return EMBEDDED(riscv64);
  }
  return {};
#undef EMBEDDED
#undef BYTES
}

//===----------------------------------------------------------------------===//
// The linker's inputs, as files in a folder of their own
//===----------------------------------------------------------------------===//

namespace {
class LinkFolder {
public:
  static Expected<std::unique_ptr<LinkFolder>> create() {
    SmallString<128> path;
    if (std::error_code error = sys::fs::createUniqueDirectory("lathe-link", path))
      return lathe::userError("cannot make a temporary folder for linking: {0}", error.message());
    auto folder = std::make_unique<LinkFolder>();
    folder->path = path.str().str();
    return folder;
  }
  ~LinkFolder() { sys::fs::remove_directories(path); }

  std::string file(StringRef name) const { return path + "/" + name.str(); }

  Error add(StringRef name, StringRef bytes) {
    std::error_code error;
    raw_fd_ostream out(file(name), error, sys::fs::OF_None);
    if (!error) {
      out << bytes;
      out.close();
      error = out.error();
      out.clear_error();
    }
    if (error)
      return lathe::userError("cannot write '{0}': {1}", file(name), error.message());
    arguments.push_back(file(name));
    return Error::success();
  }

  std::vector<std::string> arguments; ///< the added files

private:
  std::string path;
};
} // namespace

static const char *const abi[] = {"create",         "destroy",       "run",         "signature",   "output_shapes",
                                  "workspace_size", "set_workspace", "last_error",  "state_count", "state_info",
                                  "state_get",      "state_set",     "state_reset", "state_bind",  "entry_count",
                                  "entry_name",     "entry"};

ArrayRef<const char *> lathe::artifact::abiNames() { return abi; }

/// Exports the ABI under the prefix and hides everything else.
static std::string exportList(StringRef prefix) {
  std::string script = "{ global:";
  for (const char *name : abi)
    script += " " + prefix.str() + "_" + name + ";";
  return script + " local: *; };\n";
}

static Error runLinker(ArrayRef<std::string> arguments) {
  static std::mutex oneAtATime; // lld keeps its state in globals
  std::lock_guard<std::mutex> lock(oneAtATime);
  SmallVector<const char *> raw;
  for (const std::string &argument : arguments)
    raw.push_back(argument.c_str());
  std::string messages;
  raw_string_ostream stream(messages);
  static const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  lld::Result result = lld::lldMain(raw, stream, stream, drivers);
  if (result.retCode == 0)
    return Error::success();
  return createStringError(inconvertibleErrorCode(), "the linker failed: %s", StringRef(messages).trim().str().c_str());
}

static std::vector<std::string> sharedFlags(const LinkFolder &folder, StringRef prefix) {
  std::vector<std::string> flags = {"-shared",
                                    "-Bsymbolic",
                                    "-z",
                                    "defs",
                                    "-z",
                                    "relro",
                                    "-z",
                                    "now",
                                    "--hash-style=gnu",
                                    "--build-id=none",
                                    "--strip-debug",
                                    "--gc-sections",
                                    "--no-rosegment",
                                    "--version-script=" + folder.file("exports.map"),
                                    "--undefined=lathe_create"};
  if (prefix != "lathe")
    for (const char *name : abi)
      flags.push_back("--defsym=" + prefix.str() + "_" + name + "=lathe_" + name);
  return flags;
}

/// The object's symbols become its own, but for the entry points, which get their prefix: several models may be linked
/// into one program.
static Expected<std::string> hideSymbols(StringRef object, StringRef prefix) {
  auto binary = object::createBinary(MemoryBufferRef(object, "model"));
  if (!binary)
    return binary.takeError();
  std::vector<std::string> names;
  for (const char *name : abi)
    names.push_back("lathe_" + std::string(name));
  std::vector<std::string> renamed;
  for (const char *name : abi)
    renamed.push_back(prefix.str() + "_" + name);
  objcopy::ConfigManager config;
  auto report = [](Error error) { return error; };
  for (auto [from, to] : zip(names, renamed)) {
    if (Error error = config.Common.SymbolsToKeepGlobal.addMatcher(
            objcopy::NameOrPattern::create(from, objcopy::MatchStyle::Literal, report)))
      return error;
    config.Common.SymbolsToRename[from] = to;
  }
  std::string out;
  raw_string_ostream stream(out);
  if (Error error = objcopy::executeObjcopyOnBinary(config, **binary, stream))
    return error;
  return out;
}

Expected<std::string> lathe::artifact::linkArtifact(LinkKind kind, Machine machine, ArrayRef<StringRef> objects,
                                                    bool cuda, StringRef prefix) {
  bool shared = kind == LinkKind::Shared;
  Embedded embedded = embeddedFor(machine);
  if (cuda && embedded.cuda.empty())
    return lathe::unsupported("this build of lathe carries no CUDA runtime for the target machine");
  Expected<std::unique_ptr<LinkFolder>> made = LinkFolder::create();
  if (!made)
    return made.takeError();
  LinkFolder &folder = **made;
  SmallVector<StringRef> all(objects.begin(), objects.end());
  all.push_back(embedded.runtime);
  if (cuda)
    all.push_back(embedded.cuda);
  for (auto [i, bytes] : enumerate(all))
    if (Error error = folder.add(std::to_string(i) + ".o", bytes))
      return error;
  if (shared)
    if (Error error = folder.add("libc.so.6", embedded.libc))
      return error;
  std::vector<std::string> inputs = folder.arguments;
  if (Error error = folder.add("exports.map", exportList(prefix)))
    return error;

  std::vector<std::string> arguments = {"ld.lld", "-m", elfOf(machine).emulation.str(), "-o",
                                        folder.file("out")};
  append_range(arguments, shared ? sharedFlags(folder, prefix) : std::vector<std::string>{"-r", "--strip-debug"});
  append_range(arguments, inputs);
  if (Error error = runLinker(arguments))
    return error;
  auto buffer = MemoryBuffer::getFile(folder.file("out"), /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(), "the linker's output cannot be read: %s",
                             buffer.getError().message().c_str());
  return shared ? (*buffer)->getBuffer().str() : hideSymbols((*buffer)->getBuffer(), prefix);
}
