/*===- Arena.h - Where temporaries lie --------------------------------------===*/
#ifndef LATHE_RUNTIME_ARENA_H
#define LATHE_RUNTIME_ARENA_H

#include "lathe/Artifact/Format.h"

typedef struct {
  uint64_t bytes;
  uint32_t first, last; /* steps, both included */
  uint64_t offset;      /* the result */
} LatheArenaItem;

/* Places items so that those alive together do not overlap; returns the bytes needed, UINT64_MAX on overflow. `order` is
 * room for `count` indices. */
uint64_t latheLayOut(LatheArenaItem *items, uint32_t count, uint32_t *order);

#endif /* LATHE_RUNTIME_ARENA_H */
