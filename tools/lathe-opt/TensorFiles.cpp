//===- TensorFiles.cpp - numpy's files for the interpreter -----------------===//

#include "TensorFiles.h"
#include "../lathe/NpyFile.h"
#include "lathe/Support/Diagnostics.h"

using namespace lathe;
using namespace lathe::tool;
using interpret::Tensor;
using llvm::Error;
using llvm::Expected;

static mlir::Type elementOf(DLDataType type, mlir::MLIRContext *context) {
  mlir::Builder b(context);
  switch (type.code) {
  case kDLFloat:
    return type.bits == 64 ? b.getF64Type() : type.bits == 32 ? b.getF32Type() : b.getF16Type();
  case kDLBfloat:
    return b.getBF16Type();
  case kDLBool:
    return b.getI1Type();
  case kDLInt:
    return b.getIntegerType(type.bits);
  case kDLUInt:
    return b.getIntegerType(type.bits, /*isSigned=*/false);
  default:
    return {};
  }
}

DLDataType tool::dtypeOf(mlir::Type e) {
  uint8_t bits = e.isInteger(1) ? 8 : uint8_t(e.getIntOrFloatBitWidth());
  uint8_t code = e.isInteger(1)                  ? kDLBool
                 : e.isBF16()                    ? kDLBfloat
                 : mlir::isa<mlir::FloatType>(e) ? kDLFloat
                 : ir::isUnsignedElement(e)      ? kDLUInt
                                                 : kDLInt;
  return {code, bits, 1};
}

static Expected<std::map<std::string, Tensor>> readAll(llvm::StringRef path, mlir::MLIRContext *context) {
  Expected<std::map<std::string, HostTensor>> arrays = readNpz(path);
  if (!arrays)
    return arrays.takeError();
  std::map<std::string, Tensor> out;
  for (auto &[name, array] : *arrays) {
    mlir::Type e = elementOf(array.dtype, context);
    if (!e)
      return userError("{0}: array '{1}' is {2}, which the interpreter does not read", path, name,
                       dtypeName(array.dtype));
    out.emplace(name, interpret::fromBytes(mlir::RankedTensorType::get(array.shape, e), array.data()));
  }
  return out;
}

static Error writeAll(llvm::StringRef path, const std::vector<std::pair<std::string, Tensor>> &tensors) {
  std::map<std::string, HostTensor> hosts;
  std::map<std::string, DLTensor> views;
  for (const auto &[name, t] : tensors) {
    if (!ir::isNumber(t.type.getElementType()))
      return userError("'{0}' has a type that numpy's files do not hold", name);
    Expected<HostTensor> host = HostTensor::create(dtypeOf(t.type.getElementType()), t.shape());
    if (!host)
      return host.takeError();
    std::vector<char> bytes = interpret::toBytes(t);
    std::copy(bytes.begin(), bytes.end(), host->data());
    hosts[name] = std::move(*host);
    views[name] = hosts[name].view();
  }
  return writeNpz(path, views);
}

interpret::TensorFiles tool::npyFiles() { return {readAll, writeAll}; }
