//===- Targets.cpp - What --target says ------------------------------------===//

#include "lathe/Pipeline/Compile.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Target/Backend.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"

using namespace lathe;

static const target::Architecture *findArchitecture(llvm::StringRef name) {
  for (const target::Backend *backend : target::backends())
    for (const target::Architecture &a : backend->architectures())
      if (a.name == name)
        return &a;
  return nullptr;
}

static std::string knownArchitectures() {
  std::vector<llvm::StringRef> names{"host"};
  for (const target::Backend *backend : target::backends())
    for (const target::Architecture &a : backend->architectures())
      names.push_back(a.name);
  return llvm::join(names, ", ");
}

static llvm::Expected<TargetSpec> parseOne(llvm::StringRef text) {
  auto [arch, list] = text.split(':');
  if (arch == "host")
    arch = llvm::Triple::getArchTypeName(llvm::Triple(llvm::sys::getProcessTriple()).getArch());
  const target::Architecture *known = findArchitecture(arch);
  if (!known)
    return userError("--target: unknown architecture '{0}'; known are {1}", arch, knownArchitectures());
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
  for (const std::string &v : known->variants)
    if (llvm::is_contained(asked, v))
      spec.variants.push_back(v);
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
  std::vector<std::string> hosts;
  for (const TargetSpec &s : out)
    if (target::findBackend(s.arch)->isHost())
      hosts.push_back(s.arch);
  if (hosts.size() > 1)
    return userError("--target: one artifact holds code for one CPU architecture; compile twice for {0} and {1}",
                     hosts[0], hosts[1]);
  return out;
}
