//===- Registry.cpp - Finding an operator's entry ---------------------------===//

#include "Families.h"
#include "llvm/ADT/StringMap.h"
#include <deque>

using namespace lathe;
using namespace lathe::fx;
using llvm::StringRef;

static constexpr llvm::ArrayRef<OpEntry> (*families[])() = {
    unaryOps,  functionOps,  activationOps, binaryOps,  compareOps, convertOps, reduceOps, scanOps,  sortOps,      shapeOps,
    sliceOps,  splitOps,      diagonalOps, stridedOps, joinOps,    stackOps,  indexOps, dataOps, scatterOps,   createOps,
    matmulOps, normOps, numberOps,       attentionOps, convOps,   poolOps, adaptivePoolOps, blockOps,    padOps,    resizeOps, recurrentOps, assertOps, lossOps, searchOps, randomOps, bagOps, quantizeOps, backwardOps,
    complexOps, fourierOps, specialOps, polynomialOps, productOps, quantileOps, sampleQuantileOps, integralOps, marginOps, bitOps, segmentOps, linalgOps, matrixNormOps, histogramOps, detectionOps};

/// Operators that torch has under several names, overload by overload.
static constexpr std::pair<const char *, const char *> otherNames[] = {
    {"absolute", "abs"},          {"negative", "neg"},         {"subtract", "sub"},        {"multiply", "mul"},
    {"divide", "div"},            {"true_divide", "div"},      {"fix", "trunc"},           {"clip", "clamp"},
    {"arccos", "acos"},           {"arcsin", "asin"},          {"arctan", "atan"},         {"arccosh", "acosh"},
    {"arcsinh", "asinh"},         {"arctanh", "atanh"},        {"arctan2", "atan2"},       {"greater", "gt"},
    {"greater_equal", "ge"},      {"less", "lt"},              {"less_equal", "le"},       {"not_equal", "ne"},
    {"concatenate", "cat"},       {"concat", "cat"},           {"moveaxis", "movedim"},    
    {"special_expit", "sigmoid"}, {"special_erf", "erf"},      {"special_erfc", "erfc"},   {"special_exp2", "exp2"},
    {"special_expm1", "expm1"},   {"special_log1p", "log1p"},  {"special_round", "round"}, {"special_logit", "logit"},
    {"special_sinc", "sinc"},     {"special_xlogy", "xlogy"},  {"special_softmax", "softmax"},
    {"special_log_softmax", "log_softmax"}, {"special_logsumexp", "logsumexp"}, {"special_erfinv", "erfinv"},
    {"linalg_matmul", "matmul"},  {"det", "linalg_det"},       {"inverse", "linalg_inv"}};

/// The forms that write to a tensor which they are given: those of "add.Tensor" and "cat.default" are "add.out" and "cat.out", that of
/// "sum.dim_IntList" is "sum.IntList_out".
static void addOutForms(llvm::StringMap<OpEntry> &map) {
  static std::deque<std::string> lists; // of arguments, which entries refer to
  for (auto family : families)
    for (const OpEntry &entry : family())
      if (entry.arguments && !(entry.flags & WritesOut)) {
        auto [base, overload] = StringRef(entry.name).split('.');
        bool plain = overload == "default" || overload == "Tensor";
        overload.consume_front("dim_");
        OpEntry out = entry;
        out.arguments = lists.emplace_back(std::string(entry.arguments) + " out:T").c_str();
        out.flags = WritesOut;
        map.try_emplace((base + (plain ? ".out" : "." + overload + "_out")).str(), out);
      }
}

/// The operators, and what is a view as a copy ("view_copy").
static const llvm::StringMap<OpEntry> &table() {
  static const llvm::StringMap<OpEntry> all = [] {
    llvm::StringMap<OpEntry> map;
    for (auto family : families)
      for (const OpEntry &entry : family())
        map.try_emplace(entry.name, entry);
    for (auto family : families)
      for (const OpEntry &entry : family())
        if (entry.flags & IsView) {
          auto [base, overload] = StringRef(entry.name).split('.');
          OpEntry copy = entry;
          copy.flags = NoFlags;
          map.try_emplace((base + "_copy." + overload).str(), copy);
        }
    addOutForms(map);
    return map;
  }();
  return all;
}

const OpEntry *fx::findOp(StringRef name) {
  if (auto found = table().find(name); found != table().end())
    return &found->second;
  auto [base, overload] = name.split('.');
  for (auto [other, own] : otherNames)
    if (base == other)
      if (auto found = table().find((own + ("." + overload)).str()); found != table().end())
        return &found->second;
  return nullptr;
}
