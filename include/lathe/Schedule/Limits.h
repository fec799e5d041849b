//===- Limits.h - Bounds on the code of a kernel ---------------------------===//
#ifndef LATHE_SCHEDULE_LIMITS_H
#define LATHE_SCHEDULE_LIMITS_H

namespace lathe::schedule {

/// Ways that one kernel may run in where nobody says another number: all that a row program of open length gains by.
constexpr unsigned usualSchedules = 24;

} // namespace lathe::schedule

#endif // LATHE_SCHEDULE_LIMITS_H
