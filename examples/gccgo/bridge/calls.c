// System calls. Package syscall calls functions of the C library between syscall.Entersyscall and Exitsyscall, which
// room.S has. In between the goroutine's stack must not move, and errno, which is the thread's, isn't read yet when it
// is over. So what libgo has of C there is here without checks of the stack.

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include "libgo.h"

#define NO_CHECK __attribute__((no_split_stack))

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

// Functions of variable arguments, which Go code can't call.

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
