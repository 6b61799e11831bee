// The functions that C calls: a stub for each function of include/gosched.h except those
// that are whole in the assembly and need almost no stack, such as gosched_getg.
//
// A copying stack may be almost full when C calls into the runtime, and Rust code has no
// checks. So each stub checks, like the prologue that a compiler makes for -fsplit-stack
// (morestack.S). It compares rsp with the limit, lets morestack move the stack if necessary,
// and then jumps to the function in Rust, which finds everything as its caller left it. The
// arguments are in registers. An argument that is an address of the stack is right after a
// move, because morestack saves the registers on the stack before the move.
//
//                     |  frames of the caller  |
//     rsp ----------> |  return address        |
//                     |                        |  at least gosched_entry_room
//                     |                        |  bytes, and then
//     stackguard0 --> |                        |
//                     |                        |  STACK_GUARD bytes
//     stack.lo -----> |                        |
//
// rsp is the same at each instruction except within the call of __morestack, so the CFI
// that holds at the head of a function holds throughout.

#include "macros.h"

        .hidden gosched_entry_room

// A stub that jumps to name_impl, or to the name with another suffix. If `callerpc` is given,
// the stub passes its return address in that register: Go's getcallerpc. The return address
// lies above the room that the stub checks.
//
// Each stub has a section of its own, so that a program contains only the stubs it calls.
// Every function starts with endbr64; here it also keeps a linker that rewrites prologues
// from taking the stub for a prologue.
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

// A stub without the check. It serves functions that signal handlers call, on a stack
// to which the limit doesn't apply, and functions that are called after a system call,
// during which no stack moves.
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

// void gosched_ensure_stack(size_t n): the check of a function that needs n bytes, made by its
// caller.
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
