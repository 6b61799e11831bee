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

        NOTES
