/*===- Libc.h - What the runtime takes from libc ----------------------------===*\
|*
|* The whole list: an artifact links against a stub of libc.so.6 that defines these names (Stub/libc.c) and no others.
|* Declared here and not taken from system headers, so that the runtime compiles for every target machine without a
|* sysroot. The types are those of 64-bit Linux.
|*
\*===----------------------------------------------------------------------===*/
#ifndef LATHE_RUNTIME_LIBC_H
#define LATHE_RUNTIME_LIBC_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

void *malloc(size_t);
void *calloc(size_t, size_t);
void *aligned_alloc(size_t, size_t);
void free(void *);
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
size_t strlen(const char *);
int strcmp(const char *, const char *);
int snprintf(char *, size_t, const char *, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *, size_t, const char *, va_list);

int pthread_create(unsigned long *thread, const void *attributes, void *(*start)(void *), void *argument);
int pthread_join(unsigned long thread, void **result);
int sched_getaffinity(int pid, size_t bytes, void *mask);
int sched_yield(void);
long syscall(long number, ...);

struct LatheTimespec {
  int64_t seconds, nanoseconds;
};
int clock_gettime(int clock, void *timespec);

int open(const char *path, int flags, ...);
long read(int fd, void *to, size_t bytes);
int close(int fd);
void *mmap(void *address, size_t bytes, int protection, int flags, int fd, long offset);
int munmap(void *address, size_t bytes);
int madvise(void *address, size_t bytes, int advice);
long lseek(int fd, long offset, int whence);

void *dlopen(const char *path, int flags);
void *dlsym(void *library, const char *name);
int dlclose(void *library);
char *dlerror(void);
struct LatheDlInfo {
  const char *fileName;
  void *fileBase;
  const char *symbolName;
  void *symbolAddress;
};
int dladdr(const void *address, void *info);

enum { LATHE_CLOCK_MONOTONIC = 1, LATHE_O_RDONLY = 0, LATHE_O_CLOEXEC = 02000000 };
enum { LATHE_PROT_READ = 1, LATHE_MAP_PRIVATE = 2, LATHE_MADV_HUGEPAGE = 14, LATHE_RTLD_NOW = 2 };

static inline int64_t latheNow(void) {
  struct LatheTimespec t = {0, 0};
  clock_gettime(LATHE_CLOCK_MONOTONIC, &t);
  return t.seconds * 1000000000 + t.nanoseconds;
}

/* Tells the processor that this is a loop that waits. */
static inline void latheRelax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#elif defined(__riscv)
  __asm__ volatile(".word 0x0100000f"); /* pause: nothing where it is not known */
#endif
}

#endif /* LATHE_RUNTIME_LIBC_H */
