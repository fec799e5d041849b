/* A dlopen to preload that finds no LAPACK. */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

void *dlopen(const char *name, int flags) {
  if (name && (strstr(name, "lapack") || strstr(name, "blas")))
    return NULL;
  void *(*next)(const char *, int);
  *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
  return next(name, flags);
}
