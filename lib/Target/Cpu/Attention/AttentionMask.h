//===- AttentionMask.h - Keys that a score region masks out ----------------===//
#ifndef LATHE_TARGET_CPU_ATTENTIONMASK_H
#define LATHE_TARGET_CPU_ATTENTIONMASK_H

#include "Attention.h"

namespace lathe::cpu {

/// Fills in shape.lower and shape.upper from comparisons of key and query positions under which the score is -inf.
void findKeyBounds(AttentionShape &shape, const lower::BodyInfo &info);

} // namespace lathe::cpu

#endif // LATHE_TARGET_CPU_ATTENTIONMASK_H
