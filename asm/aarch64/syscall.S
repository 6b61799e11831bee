// How a goroutine enters a system call, and calls C. Go's entersyscall and asmcgocall.
//
// A goroutine in a system call runs on, and others look at its stack meanwhile: a traceback, a
// collector. They begin where the goroutine called one of the routines below, whose frame is gone
// by then:
//
//                 |  frames of the callers   |
//                 |  the caller's frame      |
//     syscallsp ->|                          |  what a scan of the stack sees ends here
//
// The caller goes on at syscallpc, which is in x30. An address that the caller keeps in a
// callee-saved register may be in no frame above, so those registers go to the M, which has this
// goroutine until the system call is over.

#include "macros.h"

// The Rust functions that this file calls; see asm.S.
        .hidden gosched_reentersyscall, gosched_entersyscallblock_from

// Jumps to target(pc, sp, fp), with the caller's registers. target returns to the caller.
.macro ENTERSYSCALL target
        BTI_C
        TLS_G   x9, x10
        ldr     x9, [x9]
        cbz     x9, 1f                          // no goroutine, which target will say
        ldr     x9, [x9, #G_M]
        mov     x10, #M_SYSCALL_REGS
        add     x9, x9, x10
        stp     x19, x20, [x9]
        stp     x21, x22, [x9, #16]
        stp     x23, x24, [x9, #32]
        stp     x25, x26, [x9, #48]
        stp     x27, x28, [x9, #64]
        stp     d8, d9, [x9, #80]
        stp     d10, d11, [x9, #96]
        stp     d12, d13, [x9, #112]
        stp     d14, d15, [x9, #128]
        str     x29, [x9, #144]
1:      mov     x0, x30
        mov     x1, sp
        mov     x2, x29
        b       \target
.endm

// void gosched_entersyscall_impl(void): lets the P go, in a way that makes it cheap to get the P
// back.
FUNCTION gosched_entersyscall_impl
        ENTERSYSCALL gosched_reentersyscall
END gosched_entersyscall_impl

// void gosched_entersyscallblock_impl(void): hands the P on to another M.
FUNCTION gosched_entersyscallblock_impl
        ENTERSYSCALL gosched_entersyscallblock_from
END gosched_entersyscallblock_impl

// int gosched_asmcgocall(int (*fn)(void *), void *arg): calls fn(arg) on g0's stack, and returns
// its result. Go's asmcgocall.
//
//     32(sp)  |  its result         |
//     24(sp)  |  arg                |
//     16(sp)  |  fn                 |  what systemstack passes on
//       (sp)  |  x29, x30           |
FUNCTION gosched_asmcgocall
        SIGN_LR
        stp     x29, x30, [sp, #-48]!
        .cfi_def_cfa_offset 48
        .cfi_offset x29, -48
        .cfi_offset x30, -40
        mov     x29, sp
        stp     x0, x1, [sp, #16]
        ADDRESS x0, asmcgocall_on_g0
        add     x1, sp, #16
        bl      gosched_systemstack_fn
        ldr     w0, [sp, #32]
        ldp     x29, x30, [sp], #48
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        AUTHENTICATE_LR
        ret
END gosched_asmcgocall

        .p2align 4
        .type   asmcgocall_on_g0, %function
asmcgocall_on_g0:
        .cfi_startproc
        SIGN_LR
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        mov     x19, x0
        ldr     x16, [x19]
        ldr     x0, [x19, #8]
        blr     x16
        str     w0, [x19, #16]
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        AUTHENTICATE_LR
        ret
        .cfi_endproc
        .size   asmcgocall_on_g0, . - asmcgocall_on_g0

        NOTES
