//===- Fourier.cpp - torch.fft and stft --------------------------------------===//
//
// Complex operands and results are pairs (ImportComplex.cpp); the transforms are those of
// lathe/Dialect/Lathe/Fourier.h.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/Fourier.h"
#include "Families.h"

using namespace lathe;
using namespace lathe::fx;
using namespace lathe::ir;

namespace {
/// What a transform of length n is divided by.
enum class Norm { None, Root, Length };

struct Along {
  int64_t axis; ///< of the tensor without the dimension of the parts
  Expr length;
  bool inverse;
  FourierResult result;
  Norm norm;
};
} // namespace

static bool isPairs(OpContext &c, llvm::StringRef name) {
  const TensorMeta *meta = c.metaOf(name);
  return meta && size_t(typeOf(c.tensor(name)).getRank()) == meta->sizes.size() + 1;
}

static llvm::Expected<Value> fit(OpContext &c, Value x, int64_t axis, const Expr &size) {
  Expr have = dimsOf(x)[axis], missing = c.g.facts.simplify(size - have);
  if (missing.isZero())
    return x;
  if (c.g.facts.provablyLessEqual(size, have))
    return c.g.slice(x, axis, Expr(0), size);
  if (!c.g.facts.provablyLess(have, size))
    return c.cannot("a signal of {0} elements for a transform of {1}", have.str(), size.str());
  Dims low(typeOf(x).getRank(), Expr(0)), high = low, dims = dimsOf(x);
  high[axis] = missing;
  dims[axis] = size;
  return c.g.b.createOrFold<PadOp>(c.g.loc, tensorType(dims, elementOf(x)), x, c.g.scalar(0, elementOf(x)),
                                   exprArray(c.g.b, low), exprArray(c.g.b, high));
}

/// x with pairs as its last dimension, or real numbers; gives pairs, or the real numbers of FourierResult::Real.
static llvm::Expected<Value> transformed(OpContext &c, Value x, bool pairs, const Along &t) {
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(1), t.length)))
    return std::move(e);
  if (!elementOf(x).isF32() && !elementOf(x).isF64())
    return c.cannot("a transform of {0}", elementOf(x));
  if (t.length.constant() && *t.length.constant() > longestFourier)
    return c.cannot("a transform of length {0}; the longest one has {1}", t.length.str(), longestFourier);
  Expr wanted =
      t.result == FourierResult::Real ? c.g.facts.simplify(Expr::floordiv(t.length, Expr(2)) + Expr(1)) : t.length;
  LATHE_TRY(fitted, fit(c, x, t.axis, wanted));
  if (!pairs)
    fitted = c.g.unsqueeze(fitted, {typeOf(fitted).getRank()});
  int64_t rank = typeOf(fitted).getRank();
  FourierTransform transform{t.length, t.inverse, t.result, std::nullopt, c.hostTransforms};
  if (std::optional<int64_t> known = t.length.constant()) {
    if (t.norm != Norm::None)
      transform.scale = 1 / (t.norm == Norm::Root ? std::sqrt(double(*known)) : double(*known));
    Value y = wholeTransform(c.g, fitted, t.axis, rank - 1, transform);
    return t.result == FourierResult::Real ? c.g.squeeze(y, {rank - 1}) : y;
  }
  SmallVector<int64_t> perm, back(rank);
  for (int64_t d = 0; d + 1 < rank; ++d)
    if (d != t.axis)
      perm.push_back(d);
  perm.append({rank - 1, t.axis});
  for (int64_t d = 0; d < rank; ++d)
    back[perm[d]] = d;
  Value y = c.g.transpose(fitted, perm);
  Dims outer = dimsOf(y);
  Expr parts = outer[rank - 2];
  outer.truncate(rank - 2);
  y = fourier(c.g, c.g.reshape(y, {c.g.facts.simplify(shape::product(outer)), parts, wanted}), transform);
  if (t.norm != Norm::None) {
    Value n = c.g.broadcastTo(c.g.cast(c.g.size(t.length), elementOf(y)), dimsOf(y));
    y = c.g.div(y, t.norm == Norm::Root ? c.g.unary<SqrtOp>(n) : n);
  }
  outer.push_back(dimsOf(y)[1]);
  outer.push_back(dimsOf(y)[2]);
  y = c.g.transpose(c.g.reshape(y, outer), back);
  return t.result == FourierResult::Real ? c.g.squeeze(y, {rank - 1}) : y;
}

/// torch's name of a scaling: "backward" divides inverse transforms, "forward" the others.
static llvm::Expected<Norm> normOf(OpContext &c, bool inverse) {
  std::string name = c.has("norm") ? c.text("norm") : "backward";
  if (name == "ortho")
    return Norm::Root;
  if (name != "backward" && name != "forward")
    return c.wrong("norm is '{0}', expected backward, ortho or forward", name);
  return (name == "backward") == inverse ? Norm::Length : Norm::None;
}

static Value conjugated(OpContext &c, Value pairs) {
  int64_t last = typeOf(pairs).getRank() - 1;
  auto part = [&](int64_t i) { return c.g.slice(pairs, last, Expr(i), Expr(1)); };
  return c.g.concat({part(0), c.g.unary<NegOp>(part(1))}, last);
}

static int64_t rankOf(OpContext &c) { return typeOf(c.tensor("self")).getRank() - (isPairs(c, "self") ? 1 : 0); }

/// Integers are transformed as floats.
static Value signal(OpContext &c) {
  Value x = c.tensor("self");
  return mlir::isa<mlir::FloatType>(elementOf(x)) ? x : c.g.cast(x, c.resultElement());
}

/// One dimension. `mirrored`: hfft and ihfft, which take or give the conjugate and scale the other way round.
template <bool inverse, FourierResult result, bool mirrored = false> static llvm::Error one(OpContext &c) {
  LATHE_TRY(axis, c.axisOf(c.integer("dim"), rankOf(c)));
  LATHE_TRY(norm, normOf(c, inverse));
  Value x = signal(c);
  bool pairs = isPairs(c, "self");
  if (result == FourierResult::Half && pairs)
    return c.wrong("a transform of real numbers is given complex ones");
  if (mirrored && result == FourierResult::Real && pairs)
    x = conjugated(c, x);
  Expr size = dimsOf(x)[axis], length = c.has("n")                      ? c.size("n")
                                        : result == FourierResult::Real ? (size - Expr(1)) * Expr(2)
                                                                        : size;
  LATHE_TRY(y,
            transformed(c, x, pairs, {axis, c.g.facts.simplify(length), mirrored ? !inverse : inverse, result, norm}));
  return c.give(mirrored && result == FourierResult::Half ? conjugated(c, y) : y);
}

/// Several dimensions, the last of which may be half of one.
static llvm::Error several(OpContext &c, llvm::ArrayRef<int64_t> axes, llvm::ArrayRef<Expr> lengths, bool inverse,
                           FourierResult result, Norm norm, bool conjugate = false) {
  Value x = signal(c);
  bool pairs = isPairs(c, "self");
  if (conjugate && pairs)
    x = conjugated(c, x);
  if (axes.empty())
    return c.cannot("a transform over no dimension");
  if (result == FourierResult::Half && pairs)
    return c.wrong("a transform of real numbers is given complex ones");
  size_t last = axes.size() - 1;
  auto along = [&](size_t i) -> llvm::Error {
    LATHE_TRY(y,
              transformed(c, x, pairs, {axes[i], lengths[i], inverse, i == last ? result : FourierResult::All, norm}));
    x = y;
    pairs = true;
    return llvm::Error::success();
  };
  if (result != FourierResult::Real) // the half comes first, so that the others have half to do
    if (llvm::Error e = along(last))
      return e;
  for (size_t i = 0; i < last; ++i)
    if (llvm::Error e = along(i))
      return e;
  if (result == FourierResult::Real)
    if (llvm::Error e = along(last))
      return e;
  return c.give(x);
}

template <bool inverse, FourierResult result, int64_t usual, bool mirrored = false> static llvm::Error many(OpContext &c) {
  int64_t rank = rankOf(c);
  SmallVector<int64_t> axes;
  Dims given = c.has("s") ? c.sizes("s") : Dims();
  if (c.has("dim")) {
    for (int64_t d : c.integers("dim")) {
      LATHE_TRY(axis, c.axisOf(d, rank));
      axes.push_back(axis);
    }
  } else {
    int64_t count = usual ? usual : given.empty() ? rank : int64_t(given.size());
    for (int64_t d = std::max<int64_t>(rank - count, 0); d < rank; ++d)
      axes.push_back(d);
  }
  if (!given.empty() && given.size() != axes.size())
    return c.wrong("{0} sizes for {1} dimensions", given.size(), axes.size());
  LATHE_TRY(norm, normOf(c, inverse));
  Dims lengths;
  for (auto [i, axis] : llvm::enumerate(axes)) {
    Expr size = dimsOf(c.tensor("self"))[axis];
    bool half = result == FourierResult::Real && i + 1 == axes.size();
    bool asked = !given.empty() && given[i].constant() != std::optional<int64_t>(-1);
    lengths.push_back(c.g.facts.simplify(asked ? given[i] : half ? (size - Expr(1)) * Expr(2) : size));
  }
  if (!mirrored)
    return several(c, axes, lengths, inverse, result, norm);
  if (llvm::Error e = several(c, axes, lengths, !inverse, result, norm, result == FourierResult::Real))
    return e;
  Value y = c.results.pop_back_val();
  return c.give(result == FourierResult::Half ? conjugated(c, y) : y);
}

/// The halves of each dimension change places.
template <bool back> static llvm::Error shift(OpContext &c) {
  Value x = c.tensor("self");
  LATHE_TRY(axes, c.axes("dim", x));
  for (int64_t axis : axes) {
    Expr n = dimsOf(x)[axis], half = c.g.facts.simplify(Expr::floordiv(n, Expr(2)));
    Expr first = back ? half : c.g.facts.simplify(n - half), rest = c.g.facts.simplify(n - first);
    x = joinParts(c, {c.g.slice(x, axis, first, rest), c.g.slice(x, axis, Expr(0), first)}, axis);
  }
  return c.give(x);
}

/// The forms of the core set: a number says what to divide by.
template <FourierResult result> static llvm::Error core(OpContext &c, bool inverse) {
  static const Norm norms[] = {Norm::None, Norm::Root, Norm::Length};
  int64_t number = c.integer("normalization");
  if (number < 0 || number > 2)
    return c.wrong("normalization is {0}", number);
  SmallVector<int64_t> axes;
  Dims lengths;
  for (int64_t d : c.integers("dim")) {
    LATHE_TRY(axis, c.axisOf(d, rankOf(c)));
    axes.push_back(axis);
    lengths.push_back(dimsOf(c.tensor("self"))[axis]);
  }
  if (result == FourierResult::Real && !axes.empty())
    lengths.back() = c.size("last_dim_size");
  return several(c, axes, lengths, inverse, result, norms[number]);
}

static llvm::Error coreComplex(OpContext &c) { return core<FourierResult::All>(c, !c.flag("forward")); }
static llvm::Error coreInverse(OpContext &c) { return core<FourierResult::Real>(c, true); }
static llvm::Error coreReal(OpContext &c) {
  return c.flag("onesided") ? core<FourierResult::Half>(c, false) : core<FourierResult::All>(c, false);
}

/// A window of a frame's size, in its middle; ones where there is none.
static llvm::Expected<Value> windowOf(OpContext &c, int64_t size, Type element) {
  Value window = c.tensor("window");
  int64_t length = c.has("win_length") ? c.integer("win_length") : size;
  if (!window)
    window = c.g.splat(1, {Expr(length)}, element);
  std::optional<int64_t> have = typeOf(window).getRank() == 1 ? dimsOf(window)[0].constant() : std::nullopt;
  if (!have || *have > size || elementOf(window) != element)
    return c.cannot("a window of {0} for frames of {1}", window.getType(), size);
  if (*have == size)
    return window;
  int64_t left = (size - *have) / 2;
  return Value(c.g.b.createOrFold<PadOp>(c.g.loc, tensorType({Expr(size)}, element), window, c.g.scalar(0, element),
                                         exprArray(c.g.b, {Expr(left)}), exprArray(c.g.b, {Expr(size - *have - left)})));
}

/// [.., L] -> [.., frequencies, frames]
static llvm::Error stft(OpContext &c) {
  Value x = c.tensor("self");
  int64_t rank = rankOf(c), size = c.integer("n_fft"), step = c.has("hop_length") ? c.integer("hop_length") : size / 4;
  if (isPairs(c, "self") || rank < 1 || rank > 2 || size < 1 || step < 1)
    return c.cannot("frames of {0} elements every {1} of {2}", size, step, x.getType());
  bool onesided = !c.has("onesided") || c.flag("onesided");
  if (rank == 1)
    x = c.g.unsqueeze(x, {0});
  if (llvm::Error e = c.need(Condition::compare(Condition::Kind::LessEqual, Expr(size), dimsOf(x)[1])))
    return e;
  Expr frames = c.g.facts.simplify(Expr::floordiv(dimsOf(x)[1] - Expr(size), Expr(step)) + Expr(1));
  Dims index{frames, Expr(size)};
  Type i64 = c.g.b.getI64Type();
  Value at = c.g.add(c.g.binary<MulOp>(c.g.iota(index, 0, i64), double(step)), c.g.iota(index, 1, i64));
  Value framed = c.g.gather(x, at, 1);
  if (c.tensor("window") || c.has("win_length")) {
    LATHE_TRY(window, windowOf(c, size, elementOf(x)));
    framed = c.g.mul(framed, c.g.broadcastTo(window, dimsOf(framed)));
  }
  Norm norm = c.flag("normalized") ? Norm::Root : Norm::None;
  LATHE_TRY(y, transformed(c, framed, false,
                           {2, Expr(size), false, onesided ? FourierResult::Half : FourierResult::All, norm}));
  y = c.g.transpose(y, {0, 2, 1, 3});
  return c.give(rank == 1 ? c.g.squeeze(y, {0}) : y);
}

/// Frames [batch, frames, size] added where they lie in the signal, `step` after one another: [batch, step * (frames - 1) + size]. Each is cut into pieces of a
/// step, and the pieces that lie together are summed.
static Value overlapped(OpContext &c, Value framed, int64_t size, int64_t step) {
  Dims dims = dimsOf(framed); // [batch, frames, size]
  int64_t pieces = (size + step - 1) / step;
  Expr frames = dims[1], all = c.g.facts.simplify(frames + Expr(pieces - 1));
  auto padded = [&](Value x, int64_t axis, const Expr &low, const Expr &high) {
    Dims to = dimsOf(x), below(to.size(), Expr(0)), above = below;
    below[axis] = low;
    above[axis] = high;
    to[axis] = c.g.facts.simplify(to[axis] + low + high);
    return c.g.b.createOrFold<PadOp>(c.g.loc, tensorType(to, elementOf(x)), x, c.g.scalar(0, elementOf(x)), exprArray(c.g.b, below),
                                     exprArray(c.g.b, above));
  };
  Value cut = padded(framed, 2, Expr(0), Expr(pieces * step - size)), sum;
  for (int64_t i = 0; i < pieces; ++i) {
    Value piece = padded(c.g.slice(cut, 2, Expr(i * step), Expr(step)), 1, Expr(i), Expr(pieces - 1 - i));
    sum = sum ? c.g.add(sum, piece) : piece;
  }
  Value flat = c.g.reshape(sum, {dims[0], c.g.facts.simplify(all * Expr(step))});
  return c.g.slice(flat, 1, Expr(0), c.g.facts.simplify((frames - Expr(1)) * Expr(step) + Expr(size)));
}

/// [.., frequencies, frames] -> [.., L]: the frames' signals, added with their windows, over the sum of the squared windows.
static llvm::Error inverseStft(OpContext &c) {
  Value x = c.tensor("self");
  int64_t rank = rankOf(c), size = c.integer("n_fft"), step = c.has("hop_length") ? c.integer("hop_length") : size / 4;
  if (!isPairs(c, "self") || rank < 2 || rank > 3 || size < 1 || step < 1 || c.flag("return_complex"))
    return c.cannot("signals of frames of {0} elements every {1} of {2}", size, step, x.getType());
  bool whole = c.g.facts.provablyEqual(dimsOf(x)[rank - 2], Expr(size)), onesided = c.has("onesided") ? c.flag("onesided") : !whole;
  Type element = elementOf(x);
  if (rank == 2)
    x = c.g.unsqueeze(x, {0});
  if (llvm::Error e = c.needEqual(dimsOf(x)[1], Expr(onesided ? size / 2 + 1 : size)))
    return e;
  x = c.g.transpose(x, {0, 2, 1, 3});
  Norm norm = c.flag("normalized") ? Norm::Root : Norm::Length;
  LATHE_TRY(framed, transformed(c, x, true, {2, Expr(size), true, onesided ? FourierResult::Real : FourierResult::All, norm}));
  if (!onesided)
    framed = c.g.squeeze(c.g.slice(framed, 3, Expr(0), Expr(1)), {3});
  LATHE_TRY(window, windowOf(c, size, element));
  Dims line = dimsOf(framed);
  line[0] = Expr(1);
  Value signal = overlapped(c, c.g.mul(framed, c.g.broadcastTo(window, dimsOf(framed))), size, step);
  Value weight = overlapped(c, c.g.broadcastTo(c.g.mul(window, window), line), size, step);
  Expr all = dimsOf(signal)[1], start(c.flag("center") ? size / 2 : 0);
  Expr end = c.flag("center") ? all - start : all, wanted = c.g.facts.simplify(end - start), missing(0);
  if (c.has("length")) {
    Expr asked = c.size("length"), there = c.g.facts.simplify(all - start);
    bool longer = !c.g.facts.provablyLessEqual(asked, there);
    if (longer && !c.g.facts.provablyLessEqual(there, asked))
      return c.cannot("a signal of {0} elements of frames that have {1}", asked.str(), there.str());
    missing = longer ? c.g.facts.simplify(asked - there) : Expr(0);
    wanted = longer ? there : asked;
  }
  auto part = [&](Value v) { return c.g.slice(v, 1, start, wanted); };
  Value y = part(signal);
  y = c.g.div(y, c.g.broadcastTo(part(weight), dimsOf(y)));
  if (!missing.isZero())
    y = c.g.concat({y, c.g.splat(0, {dimsOf(y)[0], missing}, element)}, 1);
  return c.give(rank == 2 ? c.g.squeeze(y, {0}) : y);
}

/// The frequencies of a transform of n elements that are d apart; those from the middle on are negative, or left out.
template <bool half> static llvm::Error frequencies(OpContext &c) {
  Expr n = c.size("n");
  double apart = c.real("d");
  Dims dims{half ? c.g.facts.simplify(Expr::floordiv(n, Expr(2)) + Expr(1)) : n};
  Type i64 = c.g.b.getI64Type(), wide = c.resultElement().isF64() ? c.resultElement() : Type(c.g.b.getF32Type());
  Value at = c.g.iota(dims, 0, i64), count = c.g.broadcastTo(c.g.size(n), dims);
  if (!half)
    at = c.g.select(c.g.compare(CompareKind::LT, c.g.binary<MulOp>(at, 2), count), at, c.g.sub(at, count));
  Value each = c.g.div(c.g.splat(1 / apart, dims, wide), c.g.cast(count, wide));
  return c.give(c.g.cast(c.g.mul(c.g.cast(at, wide), each), c.resultElement()));
}

llvm::ArrayRef<OpEntry> fx::fourierOps() {
  constexpr FourierResult all = FourierResult::All, half = FourierResult::Half, real = FourierResult::Real;
  static const char *const single = "self:T n:N? dim:I=-1 norm:X?", *const list = "self:T s:N*? dim:I*? norm:X?";
  static const OpEntry table[] = {
      {"fft_fft.default", single, one<false, all>, TakesPairs},
      {"fft_ifft.default", single, one<true, all>, TakesPairs},
      {"fft_rfft.default", single, one<false, half>, TakesPairs},
      {"fft_irfft.default", single, one<true, real>, TakesPairs},
      {"fft_hfft.default", single, one<false, real, true>, TakesPairs},
      {"fft_ihfft.default", single, one<true, half, true>, TakesPairs},
      {"fft_fft2.default", list, many<false, all, 2>, TakesPairs},
      {"fft_ifft2.default", list, many<true, all, 2>, TakesPairs},
      {"fft_rfft2.default", list, many<false, half, 2>, TakesPairs},
      {"fft_irfft2.default", list, many<true, real, 2>, TakesPairs},
      {"fft_fftn.default", list, many<false, all, 0>, TakesPairs},
      {"fft_ifftn.default", list, many<true, all, 0>, TakesPairs},
      {"fft_rfftn.default", list, many<false, half, 0>, TakesPairs},
      {"fft_irfftn.default", list, many<true, real, 0>, TakesPairs},
      {"fft_hfft2.default", list, many<false, real, 2, true>, TakesPairs},
      {"fft_ihfft2.default", list, many<true, half, 2, true>, TakesPairs},
      {"fft_hfftn.default", list, many<false, real, 0, true>, TakesPairs},
      {"fft_ihfftn.default", list, many<true, half, 0, true>, TakesPairs},
      {"fft_fftshift.default", "self:T dim:I*?", shift<false>},
      {"fft_fftfreq.default", "n:N d:F=1 dtype:D?", frequencies<false>},
      {"fft_rfftfreq.default", "n:N d:F=1 dtype:D?", frequencies<true>},
      {"fft_ifftshift.default", "self:T dim:I*?", shift<true>},
      {"_fft_c2c.default", "self:T dim:I* normalization:I forward:B", coreComplex, TakesPairs},
      {"_fft_r2c.default", "self:T dim:I* normalization:I onesided:B", coreReal, TakesPairs},
      {"_fft_c2r.default", "self:T dim:I* normalization:I last_dim_size:N", coreInverse, TakesPairs},
      {"istft.default",
       "self:T n_fft:I hop_length:I? win_length:I? window:T? center:B=true normalized:B=false onesided:B? length:N? "
       "return_complex:B=false",
       inverseStft, TakesPairs},
      {"stft.default",
       "self:T n_fft:I hop_length:I? win_length:I? window:T? normalized:B=False onesided:B? return_complex:B? "
       "align_to_window:B?",
       stft, TakesPairs},
  };
  return table;
}
