//===- Header.cpp - The C header beside a model's object -------------------===//
//
// The public headers, which the compiler carries, put together into one file: the types once, whichever models' headers a
// program includes, and the functions under the model's prefix.
//
//===----------------------------------------------------------------------===//
#include "State.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;

extern "C" const char lathe_embedded_header[], lathe_embedded_header_end[], lathe_embedded_dlpack[], lathe_embedded_dlpack_end[];

static StringRef between(const char *begin, const char *end) { return StringRef(begin, end - begin); }

static std::string replaceAll(std::string text, StringRef from, StringRef to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string lathe::artifact::headerText(StringRef prefix) {
  StringRef header = between(lathe_embedded_header, lathe_embedded_header_end);
  auto [types, rest] = header.split("/*===- Functions -");
  StringRef functions = rest.split('\n').second.split("/*===- End of functions -").first;
  std::string declared = functions.str();
  for (const char *name : abiNames())
    declared = replaceAll(declared, ("lathe_" + Twine(name)).str(), (prefix + "_" + name).str());
  std::string own = replaceAll(types.str(), "#include \"lathe/Runtime/DLPack.h\"\n", "");
  static const char *const close = "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return formatv("{0}\n{1}{2}\n#ifndef LATHE_MODEL_{3}\n#define LATHE_MODEL_{3}\n\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n{4}{2}",
                 between(lathe_embedded_dlpack, lathe_embedded_dlpack_end), own, close, prefix.upper(), declared)
      .str();
}
