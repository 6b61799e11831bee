// How a goroutine enters a system call, and calls C. Go's entersyscall and asmcgocall.
//
// A goroutine in a system call runs on, and others look at its stack meanwhile: a traceback, a
// collector. They begin where the goroutine called one of the routines below, whose frame is gone
// by then:
//
//                 |  frames of the callers   |
//                 |  the caller's frame      |
//     syscallsp ->|                          |  what a scan of the stack sees ends here
//                 |  return address          |  syscallpc
//
// An address that the caller keeps in a callee-saved register may be in no frame above, so those
// registers go to the M, which has this goroutine until the system call is over.

#include "macros.h"

// The Rust functions that this file calls; see asm.S.
        .hidden gosched_reentersyscall, gosched_entersyscallblock_from

// Jumps to target(pc, sp, bp), with the caller's registers. target returns to the caller.
.macro ENTERSYSCALL target
        endbr64
        TLS_G   %rax
        movq    %fs:(%rax), %rdx
        testq   %rdx, %rdx
        je      1f                              // no goroutine, which target will say
        movq    G_M(%rdx), %rcx
        movq    %rbx, M_SYSCALL_REGS(%rcx)
        movq    %rbp, M_SYSCALL_REGS+8(%rcx)
        movq    %r12, M_SYSCALL_REGS+16(%rcx)
        movq    %r13, M_SYSCALL_REGS+24(%rcx)
        movq    %r14, M_SYSCALL_REGS+32(%rcx)
        movq    %r15, M_SYSCALL_REGS+40(%rcx)
1:      movq    (%rsp), %rdi
        leaq    8(%rsp), %rsi
        movq    %rbp, %rdx
        jmp     \target
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
//     16(%rsp)  |  its result         |
//      8(%rsp)  |  arg                |
//       (%rsp)  |  fn                 |  what systemstack passes on
FUNCTION gosched_asmcgocall
        endbr64
        subq    $24, %rsp
        .cfi_def_cfa_offset 32
        movq    %rdi, (%rsp)
        movq    %rsi, 8(%rsp)
        leaq    asmcgocall_on_g0(%rip), %rdi
        movq    %rsp, %rsi
        callq   gosched_systemstack_fn
        movl    16(%rsp), %eax
        addq    $24, %rsp
        .cfi_def_cfa_offset 8
        ret
END gosched_asmcgocall

        .p2align 4
        .type   asmcgocall_on_g0, @function
asmcgocall_on_g0:
        .cfi_startproc
        endbr64
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        movq    8(%rbx), %rdi
        callq   *(%rbx)
        movl    %eax, 16(%rbx)
        popq    %rbx
        .cfi_def_cfa_offset 8
        ret
        .cfi_endproc
        .size   asmcgocall_on_g0, . - asmcgocall_on_g0

        NOTES
