// gcc links a program of code with checks with --wrap=pthread_create: its calls of
// pthread_create become calls of __wrap_pthread_create. libgcc's gives each thread a
// limit, and brings libgcc's __morestack and its kin, beside ours. Here a new thread's
// limit is 0, and there is nothing to do but the call.
//
// In a file of its own, so that a program which is linked otherwise goes without.

#include "macros.h"

        // What the linker calls pthread_create then.
        .globl  __real_pthread_create

FUNCTION __wrap_pthread_create
        endbr64
        jmpq    *__real_pthread_create@GOTPCREL(%rip)
END __wrap_pthread_create

        NOTES
