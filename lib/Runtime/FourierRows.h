/*===- FourierRows.h - What transforms read and write, and their tables -------===*\
|*
|* Included by FourierTypes.h behind FourierLanes.h, for each type of numbers and each set of instructions: rows as they come are made what is
|* transformed in place, and the results what is wanted. The tables of a plan are filled here, too.
|*
\*===----------------------------------------------------------------------===*/

/*===-- Tables --------------------------------------------------------------===*/

FUNCTION void NAME(fillRoots)(REAL *to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    Number w = rootOf(i, n);
    to[2 * i] = (REAL)w.re;
    to[2 * i + 1] = (REAL)w.im;
  }
}

/* Row k has the powers of the root's k-th power: eight of them, and what each further eight are multiplied with. */
FUNCTION void NAME(fillTwiddles)(const Fourier *f) {
  enum { together = 8 };
  REAL *cosines = f->twiddles, *sines = cosines + f->plane;
  for (int64_t k = 0, b = f->b.n; k < f->a.n; ++k) {
    double re[together], im[together];
    for (int64_t l = 0; l < together; ++l) {
      Number w = rootOf(k * l % f->n, f->n);
      re[l] = w.re;
      im[l] = w.im;
    }
    for (int64_t j = 0; j < b; j += together) {
      Number w = rootOf(k * j, f->n);
      for (int64_t l = 0; l < together; ++l) { /* the last ones are the next row's, which comes later */
        cosines[k * b + j + l] = (REAL)(w.re * re[l] - w.im * im[l]);
        sines[k * b + j + l] = (REAL)(w.re * im[l] + w.im * re[l]);
      }
    }
  }
}

FUNCTION void NAME(fillChirp)(const Fourier *f) {
  int64_t n = f->n, m = f->inner->n;
  REAL *chirp = f->chirp, *filter = f->filter, *re = f->row, *im = re + f->rowPlane;
  memset(re, 0, (size_t)m * sizeof(REAL));
  memset(im, 0, (size_t)m * sizeof(REAL));
  for (int64_t i = 0, square = 0; i < n; square = (square + 2 * i + 1) % (2 * n), ++i) {
    Number w = rootOf(square, 2 * n);
    chirp[i] = (REAL)w.re;
    chirp[n + i] = (REAL)w.im;
    re[i] = re[(m - i) % m] = (REAL)(w.re / (double)m);
    im[i] = im[(m - i) % m] = (REAL)(-w.im / (double)m);
  }
  NAME(oneRow)(f->inner, re, im);
  memcpy(filter, re, (size_t)m * sizeof(REAL));
  memcpy(filter + m, im, (size_t)m * sizeof(REAL));
}

FUNCTION void NAME(fill)(const Fourier *f) {
  if (f->inner) {
    NAME(fill)(f->inner);
    NAME(fillChirp)(f);
    return;
  }
  NAME(fillRoots)(f->rootsA, f->a.n);
  if (!f->isShort) {
    NAME(fillRoots)(f->rootsB, f->b.n);
    NAME(fillTwiddles)(f);
  }
}

/*===-- What is read and written --------------------------------------------===*/

/* Real numbers by two are complex ones: Z of half the length has E and O, the transforms of those at even and at odd places, as what is
 * symmetric in it and what is not. The numbers are E + w^k O. */
FUNCTION void NAME(unpack)(const Fourier *f, const REAL *re, const REAL *im, REAL *outRe, REAL *outIm) {
  const REAL *w = f->halves;
  int64_t h = f->n;
  for (int64_t k = 0; k <= h; ++k) {
    int64_t at = k < h ? k : 0, mirror = k ? h - k : 0;
    REAL evenRe = re[at] + re[mirror], evenIm = im[at] - im[mirror], oddRe = im[at] + im[mirror], oddIm = re[mirror] - re[at];
    outRe[k] = (REAL)0.5 * (evenRe + w[2 * k] * oddRe - w[2 * k + 1] * oddIm);
    outIm[k] = (REAL)0.5 * (evenIm + w[2 * k] * oddIm + w[2 * k + 1] * oddRe);
  }
}

/* The other way, for real numbers of which half of the frequencies are given: Z = E + i O. Numbers without an imaginary part have none. */
FUNCTION void NAME(pack)(const Fourier *f, const REAL *x, const REAL *y, REAL sign, REAL *re, REAL *im) {
  const REAL *w = f->halves;
  int64_t h = f->n;
  for (int64_t k = 0; k < h; ++k) {
    REAL a = x[k], b = k && y ? sign * y[k] : 0, c = x[h - k], d = k && y ? -sign * y[h - k] : 0;
    REAL evenRe = a + c, evenIm = b + d, turnedRe = a - c, turnedIm = b - d;
    REAL oddRe = turnedRe * w[2 * k] + turnedIm * w[2 * k + 1], oddIm = turnedIm * w[2 * k] - turnedRe * w[2 * k + 1];
    re[k] = evenRe - oddIm;
    im[k] = evenIm + oddRe;
  }
}

/* A row's numbers as what is transformed. */
FUNCTION void NAME(prepare)(const Fourier *f, const Wanted *w, const REAL *x, REAL *re, REAL *im) {
  int64_t n = w->n, given = w->result == realNumbers ? n / 2 + 1 : n;
  const REAL *y = w->parts == 2 ? x + given : 0;
  if (w->result == realNumbers && f->halves) {
    NAME(pack)(f, x, y, w->inverse ? 1 : -1, re, im);
    return;
  }
  if (f->halves) {
    for (int64_t i = 0; i < f->n; ++i) {
      re[i] = x[2 * i];
      im[i] = x[2 * i + 1];
    }
    return;
  }
  memcpy(re, x, (size_t)given * sizeof(REAL));
  if (y)
    memcpy(im, y, (size_t)given * sizeof(REAL));
  else
    memset(im, 0, (size_t)given * sizeof(REAL));
  if (w->result == realNumbers) {
    im[0] = 0;
    for (int64_t i = given; i < n; ++i) {
      re[i] = re[n - i];
      im[i] = -im[n - i];
    }
  }
}

/* The row's results from what was transformed. */
FUNCTION void NAME(finish)(const Fourier *f, const Wanted *w, const REAL *re, const REAL *im, REAL *out) {
  int64_t n = w->n, wanted = w->result == halfOfThem ? n / 2 + 1 : n;
  if (w->result == realNumbers && f->halves) {
    for (int64_t i = 0; i < f->n; ++i) {
      out[2 * i] = re[i];
      out[2 * i + 1] = im[i];
    }
    return;
  }
  if (!f->halves) {
    memcpy(out, re, (size_t)wanted * sizeof(REAL));
    if (w->result != realNumbers)
      memcpy(out + wanted, im, (size_t)wanted * sizeof(REAL));
    return;
  }
  REAL *outIm = out + wanted;
  NAME(unpack)(f, re, im, out, outIm);
  for (int64_t k = f->n + 1; k < wanted; ++k) {
    out[k] = out[n - k];
    outIm[k] = -outIm[n - k];
  }
  if (w->inverse)
    for (int64_t k = 0; k < wanted; ++k)
      outIm[k] = -outIm[k];
}

/* All rows. Backwards is forwards with the parts in each other's place; of packed real numbers forwards is what is known, and its mirror
 * image what is wanted. */
FUNCTION void NAME(run)(const Fourier *f, const Wanted *w, const REAL *x, REAL *out) {
  int64_t together = f->isShort ? LANES : 1;
  bool swap = f->halves ? w->result == realNumbers : w->inverse;
  REAL *planes[2] = {f->row, (REAL *)f->row + f->rowPlane};
  for (int64_t row = 0; row < w->batch; row += together) {
    int64_t count = row + together <= w->batch ? together : w->batch - row;
    for (int64_t i = 0; i < count; ++i)
      NAME(prepare)(f, w, x + (row + i) * w->taken, planes[0] + i * f->n, planes[1] + i * f->n);
    REAL *re = planes[swap], *im = planes[!swap];
    (f->inner ? NAME(chirpRow) : f->isShort ? NAME(rowsInLanes) : NAME(oneRow))(f, re, im);
    for (int64_t i = 0; i < count; ++i)
      NAME(finish)(f, w, planes[0] + i * f->n, planes[1] + i * f->n, out + (row + i) * w->given);
  }
}

/* Says whether there was memory. */
FUNCTION bool NAME(transform)(const Wanted *w, const void *x, void *out) {
  Fourier f, inner;
  void *memory = planned(&f, &inner, w, sizeof(REAL), LANES);
  if (!memory)
    return false;
  NAME(fill)(&f);
  if (f.halves)
    NAME(fillRoots)(f.halves, 2 * f.n);
  NAME(run)(&f, w, x, out);
  free(memory);
  return true;
}

#undef V
#undef C
#undef LANES
#undef LANES_LOG
#undef REAL
#undef NAME
#undef SHUFFLED
