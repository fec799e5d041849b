//===- OpTable.cpp - Which operators lathe reads ---------------------------===//

#include "OpTable.h"
#include "Ops/Binary.h"
#include "Ops/Unary.h"

using namespace lathe;
using namespace lathe::onnx;

// The handlers are known to nobody but the table: adding an operator touches its own file and OpTable.def.
namespace lathe::onnx {
#define OP(name, since, handler) void handler(Node &n);
#define OP_IN(domain, name, since, handler) void handler(Node &n);
#define UNARY(name, since, op, accepts)
#define BINARY(name, since, op, accepts)
#define COMPARE(name, since, kind)
#define VARIADIC(name, since, op)
#include "OpTable.def"
#undef OP
#undef OP_IN
#undef UNARY
#undef BINARY
#undef COMPARE
#undef VARIADIC
} // namespace lathe::onnx

static const OpEntry table[] = {
#define OP(name, since, handler) {"", name, since, onnx::handler},
#define OP_IN(domain, name, since, handler) {domain, name, since, onnx::handler},
#define UNARY(name, since, op, accepts) {"", name, since, unary<ir::op, Accepts::accepts>},
#define BINARY(name, since, op, accepts) {"", name, since, binary<ir::op, Accepts::accepts>},
#define COMPARE(name, since, kind) {"", name, since, compare<ir::CompareKind::kind>},
#define VARIADIC(name, since, op) {"", name, since, variadic<ir::op>},
#include "OpTable.def"
};

llvm::ArrayRef<OpEntry> onnx::opTable() { return table; }

const OpEntry *onnx::findOp(llvm::StringRef domain, llvm::StringRef name, int64_t opset) {
  if (domain == "ai.onnx")
    domain = "";
  const OpEntry *best = nullptr;
  for (const OpEntry &entry : table)
    if (domain == entry.domain && name == entry.name && entry.since <= opset && (!best || best->since < entry.since))
      best = &entry;
  return best;
}

namespace {
struct AttributeEntry {
  const char *domain, *name, *attributes;
};
} // namespace

static const AttributeEntry attributeTable[] = {
#define ATTRIBUTES(domain, name, attributes) {domain, name, attributes},
#include "Attributes.def"
#undef ATTRIBUTES
};

llvm::StringRef onnx::attributesOf(llvm::StringRef domain, llvm::StringRef name) {
  for (const AttributeEntry &entry : attributeTable)
    if (domain == entry.domain && name == entry.name)
      return entry.attributes;
  return "";
}
