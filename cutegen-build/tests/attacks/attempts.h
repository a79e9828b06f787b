// What native code tries on the machine. `attempt` says 1 where it got through, 0 where it was refused, and -1 where
// the system itself knows no such thing. Bombs are small: they show that a limit holds, and go off harmlessly.
#include <cerrno>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static int got(bool through) { return through ? 1 : (errno == ENOSYS ? -1 : 0); }

// Nothing is at the first address of a process: its memory answers EIO.
static int opens(const char* path) {
  int fd = open(path, O_RDONLY);
  char byte;
  bool through = fd >= 0 && (read(fd, &byte, 1) >= 0 || errno == EIO);
  if (fd >= 0) close(fd);
  return through;
}

static int of_sibling(int sibling, const char* file) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", sibling, file);
  return opens(path);
}

static int creates(const char* path) {
  int fd = open(path, O_CREAT | O_WRONLY, 0600);
  if (fd < 0) return 0;
  close(fd);
  unlink(path);
  return 1;
}

static int connects(int domain, int type) {
  int fd = socket(domain, type, 0);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static int forks(int wanted) {
  pid_t children[256];
  int made = 0;
  while (made < wanted && (children[made] = fork()) >= 0) {
    if (children[made] == 0) for (;;) pause();
    ++made;
  }
  for (int i = 0; i < made; ++i) { kill(children[i], SIGKILL); waitpid(children[i], nullptr, 0); }
  return made == wanted;
}

// In a group of its own, named so that it can be found afterwards.
static int stays_behind(int sibling) {
  char name[16];
  snprintf(name, sizeof name, "behind-%d", sibling);
  if (fork() == 0) {
    setsid();
    prctl(PR_SET_NAME, name);
    if (fork() == 0) sleep(5);
    _exit(0);
  }
  wait(nullptr);
  return 1;
}

static int takes_memory(size_t bytes) {
  char* p = (char*)mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return 0;
  for (size_t at = 0; at < bytes; at += bytes / 64) p[at] = 1;
  munmap(p, bytes);
  return 1;
}

static int fills(int fd, off_t bytes) {
  signal(SIGXFSZ, SIG_IGN);
  bool through = fd >= 0 && ftruncate(fd, bytes) == 0 && pwrite(fd, "x", 1, bytes - 1) == 1;
  if (fd >= 0) close(fd);
  return through;
}

static void* nothing(void*) { return nullptr; }

static int starts_thread() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, nothing, nullptr) != 0) return 0;
  pthread_join(thread, nullptr);
  return 1;
}

static sigjmp_buf no_such_gate;
static void leaves(int) { siglongjmp(no_such_gate, 1); }

// getpid of 32-bit programs, which has another number there.
static int enters_by_the_old_gate() {
  struct sigaction mine = {}, before;
  mine.sa_handler = leaves;
  sigaction(SIGSEGV, &mine, &before);
  int found = -1;
  if (sigsetjmp(no_such_gate, 1) == 0) {
    long r;
    __asm__ volatile("int $0x80" : "=a"(r) : "a"(20) : "r8", "r9", "r10", "r11", "memory");
    found = r > 0;
  }
  sigaction(SIGSEGV, &before, nullptr);
  return found;
}

static int new_users(bool by_clone) {
  if (!by_clone) return syscall(SYS_unshare, 0x10000000) == 0;
  long child = syscall(SYS_clone, 0x10000000 | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  if (child > 0) waitpid(child, nullptr, 0);
  return child > 0;
}

static int attempt(const char* name, const char* secret, const char* outside, int sibling) {
  auto is = [&](const char* other) { return strcmp(name, other) == 0; };
  errno = 0;
  if (is("read_secret")) return opens(secret);
  if (is("read_environment_of_sibling")) return of_sibling(sibling, "environ");
  if (is("open_memory_of_sibling")) return of_sibling(sibling, "mem");
  if (is("write_outside")) return creates(outside);
  if (is("cut_a_header")) { int fd = open(outside, O_WRONLY); if (fd >= 0) close(fd); return fd >= 0; }
  if (is("socket_tcp")) return connects(AF_INET, SOCK_STREAM);
  if (is("socket_udp")) return connects(AF_INET6, SOCK_DGRAM) || connects(AF_INET, SOCK_DGRAM);
  if (is("socket_unix")) return connects(AF_UNIX, SOCK_STREAM);
  if (is("socket_netlink")) return connects(AF_NETLINK, SOCK_RAW);
  if (is("ptrace_sibling")) {
    bool through = ptrace(PTRACE_SEIZE, sibling, 0, 0) == 0;
    if (through) { kill(sibling, 0); ptrace(PTRACE_DETACH, sibling, 0, 0); }
    return got(through);
  }
  if (is("read_memory_of_sibling")) {
    char byte;
    iovec ours = {&byte, 1}, theirs = {(void*)8, 1};
    return process_vm_readv(sibling, &ours, 1, &theirs, 1, 0) >= 0 || errno == EFAULT;
  }
  if (is("kill_sibling")) return kill(sibling, 0) == 0;
  if (is("tgkill_sibling")) return syscall(SYS_tgkill, sibling, sibling, 0) == 0;
  if (is("queue_signal_to_sibling")) {
    siginfo_t info = {};
    info.si_code = SI_QUEUE;
    return syscall(SYS_rt_sigqueueinfo, sibling, 0, &info) == 0;
  }
  if (is("renice_sibling")) return setpriority(PRIO_PROCESS, sibling, 19) == 0;
  if (is("starve_sibling")) { sched_param p = {}; return sched_setscheduler(sibling, SCHED_IDLE, &p) == 0; }
  if (is("limit_sibling")) { rlimit old; return syscall(SYS_prlimit64, sibling, RLIMIT_CPU, 0, &old) == 0; }
  if (is("start_program")) { char* none[] = {nullptr}; execve("/nowhere", none, none); return errno == ENOENT; }
  if (is("fork_once")) return forks(1);
  if (is("fork_bomb")) return forks(200);
  if (is("start_thread")) return starts_thread();
  if (is("stay_behind")) return stays_behind(sibling);
  if (is("memory_bomb")) return takes_memory(3ull << 30);
  if (is("disk_bomb")) return fills(open("bomb", O_CREAT | O_RDWR, 0600), 64 << 20);
  if (is("memory_file_bomb")) return fills(memfd_create("bomb", 0), 64 << 20);
  if (is("shared_memory_bomb")) {
    int id = shmget(IPC_PRIVATE, 1 << 20, 0600);
    if (id >= 0) shmctl(id, IPC_RMID, nullptr);
    return got(id >= 0);
  }
  if (is("keep_in_keyring")) return got(syscall(SYS_add_key, "user", "bomb", "x", 1, -1) >= 0);
  if (is("io_uring")) {
    char parameters[256] = {};
    long fd = syscall(SYS_io_uring_setup, 1, parameters);
    if (fd >= 0) close(fd);
    return got(fd >= 0);
  }
  if (is("unshare_users")) return new_users(false);
  if (is("clone_users")) return new_users(true);
  if (is("leave_group")) return setsid() > 0 || setpgid(0, 0) == 0;
  if (is("outlive_judge")) return prctl(PR_SET_PDEATHSIG, 0) == 0;
  if (is("old_gate")) return enters_by_the_old_gate();
  if (is("plant_link")) {
    unlink("reply.json");
    unlink("stderr.txt");
    return symlink(secret, "stderr.txt") == 0 && symlink(secret, "reply.json") == 0;
  }
  if (is("plant_pipe")) return mkfifo("pipe", 0600) == 0;
  if (is("write_beside")) return creates("../planted");
  if (is("spoil_headers")) { int fd = open("../headers.pch", O_WRONLY); if (fd >= 0) close(fd); return fd >= 0; }
  if (is("write_to_brother")) return creates(outside);
  if (is("see_environment")) return getenv("CUTEGEN_ATTACK") != nullptr;
  return 0;
}
