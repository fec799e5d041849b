//===- Toolchain.cpp - ptxas and libdevice ---------------------------------===//

#include "Toolchain.h"
#include "lathe/Schedule/Machine.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <vector>

using namespace lathe;
using namespace lathe::cuda;
namespace sys = llvm::sys;

/// The places to look in, with how a message names them.
static std::vector<std::pair<std::string, std::string>> candidates(const std::string &cudaPath) {
  std::vector<std::pair<std::string, std::string>> dirs;
  if (!cudaPath.empty())
    return {{cudaPath, "--cuda-path"}};
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *value = getenv(variable); value && *value)
      dirs.push_back({value, variable});
  if (auto found = sys::findProgramByName("ptxas")) {
    llvm::SmallString<128> real;
    if (!sys::fs::real_path(*found, real))
      dirs.push_back({sys::path::parent_path(sys::path::parent_path(real)).str(), "PATH"});
  }
  dirs.push_back({"/usr/local/cuda", "the default"});
  return dirs;
}

llvm::Expected<Toolchain> cuda::findToolchain(const std::string &cudaPath) {
  std::string tried;
  for (const auto &[dir, from] : candidates(cudaPath)) {
    llvm::SmallString<128> ptxas(dir), libdevice(dir);
    sys::path::append(ptxas, "bin", "ptxas");
    sys::path::append(libdevice, "nvvm", "libdevice", "libdevice.10.bc");
    if (sys::fs::can_execute(ptxas) && sys::fs::exists(libdevice))
      return Toolchain{ptxas.str().str(), libdevice.str().str()};
    tried += (tried.empty() ? "" : ", ") + dir + " (" + from + ")";
  }
  return userError("target cuda needs a CUDA toolkit (bin/ptxas and nvvm/libdevice/libdevice.10.bc), found none in {0}; "
                   "install one or name its folder with --cuda-path",
                   tried);
}

namespace {
/// A file in the temporary folder that goes away with its owner.
class TemporaryFile {
public:
  explicit TemporaryFile(llvm::StringRef suffix) { error = sys::fs::createTemporaryFile("lathe", suffix, path); }
  ~TemporaryFile() { sys::fs::remove(path); }
  llvm::SmallString<128> path;
  std::error_code error;
};
} // namespace

/// Runs ptxas; what it prints goes to the log.
static int runPtxas(const Toolchain &toolchain, llvm::ArrayRef<llvm::StringRef> arguments, const TemporaryFile &log, std::string &message,
                    std::string &text) {
  std::vector<llvm::StringRef> args{toolchain.ptxas};
  args.insert(args.end(), arguments.begin(), arguments.end());
  std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), log.path.str(), log.path.str()};
  int rc = sys::ExecuteAndWait(toolchain.ptxas, args, std::nullopt, redirects, 0, 0, &message);
  if (auto said = llvm::MemoryBuffer::getFile(log.path))
    text = (*said)->getBuffer().str();
  return rc;
}

static llvm::Error noTemporary(const std::error_code &error) {
  return userError("cannot create a temporary file for ptxas: {0}", error.message());
}

llvm::Expected<std::string> cuda::versionOf(const Toolchain &toolchain) {
  TemporaryFile log("log");
  if (log.error)
    return noTemporary(log.error);
  std::string message, text;
  int rc = runPtxas(toolchain, {"--version"}, log, message, text);
  size_t at = text.find("release ");
  if (rc || at == std::string::npos)
    return userError("{0} --version does not say which release it is: {1}{2}", toolchain.ptxas, message,
                     llvm::StringRef(text).take_front(200).trim());
  return llvm::StringRef(text).drop_front(at).take_until([](char c) { return c == '\n' || c == '\r'; }).trim().str();
}

llvm::Expected<std::string> cuda::assemble(llvm::StringRef ptx, unsigned sm, const Toolchain &toolchain) {
  TemporaryFile in("ptx"), out("cubin"), log("log");
  for (const TemporaryFile *f : {&in, &out, &log})
    if (f->error)
      return noTemporary(f->error);
  {
    std::error_code ec;
    llvm::raw_fd_ostream os(in.path, ec);
    os << ptx;
  }
  std::string arch = "-arch=" + schedule::gpuOf(sm).gpu.name();
  std::string message, text;
  int rc = runPtxas(toolchain, {arch, "-O3", in.path, "-o", out.path}, log, message, text);
  if (rc)
    return bug("ptxas fails for sm_{0}: {1}{2}", sm, message, text.substr(0, 2000));
  if (llvm::StringRef(text).contains("C7510") || llvm::StringRef(text).contains("C7508"))
    return bug("ptxas for sm_{0}: {1}", sm, text.substr(0, 1000));
  auto bytes = llvm::MemoryBuffer::getFile(out.path);
  if (!bytes)
    return bug("ptxas left no output: {0}", bytes.getError().message());
  return (*bytes)->getBuffer().str();
}
