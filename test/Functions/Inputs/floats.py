"""The float types: their numbers as doubles, samples of them, and distances in units in the last place."""
import numpy as np


class Float:
    """A type by its bits of mantissa (without the leading one) and exponent. Arrays hold its bit patterns."""

    def __init__(self, name, mantissa, exponent):
        self.name, self.mantissa, self.exponent = name, mantissa, exponent
        self.width = 1 + mantissa + exponent
        self.dtype = np.dtype(f"u{self.width // 8}")
        self.least = 2 - (1 << (exponent - 1))  # exponent of the smallest normal number

    def doubles(self, bits):
        if self.name == "bf16":
            return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return bits.view(f"f{self.width // 8}").astype(np.float64)

    def patterns(self, values):
        """Bit patterns of doubles, rounded."""
        if self.name == "bf16":  # samples need not be rounded well
            return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return values.astype(f"f{self.width // 8}").view(self.dtype)

    def every(self):
        return np.arange(1 << self.width, dtype=np.uint32).astype(self.dtype)

    def neighbours(self, bits, n=3):
        """The numbers around those of `bits`."""
        around = bits[:, None].astype(np.uint64) + np.arange(-n, n + 1).astype(np.uint64)
        return around.astype(self.dtype).ravel()

    def samples(self, rng, per_exponent, plain):
        """Both signs and all exponents, subnormal numbers, specials, neighbours of powers of two and of multiples of pi / 2."""
        exponents = np.arange(1 << self.exponent, dtype=np.uint64) << np.uint64(self.mantissa)
        fractions = rng.integers(0, 1 << self.mantissa, (len(exponents), per_exponent), dtype=np.uint64)
        dense = (exponents[:, None] | fractions).ravel()
        subnormal = rng.integers(0, 1 << self.mantissa, 500, dtype=np.uint64) >> rng.integers(0, self.mantissa, 500, dtype=np.uint64)
        powers = self.neighbours(exponents.astype(self.dtype), 2).astype(np.uint64)
        with np.errstate(over="ignore"):
            angles = np.concatenate([np.arange(1, 600), np.logspace(3, 300, 900)]) * (np.pi / 2)
            ordinary = [rng.uniform(-a, a, plain) for a in (1, 10, 100, 1e4)]
            near = self.neighbours(self.patterns(angles)).astype(np.uint64)
            halves = self.patterns(np.arange(-64, 64) / 4).astype(np.uint64)
            usual = self.patterns(np.concatenate(ordinary)).astype(np.uint64)
        positive = np.concatenate([dense, subnormal, powers, near])
        sign = np.uint64(1 << (self.width - 1))
        return np.concatenate([positive, positive | sign, halves, usual]).astype(self.dtype)

    def ulps(self, got, want):
        """Units in the last place between bit patterns and long double references. A result beyond the largest number counts as the
        next power of two; NaN, infinities and the sign of zero have to be the same."""
        value = self.doubles(got).astype(np.longdouble)
        exponent = np.frexp(np.where(np.isfinite(want), want, 1))[1] - 1
        last = 1 - self.least  # exponent of the largest numbers
        unit = np.ldexp(np.longdouble(1), np.clip(exponent, self.least, last) - self.mantissa)
        top = np.ldexp(np.longdouble(1), last + 1)
        finite = np.where(np.isinf(value), np.copysign(top, value), value)
        bounded = np.clip(want, -top, top)
        distance = np.abs(finite - bounded) / unit
        distance = np.where(np.isnan(value) | np.isnan(want), np.inf, distance)
        distance = np.where(np.isinf(want) & (value != want), np.inf, distance)
        distance = np.where((want == 0) & (value == 0) & (np.signbit(want) != np.signbit(value)), np.inf, distance)
        return np.where(np.isnan(value) & np.isnan(want), 0, np.where(value == want, 0, distance)).astype(np.float64)


TYPES = {f.name: f for f in (Float("f16", 10, 5), Float("bf16", 7, 8), Float("f32", 23, 8), Float("f64", 52, 11))}
