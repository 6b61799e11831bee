// gcc links a program whose code has checks with --wrap=pthread_create: its calls of pthread_create
// become calls of __wrap_pthread_create. libgcc's __wrap_pthread_create gives each thread a limit,
// and brings libgcc's __morestack and its kin in beside ours. Here a new thread's limit is 0, so
// this only makes the call.
//
// The function has a file of its own, so that a program which is linked otherwise doesn't contain
// it.

#include "macros.h"

        // The name that the linker then gives pthread_create.
        .globl  __real_pthread_create

FUNCTION __wrap_pthread_create
        endbr64
        jmpq    *__real_pthread_create@GOTPCREL(%rip)
END __wrap_pthread_create

        NOTES
