// Preloaded (LD_PRELOAD) into a process, it makes one folder behave as on a disk that can lose power: calls go through
// to the kernel as they are, and of every change that no fsync has covered it notes what was there before. After a
// SIGKILL test/support/crash/power-cut.ts takes back any part of these. Built and used by test/support/crash/lossy-disk.ts.
//
// Must stay true: a change is noted before it is made, in one write to a file that outlives the process, so a kill at
// any moment leaves nothing unnoted; what was synced is never taken back. What it cannot follow (writing through a
// mapping, sendfile, truncate by path) ends the process instead of going unseen.
//
// In the journal's folder, which is on the same file system and outlives processes until the power fails:
//   <inode>.file  a further link to the file, so that its content is at hand whatever becomes of its name
//   <inode>.undo  struct change and the bytes that were there, one after the other; begins anew when a sync covers all
//   names         lines about names made, removed and changed, and about syncs of folders
//   countdown     a number that each step (a change, a sync begun or ended) makes one less; at zero the process is killed
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { DESCRIPTORS_MAX = 65536, FILES_MAX = 4096, FOLDER = -1, CHANGED = 1, COVERED = 2, CUT = 3 };

/** Read by power-cut.ts: eight-byte numbers in the order of the machine. */
struct change {
  uint64_t kind;       // CHANGED, CUT (made shorter), or COVERED: all before position `offset` of this file has reached the disk
  uint64_t time_ns;    // of one clock for all files
  uint64_t offset;     // the bytes changed
  uint64_t length;
  uint64_t size;       // of the file before
  uint64_t saved;      // bytes that follow: those before, without what lay beyond the end
};

/** The descriptors stay open for ever: closing one would drop the locks that SQLite holds on the file. */
struct file {
  ino_t inode;
  int content, undo;
};

static char folder[PATH_MAX], journal[PATH_MAX];
static size_t folder_length;
static int turn = -1, names = -1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct file files[FILES_MAX];
static int file_count;
static int64_t *countdown;
/** By descriptor: 0 is not ours, FOLDER, or the place in `files` counted from 1. */
static _Atomic int tracked[DESCRIPTORS_MAX];

static void die(const char *what) {
  char text[256];
  int length = snprintf(text, sizeof text, "power-loss.c: %s (%s)\n", what, strerror(errno));
  syscall(SYS_write, 2, text, length);
  abort();
}

static int open_in_journal(const char *name, int flags) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/%s", journal, name);
  int fd = syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600);
  if (fd < 0) die("cannot open a file of the journal");
  return fd;
}

__attribute__((constructor)) static void begin(void) {
  const char *of = getenv("POWER_LOSS_FOLDER"), *to = getenv("POWER_LOSS_JOURNAL");
  if (of == NULL || to == NULL) return;
  snprintf(journal, sizeof journal, "%s", to);
  turn = open_in_journal("turn", O_RDWR | O_CREAT);
  names = open_in_journal("names", O_RDWR | O_CREAT | O_APPEND);
  int fd = open_in_journal("countdown", O_RDWR | O_CREAT);
  if (syscall(SYS_ftruncate, fd, sizeof *countdown) != 0) die("cannot begin to count");
  countdown = (int64_t *)syscall(SYS_mmap, NULL, sizeof *countdown, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (countdown == MAP_FAILED) die("cannot begin to count");
  snprintf(folder, sizeof folder, "%s", of);
  folder_length = strlen(folder);
}

/** One change at a time, whichever thread or process makes it; a kill gives the turn back. */
static void take_turn(void) {
  pthread_mutex_lock(&mutex);
  while (flock(turn, LOCK_EX) != 0)
    if (errno != EINTR) die("cannot take a turn");
  if (*countdown > 0 && --*countdown == 0) kill(getpid(), SIGKILL);
}

static void end_turn(void) {
  int error = errno;
  flock(turn, LOCK_UN);
  pthread_mutex_unlock(&mutex);
  errno = error;
}

static size_t size_of(int fd) {
  struct stat now;
  return fstat(fd, &now) == 0 ? (size_t)now.st_size : (die("cannot tell the size of a file"), 0);
}

/** Whether the path is the folder or lies in it; SQLite's -shm is made anew after a crash and needs no care. */
static bool is_ours(int at, const char *path, char full[PATH_MAX]) {
  if (folder_length == 0 || path == NULL || path[0] == '\0') return false;
  char base[PATH_MAX] = "", link[64];
  if (path[0] != '/') {
    snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
    ssize_t length = readlink(link, base, sizeof base - 2);
    if (length < 0) return false;
    strcpy(base + length, "/");
  }
  if (snprintf(full, PATH_MAX, "%s%s", base, path) >= PATH_MAX) return false;
  if (strncmp(full, folder, folder_length) != 0) return false;
  if (full[folder_length] != '/' && full[folder_length] != '\0') return false;
  size_t length = strlen(full);
  return length < 4 || strcmp(full + length - 4, "-shm") != 0;
}

/** Gives the file a second name in the journal, so that it stays whatever becomes of the first. */
static void keep(const char *full, ino_t inode) {
  char path[PATH_MAX + 64];
  snprintf(path, sizeof path, "%s/%ju.file", journal, (uintmax_t)inode);
  if (syscall(SYS_linkat, AT_FDCWD, full, AT_FDCWD, path, 0) != 0 && errno != EEXIST) die("cannot keep a file");
}

static int track(const char *full, ino_t inode) {
  for (int i = 0; i < file_count; i++)
    if (files[i].inode == inode) return i + 1;
  if (file_count == FILES_MAX) die("too many files");
  keep(full, inode);
  char name[64];
  struct file *file = &files[file_count];
  file->inode = inode;
  snprintf(name, sizeof name, "%ju.file", (uintmax_t)inode);
  file->content = open_in_journal(name, O_RDONLY);
  snprintf(name, sizeof name, "%ju.undo", (uintmax_t)inode);
  file->undo = open_in_journal(name, O_RDWR | O_CREAT | O_APPEND);
  return ++file_count;
}

static int found(int fd) { return fd >= 0 && fd < DESCRIPTORS_MAX ? tracked[fd] : 0; }
static struct file *file_of(int fd) {
  int place = found(fd);
  return place > 0 ? &files[place - 1] : NULL;
}

static void note(struct file *file, struct change change, const void *before) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  change.time_ns = (uint64_t)now.tv_sec * 1000000000u + now.tv_nsec;
  struct iovec parts[] = {{&change, sizeof change}, {(void *)before, change.saved}};
  ssize_t whole = sizeof change + change.saved;
  if (syscall(SYS_writev, file->undo, parts, 2) != whole) die("cannot write to the journal");
}

static void note_change(struct file *file, uint64_t kind, uint64_t offset, uint64_t length) {
  static char *before;
  static size_t before_max;
  struct change change = {.kind = kind, .offset = offset, .length = length, .size = size_of(file->content)};
  uint64_t end = offset + length < change.size ? offset + length : change.size;
  change.saved = end > offset ? end - offset : 0;
  if (change.saved > before_max) {
    before = realloc(before, before_max = change.saved);
    if (before == NULL) die("no memory");
  }
  if (pread(file->content, before, change.saved, offset) != (ssize_t)change.saved) die("cannot read what was there");
  note(file, change, before);
}

static void note_cut(struct file *file, uint64_t size) {
  uint64_t now = size_of(file->content), left = size < now ? size : now;
  note_change(file, size < now ? CUT : CHANGED, left, now - left);
}

static void note_name(const char *what, ino_t inode, const char *path, const char *to) {
  char line[2 * PATH_MAX + 128];
  int length = snprintf(line, sizeof line, "%s\t%ju\t%s\t%s\n", what, (uintmax_t)inode, path, to);
  if (syscall(SYS_write, names, line, length) != length) die("cannot write to the journal");
}

/** The inode of a file that is about to lose its name, kept; 0 where there is none. */
static ino_t keep_if_there(const char *full) {
  struct stat now;
  if (lstat(full, &now) != 0 || !S_ISREG(now.st_mode)) return 0;
  keep(full, now.st_ino);
  return now.st_ino;
}

// --- What a program calls -------------------------------------------------------------------------------------------

static int open_file(int at, const char *path, int flags, mode_t mode) {
  char full[PATH_MAX];
  if (!is_ours(at, path, full)) return syscall(SYS_openat, at, path, flags, mode);
  take_turn();
  struct stat now;
  bool was_there = lstat(full, &now) == 0;
  int fd = syscall(SYS_openat, at, path, flags & ~O_TRUNC, mode);
  if (fd >= DESCRIPTORS_MAX) die("too many descriptors");
  if (fd >= 0 && fstat(fd, &now) == 0) {
    if (S_ISDIR(now.st_mode)) tracked[fd] = FOLDER;
    if (S_ISREG(now.st_mode)) tracked[fd] = track(full, now.st_ino);
    if (S_ISREG(now.st_mode) && !was_there) note_name("create", now.st_ino, full, "");
    if (S_ISREG(now.st_mode) && (flags & O_TRUNC)) {
      note_cut(file_of(fd), 0);
      if (syscall(SYS_ftruncate, fd, 0) != 0) die("cannot cut a file");
    }
  }
  end_turn();
  return fd;
}

#define MODE_OF(flags)                                                       \
  va_list rest;                                                              \
  va_start(rest, flags);                                                     \
  mode_t mode = (flags) & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;  \
  va_end(rest);

int open(const char *path, int flags, ...) { MODE_OF(flags) return open_file(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE_OF(flags) return open_file(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE_OF(flags) return open_file(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE_OF(flags) return open_file(at, path, flags, mode); }

int close(int fd) {
  if (found(fd) != 0) tracked[fd] = 0;
  return syscall(SYS_close, fd);
}

/** Notes what a write is about to change, and makes it before anybody else has a turn. */
#define WRITE(fd, offset, length, call)          \
  struct file *file = file_of(fd);               \
  if (file == NULL) return call;                 \
  take_turn();                                   \
  note_change(file, CHANGED, offset, length);    \
  ssize_t written = call;                        \
  end_turn();                                    \
  return written;

static uint64_t place_of(int fd) {
  if (fcntl(fd, F_GETFL) & O_APPEND) return size_of(fd);
  return lseek(fd, 0, SEEK_CUR);
}

static size_t total(const struct iovec *parts, int count) {
  return count == 0 ? 0 : parts[0].iov_len + total(parts + 1, count - 1);
}
ssize_t write(int fd, const void *bytes, size_t length) {
  WRITE(fd, place_of(fd), length, syscall(SYS_write, fd, bytes, length))
}
ssize_t writev(int fd, const struct iovec *parts, int count) {
  WRITE(fd, place_of(fd), total(parts, count), syscall(SYS_writev, fd, parts, count))
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t at) {
  WRITE(fd, at, length, syscall(SYS_pwrite64, fd, bytes, length, at))
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) { return pwrite(fd, bytes, length, at); }
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t at) {
  WRITE(fd, at, total(parts, count), syscall(SYS_pwritev, fd, parts, count, at, 0))
}
ssize_t pwritev64(int fd, const struct iovec *parts, int count, off64_t at) { return pwritev(fd, parts, count, at); }

int ftruncate(int fd, off_t size) {
  struct file *file = file_of(fd);
  if (file == NULL) return syscall(SYS_ftruncate, fd, size);
  take_turn();
  note_cut(file, size);
  int result = syscall(SYS_ftruncate, fd, size);
  end_turn();
  return result;
}
int ftruncate64(int fd, off64_t size) { return ftruncate(fd, size); }

/** How long the notes of a file are, and when the first was made, which tells them from others after a new beginning. */
struct mark {
  uint64_t size, first_ns;
};

static struct mark mark_of(struct file *file) {
  struct change first = {0};
  if (pread(file->undo, &first, sizeof first, 0) < 0) die("cannot read the journal");
  return (struct mark){.size = size_of(file->undo), .first_ns = first.time_ns};
}

/** A sync covers what was noted before it began, once it has ended well. */
static int sync_file(struct file *file, long call, int fd) {
  take_turn();
  struct mark before = mark_of(file);
  end_turn();
  int result = syscall(call, fd);
  if (result != 0) return result;
  take_turn();
  struct mark now = mark_of(file);
  // Where another sync has covered all meanwhile, what is noted now came after this one began.
  if (now.first_ns == before.first_ns && now.size > 0) {
    if (now.size > before.size) note(file, (struct change){.kind = COVERED, .offset = before.size}, NULL);
    else if (syscall(SYS_ftruncate, file->undo, 0) != 0) die("cannot begin the journal anew");
  }
  end_turn();
  return 0;
}

static int sync_folder(long call, int fd) {
  char link[64], path[PATH_MAX] = "";
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  if (readlink(link, path, sizeof path - 1) < 0) die("cannot tell the path of a folder");
  uint64_t covered = size_of(names);
  int result = syscall(call, fd);
  if (result != 0) return result;
  take_turn();
  note_name("sync", covered, path, "");
  end_turn();
  return 0;
}

static int sync_any(long call, int fd) {
  struct file *file = file_of(fd);
  if (file != NULL) return sync_file(file, call, fd);
  return found(fd) == FOLDER ? sync_folder(call, fd) : (int)syscall(call, fd);
}
int fsync(int fd) { return sync_any(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_any(SYS_fdatasync, fd); }

static int remove_name(int at, const char *path, int flags) {
  char full[PATH_MAX];
  if (!is_ours(at, path, full)) return syscall(SYS_unlinkat, at, path, flags);
  take_turn();
  ino_t inode = keep_if_there(full);
  int result = syscall(SYS_unlinkat, at, path, flags);
  if (result == 0) note_name(flags & AT_REMOVEDIR ? "rmdir" : "unlink", inode, full, "");
  end_turn();
  return result;
}
int unlink(const char *path) { return remove_name(AT_FDCWD, path, 0); }
int unlinkat(int at, const char *path, int flags) { return remove_name(at, path, flags); }
int rmdir(const char *path) { return remove_name(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdir(const char *path, mode_t mode) {
  char full[PATH_MAX];
  // Whether the folder itself is there is the concern of the one above.
  if (!is_ours(AT_FDCWD, path, full) || strcmp(full, folder) == 0) return syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  take_turn();
  int result = syscall(SYS_mkdirat, AT_FDCWD, path, mode);
  if (result == 0) note_name("mkdir", 0, full, "");
  end_turn();
  return result;
}

int rename(const char *from, const char *to) {
  char full_from[PATH_MAX], full_to[PATH_MAX];
  bool is_from_ours = is_ours(AT_FDCWD, from, full_from), is_to_ours = is_ours(AT_FDCWD, to, full_to);
  if (!is_from_ours && !is_to_ours) return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  take_turn();
  ino_t replaced = is_to_ours ? keep_if_there(full_to) : 0;
  int result = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (result == 0) note_name("rename", replaced, is_from_ours ? full_from : from, is_to_ours ? full_to : to);
  end_turn();
  return result;
}

int link(const char *from, const char *to) {
  char full[PATH_MAX];
  if (!is_ours(AT_FDCWD, to, full)) return syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  take_turn();
  ino_t inode = keep_if_there(from);
  int result = syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0);
  if (result == 0) note_name("create", inode, full, "");
  end_turn();
  return result;
}

// --- What is not followed -------------------------------------------------------------------------------------------
int truncate(const char *path, off_t size) {
  char full[PATH_MAX];
  if (is_ours(AT_FDCWD, path, full)) die("truncate by path is not followed");
  return syscall(SYS_truncate, path, size);
}
int truncate64(const char *path, off64_t size) { return truncate(path, size); }

ssize_t sendfile(int to, int from, off_t *at, size_t length) {
  if (file_of(to) != NULL) die("sendfile is not followed");
  return syscall(SYS_sendfile, to, from, at, length);
}
ssize_t sendfile64(int to, int from, off64_t *at, size_t length) { return sendfile(to, from, at, length); }

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t at) {
  if ((flags & MAP_TYPE) != MAP_PRIVATE && (protection & PROT_WRITE) && file_of(fd) != NULL)
    die("writing through a mapping is not followed");
  return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, at);
}
void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t at) {
  return mmap(address, length, protection, flags, fd, at);
}
