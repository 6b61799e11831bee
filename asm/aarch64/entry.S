// The functions that C calls: a stub for each function of include/gosched.h except those
// that are whole in the assembly and need almost no stack, such as gosched_getg.
//
// A copying stack may be almost full when C calls into the runtime, and Rust code has no
// checks. So each stub checks: it compares sp with the limit, lets morestack move the stack
// if necessary, and then jumps to the function in Rust, which finds everything as its caller
// left it. The arguments are in registers. An argument that is an address of the stack is
// right after a move, because morestack saves the registers on the stack before the move.
//
//                     |  frames of the caller  |
//     sp -----------> |                        |  at least gosched_entry_room
//                     |                        |  bytes, and then
//     stackguard0 --> |                        |
//                     |                        |  STACK_GUARD bytes
//     stack.lo -----> |                        |
//
// A stub uses x9 to x17: a callee may change them, and they hold no argument.

#include "macros.h"

        .hidden gosched_entry_room

// A stub that jumps to name_impl, or to the name with another suffix. If `callerpc` is given,
// the stub passes its return address in that register: Go's getcallerpc.
//
// Each stub has a section of its own, so that a program contains only the stubs it calls.
.macro ENTRY name, suffix=_impl, callerpc
        .section .text.\name, "ax", %progbits
        .p2align 4
        .globl  \name
        .hidden \name
        .type   \name, %function
        .hidden \name\suffix
\name:
        .cfi_startproc
        BTI_C
        TLS_G   x9, x10
        ldr     x9, [x9]                        // x9 = g
        cbz     x9, 1f                          // a foreign thread has a thread's stack
        adrp    x16, gosched_entry_room
        ldr     x16, [x16, :lo12:gosched_entry_room]
        ldr     x10, [x9, #G_STACKGUARD0]
        mov     x11, sp
        sub     x11, x11, x16
        cmp     x11, x10
        b.lo    2f
1:
.ifnb \callerpc
        mov     \callerpc, x30
.endif
        b       \name\suffix
2:
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        bl      gosched_morestack
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        b       1b
        .cfi_endproc
        .size   \name, . - \name
.endm

// A stub without the check. It serves functions that signal handlers call, on a stack
// to which the limit doesn't apply, and functions that are called after a system call,
// during which no stack moves.
.macro UNCHECKED name
        .section .text.\name, "ax", %progbits
        .p2align 4
        .globl  \name
        .hidden \name
        .type   \name, %function
        .hidden \name\()_impl
\name:
        .cfi_startproc
        BTI_C
        b       \name\()_impl
        .cfi_endproc
        .size   \name, . - \name
.endm

// void gosched_ensure_stack(size_t n): the check of a function that needs n bytes, made by its
// caller.
FUNCTION gosched_ensure_stack
        BTI_C
        TLS_G   x9, x10
        ldr     x9, [x9]                        // x9 = g
        cbz     x9, 1f                          // a foreign thread has a thread's stack
        ldr     x10, [x9, #G_STACKGUARD0]
        mov     x11, sp
        subs    x11, x11, x0
        b.lo    2f
        cmp     x11, x10
        b.lo    2f
1:      ret
2:      mov     x16, x0
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        bl      gosched_morestack
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
END gosched_ensure_stack

// The registers of the third argument and of the fourth.
#define ARG_2 x2
#define ARG_3 x3

#include "../stubs.h"

        NOTES
