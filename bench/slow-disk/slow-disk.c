// Preloaded (LD_PRELOAD) into a process, it makes each sync of a file take longer by SLOW_DISK_MS milliseconds, as a slow
// card or a busy disk does. Built and used by slow-disk.ts.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static void wait(void) {
  static long ms = -1;
  if (ms < 0) {
    const char *set = getenv("SLOW_DISK_MS");
    ms = set == NULL ? 0 : atol(set);
  }
  struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
  while (nanosleep(&left, &left) != 0) {
  }
}

#define NEXT(name)                                             \
  static int (*next)(int);                                     \
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, #name); \
  if (next == NULL) abort();

int fsync(int fd) {
  NEXT(fsync)
  wait();
  return next(fd);
}

int fdatasync(int fd) {
  NEXT(fdatasync)
  wait();
  return next(fd);
}
