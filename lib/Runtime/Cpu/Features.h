/*===- Features.h - What this machine can execute ---------------------------===*/
#ifndef LATHE_RUNTIME_CPU_FEATURES_H
#define LATHE_RUNTIME_CPU_FEATURES_H

#include <stdint.h>

/* The highest LatheLevel whose instructions the processor has and the system saves the registers of. */
uint32_t latheMachineLevel(void);
/* Whether the system lets this process use tile registers (LATHE_LEVEL_AVX512_AMX), which it is asked for: where it does, threads that run
   signal handlers need larger stacks for them, so only who has code that uses them asks. */
int latheMayUseTiles(void);
/* What a level stands for, for messages: "AVX2, FMA and F16C". */
const char *latheLevelName(uint32_t level);

#endif /* LATHE_RUNTIME_CPU_FEATURES_H */
