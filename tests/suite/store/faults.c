/* Loaded before the C library of the command under test: counts the calls that touch files below FAULT_ROOT, and at the
 * call number FAULT_AT kills the process, or fails that call (EIO) or all that write from there on (ENOSPC). Without
 * FAULT_AT it only counts. With FAULT_NO_EXCHANGE two names cannot be exchanged, as on some file systems. Appends the
 * names of the calls to FAULT_LOG, a line each. Other processes that the command starts are left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static int counted;

static int below(const char *path) {
    const char *root = getenv("FAULT_ROOT");
    return root && !strncmp(path, root, strlen(root));
}

/* The path that a call names, made whole. */
static int touches_at(int folder, const char *path) {
    char link[64], whole[8192];
    if (path[0] == '/') return below(path);
    ssize_t length;
    if (folder == AT_FDCWD) {
        length = getcwd(whole, sizeof whole) ? (ssize_t)strlen(whole) : -1;
    } else {
        snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        length = readlink(link, whole, sizeof whole);
    }
    if (length < 0 || (size_t)length + strlen(path) + 2 > sizeof whole) return 0;
    whole[length] = '/';
    strcpy(whole + length + 1, path);
    return below(whole);
}

static int touches(int file) {
    char link[64], whole[8192];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, whole, sizeof whole - 1);
    if (length < 0) return 0;
    whole[length] = 0;
    return below(whole);
}

/* Whether this call is to fail; errno says how. */
static int faulty(const char *name, int writes) {
    const char *at = getenv("FAULT_AT"), *kind = getenv("FAULT_KIND"), *log = getenv("FAULT_LOG");
    counted++;
    if (log) {
        int file = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        char line[64];
        int length = snprintf(line, sizeof line, "%s\n", name);
        if (file >= 0) {
            if (syscall(SYS_write, file, line, length) < 0) abort();
            close(file);
        }
    }
    if (!at || !kind) return 0;
    if (!strcmp(kind, "ENOSPC")) {
        errno = ENOSPC;
        return writes && counted >= atoi(at);
    }
    if (counted != atoi(at)) return 0;
    if (!strcmp(kind, "KILL")) kill(getpid(), SIGKILL);
    errno = EIO;
    return 1;
}

#define OPEN(name)                                              \
    int name(const char *path, int flags, ...) {                \
        REAL(name);                                             \
        va_list rest;                                           \
        va_start(rest, flags);                                  \
        mode_t mode = va_arg(rest, mode_t);                     \
        va_end(rest);                                           \
        if (touches_at(AT_FDCWD, path) && faulty(#name, flags & O_CREAT)) return -1; \
        return real(path, flags, mode);                         \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                            \
    int name(int folder, const char *path, int flags, ...) {    \
        REAL(name);                                             \
        va_list rest;                                           \
        va_start(rest, flags);                                  \
        mode_t mode = va_arg(rest, mode_t);                     \
        va_end(rest);                                           \
        if (touches_at(folder, path) && faulty(#name, flags & O_CREAT)) return -1; \
        return real(folder, path, flags, mode);                 \
    }
OPENAT(openat)
OPENAT(openat64)

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    return touches_at(AT_FDCWD, path) && faulty("mkdir", 1) ? -1 : real(path, mode);
}

ssize_t write(int file, const void *bytes, size_t length) {
    REAL(write);
    return touches(file) && faulty("write", 1) ? -1 : real(file, bytes, length);
}

int fsync(int file) {
    REAL(fsync);
    return touches(file) && faulty("fsync", 1) ? -1 : real(file);
}

int fdatasync(int file) {
    REAL(fdatasync);
    return touches(file) && faulty("fdatasync", 1) ? -1 : real(file);
}

int flock(int file, int how) {
    REAL(flock);
    return touches(file) && faulty("flock", 0) ? -1 : real(file, how);
}

int rename(const char *from, const char *to) {
    REAL(rename);
    return touches_at(AT_FDCWD, to) && faulty("rename", 1) ? -1 : real(from, to);
}

int unlink(const char *path) {
    REAL(unlink);
    return touches_at(AT_FDCWD, path) && faulty("unlink", 0) ? -1 : real(path);
}

int unlinkat(int folder, const char *path, int flags) {
    REAL(unlinkat);
    return touches_at(folder, path) && faulty("unlinkat", 0) ? -1 : real(folder, path, flags);
}

int rmdir(const char *path) {
    REAL(rmdir);
    return touches_at(AT_FDCWD, path) && faulty("rmdir", 0) ? -1 : real(path);
}

/* Names are exchanged by the bare call. */
long syscall(long number, ...) {
    REAL(syscall);
    long a[6];
    va_list rest;
    va_start(rest, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(rest, long);
    va_end(rest);
    if (number == SYS_renameat2 && touches_at((int)a[2], (const char *)a[3])) {
        if (getenv("FAULT_NO_EXCHANGE")) {
            errno = EINVAL;
            return -1;
        }
        if (faulty("renameat2", 1)) return -1;
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
