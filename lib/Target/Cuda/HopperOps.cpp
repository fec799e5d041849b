//===- HopperOps.cpp - Asynchronous copies, barriers and wgmma -------------===//

#include "HopperOps.h"

using namespace lathe::cuda;

void lathe::cuda::initBarrier(DeviceBuilder &d, Value barrier, Value arrivals) {
  d.ptx("mbarrier.init.shared::cta.b64 [$0], $1;", "r,r,~{memory}", {barrier, arrivals});
}

void lathe::cuda::fenceBarrierInit(DeviceBuilder &d) {
  d.ptx("fence.mbarrier_init.release.cluster;");
  d.ptx("fence.proxy.async;");
}

void lathe::cuda::arrive(DeviceBuilder &d, Value barrier) {
  d.ptx("mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}", barrier);
}

void lathe::cuda::arriveAt(DeviceBuilder &d, Value barrier, Value rank) {
  d.ptx("{ .reg .b32 there; mapa.shared::cluster.u32 there, $0, $1; mbarrier.arrive.shared::cluster.b64 _, [there]; }", "r,r,~{memory}",
        {barrier, rank});
}

void lathe::cuda::arriveExpecting(DeviceBuilder &d, Value barrier, Value bytes) {
  d.ptx("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;", "r,r,~{memory}", {barrier, bytes});
}

void lathe::cuda::waitFor(DeviceBuilder &d, Value barrier, Value phase) {
  d.ptx("{\n.reg .pred p;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1, 0x989680;\n@p bra.uni DONE;\n"
        "bra.uni LAB_WAIT;\nDONE:\n}",
        "r,r,~{memory}", {barrier, phase});
}

void lathe::cuda::sendWord(DeviceBuilder &d, Value place, Value word, Value barrier, Value rank) {
  d.ptx("{ .reg .b32 there, told; mapa.shared::cluster.u32 there, $0, $3; mapa.shared::cluster.u32 told, $2, $3; "
        "st.async.shared::cluster.mbarrier::complete_tx::bytes.u64 [there], $1, [told]; }",
        "r,l,r,r,~{memory}", {place, word, barrier, rank});
}

static std::string list(unsigned from, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(from + i);
  return text;
}

static std::string repeated(llvm::StringRef constraint, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i)
    text += constraint;
  return text;
}

/// Without offsets a box.
static void bulkLoad(DeviceBuilder &d, Value shared, Value map, llvm::ArrayRef<Value> coordinates, llvm::ArrayRef<Value> offsets,
                     Value barrier, Value blocks) {
  unsigned rank = coordinates.size(), count = offsets.size();
  std::string text = "cp.async.bulk.tensor." + std::to_string(rank) + "d.shared::cluster.global" + (count ? ".im2col" : "") +
                     ".mbarrier::complete_tx::bytes" + (blocks ? ".multicast::cluster" : "") + " [$0], [$1, {" + list(2, rank) + "}], [$" +
                     std::to_string(rank + 2) + "]" + (count ? ", {" + list(rank + 3, count) + "}" : "") +
                     (blocks ? ", $" + std::to_string(rank + 3 + count) : "") + ";";
  Values args = {shared, map};
  args.append(coordinates.begin(), coordinates.end());
  args.push_back(barrier);
  for (Value offset : offsets)
    args.push_back(d.b.create<mlir::arith::TruncIOp>(d.loc, d.b.getI16Type(), offset));
  if (blocks)
    args.push_back(d.b.create<mlir::arith::TruncIOp>(d.loc, d.b.getI16Type(), blocks));
  d.ptx(text, "r,l" + repeated(",r", rank + 1) + repeated(",h", count + (blocks ? 1 : 0)) + ",~{memory}", args);
}

void lathe::cuda::loadTile(DeviceBuilder &d, Value shared, Value map, llvm::ArrayRef<Value> coordinates, Value barrier, Value blocks) {
  bulkLoad(d, shared, map, coordinates, {}, barrier, blocks);
}

void lathe::cuda::loadWindow(DeviceBuilder &d, Value shared, Value map, llvm::ArrayRef<Value> coordinates, llvm::ArrayRef<Value> offsets,
                             Value barrier, Value blocks) {
  bulkLoad(d, shared, map, coordinates, offsets, barrier, blocks);
}

void lathe::cuda::prefetchMap(DeviceBuilder &d, Value map) { d.ptx("prefetch.tensormap [$0];", "l,~{memory}", map); }

void lathe::cuda::arriveNamed(DeviceBuilder &d, Value id, unsigned threads) {
  d.ptx("bar.arrive $0, " + std::to_string(threads) + ";", "r,~{memory}", id);
}

void lathe::cuda::setRegisters(DeviceBuilder &d, unsigned count, bool increase) {
  d.ptx(std::string("setmaxnreg.") + (increase ? "inc" : "dec") + ".sync.aligned.u32 " + std::to_string(count) + ";");
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

llvm::StringRef lathe::cuda::nameOfNumbers(mlir::Type element) {
  if (mlir::isa<mlir::IntegerType>(element))
    return element.isUnsignedInteger() ? "u8" : "s8";
  if (element.isFloat8E4M3FN() || element.isFloat8E5M2())
    return element.isFloat8E5M2() ? "e5m2" : "e4m3";
  return element.isBF16() ? "bf16" : element.isF16() ? "f16" : "tf32";
}

/// ".f32.bf16.bf16" with the depth in front: types of sums and operands.
static std::string typesOf(const Wgmma &w) {
  unsigned depth = 256 / w.left.getIntOrFloatBitWidth();
  return ("k" + llvm::Twine(depth) + (mlir::isa<mlir::IntegerType>(w.left) ? ".s32." : ".f32.") + nameOfNumbers(w.left) + "." + nameOfNumbers(w.right)).str();
}

/// Whether sums are kept, then what there is to say of the operands: signs of floats, and halves that lie the other way round.
static std::string flagsOf(const Wgmma &w, bool keeps, bool inRegisters) {
  std::string text = keeps ? ", 1" : ", 0";
  if (!mlir::isa<mlir::IntegerType>(w.left))
    text += ", 1, 1";
  if (w.left.getIntOrFloatBitWidth() != 16)
    return text;
  if (!inRegisters)
    text += w.leftByRows ? ", 1" : ", 0";
  return text + (w.rightByColumns ? ", 1" : ", 0");
}

/// The instruction with its accumulators first; `left` are the left operand's values, one descriptor or four registers.
static Values multiply(DeviceBuilder &d, const Wgmma &w, llvm::ArrayRef<Value> sums, llvm::ArrayRef<Value> left, Value right) {
  bool inRegisters = left.size() > 1, integers = mlir::isa<mlir::IntegerType>(w.left);
  unsigned n = w.sums(), first = n + sums.size();
  std::string text = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(w.columns) + typesOf(w) + " {" + list(0, n) + "}, " +
                     (inRegisters ? "{" : "") + list(first, left.size()) + (inRegisters ? "}" : "") + ", $" +
                     std::to_string(first + left.size()) + flagsOf(w, !sums.empty(), inRegisters) + ";";
  std::string constraints = repeated(integers ? ",=r" : ",=f", n).substr(1);
  for (unsigned i = 0; i < sums.size(); ++i)
    constraints += "," + std::to_string(i);
  for (size_t i = 0; i < left.size(); ++i)
    constraints += inRegisters ? ",r" : ",l";
  Values args(sums.begin(), sums.end());
  args.append(left.begin(), left.end());
  args.push_back(right);
  return d.ptx(text, constraints + ",l", args, llvm::SmallVector<mlir::Type>(n, integers ? d.i32Type() : d.f32Type()), true);
}

Values lathe::cuda::multiplyShared(DeviceBuilder &d, const Wgmma &w, llvm::ArrayRef<Value> sums, Value left, Value right) {
  return multiply(d, w, sums, left, right);
}

Values lathe::cuda::multiplyRegisters(DeviceBuilder &d, const Wgmma &w, llvm::ArrayRef<Value> sums, llvm::ArrayRef<Value> left,
                                      Value right) {
  return multiply(d, w, sums, left, right);
}

void lathe::cuda::fenceProducts(DeviceBuilder &d) { d.ptx("wgmma.fence.sync.aligned;"); }
void lathe::cuda::commitProducts(DeviceBuilder &d) { d.ptx("wgmma.commit_group.sync.aligned;"); }

static std::string waitText(unsigned pending) { return "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";"; }

void lathe::cuda::waitProducts(DeviceBuilder &d, unsigned pending) { d.ptx(waitText(pending)); }

Values lathe::cuda::waitProducts(DeviceBuilder &d, unsigned pending, llvm::ArrayRef<Value> sums) {
  mlir::Type number = sums[0].getType();
  std::string constraints = repeated(number.isInteger(32) ? ",=r" : ",=f", sums.size()).substr(1);
  for (size_t i = 0; i < sums.size(); ++i)
    constraints += "," + std::to_string(i);
  return d.ptx(waitText(pending), constraints + ",~{memory}", Values(sums.begin(), sums.end()),
               llvm::SmallVector<mlir::Type>(sums.size(), number), true);
}

Value lathe::cuda::describeTile(DeviceBuilder &d, Value address, unsigned leadingBytes) {
  int64_t fixed = int64_t(1) << 62 | int64_t(1024 / 16) << 32 | int64_t(leadingBytes / 16) << 16;
  return d.bitOr(d.wide(d.shr(d.bitAnd(address, 0x3FFFF), 4)), d.i64(fixed));
}

Value lathe::cuda::moveTile(DeviceBuilder &d, Value descriptor, int64_t bytes) { return d.add(descriptor, bytes / 16); }
Value lathe::cuda::moveTile(DeviceBuilder &d, Value descriptor, Value bytes) { return d.add(descriptor, d.wide(d.shr(bytes, 4))); }
