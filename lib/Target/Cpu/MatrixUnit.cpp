//===- MatrixUnit.cpp - Products of tiles of bytes, or of bf16 (AMX) --------===//
//
// Tile registers are named in the instructions: the code generator allocates none of them. The configuration is that of palette 1 (Intel 64
// and IA-32 Architectures Software Developer's Manual, volume 1, "Programming with Intel AMX").
//
//===----------------------------------------------------------------------===//

#include "MatrixUnit.h"
#include "Contraction/Contraction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace lathe::cpu;

constexpr int64_t configurationBytes = 64;

MatrixUnit::MatrixUnit(VectorBuilder &v) : v(v) {
  auto pointer = LLVM::LLVMPointerType::get(v.b.getContext());
  configuration = v.b.create<LLVM::AllocaOp>(v.loc, pointer, v.b.getI64Type(), v.i(configurationBytes / 8), 64);
}

Value MatrixUnit::number(unsigned tile) { return v.b.create<LLVM::ConstantOp>(v.loc, v.b.getI8Type(), v.b.getI8IntegerAttr(tile)); }

void MatrixUnit::call(StringRef instruction, ArrayRef<Value> operands) {
  v.b.create<LLVM::CallIntrinsicOp>(v.loc, Type(), v.b.getStringAttr("llvm.x86." + instruction.str()), operands);
}

/// Bytes: the palette, the row to start at, 14 that are reserved, bytes of a row as 16 bits for each of 16 registers, rows as 8 bits for each.
void MatrixUnit::configure(Value height, Value depth) {
  auto put = [&](int64_t at, Value bits) {
    v.b.create<LLVM::StoreOp>(v.loc, bits, v.at(configuration, v.i(at / 8), v.b.getI64Type()), 8);
  };
  constexpr int64_t whole = rowBytes << 16 | rowBytes;
  put(0, v.i(1));
  put(8, v.i(0));
  put(16, v.i(whole << 32 | whole));                              // sums
  put(24, v.add(v.mul(depth, 4 << 16 | 4), v.i(whole << 32)));    // factors
  put(32, v.i(0));
  put(40, v.i(0));
  put(48, v.add(v.mul(height, 0x010101010101), v.mul(depth, 0x0101LL << 48)));
  put(56, v.i(0));
  call("ldtilecfg", {configuration});
}

void MatrixUnit::release() { call("tilerelease", {}); }

/// Rows past the group's are those of a group before.
void MatrixUnit::multiply(const HalfWords &f, unsigned columns, Value to, Value height, Value before) {
  constexpr int64_t bytesOfWord = rowBytes / words;
  auto rows = [&](unsigned tile, Value number) { return v.at(f.rows, v.add(v.mul(v.mul(height, tile), f.pitch), v.mul(number, f.step))); };
  auto panel = [&](Value number) { return v.at(f.panel, v.mul(number, f.step * panelColumns)); };
  multiply({"tdpbf16ps", v.i(f.pitch * bytesOfWord), rows, panel, f.passes, f.passPitch * bytesOfWord}, f.steps, columns, to, height, before);
}

/// Four products for four loads, or eight for six.
void MatrixUnit::multiply(const Factors &factors, Value steps, unsigned columns, Value to, Value height, Value before) {
  static constexpr unsigned sums[2][2] = {{0, 1}, {2, 3}}, firsts[2] = {4, 5}, seconds[2] = {6, 7};
  unsigned across = columns > words ? 2 : 1;
  Type i8 = v.b.getI8Type();
  Value pitch = v.i(rowBytes / words * panelColumns); // of sums as of a panel's words
  auto eachSum = [&](function_ref<void(unsigned, unsigned)> body) {
    for (unsigned r = 0; r < tilesOfGroup; ++r)
      for (unsigned c = 0; c < across; ++c)
        body(r, c);
  };
  auto sumsIn = [&](Value memory, unsigned r, unsigned c) {
    Value row = v.mul(v.mul(height, r), rowBytes / words * panelColumns);
    return v.at(memory, v.add(row, c * rowBytes), i8);
  };
  eachSum([&](unsigned r, unsigned c) { before ? load(sums[r][c], sumsIn(before, r, c), pitch) : zero(sums[r][c]); });
  v.loop(v.i(0), steps, 1, [&](Value step) {
    Value panel = factors.second(step);
    for (unsigned c = 0; c < across; ++c)
      load(seconds[c], v.at(panel, v.i(c * rowBytes), i8), pitch);
    SmallVector<Value> rows;
    for (unsigned r = 0; r < tilesOfGroup; ++r)
      rows.push_back(factors.first(r, step));
    for (unsigned pass = 0; pass < factors.passes; ++pass) {
      for (unsigned r = 0; r < tilesOfGroup; ++r)
        load(firsts[r], v.at(rows[r], v.i(pass * factors.passBytes), i8), factors.firstPitch);
      eachSum([&](unsigned r, unsigned c) { call(factors.product, {number(sums[r][c]), number(firsts[r]), number(seconds[c])}); });
    }
  });
  eachSum([&](unsigned r, unsigned c) { store(sums[r][c], sumsIn(to, r, c), pitch); });
}
