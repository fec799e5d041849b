//===- ScheduleReport.cpp - How kernels run, for those who read about it ---===//

#include "ScheduleReport.h"
#include "lathe/Lower/DetachKernel.h"
#include "lathe/Pipeline/Observer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::pipeline;

static std::string textOf(const target::ExpectedCost &cost) {
  std::string out;
  for (const auto &[size, value] : cost.sizes)
    out += (out.empty() ? "" : ", ") + size + " = " + std::to_string(value);
  return out;
}

static std::string textOf(const target::CompiledCase &c, bool several) {
  std::string out = "runs: ";
  if (several)
    out += c.when.empty() ? "otherwise " : "where " + c.when + ": ";
  out += c.form + " " + c.schedule;
  for (auto [i, cost] : llvm::enumerate(c.costs))
    out += (i ? "; " : ", expected cycles: ") + std::to_string(cost.cycles) +
           (cost.sizes.empty() ? "" : " at " + textOf(cost));
  return out;
}

std::vector<std::string> pipeline::linesOf(const target::CompiledKernel &kernel) {
  std::vector<std::pair<std::string, std::string>> said; // what, of which variants
  auto add = [&](const std::string &line, const std::string &variant) {
    auto it = llvm::find_if(said, [&](const auto &s) { return s.first == line; });
    if (it == said.end())
      said.emplace_back(line, variant);
    else
      it->second += "+" + variant;
  };
  for (const target::CompiledVariant &v : kernel.variants) {
    for (const target::CompiledCase &c : v.cases)
      add(textOf(c, v.cases.size() > 1), v.variant);
    for (const std::string &remark : v.remarks)
      add("remark: " + remark, v.variant);
  }
  std::vector<std::string> lines{"tuning key: " + kernel.hash};
  if (!kernel.sizes.empty())
    lines[0] += ", sizes: " + llvm::join(kernel.sizes, ", ");
  for (const auto &[line, names] : said)
    lines.push_back(names + " " + line);
  return lines;
}

static llvm::json::Object describe(const target::CompiledVariant &v) {
  llvm::json::Array cases, remarks;
  for (const target::CompiledCase &c : v.cases) {
    llvm::json::Array costs;
    for (const target::ExpectedCost &cost : c.costs)
      costs.push_back(llvm::json::Object{{"at", textOf(cost)}, {"cycles", cost.cycles}});
    cases.push_back(llvm::json::Object{{"when", c.when}, {"schedule", c.schedule}, {"form", c.form}, {"costs", std::move(costs)}});
  }
  for (const std::string &remark : v.remarks)
    remarks.push_back(remark);
  llvm::json::Object variant{{"cases", std::move(cases)}, {"remarks", std::move(remarks)}};
  if (v.efficiency)
    variant["share_of_peak"] = *v.efficiency;
  return variant;
}

void pipeline::addSchedules(llvm::json::Value &report, ArrayRef<ModuleOp> modules, const target::TargetCode &code) {
  llvm::DenseMap<Operation *, const target::CompiledKernel *> compiled; // those that stand alone
  for (auto [op, kernel] : llvm::zip_equal(code.kernels, code.functions))
    compiled[op] = &kernel;
  llvm::json::Array *entries = report.getAsObject()->getArray("kernels");
  for (auto [entry, op] : llvm::zip_equal(*entries, lower::kernelsOf(modules))) {
    const target::CompiledKernel *kernel = compiled.lookup(op);
    if (!kernel)
      continue;
    llvm::json::Object variants;
    for (const target::CompiledVariant &v : kernel->variants)
      variants[v.variant] = describe(v);
    llvm::json::Object &out = *entry.getAsObject();
    out["tuning_key"] = kernel->hash;
    out["tuning_sizes"] = llvm::json::Array(kernel->sizes);
    out["schedules"] = std::move(variants);
  }
}

void pipeline::adviseOfSlowKernels(ArrayRef<kernel::GenericOp> kernels, ArrayRef<target::CompiledKernel> compiled,
                                   const CompileOptions &options) {
  constexpr double least = 0.1;
  if (!options.observer)
    return;
  unsigned count = 0;
  std::string first;
  for (auto [kernel, code] : llvm::zip_equal(kernels, compiled)) {
    const target::CompiledVariant &best = code.variants.back();
    if (!best.efficiency || *best.efficiency >= least || ++count > 1)
      continue;
    first = llvm::formatv("'{0}' {1:P1}{2}", kernel::GenericOp(kernel).getName(), *best.efficiency,
                          best.remarks.empty() ? "" : " (" + best.remarks.front() + ")");
  }
  if (count)
    options.observer->advised(llvm::formatv("{0} of {1} kernels are expected to run below a tenth of the machine's "
                                            "peak: {2}{3}; lathe inspect lists them",
                                            count, kernels.size(), first, count > 1 ? ", .." : "")
                                  .str());
}
