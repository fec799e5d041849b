//===- ScheduleDialect.cpp - Schedules as attributes -----------------------===//

#include "lathe/Schedule/ScheduleDialect.h"
#include "lathe/Schedule/ProductTiles.h"
#include "lathe/Schedule/Tiles.h"
#include "lathe/Dialect/Kernel/Winograd.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::schedule;
using kernel::KernelClass;

#include "lathe/Schedule/ScheduleDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "lathe/Schedule/ScheduleAttrs.cpp.inc"

void ScheduleDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "lathe/Schedule/ScheduleAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Syntax: <name = number, ..>, of which each may be left out
//===----------------------------------------------------------------------===//

using Field = std::pair<StringRef, int64_t>;

static void printFields(AsmPrinter &p, ArrayRef<Field> fields) {
  p << "<";
  bool first = true;
  for (auto [name, value] : fields) {
    if (value < 0)
      continue;
    p << (first ? "" : ", ") << name << " = " << value;
    first = false;
  }
  p << ">";
}

static ParseResult parseFields(AsmParser &parser, MutableArrayRef<Field> fields) {
  return parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
    StringRef name;
    auto loc = parser.getCurrentLocation();
    if (parser.parseKeyword(&name))
      return failure();
    auto field = llvm::find_if(fields, [&](const Field &f) { return f.first == name; });
    if (field == fields.end())
      return parser.emitError(loc, "unknown parameter '") << name << "'";
    if (parser.parseEqual() || parser.parseInteger(field->second))
      return failure();
    return field->second >= 0 ? success() : ParseResult(parser.emitError(loc, "'") << name << "' is negative");
  });
}

void RowsAttr::print(AsmPrinter &p) const {
  printFields(p, {{"persist", getPersist()}, {"unroll", getUnroll()}, {"jam", getJam()}});
}

Attribute RowsAttr::parse(AsmParser &parser, Type) {
  Field fields[] = {{"persist", -1}, {"unroll", -1}, {"jam", -1}};
  auto loc = parser.getCurrentLocation();
  if (parseFields(parser, fields))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), fields[0].second, fields[1].second,
                    fields[2].second);
}

void TilesAttr::print(AsmPrinter &p) const {
  printFields(p, {{"height", getHeight()}, {"narrow", getNarrow()}, {"panels", getPanels()}, {"direct", getDirect()}, {"rows", getRows()}});
}

Attribute TilesAttr::parse(AsmParser &parser, Type) {
  Field fields[] = {{"height", -1}, {"narrow", -1}, {"panels", -1}, {"direct", -1}, {"rows", -1}};
  auto loc = parser.getCurrentLocation();
  if (parseFields(parser, fields))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), fields[0].second, fields[1].second,
                    fields[2].second, fields[3].second, fields[4].second);
}

void WinogradAttr::print(AsmPrinter &p) const { printFields(p, {{"high", getHigh()}, {"wide", getWide()}}); }

Attribute WinogradAttr::parse(AsmParser &parser, Type) {
  Field fields[] = {{"high", -1}, {"wide", -1}};
  auto loc = parser.getCurrentLocation();
  if (parseFields(parser, fields))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), fields[0].second, fields[1].second);
}

void ThreadsAttr::print(AsmPrinter &p) const { printFields(p, {{"row", getRow()}, {"persist", getPersist()}, {"keep", getKeep()}, {"strip", getStrip()}}); }

Attribute ThreadsAttr::parse(AsmParser &parser, Type) {
  Field fields[] = {{"row", -1}, {"persist", -1}, {"keep", -1}, {"strip", -1}};
  auto loc = parser.getCurrentLocation();
  if (parseFields(parser, fields))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), fields[0].second, fields[1].second,
                    fields[2].second, fields[3].second);
}

void ProductsAttr::print(AsmPrinter &p) const { printFields(p, {{"rows", getRows()}, {"columns", getColumns()}, {"parts", getParts()}}); }

Attribute ProductsAttr::parse(AsmParser &parser, Type) {
  Field fields[] = {{"rows", -1}, {"columns", -1}, {"parts", -1}};
  auto loc = parser.getCurrentLocation();
  if (parseFields(parser, fields))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), fields[0].second, fields[1].second, fields[2].second);
}

void AttentionAttr::print(AsmPrinter &p) const { printFields(p, {{"queries", getQueries()}, {"keys", getKeys()}}); }

Attribute AttentionAttr::parse(AsmParser &parser, Type) {
  Field fields[] = {{"queries", -1}, {"keys", -1}};
  auto loc = parser.getCurrentLocation();
  if (parseFields(parser, fields))
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(), fields[0].second, fields[1].second);
}

void CaseAttr::print(AsmPrinter &p) const {
  p << "<";
  if (!getCondition().empty())
    p << getCondition() << ", ";
  p << getSchedule() << ">";
}

Attribute CaseAttr::parse(AsmParser &parser, Type) {
  auto loc = parser.getCurrentLocation();
  std::string condition;
  Attribute schedule;
  if (parser.parseLess() || (succeeded(parser.parseOptionalString(&condition)) && parser.parseComma()) ||
      parser.parseAttribute(schedule) || parser.parseGreater())
    return {};
  return getChecked([&] { return parser.emitError(loc); }, parser.getContext(),
                    StringAttr::get(parser.getContext(), condition), schedule);
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

constexpr int64_t mostVectors = 16, mostUnrolled = 8, mostJammed = 8, highestTile = 24, mostPanels = 64, mostThreads = 512, mostAccesses = 32,
                  mostQueries = 128, fewestKeys = 16, mostKeys = 512, mostOfStrip = 8;

LogicalResult RowsAttr::verify(llvm::function_ref<InFlightDiagnostic()> error, int64_t persist, int64_t unroll,
                               int64_t jam) {
  if (persist > mostVectors)
    return error() << "persist: at most " << mostVectors << " vectors stay in registers";
  if (unroll == 0 || unroll > mostUnrolled)
    return error() << "unroll: expected 1 to " << mostUnrolled;
  if (jam == 0 || jam > mostJammed)
    return error() << "jam: expected 1 to " << mostJammed;
  return success();
}

LogicalResult TilesAttr::verify(llvm::function_ref<InFlightDiagnostic()> error, int64_t height, int64_t narrow,
                                int64_t panels, int64_t direct, int64_t rows) {
  if (height == 0 || height > highestTile)
    return error() << "height: expected 1 to " << highestTile;
  if (narrow >= 0 && narrow != 16 && narrow != 32)
    return error() << "narrow: expected 16 or 32";
  if (panels == 0 || panels > mostPanels)
    return error() << "panels: expected 1 to " << mostPanels;
  if (direct > 1)
    return error() << "direct: expected 0 or 1";
  if (rows > int64_t(RowAccess::Parts))
    return error() << "rows: expected 0 to " << int64_t(RowAccess::Parts);
  return success();
}

LogicalResult WinogradAttr::verify(llvm::function_ref<InFlightDiagnostic()> error, int64_t high, int64_t wide) {
  for (auto [name, results] : {std::pair("high", high), std::pair("wide", wide)})
    if (results >= 0 && !kernel::Winograd::knows(results))
      return error() << name << ": expected 1, 2 or 4";
  return success();
}

LogicalResult ThreadsAttr::verify(llvm::function_ref<InFlightDiagnostic()> error, int64_t row, int64_t persist, int64_t keep, int64_t strip) {
  if (row == 0 || row > mostThreads || (row > 0 && !llvm::isPowerOf2_64(row)))
    return error() << "row: expected a power of two up to " << mostThreads;
  if (persist > mostAccesses)
    return error() << "persist: at most " << mostAccesses << " accesses of a thread stay in registers";
  if (keep > 1 || (keep > 0 && persist > 0))
    return error() << "keep: expected 0 or 1, and 1 for rows that do not stay in registers";
  if (strip > mostOfStrip || (strip > 0 && (row > 0 || persist > 0 || keep > 0)))
    return error() << "strip: expected 0 to " << mostOfStrip << ", and 0 for rows that threads share";
  return success();
}

LogicalResult ProductsAttr::verify(llvm::function_ref<InFlightDiagnostic()> error, int64_t rows, int64_t columns, int64_t parts) {
  if (parts > 1)
    return error() << "parts: expected 0 or 1";
  if (std::optional<std::string> why = missingTile(rows, columns))
    return error() << *why;
  return success();
}

LogicalResult AttentionAttr::verify(llvm::function_ref<InFlightDiagnostic()> error, int64_t queries, int64_t keys) {
  if (queries == 0 || queries > mostQueries)
    return error() << "queries: expected 1 to " << mostQueries;
  if (keys >= 0 && (keys < fewestKeys || keys > mostKeys))
    return error() << "keys: expected " << fewestKeys << " to " << mostKeys;
  return success();
}

bool schedule::isSchedule(Attribute a) {
  return isa<RowsAttr, TilesAttr, WinogradAttr, ThreadsAttr, ProductsAttr, AttentionAttr, PlainAttr>(a);
}

LogicalResult CaseAttr::verify(llvm::function_ref<InFlightDiagnostic()> error, StringAttr condition,
                               Attribute schedule) {
  llvm::Expected<Predicate> p = Predicate::parse(condition.getValue());
  if (!p)
    return error() << "S2: " << llvm::toString(p.takeError());
  if (!isSchedule(schedule))
    return error() << "S3: expected " << scheduleKinds;
  return success();
}

static LogicalResult verifyCase(kernel::GenericOp kernel, CaseAttr c) {
  std::vector<std::string> sizes = kernel.getSizeSymbols();
  for (const std::string &s : conditionOf(c).symbols())
    if (!llvm::is_contained(sizes, s))
      return kernel.emitOpError("S2: condition '")
             << c.getCondition().getValue() << "' mentions '" << s << "', which is no size of the kernel";
  KernelClass k = kernel.getKernelClass();
  bool rows = k == KernelClass::Loop || k == KernelClass::Reduction || k == KernelClass::Contraction;
  bool products = k == KernelClass::Contraction || k == KernelClass::Reduction;
  if ((isa<RowsAttr, ThreadsAttr>(c.getSchedule()) && !rows) || (isa<ProductsAttr>(c.getSchedule()) && !products) || (isa<TilesAttr>(c.getSchedule()) && k != KernelClass::Contraction) ||
      (isa<WinogradAttr>(c.getSchedule()) && k != KernelClass::Reduction) || (isa<AttentionAttr>(c.getSchedule()) && k != KernelClass::Attention))
    return kernel.emitOpError("S3: ") << c.getSchedule() << " is not for kernels of class "
                                      << kernel::stringifyKernelClass(k);
  return success();
}

LogicalResult ScheduleDialect::verifyOperationAttribute(Operation *op, NamedAttribute attribute) {
  auto kernel = dyn_cast<kernel::GenericOp>(op);
  auto cases = dyn_cast<ArrayAttr>(attribute.getValue());
  if (attribute.getName() != casesName || !kernel || !cases || cases.empty())
    return op->emitOpError("S1: expected ") << casesName << " with an array of cases, at a kernel.generic";
  for (auto [i, a] : llvm::enumerate(cases)) {
    auto c = dyn_cast<CaseAttr>(a);
    if (!c)
      return op->emitOpError("S1: case ") << i << " is no #schedule.case";
    if (c.getCondition().empty() != (i + 1 == cases.size()))
      return op->emitOpError("S1: the last case, and no other, has no condition");
    if (failed(verifyCase(kernel, c)))
      return failure();
  }
  return success();
}

Predicate schedule::conditionOf(CaseAttr c) {
  llvm::Expected<Predicate> p = Predicate::parse(c.getCondition().getValue());
  if (p)
    return *p;
  llvm::consumeError(p.takeError());
  return {};
}

CaseAttr schedule::makeCase(MLIRContext *context, const Predicate &when, Attribute schedule) {
  return CaseAttr::get(context, StringAttr::get(context, when.str()), schedule);
}

SmallVector<CaseAttr> schedule::casesOf(kernel::GenericOp kernel) {
  SmallVector<CaseAttr> out;
  if (auto cases = kernel->getAttrOfType<ArrayAttr>(casesName))
    for (Attribute a : cases)
      out.push_back(cast<CaseAttr>(a));
  return out;
}
