/*===- HostWork.c - Work on the calling thread that is no kernel -------------===*/
#include "Runtime.h"

/* Writes the positions of the true ones among `n` booleans, at most `room` of them; says how many. Eight at a time: where none is true they
 * are passed over, and where some are each writes its position, which the next one overwrites if it was false. A branch for each true one would
 * be guessed wrong as often as not. */
static int64_t truePositions(const unsigned char *mask, int64_t n, int64_t *out, int64_t room) {
  int64_t found = 0, i = 0;
  for (; i + 8 <= n && found + 8 <= room; i += 8) {
    uint64_t eight;
    memcpy(&eight, mask + i, 8);
    if (eight)
      for (int64_t k = 0; k < 8; ++k) {
        out[found] = i + k;
        found += mask[i + k] != 0;
      }
  }
  for (; i < n && found < room; ++i)
    if (mask[i])
      out[found++] = i;
  return found;
}

const char *lathe_host_compact(void *const *buffers, const int64_t *sizes) {
  truePositions(buffers[0], sizes[0], buffers[1], sizes[1]);
  return NULL;
}

const char *lathe_host_coordinates(void *const *buffers, const int64_t *sizes) {
  const unsigned char *mask = buffers[0];
  const int64_t rank = sizes[0], count = sizes[1], *dims = sizes + 2, width = dims[rank - 1];
  int64_t *out = buffers[1], rows = 1, written = 0;
  for (int64_t d = 0; d + 1 < rank; ++d)
    rows *= dims[d];
  for (int64_t row = 0; row < rows && written < count; ++row) {
    int64_t found = truePositions(mask + row * width, width, out + (rank - 1) * count + written, count - written), left = row;
    for (int64_t d = rank - 1; found && d-- > 0; left /= dims[d])
      for (int64_t i = 0, at = left % dims[d]; i < found; ++i)
        out[d * count + written + i] = at;
    written += found;
  }
  return NULL;
}

const char *lathe_host_copy_first(void *const *buffers, const int64_t *sizes) {
  if (sizes[0] > 0)
    memcpy(buffers[1], buffers[0], (size_t)sizes[0] * sizeof(int64_t));
  return NULL;
}

const char *lathe_host_join(void *const *buffers, const int64_t *sizes) {
  int64_t count = sizes[0], rows = sizes[1], left = sizes[3 + count];
  char *to = buffers[count];
  for (int64_t part = 0; part < count; ++part)
    left -= sizes[3 + part];
  if (left)
    return LATHE_HOST_INVALID "the parts of a joined array are not as large as the whole";
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t part = 0; part < count; ++part) {
      int64_t bytes = sizes[2] * sizes[3 + part];
      if (bytes > 0)
        memcpy(to, (const char *)buffers[part] + row * bytes, (size_t)bytes);
      to += bytes;
    }
  return NULL;
}

static bool rowIsLess(const int64_t *a, const int64_t *b, int64_t width) {
  for (int64_t i = 0; i < width; ++i)
    if (a[i] != b[i])
      return a[i] < b[i];
  return false;
}

/* Merges runs of growing length between the order and the room beside it. */
const char *lathe_host_order_rows(void *const *buffers, const int64_t *sizes) {
  const int64_t *rows = buffers[0];
  int64_t count = sizes[0], width = sizes[1], *from = buffers[1], *to = buffers[2];
  for (int64_t i = 0; i < count; ++i)
    from[i] = i;
  for (int64_t run = 1; run < count; run *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * run) {
      int64_t middle = begin + run < count ? begin + run : count, end = middle + run < count ? middle + run : count;
      for (int64_t i = begin, j = middle, k = begin; k < end; ++k) {
        bool second = i >= middle || (j < end && rowIsLess(rows + from[j] * width, rows + from[i] * width, width));
        to[k] = second ? from[j++] : from[i++];
      }
    }
    int64_t *other = from;
    from = to;
    to = other;
  }
  if (from != buffers[1] && count > 0)
    memcpy(buffers[1], from, (size_t)count * sizeof(int64_t));
  return NULL;
}

/*===-- Non-maximum suppression ---------------------------------------------===*/

typedef struct {
  float y1, x1, y2, x2;
} Box;

static float least(float a, float b) { return a < b ? a : b; }
static float most(float a, float b) { return a > b ? a : b; }

static Box boxAt(const float *boxes, int64_t i, bool centered) {
  const float *b = boxes + 4 * i;
  if (centered) /* x, y, width, height */
    return (Box){b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2};
  return (Box){least(b[0], b[2]), least(b[1], b[3]), most(b[0], b[2]), most(b[1], b[3])};
}

/* Boxes that are kept, each coordinate in a row of its own: those that one more box is compared with are read in order, and several at a
 * time. */
typedef struct {
  float *y1, *x1, *y2, *x2;
  int64_t count;
} Boxes;

static void keep(Boxes *all, Box one) {
  all->y1[all->count] = one.y1;
  all->x1[all->count] = one.x1;
  all->y2[all->count] = one.y2;
  all->x2[all->count++] = one.x2;
}

/* Whether the box shares more than the limit with one of those from `first` on. No branches: the compiler makes vectors of it. */
static bool overlapsSome(const Boxes *all, int64_t first, int64_t last, Box b, float limit) {
  const float *y1 = all->y1, *x1 = all->x1, *y2 = all->y2, *x2 = all->x2;
  float areaB = (b.y2 - b.y1) * (b.x2 - b.x1);
  int32_t found = 0;
  for (int64_t j = first; j < last; ++j) {
    float height = least(y2[j], b.y2) - most(y1[j], b.y1), width = least(x2[j], b.x2) - most(x1[j], b.x1);
    float both = height * width, areaA = (y2[j] - y1[j]) * (x2[j] - x1[j]);
    float either = areaA + areaB - both;
    found |= (height > 0) & (width > 0) & (areaA > 0) & (areaB > 0) & (either > 0) & (both / either > limit);
  }
  return found != 0;
}

static bool overlapsAny(const Boxes *all, Box b, float limit) {
  enum { block = 128 }; /* as far as is read at once: most boxes that go share much with one of the first */
  for (int64_t first = 0; first < all->count; first += block)
    if (overlapsSome(all, first, first + block < all->count ? first + block : all->count, b, limit))
      return true;
  return false;
}

/* A score as a number that is smaller where the score is higher; it is no NaN, and -0 is 0. */
static uint32_t fallingKey(float score) {
  uint32_t bits;
  score += 0.0f;
  memcpy(&bits, &score, sizeof bits);
  return bits >> 31 ? bits : ~(bits | 0x80000000u);
}

const char *lathe_host_non_max_suppression(void *const *buffers, const int64_t *sizes) {
  int64_t classes = sizes[1], boxes = sizes[2], limit = *(const int64_t *)buffers[2], *triples = buffers[5];
  float overlap = *(const float *)buffers[3], threshold = *(const float *)buffers[4];
  int64_t total = 0;
  for (int64_t s = 0; s < sizes[0] * classes; ++s) {
    const float *box = (const float *)buffers[0] + s / classes * boxes * 4, *score = (const float *)buffers[1] + s * boxes;
    int64_t candidates = 0, *first = triples + 3 * total, chosen = 0;
    uint64_t *words = buffers[7]; /* key << 32 | box, see Sort.c: twice as many as boxes; behind them the coordinates */
    float *rows = (float *)(words + 2 * boxes);
    Boxes all = {rows, rows + boxes, rows + 2 * boxes, rows + 3 * boxes, 0};
    for (int64_t i = 0; i < boxes; ++i)
      if (score[i] > threshold)
        words[candidates++] = (uint64_t)fallingKey(score[i]) << 32 | (uint64_t)i;
    const uint64_t *sorted = lathe_sort_words(words, words + boxes, candidates, candidates);
    for (int64_t i = 0; i < candidates && chosen < limit; ++i) {
      int64_t number = (int64_t)(sorted[i] & 0xffffffff);
      Box one = boxAt(box, number, sizes[3] != 0);
      if (overlapsAny(&all, one, overlap))
        continue;
      keep(&all, one);
      first[3 * chosen] = s / classes;
      first[3 * chosen + 1] = s % classes;
      first[3 * chosen++ + 2] = number;
    }
    total += chosen;
  }
  *(int64_t *)buffers[6] = total;
  return NULL;
}
