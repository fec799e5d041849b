//===- PieceReader.cpp - Pieces of constants, made ahead --------------------===//
#include "PieceReader.h"

using namespace llvm;
using namespace lathe::artifact;

/// Pieces that are there or in the making, for each thread: the more, the longer one may take than the others.
static constexpr unsigned slotsPerThread = 4;

static size_t skipEmpty(ArrayRef<ByteSource> sources, size_t source) {
  while (source < sources.size() && sources[source].pieces == 0)
    ++source;
  return source;
}

PieceReader::PieceReader(ArrayRef<ByteSource> sources, unsigned threads)
    : sources(sources), slots(slotsPerThread * std::max(1u, threads)), source(skipEmpty(sources, 0)) {
  for (unsigned i = 1; i < threads; ++i)
    helpers.emplace_back([this] { helpAlong(); });
}

PieceReader::~PieceReader() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ends = true;
  }
  changed.notify_all();
  for (std::thread &helper : helpers)
    helper.join();
}

/// The next piece that nobody has begun. Under the lock.
PieceReader::Task PieceReader::begin() {
  Task task = {&sources[source], piece, &slots[begun++ % slots.size()]};
  task.slot->isMade = false;
  if (++piece == task.source->pieces) {
    piece = 0;
    source = skipEmpty(sources, source + 1);
  }
  return task;
}

void PieceReader::make(const Task &task) {
  ArrayRef<char> bytes = task.source->make(task.piece, task.slot->scratch);
  std::lock_guard<std::mutex> lock(mutex);
  task.slot->bytes = bytes;
  task.slot->isMade = true;
  changed.notify_all();
}

void PieceReader::helpAlong() {
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return ends || mayBegin(); });
    if (ends)
      return;
    Task task = begin();
    lock.unlock();
    make(task);
  }
}

ArrayRef<char> PieceReader::next() {
  std::unique_lock<std::mutex> lock(mutex);
  Slot &slot = slots[taken++ % slots.size()];
  if (begun < taken) {
    Task task = begin();
    lock.unlock();
    make(task);
    return slot.bytes;
  }
  changed.notify_all(); // the slot of the piece before is free
  changed.wait(lock, [&] { return slot.isMade; });
  return slot.bytes;
}
