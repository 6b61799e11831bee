// Looking at the stack of a goroutine that stands still.

#include "macros.h"

// void gosched_called_from(const Regs *regs, void (*fn)(void *), void *arg): calls
// fn(arg). To an unwinder, the caller of this frame isn't the function that has called
// it, but the code that has these registers: a walk that begins in fn goes on in the
// stack of a goroutine, whatever stack this is.
//
//     this stack                           the goroutine's
//     | x19                    |           | frames of its callers |
//     | x30, x29               |           | ...                   | <- regs.sp
//     | frames of fn           |
//
// fn must not unwind.
FUNCTION gosched_called_from
        .cfi_signal_frame
        .cfi_return_column RETURN_COLUMN
        .cfi_register RETURN_COLUMN, x30
        .cfi_register PC_COLUMN, x30
        BTI_C
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        .cfi_offset RETURN_COLUMN, -24
        .cfi_offset PC_COLUMN, -24
        mov     x29, sp
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        mov     x19, x0
        mov     x16, x1
        mov     x0, x2
        .cfi_remember_state
        CALLER_IN_REGS
        blr     x16
        .cfi_restore_state
        .cfi_def_cfa sp, 32
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        .cfi_register RETURN_COLUMN, x30
        .cfi_register PC_COLUMN, x30
        ret
END gosched_called_from

#define GUARDED_FRAME 160

// int gosched_guarded(void (*fn)(void *), void *arg, uintptr_t *at): calls fn(arg), and
// returns 0. A signal handler may end the call: it lets the thread go on at
// gosched_guarded_end, with sp as it was stored at *at, and this returns 1.
//
//     | d8-d15                 |  96
//     | x19-x28                |  16
//     | x30, x29               |  <- *at
//     | frames of fn           |
//
// fn must not unwind.
FUNCTION gosched_guarded
        SIGN_LR
        stp     x29, x30, [sp, #-GUARDED_FRAME]!
        .cfi_def_cfa_offset GUARDED_FRAME
        .cfi_offset x29, -GUARDED_FRAME
        .cfi_offset x30, 8 - GUARDED_FRAME
        mov     x29, sp
        SAVE_CALLEE_SAVED GUARDED_FRAME
        str     x29, [x2]
        mov     x16, x0
        mov     x0, x1
        blr     x16
        mov     w0, wzr
        b       .Lguarded_return
        .globl  gosched_guarded_end
        .hidden gosched_guarded_end
gosched_guarded_end:
        BTI_JC                                  // the interrupted instruction may have been a landing pad's
        mov     x29, sp
        mov     w0, #1
.Lguarded_return:
        RESTORE_CALLEE_SAVED
        ldp     x29, x30, [sp], #GUARDED_FRAME
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        AUTHENTICATE_LR
        ret
END gosched_guarded

        NOTES
