//===- KernelGroups.cpp - Small kernels that share a launch -----------------===//
//
// What a launch costs is more than what a small kernel does. Row programs that stand side by side and do not depend on
// one another become one device function: each has blocks of its own, and a block finds by its number whose it is. Where sizes are open,
// kernels are launched so while they are small, and each alone otherwise.
//
//===----------------------------------------------------------------------===//

#include "../Contraction/CodedProblem.h"
#include "../Rows/RowProgram.h"
#include "lathe/Dialect/Lathe/States.h"
#include "lathe/Lower/RowLevels.h"
#include "lathe/Support/Diagnostics.h"
#include "lathe/Target/CudaGroups.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

/// A kernel of more points fills a GPU by itself.
constexpr int64_t mostPoints = 1 << 20;
/// A block of a part sums a row alone. Longer ones are shared among blocks where a kernel is launched alone.
constexpr int64_t longestRow = 1 << 15;
/// A row of open length has a block in a part, as many as a device has room for at once; alone it has as few threads as it needs.
constexpr int64_t mostOpenRows = 1 << 10;
constexpr size_t mostKernels = 16;

//===----------------------------------------------------------------------===//
// Which kernels
//===----------------------------------------------------------------------===//

namespace {
class Grouper {
public:
  Grouper(ModuleOp module, llvm::function_ref<bool(kernel::GenericOp)> standsAlone)
      : late(ir::lateSymbols(module)), facts(ir::factsOf(module)), standsAlone(standsAlone) {}
  std::vector<KernelGroup> groupsOf(Block &block);

private:
  std::optional<Expr> largenessOf(kernel::GenericOp op);
  bool dependsOnGroup(Operation *op) const;
  void finish();

  std::set<std::string> late;
  shape::Facts facts;
  llvm::function_ref<bool(kernel::GenericOp)> standsAlone;
  std::vector<kernel::GenericOp> open;
  Expr apart = Expr(0); ///< of the open group
  llvm::DenseSet<Value> made; ///< by the kernels of the open group, and views of that
  std::vector<KernelGroup> groups;
};
} // namespace

/// Nothing for a kernel that shares no launch; else an expression that is 0 where it is small.
std::optional<Expr> Grouper::largenessOf(kernel::GenericOp op) {
  using kernel::KernelClass;
  if (!llvm::is_contained({KernelClass::Loop, KernelClass::Reduction}, op.getKernelClass()) ||
      op->hasAttr("in_place") || op.getNumAxes() > lower::maxAxes || standsAlone(op) ||
      llvm::any_of(op.getSizeSymbols(), [&](const std::string &s) { return late.count(s); }))
    return std::nullopt;
  lower::BodyInfo info(op);
  if (gemmProblem(info) || codedProblem(info) || !mayBePart(info))
    return std::nullopt;
  lower::RowAxes axes = lower::rowSections(info)[0].axes;
  Expr rows = lower::extentOf(info, axes.rows), length = lower::extentOf(info, axes.reduced);
  Expr large = Expr::floordiv(rows * length, Expr(mostPoints + 1)) + Expr::floordiv(length, Expr(longestRow + 1));
  if (!length.constant())
    large = large + Expr::floordiv(rows, Expr(mostOpenRows + 1));
  large = facts.simplify(large);
  return facts.provablyPositive(large) ? std::nullopt : std::optional(large);
}

bool Grouper::dependsOnGroup(Operation *op) const {
  return llvm::any_of(op->getOperands(), [&](Value v) { return made.contains(v); });
}

void Grouper::finish() {
  if (open.size() > 1) {
    KernelGroup group;
    group.name = open[0].getName().str();
    std::set<std::string> sizes;
    for (kernel::GenericOp op : open) {
      group.kernels.push_back(op);
      llvm::append_range(group.operands, op.getInputs());
      llvm::append_range(group.results, op.getOutputs());
      for (const std::string &s : op.getSizeSymbols())
        sizes.insert(s);
    }
    group.sizes.assign(sizes.begin(), sizes.end());
    group.apart = apart;
    groups.push_back(std::move(group));
  }
  open.clear();
  apart = Expr(0);
  made.clear();
}

std::vector<KernelGroup> Grouper::groupsOf(Block &block) {
  for (Operation &op : block) {
    auto kernel = dyn_cast<kernel::GenericOp>(op);
    if (isa<ir::ConstantOp, kernel::PackOp>(op))
      continue;
    if (isa<ir::ReshapeOp>(op)) {
      if (dependsOnGroup(&op))
        made.insert(op.getResult(0));
      continue;
    }
    std::optional<Expr> largeness = kernel ? largenessOf(kernel) : std::nullopt;
    if (!largeness || dependsOnGroup(&op) || open.size() == mostKernels)
      finish();
    if (!largeness)
      continue;
    open.push_back(kernel);
    apart = apart + *largeness;
    made.insert(kernel->result_begin(), kernel->result_end());
  }
  finish();
  return std::move(groups);
}

/// Of the model alone: in a body, or beside states that kernels may overwrite, order matters more.
std::vector<KernelGroup> cuda::kernelGroups(ModuleOp module, llvm::function_ref<bool(kernel::GenericOp)> standsAlone) {
  auto functions = module.getOps<func::FuncOp>();
  if (functions.empty())
    return {};
  func::FuncOp main = *functions.begin();
  if (auto named = module.lookupSymbol<func::FuncOp>("main"))
    main = named;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (ir::stateOfArgument(main, i))
      return {};
  return Grouper(module, standsAlone).groupsOf(main.getBody().front());
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {
/// A copy of a kernel with its axes as row programs want them.
struct Part {
  explicit Part(kernel::GenericOp original) : kernel(cast<kernel::GenericOp>(OpBuilder(original).clone(*original))) {
    collapse(kernel);
    info = std::make_unique<lower::BodyInfo>(kernel);
  }
  Part(Part &&other) : kernel(other.kernel), info(std::move(other.info)) { other.kernel = {}; }
  ~Part() {
    info.reset();
    if (kernel)
      kernel.erase();
  }
  kernel::GenericOp kernel;
  std::unique_ptr<lower::BodyInfo> info;
};
} // namespace

static llvm::Error emitParts(Generator &g, const KernelGroup &group, std::vector<Part> &parts) {
  unsigned operand = 0, result = group.operands.size();
  KernelFrame frame(g.info, g.device, "together", partThreads, g.sm, 0, g.dependent(), result + group.results.size());
  DeviceBuilder &d = frame.d;
  Value block = d.wide(d.blockId()), first = d.i64(0);
  std::string error;
  for (auto [i, part] : llvm::enumerate(parts)) {
    Values refs;
    for (unsigned n = 0; n < part.kernel.getInputs().size(); ++n)
      refs.push_back(frame.refs[operand++]);
    for (unsigned n = 0; n < part.kernel.getOutputs().size(); ++n)
      refs.push_back(frame.refs[result++]);
    Value count = blocksOfPart(d, *part.info, [&](const Expr &e) { return frame.size(e); }), end = d.add(first, count);
    auto mine = d.both(d.compare(arith::CmpIPredicate::sge, block, first), d.less(block, end));
    const lower::BodyInfo &info = *part.info;
    std::string name = "part" + std::to_string(i);
    d.when(mine, [&, from = first] { error += emitPart(frame, info, refs, name, d.narrow(from)); });
    first = end;
  }
  return g.addEntry(frame, "together", error);
}

llvm::Expected<DeviceCode> cuda::generateGroupCode(const KernelGroup &group, unsigned sm, const CudaOptions &options,
                                                   StringRef planName) {
  kernel::GenericOp head = group.kernels[0];
  loadDialects(*head.getContext());
  std::vector<Part> parts;
  for (kernel::GenericOp op : group.kernels)
    parts.emplace_back(op);
  DeviceCode code;
  code.device = ModuleOp::create(UnknownLoc::get(head.getContext()));
  code.host = ModuleOp::create(UnknownLoc::get(head.getContext()));
  lower::BodyInfo info = *parts[0].info;
  info.sizes = group.sizes;
  PlanFunction plan(info, *code.host, planName);
  bool dependent = options.dependentLaunch && schedule::gpuOf(sm).gpu.dependentLaunch;
  Generator g{info, *code.device, plan, sm, dependent, {}};
  plan.set(LATHE_CUDA_FLAGS, dependent ? LATHE_CUDA_DEPENDENT : 0);
  Value blocks = plan.constant(0);
  for (Part &part : parts)
    blocks = plan.d.add(blocks, blocksOfPart(plan.d, *part.info, [&](const Expr &e) { return plan.size(e); }));
  plan.launch(plan.constant(0), blocks, plan.constant(partThreads));
  if (llvm::Error e = emitParts(g, group, parts))
    return std::move(e);
  plan.finish();
  code.entries = g.entries;
  return code;
}
