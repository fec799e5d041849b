/*===- Features.h - What this machine can execute ---------------------------===*/
#ifndef LATHE_RUNTIME_CPU_FEATURES_H
#define LATHE_RUNTIME_CPU_FEATURES_H

#include <stdint.h>

/* The highest LatheLevel whose instructions the processor has and the system saves the registers of. */
uint32_t latheMachineLevel(void);
/* What a level stands for, for messages: "AVX2, FMA and F16C". */
const char *latheLevelName(uint32_t level);

#endif /* LATHE_RUNTIME_CPU_FEATURES_H */
