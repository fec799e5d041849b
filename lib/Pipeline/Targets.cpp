//===- Targets.cpp - What --target says ------------------------------------===//

#include "lathe/Pipeline/Compile.h"
#include "lathe/Support/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace lathe;

namespace {
struct Known {
  llvm::StringRef arch;
  std::vector<llvm::StringRef> variants; ///< all, smallest first
  std::vector<std::string> byDefault;
};
} // namespace

static const std::vector<Known> &knownTargets() {
  static const std::vector<Known> t = {
      {"x86_64", {"baseline", "avx2", "avx512"}, {"baseline", "avx2", "avx512"}},
      {"aarch64", {"neon"}, {"neon"}},
      {"riscv64", {"rvv"}, {"rvv"}},
      {"cuda", {"sm75", "sm80", "sm90", "ptx"}, {"sm75", "sm90"}},
  };
  return t;
}

static llvm::Expected<TargetSpec> parseOne(llvm::StringRef text) {
  auto [arch, list] = text.split(':');
  if (arch == "host")
    arch = llvm::Triple::getArchTypeName(llvm::Triple(llvm::sys::getProcessTriple()).getArch());
  auto known = llvm::find_if(knownTargets(), [arch = arch](const Known &k) { return k.arch == arch; });
  if (known == knownTargets().end())
    return userError("--target: unknown architecture '{0}'; known are host, x86_64, aarch64, riscv64, cuda", arch);
  TargetSpec spec{arch.str(), {}};
  if (list.empty()) {
    if (text.ends_with(":"))
      return userError("--target: '{0}' names no variant after ':'", text);
    spec.variants = known->byDefault;
    return spec;
  }
  std::vector<std::string> asked;
  for (llvm::StringRef v : llvm::split(list, '+')) {
    if (!llvm::is_contained(known->variants, v))
      return userError("--target: {0} has no variant '{1}'; it has {2}", arch, v, llvm::join(known->variants, ", "));
    asked.push_back(v.str());
  }
  for (llvm::StringRef v : known->variants)
    if (llvm::is_contained(asked, v))
      spec.variants.push_back(v.str());
  return spec;
}

llvm::Expected<std::vector<TargetSpec>> lathe::parseTargets(llvm::StringRef text) {
  std::vector<TargetSpec> out;
  for (llvm::StringRef part : llvm::split(text, ',')) {
    llvm::Expected<TargetSpec> spec = parseOne(part.trim());
    if (!spec)
      return spec.takeError();
    if (llvm::any_of(out, [&](const TargetSpec &s) { return s.arch == spec->arch; }))
      return userError("--target: {0} is named twice", spec->arch);
    out.push_back(*spec);
  }
  if (llvm::count_if(out, [](const TargetSpec &s) { return s.arch != "cuda"; }) > 1)
    return userError("--target: one artifact holds code for one CPU architecture; compile twice for {0} and {1}",
                     out[0].arch, out[1].arch);
  return out;
}
