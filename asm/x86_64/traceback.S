// Looking at the stack of a goroutine that stands still.

#include "macros.h"

// void gosched_called_from(const Regs *regs, void (*fn)(void *), void *arg): calls
// fn(arg). To an unwinder, the caller of this frame isn't the function that has called
// it, but the code that has these registers: a walk that begins in fn goes on in the
// stack of a goroutine, whatever stack this is.
//
//     this stack                           the goroutine's
//     | return address         |           | frames of its callers |
//     | rbx                    |           | ...                   | <- regs.sp
//     | address in here        |
//     | frames of fn           |
//
// fn must not unwind.
FUNCTION gosched_called_from
        .cfi_signal_frame
        endbr64
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %rdi, %rbx
        movq    %rdx, %rdi
        .cfi_remember_state
        CALLER_IN_REGS
        callq   *%rsi
        .cfi_restore_state
        .cfi_def_cfa %rsp, 16
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
END gosched_called_from

// int gosched_guarded(void (*fn)(void *), void *arg, uintptr_t *at): calls fn(arg), and
// returns 0. A signal handler may end the call: it lets the thread go on at
// gosched_guarded_end, with rsp as it was stored at *at, and this returns 1.
//
//     | return address         |
//     | rbp, rbx, r12-r15      |
//     | 8 bytes, free          |  <- *at
//     | frames of fn           |
//
// fn must not unwind.
FUNCTION gosched_guarded
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        pushq   %rbx
        .cfi_def_cfa_offset 24
        .cfi_offset %rbx, -24
        pushq   %r12
        .cfi_def_cfa_offset 32
        .cfi_offset %r12, -32
        pushq   %r13
        .cfi_def_cfa_offset 40
        .cfi_offset %r13, -40
        pushq   %r14
        .cfi_def_cfa_offset 48
        .cfi_offset %r14, -48
        pushq   %r15
        .cfi_def_cfa_offset 56
        .cfi_offset %r15, -56
        subq    $8, %rsp
        .cfi_def_cfa_offset 64
        movq    %rsp, (%rdx)
        movq    %rdi, %rax
        movq    %rsi, %rdi
        callq   *%rax
        xorl    %eax, %eax
        jmp     .Lguarded_return
        .globl  gosched_guarded_end
        .hidden gosched_guarded_end
gosched_guarded_end:
        endbr64                                 // the interrupted instruction may have been a landing pad's
        cld                                     // as the ABI has it at a return
        movl    $1, %eax
.Lguarded_return:
        addq    $8, %rsp
        .cfi_def_cfa_offset 56
        popq    %r15
        .cfi_def_cfa_offset 48
        .cfi_restore %r15
        popq    %r14
        .cfi_def_cfa_offset 40
        .cfi_restore %r14
        popq    %r13
        .cfi_def_cfa_offset 32
        .cfi_restore %r13
        popq    %r12
        .cfi_def_cfa_offset 24
        .cfi_restore %r12
        popq    %rbx
        .cfi_def_cfa_offset 16
        .cfi_restore %rbx
        popq    %rbp
        .cfi_def_cfa_offset 8
        .cfi_restore %rbp
        ret
END gosched_guarded

        NOTES
