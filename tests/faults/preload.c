/* Functions of the C library that fail on request, set in the environment:
 *
 * FAULT=call,first,count,errno: the calls of that name with the numbers first to first + count - 1
 * fail, and set errno.
 * COUNTS=path: at the end, the number of calls of each name is written there, a line for each name.
 * SHADOW_STACK: prctl and arch_prctl answer that this thread has a shadow stack.
 *
 * Calls are counted from the program's call of faults_begin on. So calls that the language's own
 * start makes aren't counted, and don't fail.
 *
 * A futex wait that fails returns EINTR, as after a signal, whatever the errno.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PR_GET_SHADOW_STACK_STATUS 74
#define ARCH_SHSTK_STATUS 0x5005

#ifndef SYS_process_madvise
#define SYS_process_madvise 440
#endif

enum call { MMAP, MPROTECT, MADVISE, PROCESS_MADVISE, MUNMAP, CLONE, FUTEX, EPOLL_CTL, EPOLL_CREATE1, EVENTFD,
            SIGALTSTACK, SIGACTION, TGKILL, MALLOC, GETATTR, CALLS };

static const char *const names[CALLS] = {
    "mmap", "mprotect", "madvise", "process_madvise", "munmap", "clone", "futex", "epoll_ctl", "epoll_create1",
    "eventfd", "sigaltstack", "sigaction", "tgkill", "malloc", "pthread_getattr_np",
};

static atomic_long counts[CALLS];
static atomic_int begun;
static enum call failing = CALLS;
static long first, count;
static int error;

/* Whether this call is to fail. */
static int fails(enum call call) {
    if (!atomic_load_explicit(&begun, memory_order_relaxed))
        return 0;
    long n = atomic_fetch_add(&counts[call], 1) + 1;
    if (call != failing || n < first || n - first >= count)
        return 0;
    errno = error;
    return 1;
}

/* The C library's functions. `find` runs before the program begins, because it may allocate. */
#define NEXT(name) static __typeof__(name) *next_##name;
NEXT(mmap) NEXT(mprotect) NEXT(madvise) NEXT(munmap) NEXT(pthread_create) NEXT(epoll_ctl) NEXT(epoll_create1)
NEXT(eventfd) NEXT(sigaltstack) NEXT(sigaction) NEXT(pthread_getattr_np) NEXT(syscall) NEXT(prctl)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

#define FIND(name) next_##name = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static void find(void) {
    FIND(mmap), FIND(mprotect), FIND(madvise), FIND(munmap), FIND(pthread_create), FIND(epoll_ctl);
    FIND(epoll_create1), FIND(eventfd), FIND(sigaltstack), FIND(sigaction), FIND(pthread_getattr_np), FIND(syscall);
    FIND(prctl);
}

/* The C library's function. Looks it up if it is called before the constructor below. */
#define REAL(name) (next_##name ? next_##name : (find(), next_##name))

__attribute__((constructor)) static void set_up(void) {
    const char *fault = getenv("FAULT");
    char name[32];
    find();
    if (fault && sscanf(fault, "%31[^,],%ld,%ld,%d", name, &first, &count, &error) == 4) {
        for (int call = 0; call < CALLS; call++)
            if (!strcmp(name, names[call]))
                failing = call;
    }
    if (fault && failing == CALLS) {
        fprintf(stderr, "preload: FAULT=%s isn't understood\n", fault);
        _exit(3);
    }
}

__attribute__((destructor)) static void write_counts(void) {
    atomic_store(&begun, 0);
    const char *path = getenv("COUNTS");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file)
        return;
    for (int call = 0; call < CALLS; call++)
        fprintf(file, "%s %ld\n", names[call], atomic_load(&counts[call]));
    fclose(file);
}

void faults_begin(void) { atomic_store(&begun, 1); }

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset) {
    return fails(MMAP) ? MAP_FAILED : REAL(mmap)(addr, len, prot, flags, fd, offset);
}

void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset) {
    return mmap(addr, len, prot, flags, fd, offset);
}

int munmap(void *addr, size_t len) { return fails(MUNMAP) ? -1 : REAL(munmap)(addr, len); }

int mprotect(void *addr, size_t len, int prot) { return fails(MPROTECT) ? -1 : REAL(mprotect)(addr, len, prot); }

int madvise(void *addr, size_t len, int advice) { return fails(MADVISE) ? -1 : REAL(madvise)(addr, len, advice); }

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*f)(void *), void *arg) {
    return fails(CLONE) ? error : REAL(pthread_create)(thread, attr, f, arg);
}

int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event) {
    return fails(EPOLL_CTL) ? -1 : REAL(epoll_ctl)(epfd, op, fd, event);
}

int epoll_create1(int flags) { return fails(EPOLL_CREATE1) ? -1 : REAL(epoll_create1)(flags); }

int eventfd(unsigned value, int flags) { return fails(EVENTFD) ? -1 : REAL(eventfd)(value, flags); }

int sigaltstack(const stack_t *stack, stack_t *old) {
    return fails(SIGALTSTACK) ? -1 : REAL(sigaltstack)(stack, old);
}

int sigaction(int sig, const struct sigaction *action, struct sigaction *old) {
    return fails(SIGACTION) ? -1 : REAL(sigaction)(sig, action, old);
}

int pthread_getattr_np(pthread_t thread, pthread_attr_t *attr) {
    return fails(GETATTR) ? error : REAL(pthread_getattr_np)(thread, attr);
}

void *malloc(size_t size) { return fails(MALLOC) ? NULL : __libc_malloc(size); }

void *calloc(size_t n, size_t size) { return fails(MALLOC) ? NULL : __libc_calloc(n, size); }

void *realloc(void *old, size_t size) { return fails(MALLOC) ? NULL : __libc_realloc(old, size); }

void *aligned_alloc(size_t align, size_t size) { return fails(MALLOC) ? NULL : __libc_memalign(align, size); }

int posix_memalign(void **to, size_t align, size_t size) {
    if (fails(MALLOC))
        return ENOMEM;
    *to = __libc_memalign(align, size);
    return *to ? 0 : ENOMEM;
}

/* Answers for the kernel, if the call asks for the shadow stack of the thread. */
static int answers(int asks, long status) {
    if (!asks || !getenv("SHADOW_STACK"))
        return 0;
    *(unsigned long *)status = 1;
    return 1;
}

int prctl(int option, ...) {
    va_list list;
    va_start(list, option);
    long arg[4];
    for (int i = 0; i < 4; i++)
        arg[i] = va_arg(list, long);
    va_end(list);
    if (answers(option == PR_GET_SHADOW_STACK_STATUS, arg[0]))
        return 0;
    return REAL(prctl)(option, arg[0], arg[1], arg[2], arg[3]);
}

/* What the library has no function for. */
long syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long arg[6];
    for (int i = 0; i < 6; i++)
        arg[i] = va_arg(list, long);
    va_end(list);
    int failed = 0;
#ifdef SYS_arch_prctl
    if (answers(number == SYS_arch_prctl && arg[0] == ARCH_SHSTK_STATUS, arg[1]))
        return 0;
#endif
    if (number == SYS_futex) {
        failed = fails(FUTEX);
        if (failed && (arg[1] & FUTEX_CMD_MASK) != FUTEX_WAKE)
            errno = EINTR;
    } else if (number == SYS_process_madvise) {
        failed = fails(PROCESS_MADVISE);
    } else if (number == SYS_tgkill) {
        failed = fails(TGKILL);
    }
    return failed ? -1 : REAL(syscall)(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
