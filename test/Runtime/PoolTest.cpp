//===- PoolTest.cpp - Fork and join ----------------------------------------===//
extern "C" {
#include "../../lib/Runtime/Cpu/Pool.h"
}
#include "gtest/gtest.h"
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {
struct Job {
  std::vector<std::atomic<int>> seen;
  std::atomic<uint32_t> highestThread{0};
  explicit Job(size_t pieces) : seen(pieces) {}
};
} // namespace

static void count(void *argument, uint32_t piece, uint32_t thread) {
  Job *job = static_cast<Job *>(argument);
  job->seen.at(piece) += 1;
  for (uint32_t old = job->highestThread; thread > old && !job->highestThread.compare_exchange_weak(old, thread);)
    ;
}

TEST(Pool, everyPieceRunsOnceInManyRegions) {
  for (uint32_t threads : {1u, 2u, 3u, 8u}) {
    LathePool *pool = lathePoolCreate(threads, 2);
    ASSERT_NE(pool, nullptr);
    for (int round = 0; round < 3000; ++round) {
      uint32_t parts = 1 + round % (threads + 2), pieces = 1 + round % 7, used = std::min(parts, threads);
      Job job(used * pieces);
      lathePoolRun(pool, parts, pieces, count, &job);
      for (auto &seen : job.seen)
        ASSERT_EQ(seen, 1);
      ASSERT_LT(job.highestThread, used);
    }
    lathePoolDestroy(pool);
  }
}

TEST(Pool, workersWakeAfterTheySlept) {
  LathePool *pool = lathePoolCreate(2, 2);
  for (int round = 0; round < 5; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    Job job(8);
    lathePoolRun(pool, 2, 4, count, &job);
    for (auto &seen : job.seen)
      ASSERT_EQ(seen, 1);
  }
  lathePoolDestroy(pool);
}

TEST(Pool, idlePoolsEndWhileTheyRunAndWhileTheySleep) {
  for (int milliseconds : {0, 0, 1, 3}) {
    LathePool *pool = lathePoolCreate(4, 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    lathePoolDestroy(pool);
  }
  lathePoolDestroy(nullptr);
}

TEST(Pool, countsAtLeastOneCore) {
  uint32_t logical = 0, cores = latheCountCores(&logical);
  EXPECT_GE(cores, 1u);
  EXPECT_LE(cores, logical);
}
