//===- EmulatedInstructions.cpp - GPU instructions on the CPU --------------===//

#include "Emulator.h"
#include "llvm/ADT/StringRef.h"
#include <cmath>

using namespace lathe::emulator;
using llvm::StringRef;

static unsigned warp() { return block->current->id / 32; }
static unsigned lane() { return block->current->id % 32; }
static unsigned warpSize() { return std::min(32u, block->threads - warp() * 32); }

static Semantics special(StringRef name) {
  return llvm::StringSwitch<Semantics>(name)
      .Case("tid.x", [](const uint64_t *, uint64_t *r) { *r = block->current->id; })
      .Case("ctaid.x", [](const uint64_t *, uint64_t *r) { *r = block->index[0]; })
      .Case("ctaid.y", [](const uint64_t *, uint64_t *r) { *r = block->index[1]; })
      .Case("ctaid.z", [](const uint64_t *, uint64_t *r) { *r = block->index[2]; })
      .Case("nctaid.x", [](const uint64_t *, uint64_t *r) { *r = block->grid[0]; })
      .Case("cluster.ctarank", [](const uint64_t *, uint64_t *r) { *r = block->index[0] % block->cluster; })
      .Case("cluster.nctarank", [](const uint64_t *, uint64_t *r) { *r = block->cluster; })
      .Case("ntid.x", [](const uint64_t *, uint64_t *r) { *r = block->threads; })
      .Default(nullptr);
}

enum class Shuffle { Xor, Up, From };

static Semantics shuffle(Shuffle kind) {
  return [kind](const uint64_t *a, uint64_t *r) {
    const Meeting::Words &all = block->meetWarp("shuffle of warp", a[1], warpSize());
    unsigned amount = unsigned(a[2]), from = amount;
    if (kind == Shuffle::Xor)
      from = lane() ^ amount;
    if (kind == Shuffle::Up)
      from = lane() < amount ? lane() : lane() - amount;
    *r = all[from].empty() ? a[1] : all[from][0];
  };
}

static void matchAny(const uint64_t *a, uint64_t *r) {
  const Meeting::Words &all = block->meetWarp("match of warp", a[1], warpSize());
  *r = 0;
  for (unsigned i = 0; i < 32; ++i)
    *r |= uint64_t(!all[i].empty() && all[i][0] == a[1]) << i;
}

static void ballot(const uint64_t *a, uint64_t *r) {
  const Meeting::Words &all = block->meetWarp("vote of warp", a[1], warpSize());
  *r = 0;
  for (unsigned i = 0; i < 32; ++i)
    *r |= uint64_t(!all[i].empty() && (all[i][0] & 1)) << i;
}

/// Functions of f32 numbers, by what the intrinsic's name begins with.
static Semantics arithmetic(StringRef name) {
  auto one = [](float (*f)(float)) -> Semantics {
    return [f](const uint64_t *a, uint64_t *r) { *r = fromFloat(f(asFloat(a[0]))); };
  };
  auto round = [](double f(double)) -> Semantics {
    return [f](const uint64_t *a, uint64_t *r) { *r = fromDouble(f(asDouble(a[0]))); };
  };
  struct Row {
    const char *prefix;
    Semantics instruction;
  };
  static const Row rows[] = {
      {"ex2.approx", one(exp2f)},
      {"lg2.approx", one(log2f)},
      {"sin.approx", one(sinf)},
      {"cos.approx", one(cosf)},
      {"sqrt.rn.d", round(sqrt)},
      {"sqrt", one(sqrtf)},
      {"rsqrt.approx.ftz.d", round([](double x) { return 1 / sqrt(x); })},
      {"rsqrt.approx.d", round([](double x) { return 1 / sqrt(x); })},
      {"rsqrt", one([](float x) { return 1.0f / sqrtf(x); })},
      {"rcp.approx.ftz.d", round([](double x) { return 1 / x; })},
      {"rcp.approx", one([](float x) { return 1.0f / x; })},
      {"rcp.rn.d", round([](double x) { return 1 / x; })},
      {"rcp", one([](float x) { return 1.0f / x; })},
      {"fabs.d", round(fabs)},
      {"fabs", one(fabsf)},
      {"floor.d", round(floor)},
      {"floor", one(floorf)},
      {"ceil.d", round(ceil)},
      {"ceil", one(ceilf)},
      {"trunc.d", round(trunc)},
      {"trunc", one(truncf)},
      {"round.d", round(nearbyint)},
      {"round", one(nearbyintf)},
      {"saturate", one([](float x) { return fminf(fmaxf(x, 0), 1); })},
      {"fma.rn.d", [](const uint64_t *a, uint64_t *r) { *r = fromDouble(fma(asDouble(a[0]), asDouble(a[1]), asDouble(a[2]))); }},
      {"fma", [](const uint64_t *a, uint64_t *r) { *r = fromFloat(fmaf(asFloat(a[0]), asFloat(a[1]), asFloat(a[2]))); }},
      {"mul.rn.d", [](const uint64_t *a, uint64_t *r) { *r = fromDouble(asDouble(a[0]) * asDouble(a[1])); }},
      {"mul.r", [](const uint64_t *a, uint64_t *r) { *r = fromFloat(asFloat(a[0]) * asFloat(a[1])); }},
      {"add.rn.d", [](const uint64_t *a, uint64_t *r) { *r = fromDouble(asDouble(a[0]) + asDouble(a[1])); }},
      {"add.r", [](const uint64_t *a, uint64_t *r) { *r = fromFloat(asFloat(a[0]) + asFloat(a[1])); }},
      {"sub.rn.d", [](const uint64_t *a, uint64_t *r) { *r = fromDouble(asDouble(a[0]) - asDouble(a[1])); }},
      {"sub.r", [](const uint64_t *a, uint64_t *r) { *r = fromFloat(asFloat(a[0]) - asFloat(a[1])); }},
      {"div", [](const uint64_t *a, uint64_t *r) { *r = fromFloat(asFloat(a[0]) / asFloat(a[1])); }},
      {"fmax.d", [](const uint64_t *a, uint64_t *r) { *r = fromDouble(fmax(asDouble(a[0]), asDouble(a[1]))); }},
      {"fmin.d", [](const uint64_t *a, uint64_t *r) { *r = fromDouble(fmin(asDouble(a[0]), asDouble(a[1]))); }},
      {"fmax", [](const uint64_t *a, uint64_t *r) { *r = fromFloat(fmaxf(asFloat(a[0]), asFloat(a[1]))); }},
      {"fmin", [](const uint64_t *a, uint64_t *r) { *r = fromFloat(fminf(asFloat(a[0]), asFloat(a[1]))); }},
      {"mulhi.ui", [](const uint64_t *a, uint64_t *r) { *r = (a[0] & 0xffffffff) * (a[1] & 0xffffffff) >> 32; }},
      {"mulhi.i", [](const uint64_t *a, uint64_t *r) { *r = uint64_t(int64_t(int32_t(a[0])) * int32_t(a[1])) >> 32; }},
      {"f2i.r", [](const uint64_t *a, uint64_t *r) { *r = uint32_t(int32_t(nearbyintf(asFloat(a[0])))); }},
      {"f2ui.rz", [](const uint64_t *a, uint64_t *r) { *r = uint32_t(fminf(fmaxf(asFloat(a[0]), 0), 0x1.fffffep31f)); }},
      {"i2f.r", [](const uint64_t *a, uint64_t *r) { *r = fromFloat(float(int32_t(a[0]))); }},
      {"d2i.rn", [](const uint64_t *a, uint64_t *r) { *r = uint32_t(int32_t(nearbyint(asDouble(a[0])))); }},
      {"d2i.lo", [](const uint64_t *a, uint64_t *r) { *r = a[0] & 0xffffffff; }},
      {"d2i.hi", [](const uint64_t *a, uint64_t *r) { *r = a[0] >> 32; }},
      {"lohi.i2d", [](const uint64_t *a, uint64_t *r) { *r = (a[0] & 0xffffffff) | a[1] << 32; }},
      {"bitcast.f2i", [](const uint64_t *a, uint64_t *r) { *r = a[0]; }},
      {"bitcast.i2f", [](const uint64_t *a, uint64_t *r) { *r = a[0]; }},
  };
  // fma with saturation and other roundings: libdevice's exp uses them to split a number.
  if (name.starts_with("fma.rn.sat") || name.starts_with("fma.rn.ftz.sat"))
    return [](const uint64_t *a, uint64_t *r) {
      *r = fromFloat(fminf(fmaxf(fmaf(asFloat(a[0]), asFloat(a[1]), asFloat(a[2])), 0), 1));
    };
  if (name.starts_with("fma.rm"))
    return [](const uint64_t *a, uint64_t *r) {
      double exact = double(asFloat(a[0])) * asFloat(a[1]) + asFloat(a[2]);
      float f = float(exact);
      *r = fromFloat(f > exact ? nextafterf(f, -INFINITY) : f);
    };
  for (const Row &row : rows)
    if (name.starts_with(row.prefix))
      return row.instruction;
  return nullptr;
}

static Semantics intrinsic(StringRef name) {
  if (name.consume_front("read.ptx.sreg."))
    return special(name);
  if (name == "barrier0")
    return [](const uint64_t *, uint64_t *) { block->meet("barrier", 0, block->current->id, block->threads, {}); };
  if (name == "barrier.cluster.arrive.aligned")
    return [](const uint64_t *, uint64_t *) {};
  if (name == "barrier.cluster.wait.aligned")
    return [](const uint64_t *, uint64_t *) {
      if (block->cluster > 1)
        company->meet();
      else
        block->meet("barrier", 0, block->current->id, block->threads, {});
    };
  if (name == "shfl.sync.bfly.i32")
    return shuffle(Shuffle::Xor);
  if (name == "shfl.sync.up.i32")
    return shuffle(Shuffle::Up);
  if (name == "match.any.sync.i32")
    return matchAny;
  if (name == "vote.ballot.sync")
    return ballot;
  if (name == "shfl.sync.idx.i32")
    return shuffle(Shuffle::From);
  return arithmetic(name);
}

//===----------------------------------------------------------------------===//
// Inline assembly
//===----------------------------------------------------------------------===//

static MBarrier &barrierAt(uint64_t address) { return block->barriers[address & 0xffffffff]; }

/// Where a byte of a tile lies in shared memory.
static char *placeInTile(const TensorMap &map, uint64_t shared, int64_t at) {
  uint64_t place = (shared & 0xffffffff) + at;
  return reinterpret_cast<char *>(map.swizzle == 3 ? place ^ (place >> 7 & 7) << 4 : place);
}

/// Copies a box between global and shared memory, in the layout of the 128-byte swizzle; what lies outside reads as 0.
static int64_t copyBox(const TensorMap &map, uint64_t shared, const int64_t *start, bool load) {
  int64_t total = map.elementBytes;
  for (int64_t i = 0; i < map.rank; ++i)
    total *= map.box[i];
  for (int64_t at = 0; at < total; at += map.elementBytes) {
    int64_t rest = at / map.elementBytes, offset = 0;
    bool inside = true;
    for (int64_t i = 0; i < map.rank; ++i) {
      int64_t index = start[i] + rest % map.box[i];
      rest /= map.box[i];
      inside &= index >= 0 && index < map.dims[i];
      offset += index * (i ? map.strides[i] : map.elementBytes);
    }
    char *s = placeInTile(map, shared, at);
    if (load && inside)
      memcpy(s, map.base + offset, map.elementBytes);
    else if (load)
      memset(s, 0, map.elementBytes);
    else if (inside)
      memcpy(map.base + offset, s, map.elementBytes);
  }
  return total;
}

/// Bytes that a bulk copy has brought: the barrier in the same place of each block that gets them is told.
static void arriveBytes(uint64_t shared, int64_t bytes, uint64_t barrier, uint64_t blocks) {
  auto tell = [&](MBarrier &b) {
    b.bytes -= bytes;
    b.settle();
  };
  if (block->cluster == 1)
    return tell(barrierAt(barrier));
  for (unsigned i = 0; i < block->cluster; ++i)
    if (blocks >> i & 1) {
      company->send(shared, bytes, i);
      tell(company->barrierOf(barrier, i));
    }
}

static void sendWord(const uint64_t *a, uint64_t *) { // place, word, barrier, rank
  bool alone = block->cluster == 1;
  MBarrier &told = alone ? barrierAt(a[2]) : company->barrierOf(a[2], unsigned(a[3]));
  if (alone)
    memcpy(reinterpret_cast<char *>(a[0] & 0xffffffff), &a[1], sizeof a[1]);
  else
    company->write(a[0], a[1], unsigned(a[3]));
  told.bytes -= sizeof a[1];
  told.settle();
}

static uint64_t ownBit() { return 1u << block->index[0] % block->cluster; }

static Semantics bulkLoad(unsigned rank, bool isShared) { // shared, map, coordinates, barrier, blocks
  return [rank, isShared](const uint64_t *a, uint64_t *) {
    int64_t start[5];
    for (unsigned i = 0; i < rank; ++i)
      start[i] = int32_t(a[2 + i]);
    int64_t bytes = copyBox(*reinterpret_cast<const TensorMap *>(a[1]), a[0], start, true);
    arriveBytes(a[0], bytes, a[2 + rank], isShared ? a[3 + rank] : ownBit());
  };
}

/// Places of the window one after the other, from a place on: pixels that lie outside of the image, and images behind the last, read as 0.
static int64_t copyWindows(const TensorMap &map, uint64_t shared, const int64_t *start, const uint64_t *offsets) {
  int64_t place[5], bytes = map.box[0] * map.elementBytes;
  std::copy(start, start + map.rank, place);
  for (int64_t p = 0; p < map.box[1]; ++p) {
    int64_t from = 0;
    bool inside = true;
    for (int64_t i = 1; i < map.rank; ++i) {
      int64_t index = place[i] + (i <= map.pixels ? int64_t(offsets[i - 1] & 0xffff) : 0);
      inside &= index >= 0 && index < map.dims[i];
      from += index * map.strides[i];
    }
    for (int64_t c = 0; c < bytes; c += map.elementBytes) {
      int64_t channel = place[0] + c / map.elementBytes;
      char *s = placeInTile(map, shared, p * bytes + c);
      if (inside && channel < map.dims[0])
        memcpy(s, map.base + from + channel * map.elementBytes, map.elementBytes);
      else
        memset(s, 0, map.elementBytes);
    }
    int64_t i = 1;
    for (; i <= map.pixels; ++i) {
      place[i] += map.steps[i - 1];
      if (place[i] < map.dims[i] + map.upper[i - 1])
        break;
      place[i] = map.lower[i - 1];
    }
    place[i] += i > map.pixels;
  }
  return map.box[1] * bytes;
}

static Semantics windowLoad(unsigned rank, bool isShared) { // shared, map, coordinates, barrier, offsets, blocks
  return [rank, isShared](const uint64_t *a, uint64_t *) {
    int64_t start[5];
    for (unsigned i = 0; i < rank; ++i)
      start[i] = int32_t(a[2 + i]);
    const TensorMap &map = *reinterpret_cast<const TensorMap *>(a[1]);
    int64_t bytes = copyWindows(map, a[0], start, a + 3 + rank);
    arriveBytes(a[0], bytes, a[2 + rank], isShared ? a[3 + rank + map.pixels] : ownBit());
  };
}

static Semantics bulkStore(unsigned rank) { // map, coordinates, shared
  return [rank](const uint64_t *a, uint64_t *) {
    int64_t start[5];
    for (unsigned i = 0; i < rank; ++i)
      start[i] = int32_t(a[1 + i]);
    copyBox(*reinterpret_cast<const TensorMap *>(a[0]), a[1 + rank], start, false);
  };
}

static Semantics mbarrier(StringRef text) {
  if (text.contains("mbarrier.init"))
    return [](const uint64_t *a, uint64_t *) {
      MBarrier &b = barrierAt(a[0]);
      b = MBarrier();
      b.expected = b.pending = int32_t(a[1]);
    };
  if (text.contains("mbarrier.arrive.expect_tx"))
    return [](const uint64_t *a, uint64_t *) {
      MBarrier &b = barrierAt(a[0]);
      b.bytes += int32_t(a[1]);
      --b.pending;
      b.settle();
    };
  if (text.contains("mbarrier.try_wait"))
    return [](const uint64_t *a, uint64_t *) {
      MBarrier *b = &barrierAt(a[0]);
      unsigned parity = a[1] & 1;
      block->wait([&] { return "mbarrier " + std::to_string(a[0] & 0xffff) + " phase " + std::to_string(parity); },
                  [&] { return (b->phase & 1) != parity; });
    };
  if (text.contains("mbarrier.arrive"))
    return [](const uint64_t *a, uint64_t *) {
      MBarrier &b = barrierAt(a[0]);
      --b.pending;
      b.settle();
    };
  return nullptr;
}

/// Blocks that run together: a counter, and waiting until it has come so far.
static Semantics gridBarrier(StringRef text) {
  if (text.contains("red.release.gpu"))
    return [](const uint64_t *a, uint64_t *) { ++*reinterpret_cast<uint32_t *>(a[0]); };
  return [](const uint64_t *a, uint64_t *) {
    auto *counter = reinterpret_cast<volatile uint32_t *>(a[0]);
    uint32_t target = uint32_t(a[1]);
    block->wait([&] { return "other blocks, for " + std::to_string(target); }, [&] { return *counter >= target; });
  };
}

/// As sm_90's code for div.full.f32 has it: a product with the reciprocal, both scaled where the reciprocal alone would leave the range.
static float fullQuotient(float x, float y) {
  float scale = fabsf(y) > 0x1p126f ? 0.25f : fabsf(y) < 0x1p-126f ? 0x1p24f : 1.0f;
  return x * scale * (1.0f / (y * scale));
}

static Semantics assembly(StringRef text) {
  if (text.empty()) // an order for what stands around it
    return [](const uint64_t *, uint64_t *) {};
  if (text.starts_with("div.full.f32"))
    return [](const uint64_t *a, uint64_t *r) { *r = fromFloat(fullQuotient(asFloat(a[0]), asFloat(a[1]))); };
  if (text.contains("st.async.shared::cluster"))
    return sendWord;
  if (text.contains("mapa.shared::cluster") && text.contains("mbarrier.arrive"))
    return [](const uint64_t *a, uint64_t *) {
      MBarrier &b = block->cluster > 1 ? company->barrierOf(a[0], unsigned(a[1])) : barrierAt(a[0]);
      --b.pending;
      b.settle();
    };
  if (text.contains("mapa.shared::cluster"))
    return [](const uint64_t *a, uint64_t *r) {
      if (block->cluster > 1)
        *r = company->read(a[0], unsigned(a[1]));
      else
        memcpy(r, reinterpret_cast<const char *>(a[0] & 0xffffffff), sizeof *r);
    };
  if (text.contains("red.release.gpu") || text.contains("ld.acquire.gpu"))
    return gridBarrier(text);
  if (text.contains("mbarrier."))
    if (Semantics i = mbarrier(text); i && !text.contains("cp.async.bulk"))
      return i;
  for (unsigned rank = 1; rank <= 5; ++rank) {
    std::string dims = "cp.async.bulk.tensor." + std::to_string(rank) + "d.";
    if (text.contains(dims + "shared::cluster.global.im2col"))
      return windowLoad(rank, text.contains("multicast"));
    if (text.contains(dims + "shared"))
      return bulkLoad(rank, text.contains("multicast"));
    if (text.contains(dims + "global"))
      return bulkStore(rank);
  }
  if (text.contains("elect.sync"))
    return [](const uint64_t *, uint64_t *r) { *r = lane() == 0; };
  if (text.starts_with("bar.sync") || text.starts_with("bar.arrive")) {
    unsigned threads = 0;
    text.rsplit(' ').second.drop_back().getAsInteger(10, threads);
    bool arrive = text.starts_with("bar.arrive");
    return [threads, arrive](const uint64_t *a, uint64_t *) {
      if (arrive)
        block->meetings[{"bar", a[0]}].arrive(block->current->id, threads, {});
      else
        block->meet("bar", a[0], block->current->id, threads, {});
    };
  }
  if (text.starts_with("bar.warp.sync"))
    return [](const uint64_t *, uint64_t *) { block->meetWarp("barrier of warp", {}, warpSize()); };
  for (const char *nothing : {"griddepcontrol", "fence.", "setmaxnreg", "prefetch", "cp.async.bulk.commit", "cp.async.bulk.wait",
                              "wgmma.fence", "wgmma.commit", "wgmma.wait", "cp.async.commit", "cp.async.wait"})
    if (text.contains(nothing)) // those with tied registers pass them through (see replaceCall)
      return [](const uint64_t *, uint64_t *) {};
  if (text.starts_with("cp.async")) { // 4, 8 or 16 bytes, zero-filled past the source's length where there is one
    uint64_t room = text.contains("], 4") ? 4 : text.contains("], 8") ? 8 : 16;
    return [room, whole = !text.contains("$2")](const uint64_t *a, uint64_t *) {
      char *to = reinterpret_cast<char *>(a[0] & 0xffffffff);
      uint64_t bytes = whole ? room : a[2] & 0xffffffff;
      memset(to, 0, room);
      memcpy(to, reinterpret_cast<const char *>(a[1]), bytes);
    };
  }
  // libdevice has some as assembly: sub.rn.f32 is the intrinsic sub.rn.f.
  StringRef name = text.take_until([](char c) { return c == ' '; });
  for (auto [suffix, type] : {std::pair(".f32", ".f"), std::pair(".f64", ".d")})
    if (StringRef stem = name; stem.consume_back(suffix))
      if (Semantics i = arithmetic((stem + type).str()))
        return i;
  if (text.starts_with("tanh.approx"))
    return [](const uint64_t *a, uint64_t *r) { *r = fromFloat(tanhf(asFloat(a[0]))); };
  if (Semantics i = float8InstructionFor(text.str()))
    return i;
  return tensorCoreInstructionFor(text.str());
}

Semantics lathe::emulator::instructionFor(const std::string &text) {
  StringRef name(text);
  return name.consume_front("llvm.nvvm.") ? intrinsic(name) : assembly(name);
}
