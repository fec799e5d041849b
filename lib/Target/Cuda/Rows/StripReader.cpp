//===- StripReader.cpp - What the points of a strip read, once -------------===//

#include "StripReader.h"
#include "lathe/Lower/DetachKernel.h"
#include "mlir/IR/Matchers.h"

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
  lower::BodyEmitter &origin = scopes.back().origin;
  SmallVector<Value> indices;
  for (Value index : run.indices)
    indices.push_back(origin.emit(index));
  Value place = d.narrow(d.add(origin.emitExpr(run.base, indices), piece.first));
  if (piece.width > 1)
    place = d.b.create<arith::ShRSIOp>(d.loc, place, d.i32(llvm::Log2_32(piece.width)));
  Value count = d.div(frame.size(lower::elementsOf(kernel, run.operand)), piece.width);
  place = d.minU(place, d.sub(d.narrow(count), d.i32(1)));
  Value pointer = d.at(frame.refs[run.operand], d.wide(place), type);
  // LLVM takes accesses of a few halves apart, and moves a choice behind a conversion, unless they are words from the start.
  bool words = bytes > 4 && element.getIntOrFloatBitWidth() < 32;
  Value v = d.load(words ? d.vector(bytes / 4, d.i32Type()) : type, pointer, std::min(16u, bytes));
  scopes.back().pieces[{number, piece.first}] = v;
  return v;
}

/// An element of an access, which may be one of words.
static Value elementOf(DeviceBuilder &d, Value access, Type element, int64_t i) {
  if (!isa<VectorType>(access.getType()))
    return access;
  unsigned bits = element.getIntOrFloatBitWidth(), each = getElementTypeOrSelf(access.getType()).getIntOrFloatBitWidth() / bits;
  Value word = d.extract(access, i / each);
  if (each == 1)
    return word;
  Value low = i % each ? d.shr(word, i % each * bits) : word;
  return d.bitcast(d.b.create<arith::TruncIOp>(d.loc, d.b.getIntegerType(bits), low), element);
}

/// Lanes of 16 bits or fewer are chosen as words, as they come from memory: half as many instructions, or fewer, than once they are converted.
Value StripReader::chosen(Value predicate, Value v, Value fill) {
  DeviceBuilder &d = frame.d;
  auto vector = dyn_cast<VectorType>(v.getType());
  unsigned bits = vector ? vector.getNumElements() * vector.getElementTypeBitWidth() : 0;
  bool zero = matchPattern(fill, m_AnyZeroFloat()) || matchPattern(fill, m_Zero());
  if (zero && !isa<VectorType>(predicate.getType()) && bits % 32 == 0 && bits && vector.getElementTypeBitWidth() < 32) {
    Type words = d.vector(bits / 32, d.i32Type());
    return d.bitcast(d.select(predicate, d.bitcast(v, words), d.zero(words)), vector);
  }
  auto lanes = [&](Value x) {
    Value some[] = {predicate, v, fill};
    auto it = llvm::find_if(some, [](Value y) { return isa<VectorType>(y.getType()); });
    return it == std::end(some) || isa<VectorType>(x.getType()) ? x : d.splat(x, cast<VectorType>(it->getType()).getNumElements());
  };
  return d.select(predicate, lanes(v), lanes(fill));
}

Value StripReader::read(kernel::LoadOp load, Value predicate, Value fill) {
  std::optional<unsigned> run = reads.runOf(load);
  if (!run || scopes.empty())
    return {};
  int64_t place = reads.placeOf(load, at, places);
  bool lanes = s.lane >= 0 && s.width > 1;
  for (const schedule::StripPiece &piece : reads.piecesOf(reads.all()[*run])) {
    if (lanes ? place != piece.first : place < piece.first || place >= piece.first + int64_t(piece.width))
      continue;
    Value v = fetch(*run, piece);
    Type element = load.getType();
    v = lanes ? frame.d.bitcast(v, frame.d.vector(piece.width, element)) : elementOf(frame.d, v, element, place - piece.first);
    return predicate && fill ? chosen(predicate, v, fill) : v;
  }
  return {};
}
