//===- FourierTest.cpp - Transforms of every length against the definition ---===//
//
// Each set of instructions that this machine has, real and complex numbers, both directions, all three kinds of results.
//
//===----------------------------------------------------------------------===//

#include "gtest/gtest.h"
#include <cmath>
#include <complex>
#include <random>
#include <vector>

extern "C" {
uint32_t latheMachineLevel(void);
const char *latheFourierAt(uint32_t level, void *const *buffers, const int64_t *sizes);
}

namespace {
enum Result : int64_t { All, Half, Real };
using Number = std::complex<double>;

/// The sums, in more digits than either type has.
std::vector<Number> bySums(const std::vector<Number> &x, bool inverse) {
  using Long = std::complex<long double>;
  int64_t n = x.size();
  std::vector<Long> roots(n);
  std::vector<Number> out(n);
  for (int64_t i = 0; i < n; ++i)
    roots[i] = std::polar(1.0L, (inverse ? 2 : -2) * acosl(-1) * i / n);
  for (int64_t k = 0; k < n; ++k) {
    Long sum = 0;
    for (int64_t i = 0, at = 0; i < n; ++i, at = (at + k) % n)
      sum += Long(x[i]) * roots[at];
    out[k] = Number(sum);
  }
  return out;
}

template <typename T> class Rows {
public:
  Rows(int64_t batch, int64_t n, int64_t parts, Result result, bool inverse)
      : sizes{batch, n, parts, result, inverse, sizeof(T) == 8}, given(result == Real ? n / 2 + 1 : n) {
    std::mt19937 random(uint32_t(n * 8 + parts));
    std::normal_distribution<T> normal;
    x.resize(batch * parts * given);
    for (T &v : x)
      v = normal(random);
    out.assign(batch * (result == Real ? n : 2 * (result == Half ? n / 2 + 1 : n)), T(1e30));
  }

  const char *run(uint32_t level) {
    void *buffers[] = {x.data(), out.data()};
    return latheFourierAt(level, buffers, sizes);
  }

  /// The largest difference over the largest result.
  double error() const {
    double worst = 0, most = 1e-30;
    for (int64_t row = 0; row < sizes[0]; ++row)
      compare(row, worst, most);
    return worst / most;
  }

private:
  std::vector<Number> numbersOf(int64_t row) const {
    const T *re = x.data() + row * sizes[2] * given, *im = re + given;
    int64_t n = sizes[1];
    std::vector<Number> all(n);
    for (int64_t i = 0; i < given; ++i)
      all[i] = {re[i], sizes[2] == 2 ? double(im[i]) : 0};
    if (sizes[3] != Real)
      return all;
    for (int64_t i = given; i < n; ++i)
      all[i] = std::conj(all[n - i]);
    all[0] = all[0].real(); // which of real numbers have no imaginary part
    if (n % 2 == 0)
      all[n / 2] = all[n / 2].real();
    return all;
  }

  void compare(int64_t row, double &worst, double &most) const {
    std::vector<Number> want = bySums(numbersOf(row), sizes[4]);
    int64_t wanted = sizes[3] == Half ? sizes[1] / 2 + 1 : sizes[1];
    const T *re = out.data() + row * int64_t(out.size()) / sizes[0], *im = re + wanted;
    for (int64_t k = 0; k < wanted; ++k) {
      Number got(re[k], sizes[3] == Real ? 0 : double(im[k]));
      worst = std::max(worst, std::abs(sizes[3] == Real ? got - want[k].real() : got - want[k]));
      most = std::max(most, std::abs(want[k]));
    }
  }

  int64_t sizes[6], given;
  std::vector<T> x, out;
};

struct Kind {
  int64_t parts;
  Result result;
  bool inverse;
};
constexpr Kind kinds[] = {{2, All, false}, {2, All, true}, {1, All, false}, {1, All, true},  {1, Half, false}, {1, Half, true},
                          {2, Half, true}, {2, Real, true}, {2, Real, false}, {1, Real, true}};

template <typename T> void check(int64_t batch, int64_t n, double tolerance) {
  for (uint32_t level = 0; level <= (latheMachineLevel() & 0xff); ++level)
    for (const Kind &kind : kinds) {
      Rows<T> rows(batch, n, kind.parts, kind.result, kind.inverse);
      ASSERT_EQ(rows.run(level), nullptr);
      EXPECT_LT(rows.error(), tolerance) << n << " x " << batch << ", parts " << kind.parts << ", result " << kind.result << ", inverse "
                                         << kind.inverse << ", level " << level;
    }
}
} // namespace

TEST(Fourier, everyShortLength) {
  for (int64_t n = 1; n <= 140; ++n)
    check<float>(n % 3 ? 1 : 3, n, 1e-6);
  for (int64_t n = 1; n <= 140; ++n)
    check<double>(n % 3 ? 2 : 1, n, 2e-15);
}

TEST(Fourier, moreRowsThanLanes) {
  for (int64_t n : {5, 64, 67, 100, 256, 268})
    check<float>(19, n, 1e-6);
  for (int64_t n : {5, 64, 67, 100})
    check<double>(9, n, 2e-15);
}

TEST(Fourier, longLengths) {
  for (int64_t n : {375, 512, 521, 1042, 1891})
    check<float>(1, n, 1e-6);
  for (int64_t n : {521, 1000})
    check<double>(2, n, 4e-15);
}

TEST(Fourier, nothing) {
  EXPECT_EQ(Rows<float>(0, 16, 2, All, false).run(0), nullptr);
  EXPECT_NE(Rows<float>(1, 0, 2, All, false).run(0), nullptr);
}
