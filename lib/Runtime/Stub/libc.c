/*===- libc.c - Stands in for libc.so.6 when artifacts are linked -----------===*\
|*
|* Names only: the linker takes from it that these symbols come from libc.so.6. Unversioned, so any glibc from 2.34 on (the
|* first with threads and dlopen inside libc.so.6) satisfies them; but for memcpy, of which x86_64's has two (x86_64.map).
|*
\*===----------------------------------------------------------------------===*/
#define PROVIDE(name)                                                                                                          \
  void name(void);                                                                                                             \
  void name(void) {}

PROVIDE(aligned_alloc)
PROVIDE(calloc)
PROVIDE(clock_gettime)
PROVIDE(close)
PROVIDE(dladdr)
PROVIDE(dlclose)
PROVIDE(dlerror)
PROVIDE(dlopen)
PROVIDE(dlsym)
PROVIDE(free)
PROVIDE(lseek)
PROVIDE(madvise)
PROVIDE(malloc)
PROVIDE(memcmp)
PROVIDE(memcpy)
PROVIDE(memmove)
PROVIDE(memset)
PROVIDE(mmap)
PROVIDE(munmap)
PROVIDE(open)
PROVIDE(pthread_create)
PROVIDE(pthread_join)
PROVIDE(read)
PROVIDE(sched_getaffinity)
PROVIDE(sched_yield)
PROVIDE(snprintf)
PROVIDE(strcmp)
PROVIDE(strlen)
PROVIDE(syscall)
PROVIDE(vsnprintf)
