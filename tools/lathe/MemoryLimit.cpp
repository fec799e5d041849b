//===- MemoryLimit.cpp - No more memory than there is ----------------------===//
#include "MemoryLimit.h"
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <sys/resource.h>

// A sanitizer's shadow memory counts as data of the process and is far larger than any memory.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define LATHE_HAS_SHADOW_MEMORY
#endif
#endif

#ifndef LATHE_HAS_SHADOW_MEMORY
/// What can be had without taking it from others, swap included.
static std::optional<uint64_t> availableBytes() {
  std::ifstream file("/proc/meminfo");
  uint64_t total = 0, value;
  bool found = false;
  for (std::string key, rest; file >> key >> value && std::getline(file, rest);)
    if (key == "MemAvailable:" || key == "SwapFree:") {
      total += value * 1024;
      found |= key == "MemAvailable:";
    }
  return found ? std::optional<uint64_t>(total) : std::nullopt;
}

/// What the control group leaves: its limit less what it uses; nothing where there is no limit.
static std::optional<uint64_t> groupBytes() {
  uint64_t limit, used;
  std::ifstream limits("/sys/fs/cgroup/memory.max"), usage("/sys/fs/cgroup/memory.current");
  if (!(limits >> limit) || !(usage >> used)) // "max" is no number
    return std::nullopt;
  return limit - std::min(limit, used);
}
#endif

void lathe::tool::limitMemory() {
#ifndef LATHE_HAS_SHADOW_MEMORY
  std::optional<uint64_t> available = availableBytes(), group = groupBytes();
  rlimit limit;
  if (!available || getrlimit(RLIMIT_DATA, &limit))
    return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_cur, std::min(*available, group.value_or(UINT64_MAX)));
  setrlimit(RLIMIT_DATA, &limit);
#endif
}
