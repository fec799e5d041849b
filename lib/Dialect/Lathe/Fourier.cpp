//===- Fourier.cpp - Discrete Fourier transforms ----------------------------===//
//
// A length is split into factors of at most 16. With n = a * b, and the places i * b + j (i < a, j < b): a small
// transform over i for each j, a product with roots of unity (the twiddles), and what is left is a transform of length
// b over j for each of the first's a frequencies. Frequencies found so far stand behind j, the newer ones in front of
// the older, so that the last stage leaves all of them in order and nothing is permuted on the way (Stockham). A small
// transform is a contraction with the 2a x 2a matrix of a complex product, so that a stage is a matrix product and an
// elementwise kernel.
//
// Two by two, real numbers are complex ones: a transform of half the length has what theirs is made of. Where their
// number is odd, the first stage computes half of its frequencies; the others are their mirror image, put in at the
// end. A factor that is a large prime becomes a convolution whose length is a power of two (Bluestein).
//
// Where a kernel holds a whole transform (lathe.fft), a longer one is made of two of them, along the columns and along the rows of a
// matrix (Bailey's four steps, of which the transpositions are in the accesses and the twiddles in the first transform), and
// any other length is a convolution.
//
//===----------------------------------------------------------------------===//

#include "lathe/Dialect/Lathe/Fourier.h"
#include "lathe/Dialect/Kernel/Transform.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include <cmath>
#include <complex>

using namespace mlir;
using namespace lathe;
using namespace lathe::ir;
using shape::Expr;

namespace {

constexpr int64_t largestRadix = 16, largestDirect = 64;
constexpr double pi = 3.14159265358979323846264338327950288;

using Number = std::complex<double>;
using kernel::rootOfUnity;

/// In place, of a power of two.
void transformConstants(std::vector<Number> &x) {
  int64_t n = x.size();
  for (int64_t i = 1, j = 0; i < n; ++i) {
    int64_t bit = n >> 1;
    for (; j & bit; bit >>= 1)
      j ^= bit;
    j ^= bit;
    if (i < j)
      std::swap(x[i], x[j]);
  }
  for (int64_t length = 2; length <= n; length *= 2)
    for (int64_t k = 0; k < length / 2; ++k) {
      Number w = std::conj(rootOfUnity(k, length));
      for (int64_t i = k; i < n; i += length) {
        Number a = x[i], b = x[i + length / 2] * w;
        x[i] = a + b;
        x[i + length / 2] = a - b;
      }
    }
}

/// Factors in the order of the stages: primes joined to factors of at most largestRadix, all about as large.
std::vector<int64_t> radicesOf(int64_t n) {
  std::vector<int64_t> primes, radices;
  int64_t rest = n;
  for (int64_t p = 2; p * p <= rest; ++p)
    for (; rest % p == 0; rest /= p)
      primes.push_back(p);
  if (rest > 1)
    primes.push_back(rest);
  double size = 0;
  for (int64_t p : primes)
    size += p <= largestRadix ? std::log2(double(p)) : 0;
  radices.assign(size_t(std::ceil(size / std::log2(double(largestRadix)) - 1e-9)), 1);
  for (int64_t p : llvm::reverse(primes)) {
    auto least = std::min_element(radices.begin(), radices.end());
    if (least != radices.end() && p <= largestRadix && *least * p <= largestRadix)
      *least *= p;
    else
      radices.push_back(p);
  }
  llvm::erase_if(radices, [](int64_t r) { return r == 1; });
  llvm::sort(radices, std::greater<int64_t>());
  return radices;
}

class Fourier {
public:
  Fourier(GraphBuilder &g, Value x, const FourierTransform &t)
      : g(g), element(elementOf(x)), batch(dimsOf(x)[0]), inverse(t.inverse), inKernels(t.whole), partsLast(t.partsLast) {}
  Value all(Value x, int64_t n, double scale, bool onlyReal = false);
  Value half(Value x, int64_t n, double scale, bool whole);
  Value packed(Value x, int64_t n, double scale);
  Value folded(Value z, int64_t n);
  Value unpacked(Value x, int64_t n, double scale);
  Value realPair(Value re, Value im);
  Value withMirror(Value x, int64_t inner, llvm::function_ref<Number(int64_t, double)> factor);
  Value real(Value x, int64_t n, double scale);
  Value onHost(Value x, const FourierTransform &transform);
  Value product(Value x, const FourierTransform &transform);

private:
  /// Where a transform stands: x is [batch, parts, length / found so far.., found].
  struct Stage {
    int64_t parts, radix, rest, found;
  };
  Number unit(int64_t turns, int64_t of) const { return inverse ? rootOfUnity(turns, of) : std::conj(rootOfUnity(turns, of)); }
  Value constant(ArrayRef<int64_t> dims, llvm::function_ref<double(ArrayRef<int64_t>)> at);
  Value matrix(const Stage &s, int64_t frequencies, double scale, bool onlyReal, bool partsLast = false);
  Value times(Value x, ArrayRef<int64_t> dims, llvm::function_ref<Number(ArrayRef<int64_t>)> at, bool conjugated = false);
  Value stage(Value x, const Stage &s, int64_t frequencies, double scale, bool onlyReal);
  Value stages(Value x, ArrayRef<int64_t> radices, int64_t rest, int64_t found, bool onlyReal);
  bool fits(int64_t n) const { return kernel::isTransformLength(kernel::TransformKind::C2C, n, element); }
  /// Whether a transform is made of those that kernels hold: a short one that none holds is a product.
  bool isHeld(int64_t n) const { return inKernels && (fits(n) || n > largestDirect); }
  Value held(Value x, int64_t n, double scale);
  Value ofTwo(Value x, int64_t first, int64_t second, double scale);
  Value chirp(Value x, int64_t n, double scale);
  Value conjugate(Value x);
  Value reshaped(Value x, ArrayRef<Expr> dims) { return g.reshape(x, dims); }

  GraphBuilder &g;
  Type element;
  Expr batch;
  bool inverse;
  bool inKernels; ///< transforms that kernels hold, no stages
  bool partsLast; ///< of the last stage: a column of its matrix for each part
};

} // namespace

/// A constant tensor; large ones are neither printed nor folded.
Value Fourier::constant(ArrayRef<int64_t> dims, llvm::function_ref<double(ArrayRef<int64_t>)> at) {
  auto type = RankedTensorType::get(dims, element);
  SmallVector<int64_t> index(dims.size(), 0);
  std::vector<char> bytes;
  bool isDouble = element.isF64();
  bytes.reserve(type.getNumElements() * (isDouble ? 8 : 4));
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    double value = at(index);
    float single = float(value);
    const char *from = isDouble ? reinterpret_cast<const char *>(&value) : reinterpret_cast<const char *>(&single);
    bytes.insert(bytes.end(), from, from + (isDouble ? 8 : 4));
    for (size_t d = dims.size(); d-- > 0 && ++index[d] == dims[d];)
      index[d] = 0;
  }
  constexpr size_t smallBytes = 1024;
  if (bytes.size() <= smallBytes)
    return g.b.create<ConstantOp>(g.loc, cast<ElementsAttr>(DenseElementsAttr::getFromRawBuffer(type, bytes)));
  AsmResourceBlob blob =
      HeapAsmResourceBlob::allocateAndCopyWithAlign(bytes, isDouble ? 8 : 4, /*dataIsMutable=*/false);
  return g.b.create<ConstantOp>(g.loc,
                                cast<ElementsAttr>(DenseResourceElementsAttr::get(type, "roots", std::move(blob))));
}

/// [parts, radix, 2, frequencies]: the matrix of complex products with roots of unity. Or [parts, radix, frequencies, 2].
Value Fourier::matrix(const Stage &s, int64_t frequencies, double scale, bool onlyReal, bool partsLast) {
  int64_t parts = onlyReal ? 1 : 2;
  return constant({s.parts, s.radix, partsLast ? frequencies : parts, partsLast ? parts : frequencies}, [&](ArrayRef<int64_t> at) {
    int64_t part = at[partsLast ? 3 : 2], frequency = at[partsLast ? 2 : 3];
    Number w = unit(at[1] * frequency, s.radix) * scale;
    return at[0] == part ? w.real() : at[0] == 0 ? w.imag() : -w.imag();
  });
}

/// Pairs, or their conjugates, times constants that have the dimensions behind the one of the parts.
Value Fourier::times(Value x, ArrayRef<int64_t> dims, llvm::function_ref<Number(ArrayRef<int64_t>)> at, bool conjugated) {
  SmallVector<int64_t> same(dims), both(dims);
  same.insert(same.begin(), 1);
  both.insert(both.begin(), 2);
  Value re = constant(conjugated ? both : same, [&](ArrayRef<int64_t> i) { return at(i.drop_front()).real() * (i[0] == 0 ? 1 : -1); });
  Value im = constant(conjugated ? same : both, [&](ArrayRef<int64_t> i) { return at(i.drop_front()).imag() * (i[0] == 0 && !conjugated ? -1 : 1); });
  Value swapped = g.slice(x, 1, Expr(1), Expr(2), -1);
  return g.add(g.mul(x, g.broadcastTo(re, dimsOf(x))), g.mul(swapped, g.broadcastTo(im, dimsOf(x))));
}

/// One transform over the radix: [batch, parts, radix, rest, found] -> [batch, 2, rest, frequencies, found], with
/// twiddles.
Value Fourier::stage(Value x, const Stage &s, int64_t frequencies, double scale, bool onlyReal) {
  Value y;
  if (s.radix > largestDirect) {
    y = g.transpose(reshaped(x, {batch, Expr(s.parts), Expr(s.radix), Expr(s.rest), Expr(s.found)}), {0, 3, 4, 1, 2});
    Expr many = g.facts.simplify(batch * Expr(s.rest * s.found)), few = std::exchange(batch, many);
    y = chirp(reshaped(y, {many, Expr(s.parts), Expr(s.radix)}), s.radix, scale);
    batch = few;
    if (frequencies < s.radix)
      y = g.slice(y, 2, Expr(0), Expr(frequencies));
    if (onlyReal)
      y = g.slice(y, 1, Expr(0), Expr(1));
    y = g.transpose(reshaped(y, {batch, Expr(s.rest), Expr(s.found), Expr(onlyReal ? 1 : 2), Expr(frequencies)}),
                    {0, 3, 1, 4, 2});
  } else if (s.found == 1) {
    y = g.contract(reshaped(x, {batch, Expr(s.parts), Expr(s.radix), Expr(s.rest)}),
                   matrix(s, frequencies, scale, onlyReal), {}, {}, {1, 2}, {0, 1});
    y = g.transpose(y, {0, 2, 1, 3});
  } else if (s.rest == 1 && partsLast) {
    y = g.contract(reshaped(x, {batch, Expr(s.parts), Expr(s.radix), Expr(s.found)}), matrix(s, frequencies, scale, onlyReal, /*partsLast=*/true), {}, {},
                   {1, 2}, {0, 1}); // [batch, found, frequencies, 2]
    y = g.transpose(reshaped(y, {batch, Expr(1), Expr(s.found), Expr(frequencies), Expr(onlyReal ? 1 : 2)}), {0, 4, 1, 3, 2});
  } else {
    Value places = reshaped(x, {batch, Expr(s.parts), Expr(s.radix), Expr(s.rest * s.found)});
    y = g.contract(matrix(s, frequencies, scale, onlyReal), places, {}, {}, {0, 1},
                   {1, 2}); // [2, frequencies, batch, rest * found]
    y = reshaped(y, {Expr(onlyReal ? 1 : 2), Expr(frequencies), batch, Expr(s.rest), Expr(s.found)});
    y = g.transpose(y, {2, 0, 3, 1, 4});
  }
  if (s.rest == 1)
    return y;
  y = reshaped(y, {batch, Expr(2), Expr(s.rest), Expr(frequencies), Expr(s.found)});
  return times(y, {s.rest, frequencies, 1},
               [&](ArrayRef<int64_t> at) { return unit(at[0] * at[1], s.radix * s.rest); });
}

/// The stages that are left, of pairs [batch, 2, rest, found]; gives [batch, parts, rest * found].
Value Fourier::stages(Value x, ArrayRef<int64_t> radices, int64_t rest, int64_t found, bool onlyReal) {
  for (int64_t radix : radices) {
    rest /= radix;
    x = stage(x, {2, radix, rest, found}, radix, 1, onlyReal && rest == 1);
    found *= radix;
  }
  return reshaped(x, {batch, dimsOf(x)[1], Expr(rest * found)});
}

/// The factor of n that is nearest to its square root, where kernels hold transforms of both; 1 where there is none.
static int64_t firstFactor(int64_t n, llvm::function_ref<bool(int64_t)> fits) {
  int64_t best = 1;
  for (int64_t d = 2; d * d <= n; ++d)
    if (n % d == 0 && fits(d) && fits(n / d))
      best = d;
  return best;
}

/// Places n2 * j1 + j2 and frequencies k1 + n1 * k2: along j1 first, twiddles, then along j2.
Value Fourier::ofTwo(Value x, int64_t first, int64_t second, double scale) {
  int64_t n = first * second;
  auto transform = [&](Value v, int64_t axis, int64_t length) {
    Dims dims = dimsOf(v);
    dims[3] = Expr(2);
    return g.b.create<FftOp>(g.loc, tensorType(dims, element), v, axis, 3, length, FloatAttr(), IntegerAttr(), IntegerAttr(), inverse);
  };
  Value z = reshaped(g.transpose(x, {0, 2, 1}), {batch, Expr(first), Expr(second), dimsOf(x)[1]});
  FftOp columns = transform(z, 1, first), rows = transform(columns, 2, second);
  columns.setTurnDim(2);
  columns.setTurns(n);
  if (scale != 1)
    rows.setScaleAttr(g.b.getF64FloatAttr(scale));
  return reshaped(g.transpose(rows, {0, 3, 2, 1}), {batch, Expr(2), Expr(n)});
}

/// By lathe.fft that kernels hold.
Value Fourier::held(Value x, int64_t n, double scale) {
  bool fromReal = dimsOf(x)[1].isOne();
  if (kernel::isTransformLength(fromReal ? kernel::TransformKind::R2C : kernel::TransformKind::C2C, n, element))
    return wholeTransform(g, x, 2, 1, {Expr(n), inverse, FourierResult::All, scale});
  int64_t first = firstFactor(n, [&](int64_t d) { return fits(d); });
  return first > 1 ? ofTwo(x, first, n / first, scale) : chirp(x, n, scale);
}

Value Fourier::all(Value x, int64_t n, double scale, bool onlyReal) {
  if (isHeld(n)) {
    Value y = held(x, n, scale);
    return onlyReal ? g.slice(y, 1, Expr(0), Expr(1)) : y;
  }
  std::vector<int64_t> radices = inKernels ? std::vector<int64_t>{n} : radicesOf(n);
  int64_t first = radices[0], parts = *dimsOf(x)[1].constant();
  Value y = stage(x, {parts, first, n / first, 1}, first, scale, onlyReal && first == n);
  return stages(y, ArrayRef<int64_t>(radices).drop_front(), n / first, first, onlyReal);
}

Value Fourier::conjugate(Value x) {
  if (dimsOf(x)[1].isOne())
    return x;
  Value sign = constant({2, 1}, [](ArrayRef<int64_t> at) { return at[0] == 0 ? 1.0 : -1.0; });
  SmallVector<Expr> dims(dimsOf(x).size() - 2, Expr(1));
  dims.insert(dims.begin(), Expr(2));
  return g.mul(x, g.broadcastTo(reshaped(sign, dims), dimsOf(x)));
}

/// Of an even number of real numbers: z = even + i odd has the frequencies Z, and theirs are E + w^k O with E and O the
/// parts of Z that are symmetric and not, which Z and its mirror image give.
Value Fourier::packed(Value x, int64_t n, double scale) {
  int64_t pairs = n / 2;
  Value z = g.transpose(reshaped(x, {batch, Expr(pairs), Expr(2)}), {0, 2, 1});
  partsLast = false; // each part is read as it lies, and that of the mirror image
  z = all(z, pairs, scale);
  if (inKernels)
    return folded(z, n);
  z = g.concat({z, g.slice(z, 2, Expr(0), Expr(1))}, 2);
  Value mirror = conjugate(g.slice(z, 2, Expr(pairs), Expr(pairs + 1), -1));
  auto part = [&](int64_t k, double sign) { return (1.0 - sign * Number(0, 1) * unit(k, n)) / 2.0; };
  return g.add(times(z, {pairs + 1}, [&](ArrayRef<int64_t> at) { return part(at[0], 1); }),
               times(mirror, {pairs + 1}, [&](ArrayRef<int64_t> at) { return part(at[0], -1); }));
}

/// Of real numbers: the frequencies up to n / 2, or the whole of them.
Value Fourier::half(Value x, int64_t n, double scale, bool whole) {
  if (n % 2 == 0 && n > largestDirect) {
    Value y = packed(x, n, scale);
    return whole ? g.concat({y, conjugate(g.slice(y, 2, Expr(n / 2 - 1), Expr(n / 2 - 1), -1))}, 2) : y;
  }
  if (isHeld(n)) {
    Value y = all(x, n, scale);
    return whole ? y : g.slice(y, 2, Expr(0), Expr(n / 2 + 1));
  }
  std::vector<int64_t> radices = n <= largestDirect ? std::vector<int64_t>{n} : radicesOf(n);
  int64_t first = radices[0], rest = n / first, kept = first / 2 + 1, wanted = whole ? n : n / 2 + 1;
  Value y = stage(x, {1, first, rest, 1}, kept, scale, false);
  y = stages(y, ArrayRef<int64_t>(radices).drop_front(), rest, kept, false);
  y = reshaped(y, {batch, Expr(2), Expr(rest), Expr(kept)}); // frequency `first` * row + column
  if (wanted <= kept)
    return g.slice(reshaped(y, {batch, Expr(2), Expr(rest * kept)}), 2, Expr(0), Expr(wanted));
  int64_t rows = (wanted - 1) / first + 1;
  SmallVector<Value> parts{g.slice(y, 2, Expr(0), Expr(rows))};
  if (first > kept) { // frequency k is the conjugate of frequency n - k
    Value mirror =
        g.slice(g.slice(y, 2, Expr(rest - 1), Expr(rows), -1), 3, Expr(first - kept), Expr(first - kept), -1);
    parts.push_back(conjugate(mirror));
  }
  Value table = reshaped(g.concat(parts, 3), {batch, Expr(2), Expr(rows * first)});
  return rows * first == wanted ? table : g.slice(table, 2, Expr(0), Expr(wanted));
}

/// Two real numbers [batch, 1, 1] as a complex one.
Value Fourier::realPair(Value re, Value im) { return g.concat({re, im}, 1); }

/// Of the numbers behind the first, `inner` of them: each times factor(k, 1), and the conjugate of its mirror image times factor(k, -1).
Value Fourier::withMirror(Value x, int64_t inner, llvm::function_ref<Number(int64_t, double)> factor) {
  auto part = [&](int64_t from, int64_t step, double sign) {
    auto at = [&](ArrayRef<int64_t> k) { return factor(k[0], sign); };
    return times(g.slice(x, 2, Expr(from), Expr(inner), step), {inner}, at, /*conjugated=*/sign < 0);
  };
  Value own = part(1, 1, 1);
  return g.add(own, part(inner, -1, -1));
}

/// What `packed` makes of the transform, the first frequency and the last one apart: everything else is read as it lies in memory.
Value Fourier::folded(Value z, int64_t n) {
  int64_t pairs = n / 2, inner = pairs - 1;
  auto firstOf = [&](int64_t part) { return g.slice(g.slice(z, 1, Expr(part), Expr(1)), 2, Expr(0), Expr(1)); };
  auto factor = [&](int64_t k, double sign) { return (1.0 - sign * Number(0, 1) * unit(k + 1, n)) / 2.0; };
  Value middle = withMirror(z, inner, factor);
  Value zero = g.splatLike(0, firstOf(0));
  return g.concat({realPair(g.add(firstOf(0), firstOf(1)), zero), middle, realPair(g.sub(firstOf(0), firstOf(1)), zero)}, 2);
}

/// An even number of real numbers, of their frequencies X up to n / 2. With D = w^k i (X(k) - conj X(n / 2 - k)) and S the sum of these two, the
/// transform of half the length of S + D has them two by two. The first frequency and the last one are real, whatever is given.
Value Fourier::unpacked(Value x, int64_t n, double scale) {
  int64_t pairs = n / 2, inner = pairs - 1;
  auto realAt = [&](int64_t k) { return g.slice(g.slice(x, 1, Expr(0), Expr(1)), 2, Expr(k), Expr(1)); };
  auto factor = [&](int64_t k, double sign) { return 1.0 + sign * Number(0, 1) * unit(k + 1, n); };
  Value middle = withMirror(x, inner, factor);
  Value first = realPair(g.add(realAt(0), realAt(pairs)), g.sub(realAt(0), realAt(pairs)));
  partsLast = true;
  Value z = all(g.concat({first, middle}, 2), pairs, scale);
  return reshaped(g.transpose(z, {0, 2, 1}), {batch, Expr(1), Expr(n)});
}

/// The real numbers of frequencies up to n / 2.
Value Fourier::real(Value x, int64_t n, double scale) {
  if ((isHeld(n) || n > largestDirect) && n % 2 == 0 && !dimsOf(x)[1].isOne())
    return unpacked(x, n, scale);
  SmallVector<Value> parts{x};
  int64_t mirrored = n - (n / 2 + 1);
  if (mirrored > 0)
    parts.push_back(conjugate(g.slice(x, 2, Expr(mirrored), Expr(mirrored), -1)));
  return all(g.concat(parts, 2), n, scale, /*onlyReal=*/true);
}

/// places * frequencies = (places^2 + frequencies^2 - (frequencies - places)^2) / 2: a convolution.
Value Fourier::chirp(Value x, int64_t n, double scale) {
  int64_t length = 1;
  while (length < 2 * n - 1)
    length *= 2;
  auto turn = [&](int64_t i) { return unit(int64_t((__int128(i) * i) % (2 * n)), 2 * n); };
  std::vector<Number> filter(length, 0);
  for (int64_t i = 0; i < n; ++i)
    filter[i] = filter[(length - i) % length] = std::conj(turn(i));
  transformConstants(filter);
  if (dimsOf(x)[1].isOne())
    x = g.concat({x, g.splatLike(0, x)}, 1);
  x = times(x, {n}, [&](ArrayRef<int64_t> at) { return turn(at[0]); });
  Dims low(3, Expr(0)), high = low, dims = dimsOf(x);
  high[2] = Expr(length - n);
  dims[2] = Expr(length);
  x = g.b.createOrFold<PadOp>(g.loc, tensorType(dims, element), x, g.scalar(0, element), exprArray(g.b, low),
                              exprArray(g.b, high));
  bool outer = std::exchange(inverse, false);
  x = times(all(x, length, 1), {length}, [&](ArrayRef<int64_t> at) { return filter[at[0]]; });
  inverse = true;
  x = g.slice(all(x, length, scale / double(length)), 2, Expr(0), Expr(n));
  inverse = outer;
  return times(x, {n}, [&](ArrayRef<int64_t> at) { return turn(at[0]); });
}

//===----------------------------------------------------------------------===//
// Lengths that are not known
//===----------------------------------------------------------------------===//

namespace {
/// Cosines and sines for `from` places and `to` frequencies of a transform of length n.
struct Roots {
  Value cosine, sine;
};
} // namespace

static Roots rootsOf(GraphBuilder &g, Type element, const Expr &from, const Expr &to, const Expr &length) {
  Dims dims{from, to};
  Type i64 = g.b.getI64Type(), f64 = g.b.getF64Type();
  Value turns = g.mul(g.iota(dims, 0, i64), g.iota(dims, 1, i64));
  turns = g.binary<RemOp>(turns, g.broadcastTo(g.size(length), dims));
  Value part = g.div(g.cast(turns, f64), g.broadcastTo(g.cast(g.size(length), f64), dims));
  Value angle = g.binary<MulOp>(part, 2 * pi);
  return {g.cast(g.unary<CosOp>(angle), element), g.cast(g.unary<SinOp>(angle), element)};
}

/// By the runtime, which finds the length's factors.
Value Fourier::onHost(Value x, const FourierTransform &t) {
  Expr half = g.facts.simplify(Expr::floordiv(t.length, Expr(2)) + Expr(1)), parts = dimsOf(x)[1];
  bool isReal = t.result == FourierResult::Real;
  Dims dims{batch, Expr(isReal ? 1 : 2), t.result == FourierResult::Half ? half : t.length};
  Dims sizes{batch, t.length, parts, Expr(int64_t(t.result)), Expr(int64_t(inverse)), Expr(int64_t(element.isF64()))};
  Value y = g.b.create<CallOp>(g.loc, mlir::TypeRange(tensorType(dims, element)), "fourier", mlir::ValueRange{x}, exprArray(g.b, sizes)).getResult(0);
  return t.scale ? g.binary<MulOp>(y, *t.scale) : y;
}

Value Fourier::product(Value x, const FourierTransform &t) {
  Expr half = g.facts.simplify(Expr::floordiv(t.length, Expr(2)) + Expr(1));
  bool isReal = t.result == FourierResult::Real, isPair = !dimsOf(x)[1].isOne();
  Roots roots =
      rootsOf(g, element, isReal ? half : t.length, t.result == FourierResult::Half ? half : t.length, t.length);
  auto part = [&](int64_t i) { return g.squeeze(g.slice(x, 1, Expr(i), Expr(1)), {1}); };
  auto over = [&](Value v, Value w) { return g.contract(v, w, {}, {}, {1}, {0}); };
  auto scaled = [&](Value v) { return t.scale ? g.binary<MulOp>(v, *t.scale) : v; };
  Value re = part(0), im = isPair ? part(1) : Value(), sine = inverse ? roots.sine : g.unary<NegOp>(roots.sine);
  if (isReal) { // a frequency and its mirror image together, but for those that are their own
    Type i64 = g.b.getI64Type();
    Dims dims{half, t.length};
    Value bin = g.iota(dims, 0, i64), twice = g.binary<MulOp>(bin, 2);
    auto is = [&](Value v, Value w) { return g.compare(CompareKind::EQ, v, w); };
    Value once = g.binary<OrOp>(is(bin, g.splatLike(0, bin)), is(twice, g.broadcastTo(g.size(t.length), dims)));
    Value weight = g.select(once, g.splat(1, dims, element), g.splat(2, dims, element));
    Value y = over(re, g.mul(roots.cosine, weight));
    if (im)
      y = g.sub(y, over(im, g.mul(sine, weight)));
    return scaled(g.unsqueeze(y, {1}));
  }
  Value outRe = over(re, roots.cosine), outIm = over(re, sine);
  if (im) {
    outRe = g.sub(outRe, over(im, sine));
    outIm = g.add(outIm, over(im, roots.cosine));
  }
  return scaled(g.concat({g.unsqueeze(outRe, {1}), g.unsqueeze(outIm, {1})}, 1));
}

/// What is given. The imaginary part of a real number is 0, and not its product with one, which may be -0 or NaN.
static Value transformOfOne(GraphBuilder &g, Value x, FourierResult result, double scale) {
  bool pairs = !dimsOf(x)[1].isOne();
  Value y = scale == 1 ? x : g.binary<MulOp>(x, scale);
  if (result == FourierResult::Real)
    return pairs ? g.slice(y, 1, Expr(0), Expr(1)) : y;
  return pairs ? y : g.concat({y, g.splatLike(0, y)}, 1);
}

Value ir::fourier(GraphBuilder &g, Value x, const FourierTransform &t) {
  Fourier f(g, x, t);
  std::optional<int64_t> n = t.length.constant();
  if (!n)
    return t.onHost ? f.onHost(x, t) : f.product(x, t);
  double scale = t.scale.value_or(1);
  if (*n == 1)
    return transformOfOne(g, x, t.result, scale);
  bool pairs = !dimsOf(x)[1].isOne();
  if (t.result == FourierResult::Real)
    return f.real(x, *n, scale);
  if (!pairs)
    return f.half(x, *n, scale, t.result == FourierResult::All);
  Value y = f.all(x, *n, scale);
  return t.result == FourierResult::All ? y : g.slice(y, 2, Expr(0), Expr(*n / 2 + 1));
}

Value ir::wholeTransform(GraphBuilder &g, Value x, int64_t axis, int64_t parts, const FourierTransform &t) {
  int64_t n = *t.length.constant();
  Dims dims = dimsOf(x);
  dims[axis] = Expr(t.result == FourierResult::Half ? n / 2 + 1 : n);
  dims[parts] = Expr(t.result == FourierResult::Real ? 1 : 2);
  FloatAttr scale = t.scale.value_or(1) == 1 ? FloatAttr() : g.b.getF64FloatAttr(*t.scale);
  return g.b.create<FftOp>(g.loc, tensorType(dims, elementOf(x)), x, axis, parts, n, scale, IntegerAttr(), IntegerAttr(), t.inverse);
}
