/*===- Cores.c - How many threads are worth having --------------------------===*/
#include "../Libc.h"
#include "Pool.h"

enum { MaxCpus = 4096 };

/* The file's text, NUL-terminated; 0 when it cannot be read. */
static long readText(const char *path, char *text, size_t capacity) {
  int fd = open(path, LATHE_O_RDONLY | LATHE_O_CLOEXEC);
  if (fd < 0)
    return 0;
  long n = read(fd, text, capacity - 1);
  close(fd);
  text[n > 0 ? n : 0] = 0;
  return n > 0 ? n : 0;
}

static const char *parseNumber(const char *text, int64_t *value) {
  *value = -1;
  for (int64_t v = 0; *text >= '0' && *text <= '9'; ++text)
    if (v < INT64_MAX / 16)
      *value = v = v * 10 + (*text - '0');
  return text;
}

/* The lowest logical CPU of the physical core that `cpu` belongs to. */
static int64_t firstSibling(uint32_t cpu) {
  char path[96], text[256];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%u/topology/thread_siblings_list", cpu);
  int64_t first = -1;
  if (readText(path, text, sizeof text))
    parseNumber(text, &first);
  return first < 0 || first >= MaxCpus ? cpu : first;
}

/* The whole CPUs that the control group's quota allows, at least 1; `otherwise` without a quota. */
static uint32_t quotaOr(uint32_t otherwise) {
  char text[64];
  if (!readText("/sys/fs/cgroup/cpu.max", text, sizeof text))
    return otherwise;
  int64_t quota, period;
  const char *rest = parseNumber(text, &quota);
  if (*rest != ' ' || quota <= 0)
    return otherwise;
  parseNumber(rest + 1, &period);
  if (period <= 0)
    return otherwise;
  int64_t cpus = (quota + period - 1) / period;
  return cpus < otherwise ? (uint32_t)cpus : otherwise;
}

uint32_t latheCountCores(uint32_t *logical) {
  uint8_t mask[MaxCpus / 8], seen[MaxCpus / 8];
  memset(mask, 0, sizeof mask);
  memset(seen, 0, sizeof seen);
  uint32_t cores = 0, cpus = 0;
  if (sched_getaffinity(0, sizeof mask, mask) >= 0)
    for (uint32_t cpu = 0; cpu < MaxCpus; ++cpu) {
      if (!(mask[cpu / 8] >> cpu % 8 & 1))
        continue;
      ++cpus;
      int64_t core = firstSibling(cpu);
      cores += !(seen[core / 8] >> core % 8 & 1);
      seen[core / 8] |= (uint8_t)(1u << core % 8);
    }
  cpus = quotaOr(cpus ? cpus : 1);
  *logical = cpus;
  return cores < 1 ? 1 : cores < cpus ? cores : cpus;
}

/* Caches are numbered; the level of each is in a file beside its size. */
uint64_t latheCacheBytes(int64_t wanted) {
  for (uint32_t index = 1; index < 8; ++index) {
    char path[96], text[64];
    int64_t level, size;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/level", index);
    if (!readText(path, text, sizeof text))
      return 0;
    parseNumber(text, &level);
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%u/size", index);
    if (level != wanted || !readText(path, text, sizeof text))
      continue;
    const char *unit = parseNumber(text, &size);
    return size <= 0 || size > INT32_MAX ? 0 : (uint64_t)size * (*unit == 'K' ? 1 << 10 : *unit == 'M' ? 1 << 20 : 1);
  }
  return 0;
}
