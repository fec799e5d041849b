//===- FragmentEpilogue.cpp - Sums of matrix instructions to memory ----------===//

#include "FragmentEpilogue.h"

using namespace mlir;
using namespace lathe::cuda;

static void putChunk(DeviceBuilder &d, Value buffer, Value lane, ArrayRef<Value> sums) {
  Value row = d.shr(lane, 2), column = d.mul(d.bitAnd(lane, 3), 2);
  Type pair = d.vector(2, d.f32Type());
  for (unsigned i = 0; i + 1 < sums.size(); i += 2) {
    Value v = d.insert(d.insert(d.real(pair, 0), sums[i], 0), sums[i + 1], 1);
    Value index = d.add(d.mul(d.add(row, i / 2 % 2 * 8), epiloguePitch), d.add(column, i / 4 * 8));
    d.store(v, d.at(buffer, index, d.f32Type()), 8);
  }
}

void lathe::cuda::storeFragmentRows(KernelFrame &frame, ProductEpilogue &epilogue, const FragmentRows &rows,
                                     ArrayRef<Value> sums) {
  DeviceBuilder &d = frame.d;
  unsigned width = epilogue.width();
  Value buffer = d.b.create<LLVM::IntToPtrOp>(d.loc, d.pointer(Shared), rows.buffer);
  Value readRow = d.shr(rows.lane, 3), readColumn = d.mul(d.bitAnd(rows.lane, 7), 4);
  Type four = d.vector(4, d.f32Type());
  for (unsigned c = 0; c < sums.size() * 2; c += epilogueColumns) {
    d.ptx("bar.warp.sync 0xffffffff;");
    putChunk(d, buffer, rows.lane, sums.slice(c / 2, epilogueColumns / 2));
    d.ptx("bar.warp.sync 0xffffffff;");
    d.loop(d.i32(0), d.i32(16), d.i32(4), [&](Value r) {
      Value row = d.add(r, readRow);
      Value v = d.load(four, d.at(buffer, d.add(d.mul(row, epiloguePitch), readColumn), d.f32Type()), 16);
      Value global = d.add(rows.row, row);
      d.when(d.less(global, rows.rowLimit), [&] {
        lower::BodyEmitter at = epilogue.atRow(d.wide(global));
        for (unsigned i = 0; i < 4; i += width) {
          Value column = d.add(rows.column, d.add(readColumn, c + i));
          Values values;
          for (unsigned l = 0; l < width; ++l)
            values.push_back(d.extract(v, i + l));
          d.when(d.less(column, rows.columnLimit), [&] { epilogue.store(at, d.wide(column), values); });
        }
      });
    });
  }
}
