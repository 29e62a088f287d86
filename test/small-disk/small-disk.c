// Preloaded (LD_PRELOAD) into a process, it makes one folder behave as on a small disk of its own: a write that makes a
// file longer than there is room for fails with ENOSPC, and statfs tells of that disk. How much room there is for all files
// of the folder together stands in a file, which a test may rewrite at any time, as others do who fill a disk or leave it.
// Built and used by test/support/small-disk.ts.
//
// What makes a file longer without writing (fallocate, a mapping) is not looked at: neither SQLite nor the service does so
// there beyond the 32 KiB of the index of a write-ahead log, and that one it writes a byte to in each page.
//
// What has room goes on to the next library (power-loss.c, where it is preloaded behind this one) or to the C library.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { BLOCK = 4096 };

static char folder[PATH_MAX];
static const char *room_file;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void begin(void) {
  const char *of = getenv("SMALL_DISK_FOLDER");
  room_file = getenv("SMALL_DISK_ROOM");
  if (of != NULL && room_file != NULL) snprintf(folder, sizeof folder, "%s", of);
}

static bool is_inside(const char *path) {
  size_t length = strlen(folder);
  return length > 0 && strncmp(path, folder, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static int64_t rounded(int64_t bytes) { return (bytes + BLOCK - 1) / BLOCK * BLOCK; }

/** Bytes that the files of the folder may have together. */
static int64_t room(void) {
  char text[32] = "";
  int fd = syscall(SYS_openat, AT_FDCWD, room_file, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) abort();
  if (syscall(SYS_read, fd, text, sizeof text - 1) < 0) abort();
  syscall(SYS_close, fd);
  return atoll(text);
}

static int64_t used(void) {
  int64_t sum = 0;
  DIR *files = opendir(folder);
  if (files == NULL) return 0;
  for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
    struct stat file;
    if (fstatat(dirfd(files), entry->d_name, &file, 0) == 0 && S_ISREG(file.st_mode)) sum += rounded(file.st_size);
  }
  closedir(files);
  return sum;
}

/** Whether the file may become so long; the mutex is held until the write is done, so that two share no room. */
static bool may_reach(int fd, int64_t end) {
  struct stat file;
  if (folder[0] == '\0' || fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || end <= rounded(file.st_size)) return true;
  char link[64], path[PATH_MAX] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof path - 1) < 0 || !is_inside(path)) return true;
  return used() + rounded(end) - rounded(file.st_size) <= room();
}

static int64_t total(const struct iovec *parts, int count) {
  return count == 0 ? 0 : (int64_t)parts[0].iov_len + total(parts + 1, count - 1);
}

static int64_t place_of(int fd) {
  struct stat file;
  if ((fcntl(fd, F_GETFL) & O_APPEND) && fstat(fd, &file) == 0) return file.st_size;
  return lseek(fd, 0, SEEK_CUR);
}

/** The same function as it is without this library. */
#define NEXT(name)                                                    \
  static __typeof__(&name) next;                                      \
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, #name);        \
  if (next == NULL) abort();

#define WHERE_ROOM(fd, end, call)               \
  pthread_mutex_lock(&mutex);                   \
  long result = -1;                             \
  if (may_reach(fd, end)) result = call;        \
  else errno = ENOSPC;                          \
  int error = errno;                            \
  pthread_mutex_unlock(&mutex);                 \
  errno = error;                                \
  return result;

// Pipes and sockets may block, and have no place.
static bool is_file(int fd) {
  struct stat file;
  return fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
}

ssize_t write(int fd, const void *bytes, size_t length) {
  NEXT(write)
  if (!is_file(fd)) return next(fd, bytes, length);
  WHERE_ROOM(fd, place_of(fd) + (int64_t)length, next(fd, bytes, length))
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  NEXT(writev)
  if (!is_file(fd)) return next(fd, parts, count);
  WHERE_ROOM(fd, place_of(fd) + total(parts, count), next(fd, parts, count))
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  NEXT(pwrite)
  WHERE_ROOM(fd, at + (int64_t)length, next(fd, bytes, length, at))
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return pwrite(fd, bytes, length, at); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  NEXT(pwritev)
  WHERE_ROOM(fd, at + total(parts, count), next(fd, parts, count, at))
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return pwritev(fd, parts, count, at); }
int ftruncate(int fd, off_t size) {
  NEXT(ftruncate)
  WHERE_ROOM(fd, size, next(fd, size))
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

int statfs(const char *path, struct statfs *disk) {
  int result = syscall(SYS_statfs, path, disk);
  char full[PATH_MAX];
  if (result != 0 || folder[0] == '\0' || realpath(path, full) == NULL || !is_inside(full)) return result;
  int64_t all = room(), taken = used();
  disk->f_bsize = BLOCK;
  disk->f_blocks = all / BLOCK;
  disk->f_bavail = disk->f_bfree = all > taken ? (all - taken) / BLOCK : 0;
  return 0;
}
int statfs64(const char *path, struct statfs64 *disk) { return statfs(path, (struct statfs *)disk); }
