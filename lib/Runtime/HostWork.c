/*===- HostWork.c - Work on the calling thread that is no kernel -------------===*/
#include "Runtime.h"

void lathe_host_compact(void *const *buffers, const int64_t *sizes) {
  const char *mask = buffers[0];
  int64_t *out = buffers[1], *end = out + sizes[1];
  for (int64_t i = 0; i < sizes[0] && out < end; ++i)
    if (mask[i])
      *out++ = i;
}

void lathe_host_copy_first(void *const *buffers, const int64_t *sizes) {
  if (sizes[0] > 0)
    memcpy(buffers[1], buffers[0], (size_t)sizes[0] * sizeof(int64_t));
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

static bool overlaps(Box a, Box b, float limit) {
  float height = least(a.y2, b.y2) - most(a.y1, b.y1), width = least(a.x2, b.x2) - most(a.x1, b.x1);
  if (!(height > 0 && width > 0))
    return false;
  float both = height * width, areaA = (a.y2 - a.y1) * (a.x2 - a.x1), areaB = (b.y2 - b.y1) * (b.x2 - b.x1);
  float either = areaA + areaB - both;
  return areaA > 0 && areaB > 0 && either > 0 && both / either > limit;
}

/* Sorts box numbers by falling score, equal ones by number: merges runs of growing length between the halves of `room`. */
static int64_t *sortByScore(const float *scores, int64_t *room, int64_t count, int64_t boxes) {
  int64_t *from = room, *to = room + boxes;
  for (int64_t width = 1; width < count; width *= 2) {
    for (int64_t begin = 0; begin < count; begin += 2 * width) {
      int64_t middle = begin + width < count ? begin + width : count, end = middle + width < count ? middle + width : count;
      for (int64_t i = begin, j = middle, k = begin; k < end; ++k)
        to[k] = i < middle && (j >= end || scores[from[i]] >= scores[from[j]]) ? from[i++] : from[j++];
    }
    int64_t *other = from;
    from = to;
    to = other;
  }
  return from;
}

void lathe_host_non_max_suppression(void *const *buffers, const int64_t *sizes) {
  int64_t classes = sizes[1], boxes = sizes[2], limit = *(const int64_t *)buffers[2], *triples = buffers[5];
  float overlap = *(const float *)buffers[3], threshold = *(const float *)buffers[4];
  int64_t total = 0;
  for (int64_t s = 0; s < sizes[0] * classes; ++s) {
    const float *box = (const float *)buffers[0] + s / classes * boxes * 4, *score = (const float *)buffers[1] + s * boxes;
    int64_t *room = buffers[7], candidates = 0, *first = triples + 3 * total, chosen = 0;
    for (int64_t i = 0; i < boxes; ++i)
      if (score[i] > threshold)
        room[candidates++] = i;
    const int64_t *sorted = sortByScore(score, room, candidates, boxes);
    for (int64_t i = 0; i < candidates && chosen < limit; ++i) {
      Box one = boxAt(box, sorted[i], sizes[3] != 0);
      bool kept = true;
      for (int64_t j = 0; kept && j < chosen; ++j)
        kept = !overlaps(boxAt(box, first[3 * j + 2], sizes[3] != 0), one, overlap);
      if (!kept)
        continue;
      first[3 * chosen] = s / classes;
      first[3 * chosen + 1] = s % classes;
      first[3 * chosen++ + 2] = sorted[i];
    }
    total += chosen;
  }
  *(int64_t *)buffers[6] = total;
}
