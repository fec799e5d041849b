//===- StripReader.cpp - What the points of a strip read, once -------------===//

#include "StripReader.h"
#include "lathe/Lower/DetachKernel.h"

using namespace mlir;
using namespace lathe;
using namespace lathe::cuda;
using shape::Expr;

Value StripReader::fetch(unsigned number, const schedule::StripPiece &piece) {
  for (const Scope &scope : scopes)
    if (auto it = scope.pieces.find({number, piece.first}); it != scope.pieces.end())
      return it->second;
  DeviceBuilder &d = frame.d;
  const schedule::StripRun &run = reads.all()[number];
  kernel::GenericOp kernel = frame.info.kernel;
  Type element = cast<kernel::RefType>(kernel.getBody().getArgument(run.operand).getType()).getElementType();
  Type type = d.vector(piece.width, element);
  unsigned bytes = std::max(1u, element.getIntOrFloatBitWidth() / 8) * piece.width;
  // Places are counted in accesses, in 32 bits: those in front of the operand are large numbers.
  Value place = d.narrow(d.add(scopes.back().origin.emitExpr(run.base), piece.first));
  if (piece.width > 1)
    place = d.b.create<arith::ShRSIOp>(d.loc, place, d.i32(llvm::Log2_32(piece.width)));
  Value count = d.div(frame.size(lower::elementsOf(kernel, run.operand)), piece.width);
  place = d.minU(place, d.sub(d.narrow(count), d.i32(1)));
  Value v = d.load(type, d.at(frame.refs[run.operand], d.wide(place), type), std::min(16u, bytes));
  scopes.back().pieces[{number, piece.first}] = v;
  return v;
}

Value StripReader::read(kernel::LoadOp load) {
  std::optional<unsigned> run = reads.runOf(load);
  if (!run || scopes.empty())
    return {};
  int64_t place = reads.placeOf(load, at, places);
  bool lanes = s.lane >= 0 && s.width > 1;
  for (const schedule::StripPiece &piece : reads.piecesOf(reads.all()[*run])) {
    if (lanes ? place != piece.first : place < piece.first || place >= piece.first + int64_t(piece.width))
      continue;
    Value v = fetch(*run, piece);
    return lanes || piece.width == 1 ? v : frame.d.extract(v, place - piece.first);
  }
  return {};
}
