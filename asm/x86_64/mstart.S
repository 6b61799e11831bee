// The start and the end of a thread (Go's mstart, in asm_amd64.s), the entry of a signal
// handler, and the code that reports a goroutine's stack overflow.

#include "macros.h"

        .hidden gosched_mstart0, gosched_mexit, gosched_overflow
        .hidden gosched_sighandler, gosched_sigquit

// void *gosched_mstart(void *g0): the start routine of a new thread, for pthread_create.
// Go's mstart. It saves in g0.sched the stack pointer just below this frame, from which
// every later mcall and systemstack of this thread starts. They overwrite the frames of
// mstart0 and of the functions it calls once the scheduler runs.
//
// When the goroutine of a locked thread has ended, goexit0 jumps to mstart0's return
// address. The thread then ends as any thread does: its start routine returns to the C
// library, with the callee-saved registers as they were.
//
//     | return address        |  into the C library
//     | rbp, rbx, r12-r15     |
//     |                       | <- g0.sched.sp, 8 below r15
FUNCTION gosched_mstart
        endbr64
        .cfi_undefined %rip                     // the thread's outermost frame
        pushq   %rbp
        .cfi_def_cfa_offset 16
        pushq   %rbx
        .cfi_def_cfa_offset 24
        pushq   %r12
        .cfi_def_cfa_offset 32
        pushq   %r13
        .cfi_def_cfa_offset 40
        pushq   %r14
        .cfi_def_cfa_offset 48
        pushq   %r15
        .cfi_def_cfa_offset 56
        subq    $8, %rsp                        // aligns rsp for the call
        .cfi_def_cfa_offset 64
        xorl    %ebp, %ebp
        TLS_G   %rax
        movq    %rdi, %fs:(%rax)                // g = g0
        // Sets mcall's defaults, whatever the creating thread had, by way of the 8 free bytes.
        movl    $DEFAULT_MXCSR, (%rsp)
        ldmxcsr (%rsp)
        movl    $DEFAULT_FCW, 4(%rsp)
        fldcw   4(%rsp)
        movq    %rsp, G_SCHED+GOBUF_SP(%rdi)
        movq    %rbp, G_SCHED+GOBUF_BP(%rdi)
        leaq    .Lmstart_returned(%rip), %rax
        movq    %rax, G_SCHED+GOBUF_PC(%rdi)
        movq    %rdi, G_SCHED+GOBUF_G(%rdi)
#ifdef TSAN
        movq    %rdi, %r11
        callq   gosched_enter_fiber
#endif
        callq   gosched_mstart0
.Lmstart_returned:
        endbr64
#ifdef TSAN
        TLS_G   %r11
        movq    %fs:(%r11), %r11
        callq   gosched_leave_fiber
#endif
        callq   gosched_mexit
        addq    $8, %rsp
        .cfi_def_cfa_offset 56
        popq    %r15
        .cfi_def_cfa_offset 48
        popq    %r14
        .cfi_def_cfa_offset 40
        popq    %r13
        .cfi_def_cfa_offset 32
        popq    %r12
        .cfi_def_cfa_offset 24
        popq    %rbx
        .cfi_def_cfa_offset 16
        popq    %rbp
        .cfi_def_cfa_offset 8
        xorl    %eax, %eax
        ret
END gosched_mstart

// void NAME(int, siginfo_t *, void *): the entry of a signal handler, which calls a function
// in Rust. Go's sigtramp, in sys_linux_amd64.s.
//
// The kernel sets rsp as at any call, 8 below a multiple of 16. But qemu-x86_64 7.2 sets it
// to a multiple of 16, on every stack. A compiled function that keeps a vector register in
// its frame would fault then, so rsp is aligned here.
//
//     | return address  |  of the code that ends a handler
//     | rbp      <- rbp |
//     |          <- rsp |  perhaps 8 below
.macro SIGTRAMP handler
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        andq    $-16, %rsp
        callq   \handler
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
.endm

FUNCTION gosched_sigtramp
        SIGTRAMP gosched_sighandler
END gosched_sigtramp

FUNCTION gosched_sigquit_tramp
        SIGTRAMP gosched_sigquit
END gosched_sigquit_tramp

// The signal handler sends a thread here if its goroutine ran into its guard page. The
// handler edits the interrupted context so that the thread goes on here, on g0's stack, with
// rbx = the Regs of the goroutine (src/runtime/arch/x86_64/sigctxt.rs) and rdi = the address
// of the fault.
//
//     the g0 stack:   | frames of mstart | Regs <- rbx | ... <- rsp
//
// To an unwinder this is a signal frame whose caller is the instruction that
// faulted (CALLER_IN_REGS, macros.h): the walk goes from g0 to the goroutine.
FUNCTION gosched_sigreport
        .cfi_signal_frame
        CALLER_IN_REGS
        nop                                     // an unwinder that looks at pc - 1 is still in here
        endbr64
        TLS_G   %rax
        movq    %fs:(%rax), %rdx
        movq    G_M(%rdx), %rdx
        movq    M_G0(%rdx), %rdx
        movq    %rdx, %fs:(%rax)                // g = g0
        SET_STACK_LIMIT $0
        movq    %rbx, %rsi
        callq   gosched_overflow
        ud2
END gosched_sigreport

        NOTES
