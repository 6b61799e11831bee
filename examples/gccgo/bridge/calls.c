// System calls. Package syscall calls functions of the C library between syscall.Entersyscall and
// Exitsyscall, which are in room.S. Between the two, the stack of the goroutine must not move, and
// the thread's errno must stay: Go code reads it only after the call. So libgo's C functions for
// system calls are here, without checks of the stack.

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "libgo.h"

NO_CHECK integer GetErrno(void) GO("syscall.GetErrno");
NO_CHECK integer GetErrno(void)
{
    return errno;
}

NO_CHECK void SetErrno(integer error) GO("syscall.SetErrno");
NO_CHECK void SetErrno(integer error)
{
    errno = error;
}

// Functions with variable arguments, which Go code can't call.

NO_CHECK int __go_open64(char *path, int flags, mode_t mode)
{
    return open64(path, flags, mode);
}

NO_CHECK int __go_open(char *path, int flags, mode_t mode)
{
    return open(path, flags, mode);
}

NO_CHECK int __go_openat(int fd, char *path, int flags, mode_t mode)
{
    return openat(fd, path, flags, mode);
}

NO_CHECK int __go_fcntl(int fd, int command, int arg)
{
    return fcntl(fd, command, arg);
}

NO_CHECK int __go_fcntl_flock(int fd, int command, struct flock *arg)
{
    return fcntl(fd, command, arg);
}

struct result { uintptr_t value, error; };

NO_CHECK struct result __go_fcntl_uintptr(uintptr_t fd, uintptr_t command, uintptr_t arg)
{
    int value = fcntl(fd, command, arg);
    return (struct result){ value, value < 0 ? errno : 0 };
}

NO_CHECK int __go_ioctl(int fd, int request, int arg)
{
    return ioctl(fd, request, arg);
}

NO_CHECK int __go_ioctl_ptr(int fd, int request, void *arg)
{
    return ioctl(fd, request, arg);
}

NO_CHECK long __go_ptrace(int request, pid_t pid, void *address, void *data)
{
    return ptrace(request, pid, address, data);
}

NO_CHECK uintptr_t __go_syscall6(uintptr_t number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e,
                                 uintptr_t f)
{
    return syscall(number, a, b, c, d, e, f);
}

// Functions that need much stack run on the scheduler's stack, which is large. The linker redirects
// calls of them to these wrappers (--wrap).

typedef long function(long, long, long, long, long, long, long);
struct call { function *function; long arguments[7], result; };

static int make(void *call)
{
    struct call *this = call;
    long *a = this->arguments;
    this->result = this->function(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
    return 0;
}

#define ON_SYSTEM_STACK(name) \
    extern function __real_##name, __wrap_##name; \
    NO_CHECK long __wrap_##name(long a, long b, long c, long d, long e, long f, long g) \
    { \
        struct call call = { __real_##name, { a, b, c, d, e, f, g }, 0 }; \
        gosched_asmcgocall(make, &call); \
        return call.result; \
    }

ON_SYSTEM_STACK(getaddrinfo)
ON_SYSTEM_STACK(freeaddrinfo)
ON_SYSTEM_STACK(getnameinfo)
ON_SYSTEM_STACK(getpwnam_r)
ON_SYSTEM_STACK(getpwuid_r)
ON_SYSTEM_STACK(getgrnam_r)
ON_SYSTEM_STACK(getgrgid_r)
ON_SYSTEM_STACK(getgrouplist)
ON_SYSTEM_STACK(fdopendir)
ON_SYSTEM_STACK(closedir)
ON_SYSTEM_STACK(strerror_r)
