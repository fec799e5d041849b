//===- Tuning.cpp - Measured choices from a file ---------------------------===//

#include "lathe/Schedule/Tuning.h"
#include "lathe/Schedule/Machine.h"
#include "lathe/Support/Diagnostics.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using shape::Expr;

std::string schedule::hashOf(StringRef canonical) {
  return llvm::utohexstr(llvm::xxh3_64bits(canonical), /*LowerCase=*/true, /*Width=*/16);
}

Predicate TuningEntry::conditionFor(ArrayRef<std::string> symbols) const {
  Predicate p;
  for (const auto &[name, value] : sizes) {
    unsigned number = 0;
    StringRef(name).drop_front().getAsInteger(10, number);
    if (number >= symbols.size())
      continue;
    Expr size = Expr::symbol(symbols[number]);
    p.add(Expr(value), Relation::LessEqual, size * Expr(2)).add(size, Relation::LessEqual, Expr(value) * Expr(2));
  }
  return p;
}

static std::optional<std::pair<std::string, int64_t>> parseSize(StringRef text) {
  auto [name, value] = text.split('=');
  int64_t number;
  bool canonical = name.size() >= 4 && name.front() == 's' && llvm::all_of(name.drop_front(), llvm::isDigit);
  if (!canonical || value.getAsInteger(10, number) || number < 0)
    return std::nullopt;
  return std::make_pair(name.str(), number);
}

/// By the name in the table, or as artifacts and targets are written, without the underscore: sm_90, sm90.
static const Machine *machineCalled(StringRef name) {
  for (const Machine &m : machines()) {
    auto [family, number] = m.name.split('_');
    if (m.name == name || (!number.empty() && name == (family + number).str()))
      return &m;
  }
  return nullptr;
}

/// The message for the user, or the entry.
static std::string parseLine(StringRef line, MLIRContext *context, TuningEntry &entry) {
  auto [kernel, rest1] = line.split(' ');
  auto [machine, rest2] = rest1.ltrim().split(' ');
  auto [sizes, schedule] = rest2.ltrim().split(' ');
  schedule = schedule.trim();
  if (schedule.empty())
    return "expected KERNEL MACHINE SIZES SCHEDULE";
  if (kernel.size() != 16 || !llvm::all_of(kernel, [](char c) { return llvm::isDigit(c) || (c >= 'a' && c <= 'f'); }))
    return llvm::formatv("'{0}' is no kernel's hash: 16 hexadecimal digits", kernel);
  const Machine *known = machineCalled(machine);
  if (!known)
    return llvm::formatv("unknown machine '{0}', expected one of {1}", machine,
                         llvm::join(llvm::map_range(machines(), [](const Machine &m) { return m.name; }), ", "));
  entry = {kernel.str(), known->name.str(), {}, {}};
  SmallVector<StringRef> parts;
  if (sizes != "*")
    sizes.split(parts, ',');
  for (StringRef part : parts) {
    std::optional<std::pair<std::string, int64_t>> size = parseSize(part);
    if (!size)
      return llvm::formatv("'{0}': expected sizes as in s000=128,s001=64, or *", part);
    entry.sizes.push_back(*size);
  }
  std::string why;
  ScopedDiagnosticHandler quiet(context, [&](Diagnostic &d) {
    why = d.str();
    return success();
  });
  entry.schedule = parseAttribute(schedule, context);
  if (!entry.schedule)
    return llvm::formatv("'{0}': {1}", schedule, why);
  if (!isSchedule(entry.schedule))
    return llvm::formatv("'{0}': expected {1}", schedule, scheduleKinds);
  return "";
}

llvm::Expected<Tuning> Tuning::parse(StringRef text, StringRef file, MLIRContext *context) {
  Tuning tuning;
  std::string last;
  unsigned number = 0;
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    ++number;
    line = line.trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    TuningEntry entry;
    if (std::string why = parseLine(line, context, entry); !why.empty())
      return userError("{0}:{1}: {2}", file, number, why);
    std::string key = entry.kernel + " " + entry.machine + line.split(' ').second.ltrim().split(' ').second.split('#').first.str();
    if (!last.empty() && key <= last)
      return userError("{0}:{1}: {2}", file, number, key == last ? "the entry is there twice" : "lines are not sorted");
    last = key;
    tuning.entries.push_back(std::move(entry));
  }
  return tuning;
}

llvm::Expected<Tuning> Tuning::read(StringRef file, MLIRContext *context) {
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
  if (!buffer)
    return userError("{0}: cannot read: {1}", file, buffer.getError().message());
  return parse((*buffer)->getBuffer(), file, context);
}

bool Tuning::mentions(StringRef canonical) const {
  std::string hash = hashOf(canonical);
  return llvm::any_of(entries, [&](const TuningEntry &e) { return e.kernel == hash; });
}

std::vector<TuningEntry> Tuning::find(StringRef canonical, StringRef machine) const {
  std::vector<TuningEntry> out;
  std::string hash = hashOf(canonical);
  for (const TuningEntry &e : entries)
    if (e.kernel == hash && e.machine == machine)
      out.push_back(e);
  return out;
}
