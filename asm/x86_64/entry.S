// What C calls: a stub for each function of include/gosched.h, but for gosched_getg
// and gosched_systemstack, which are in asm.S and take next to nothing.
//
// A copying stack may be all but full when C calls into the runtime, and Rust code
// has no checks. So each stub is one: as the prologue that a compiler makes for
// -fsplit-stack (morestack.S), it compares rsp with the limit, has the stack moved
// if need be, and then jumps to the function in Rust, which finds everything as its
// caller has left it. The arguments are in registers, and those that are addresses
// of the stack are right after a move, because morestack has them in the stack by
// then.
//
//                     |  frames of the caller  |
//     rsp ----------> |  return address        |
//                     |                        |  at least gosched_entry_room
//                     |                        |  bytes, and then
//     stackguard0 --> |                        |
//                     |                        |  STACK_GUARD bytes
//     stack.lo -----> |                        |
//
// rsp is the same at each instruction, but within the call of __morestack: CFI has
// nothing to add to what holds at the head of a function.

#include "macros.h"

        .hidden gosched_entry_room

// A stub that goes on in name_impl, or in what has another suffix. One that notes
// who called it, Go's getcallerpc, passes that on in a register: the return address,
// which is above the room that was looked for.
//
// A section each, so that a program has those that it calls and no others. endbr64
// comes first in any case, but here it also keeps a linker that rewrites prologues
// from taking this for one.
.macro ENTRY name, suffix=_impl, callerpc
        .section .text.\name, "ax", @progbits
        .p2align 4
        .globl  \name
        .hidden \name
        .type   \name, @function
        .hidden \name\suffix
\name:
        .cfi_startproc
        endbr64
        TLS_G   %rax
        movq    %fs:(%rax), %rax                // rax = g
        testq   %rax, %rax
        je      1f                              // a foreign thread has a thread's stack
        movq    %rsp, %r11
        subq    gosched_entry_room(%rip), %r11
        cmpq    G_STACKGUARD0(%rax), %r11
        jb      2f
1:
.ifnb \callerpc
        movq    (%rsp), \callerpc
.endif
        jmp     \name\suffix
2:
        movq    gosched_entry_room(%rip), %r10
        callq   gosched_morestack_prologue
        ret                                     // which morestack steps over
        jmp     1b
        .cfi_endproc
        .size   \name, . - \name
.endm

// A stub without the check: for what signal handlers call, on a stack that the
// limit isn't for, and for what comes after a system call, in which no stack moves.
.macro UNCHECKED name
        .section .text.\name, "ax", @progbits
        .p2align 4
        .globl  \name
        .hidden \name
        .type   \name, @function
        .hidden \name\()_impl
\name:
        .cfi_startproc
        endbr64
        jmp     \name\()_impl
        .cfi_endproc
        .size   \name, . - \name
.endm

// void gosched_ensure_stack(size_t n): the check of a function that needs n bytes, made by its caller.
FUNCTION gosched_ensure_stack
        endbr64
        TLS_G   %rax
        movq    %fs:(%rax), %rax                // rax = g
        testq   %rax, %rax
        je      1f                              // a foreign thread has a thread's stack
        movq    %rsp, %r11
        subq    %rdi, %r11
        jb      2f
        cmpq    G_STACKGUARD0(%rax), %r11
        jb      2f
1:      ret
2:      movq    %rdi, %r10
        jmp     gosched_morestack
END gosched_ensure_stack

// The registers of the third argument and of the fourth.
#define ARG_2 %rdx
#define ARG_3 %rcx

#include "../stubs.h"

        NOTES
