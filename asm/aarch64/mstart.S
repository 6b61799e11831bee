// The start and the end of a thread (Go's mstart, in asm_arm64.s), the entry of a signal
// handler, and the code that reports a goroutine's stack overflow.

#include "macros.h"

        .hidden gosched_mstart0, gosched_mexit, gosched_overflow
        .hidden gosched_sighandler, gosched_sigquit

#define MSTART_FRAME 160

// void *gosched_mstart(void *g0): the start routine of a new thread, for pthread_create.
// Go's mstart. It saves in g0.sched the stack pointer just below this frame, from which
// every later mcall and systemstack of this thread starts. They overwrite the frames of
// mstart0 and of the functions it calls once the scheduler runs.
//
// When the goroutine of a locked thread has ended, goexit0 jumps to mstart0's return
// address. The thread then ends as any thread does: its start routine returns to the C
// library, with the callee-saved registers as they were.
//
//     | d8-d15, x19-x28       |
//     | x30                   |  into the C library
//     | x29                   | <- g0.sched.sp
FUNCTION gosched_mstart
        SIGN_LR
        .cfi_undefined x30                      // the thread's outermost frame
        stp     x29, x30, [sp, #-MSTART_FRAME]!
        .cfi_def_cfa_offset MSTART_FRAME
        stp     x19, x20, [sp, #16]
        stp     x21, x22, [sp, #32]
        stp     x23, x24, [sp, #48]
        stp     x25, x26, [sp, #64]
        stp     x27, x28, [sp, #80]
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x29, xzr
        TLS_G   x9, x10
        str     x0, [x9]                        // g = g0
        msr     fpcr, xzr                       // mcall's default, whatever the creating thread had
        mov     x10, sp
        str     x10, [x0, #G_SCHED+GOBUF_SP]
        str     xzr, [x0, #G_SCHED+GOBUF_BP]
        adr     x10, .Lmstart_returned
        str     x10, [x0, #G_SCHED+GOBUF_PC]
        str     x0, [x0, #G_SCHED+GOBUF_G]
        bl      gosched_mstart0
.Lmstart_returned:
        BTI_J
        bl      gosched_mexit
        ldp     x19, x20, [sp, #16]
        ldp     x21, x22, [sp, #32]
        ldp     x23, x24, [sp, #48]
        ldp     x25, x26, [sp, #64]
        ldp     x27, x28, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        ldp     x29, x30, [sp], #MSTART_FRAME
        .cfi_def_cfa_offset 0
        mov     x0, xzr
        AUTHENTICATE_LR
        ret
END gosched_mstart

// void NAME(int, siginfo_t *, void *): the entry of a signal handler, which jumps to a
// function in Rust. Go's sigtramp, in sys_linux_arm64.s. (The routine for x86-64 aligns the
// stack; here the stack is always aligned.)
.macro SIGTRAMP handler
        BTI_C
        b       \handler
.endm

FUNCTION gosched_sigtramp
        SIGTRAMP gosched_sighandler
END gosched_sigtramp

FUNCTION gosched_sigquit_tramp
        SIGTRAMP gosched_sigquit
END gosched_sigquit_tramp

// The signal handler sends a thread here if its goroutine ran into its guard page. The
// handler edits the interrupted context so that the thread goes on here, on g0's stack, with
// x19 = the Regs of the goroutine (src/runtime/arch/aarch64/sigctxt.rs) and x0 = the address
// of the fault.
//
//     the g0 stack:   | frames of mstart | Regs <- x19 | ... <- sp
//
// To an unwinder this is a signal frame whose caller is the instruction that
// faulted (CALLER_IN_REGS, macros.h): the walk goes from g0 to the goroutine.
FUNCTION gosched_sigreport
        .cfi_signal_frame
        .cfi_return_column RETURN_COLUMN
        CALLER_IN_REGS
        BTI_JC                                  // the interrupted instruction may have been a landing pad's
        TLS_G   x9, x10
        ldr     x10, [x9]
        ldr     x10, [x10, #G_M]
        ldr     x10, [x10, #M_G0]
        str     x10, [x9]                       // g = g0
        mov     x1, x19
        bl      gosched_overflow
        brk     #1
END gosched_sigreport

        NOTES
