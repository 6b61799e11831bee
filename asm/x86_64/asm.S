// The context switches of x86-64 Linux: Go's asm_amd64.s.
//
// A goroutine (G) runs on a stack of its own. The scheduler runs on its thread's stack, which also
// belongs to a G: g0. All switches are between those two:
//
//     mcall       G  -> g0   saves the G, calls a function that doesn't return
//     gogo        g0 -> G    resumes a saved G, or starts a new one
//     systemstack G  -> g0   calls a function on g0 and comes back
//
// The switches preserve what a call preserves in the System V ABI: rbx, rbp, r12-r15, the control
// bits of mxcsr and the x87 control word. The caller of mcall has given up everything else by
// calling a C function.
//
// A G that left through mcall looks like this. No part of its state is anywhere else:
//
//                 |  ...                  |
//                 |  return address       |  into mcall's caller
//     sched.bp -> |  rbp of the caller    |  so the frame-pointer chain goes on
//                 |  rbx                  |  -8
//                 |  r12                  |  -16
//                 |  r13                  |  -24
//                 |  r14                  |  -32
//                 |  r15                  |  -40
//     sched.sp -> |  fcw, pad, mxcsr      |  -48, -44
//
// The return predictor. The CPU guesses each `ret` from a stack of the calls
// it has seen. A switch changes the real stack but not the predictor's, so the
// two must agree again afterwards. They do if mcall is called, the code that
// resumes a G ends in mcall's own `ret`, and every call in between returns.
// Hence mcall *jumps* to its function, the scheduler's chain from there to gogo
// is inlined, gogo is jumped to, and goexit jumps to mcall.
// With one call too many, every `ret` up the resumed stack is mispredicted
// (measured: 14 ns a switch pair instead of 3, and 4 ns more for each frame).

#include "macros.h"

// The Rust functions that this file calls. They are hidden too: otherwise a shared object
// would call its own functions through a table, and a symbol that is bound at its first call
// needs a thread's stack.
        .hidden gosched_badmcall, gosched_badmcall2, gosched_badsystemstack
        .hidden gosched_systemstack_of_null, gosched_mcall_of_null, gosched_gogo_of_null
        .hidden gosched_goexit0, gosched_claim_at_end
        .hidden gosched_init_libc_thread, gosched_run_tls_destructors

#define ARCH_SET_FS 0x1002
#define SYS_ARCH_PRCTL 158

// The control bits of mxcsr; the six below them are sticky exception flags,
// which a call need not preserve.
#define MXCSR_CONTROL 0xffc0

// The G that this thread runs, null on a foreign thread. It lives here and not in
// a Rust thread_local!, whose address the compiler may keep across a switch, after
// which the G may be on another thread.
        .section .tbss, "awT", @nobits
        .p2align 3
        .globl  gosched_g
        .hidden gosched_g
        .type   gosched_g, @object
        .size   gosched_g, 8
gosched_g:
        .zero   8
// The word that stands in for the words of malloc, if malloc has none.
        .p2align 3
no_word:
        .zero   8

// The offsets from the thread pointer of the two words that malloc keeps for each thread
// (src/runtime/tls finds them), and whether the thread pointer is set by a system call.
        .data
        .p2align 3
        .globl  gosched_malloc_words, gosched_set_by_kernel
        .hidden gosched_malloc_words, gosched_set_by_kernel
        .type   gosched_malloc_words, @object
        .size   gosched_malloc_words, 16
        .type   gosched_set_by_kernel, @object
        .size   gosched_set_by_kernel, 1
gosched_malloc_words:
        .quad   0, 0
gosched_set_by_kernel:
        .byte   0

        .section .rodata
        .p2align 3
default_mxcsr:
        .long   DEFAULT_MXCSR
default_fcw:
        .long   DEFAULT_FCW

// G *gosched_getg(void): the running G, null on a foreign thread.
FUNCTION gosched_getg
        endbr64
        TLS_G   %rax
        movq    %fs:(%rax), %rax
        ret
END gosched_getg

// void gosched_setg(G *gp): changes only the result of getg and the matching stack limit, not
// the stack.
FUNCTION gosched_setg
        endbr64
        TLS_G   %rax
        movq    %rdi, %fs:(%rax)
        xorl    %ecx, %ecx
        testq   %rdi, %rdi
        je      .Lsetg_limit
        movq    G_M(%rdi), %rdx
        cmpq    %rdi, M_CURG(%rdx)
        jne     .Lsetg_limit                    // g0 or gsignal
        movq    G_STACKGUARD0(%rdi), %rcx
.Lsetg_limit:
        SET_STACK_LIMIT %rcx
        ret
END gosched_setg

// void gosched_mcall(void (*fn)(G *)): leaves the running G and calls fn(g) on
// g0's stack. fn never returns. The G runs on when gogo(&g->sched) resumes it,
// which looks like the return of its call of mcall. Go's mcall.
//
//     the G's stack, after                the g0 stack, as fn finds it
//     | return address      |             | frames of mstart     |
//     | rbp, rbx, r12-r15   |             | ...                  | <- g0.sched.sp
//     | fcw, mxcsr          |             | address in mcall     | <- rsp
//
// The control words are saved in the G's frame. If the G has changed them, mcall
// puts the defaults back, for the scheduler and for the G that runs next, and the
// G loads its own when it goes on. So the common G, which never touched them, pays
// for two stores and a compare, and no load of a control register (ldmxcsr and
// fldcw would double the price of the switch).
//
// C calls gosched_mcall, which checks fn for null first, as in systemstack.
FUNCTION gosched_mcall
        endbr64
        testq   %rdi, %rdi
        jne     gosched_mcall_fn
        jmp     gosched_mcall_of_null
        .p2align 4
        .globl  gosched_mcall_fn
        .hidden gosched_mcall_fn
        // A label, for the same reason as gosched_systemstack_fn.
gosched_mcall_fn:
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $48, %rsp
        fnstcw  -48(%rbp)
        stmxcsr -44(%rbp)
        movq    %rbx, -8(%rbp)
        .cfi_offset %rbx, -24
        movq    %r12, -16(%rbp)
        .cfi_offset %r12, -32
        movq    %r13, -24(%rbp)
        .cfi_offset %r13, -40
        movq    %r14, -32(%rbp)
        .cfi_offset %r14, -48
        movq    %r15, -40(%rbp)
        .cfi_offset %r15, -56

        TLS_G   %rax
        movq    %fs:(%rax), %rsi                // rsi = g
        movq    G_M(%rsi), %rdx
        movq    M_G0(%rdx), %rdx                // rdx = g0
        cmpq    %rdx, %rsi
        je      .Lmcall_on_g0

        movq    %rsp, G_SCHED+GOBUF_SP(%rsi)
        movq    %rbp, G_SCHED+GOBUF_BP(%rsi)
        leaq    .Lmcall_resume(%rip), %r9
        movl    -44(%rbp), %ecx
        movzwl  -48(%rbp), %r8d
        andl    $MXCSR_CONTROL, %ecx
        xorl    $DEFAULT_MXCSR, %ecx
        xorl    $DEFAULT_FCW, %r8d
        orl     %r8d, %ecx                      // 0, unless its control words are its own
        addq    G_TP(%rsi), %rcx                // and 0 still, unless its thread-locals are
        jne     .Lmcall_own
.Lmcall_switch:
        movq    %r9, G_SCHED+GOBUF_PC(%rsi)
        movq    %rdx, %fs:(%rax)                // g = g0
        movq    G_SCHED+GOBUF_SP(%rdx), %rsp
        .cfi_remember_state
        // This is here to put an access between this change of rsp and the push below. Valgrind
        // merges two changes without an access between them, and would take 8 bytes of the red zone
        // for unused.
        SET_STACK_LIMIT $0
        // The G may run elsewhere by the time an unwinder walks g0, so the walk must
        // not go on into the G's frames. It ends here, by CFI
        // (no return address) and by frame pointers (rbp is null).
        .cfi_undefined %rip
        .cfi_def_cfa %rsp, 0
        xorl    %ebp, %ebp
#ifdef ASAN
        leaq    G_SANITIZER(%rsi), %r10
        xorl    %ecx, %ecx
        leaq    gosched_goexit0(%rip), %r11
        cmpq    %r11, %rdi
        cmoveq  %rcx, %r10                      // a G that ends gives up its fake stack
        movq    %rdx, %r11
        callq   gosched_stack_changes
#endif
        ACTOR_CHANGES %rsi, %rdx
        leaq    .Lmcall_returned(%rip), %rcx
        pushq   %rcx                            // fn's return address: rsp is as after a call
        movq    %rdi, %rcx
        movq    %rsi, %rdi
        jmpq    *%rcx                           // a jump: see "The return predictor"
        nop                                     // so that .Lmcall_returned - 1 is in this row of the CFI
.Lmcall_returned:
        callq   gosched_badmcall2
        ud2

.Lmcall_own:
        .cfi_restore_state
        .cfi_remember_state
        subq    G_TP(%rsi), %rcx
        je      .Lmcall_own_locals
        leaq    .Lmcall_resume_own_words(%rip), %r9
        ldmxcsr default_mxcsr(%rip)
        fldcw   default_fcw(%rip)
        cmpq    $0, G_TP(%rsi)
        je      .Lmcall_switch
        // Sets the M's thread-locals for the code on g0, or those of the goroutine that was
        // claimed. A signal handler finds g0 in either.
.Lmcall_own_locals:
        movq    G_M(%rsi), %rcx
        movq    M_NEXT_TP(%rcx), %r8
        movq    %rdx, (%r8,%rax)
        callq   set_locals
        jmp     .Lmcall_switch

        // gogo jumps here, with rsp and rbp as they were saved.
.Lmcall_resume_own_words:
        endbr64
        ldmxcsr -44(%rbp)
        fldcw   -48(%rbp)
.Lmcall_resume:
        endbr64
        movq    -8(%rbp), %rbx
        movq    -16(%rbp), %r12
        movq    -24(%rbp), %r13
        movq    -32(%rbp), %r14
        movq    -40(%rbp), %r15
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        .cfi_restore %rbx
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        ret                                     // pairs with the call that entered mcall

.Lmcall_on_g0:
        .cfi_restore_state
        andq    $-16, %rsp
        callq   gosched_badmcall
        ud2
END gosched_mcall

// The end of an mcall, for morestack and asyncPreempt, which have saved this M's goroutine: leaves
// the goroutine and calls rax = fn with it. fn never returns. This is jumped to on g0, whose frames
// are given up.
FUNCTION gosched_leave
        .cfi_undefined %rip                     // as in mcall
        TLS_G   %rsi
        movq    %fs:(%rsi), %rdx                // rdx = g0
        movq    G_M(%rdx), %rcx
        movq    M_CURG(%rcx), %rdi
        movq    G_SCHED+GOBUF_SP(%rdx), %rsp
        xorl    %ebp, %ebp
        SEEN
        ACTOR_CHANGES %rdi, %rdx
        cmpq    $0, G_TP(%rdi)
        je      .Lleave_locals
        movq    M_TP(%rcx), %r8                 // the M's; its g is g0 still
        callq   set_locals
        // Sets g to the G again in the G's own thread-locals, which no thread has now. Otherwise
        // the next thread that has them would find this M's g0 there for a moment.
        movq    G_TP(%rdi), %r8
        movq    %rdi, (%r8,%rsi)
.Lleave_locals:
        ldmxcsr default_mxcsr(%rip)             // the goroutine's own are with its
        fldcw   default_fcw(%rip)               // vector registers
        leaq    .Lleave_returned(%rip), %rcx
        pushq   %rcx
        jmpq    *%rax
        nop                                     // so that .Lleave_returned - 1 is in here
.Lleave_returned:
        callq   gosched_badmcall2
        ud2
END gosched_leave

// mcall(fn) for goroutines that switch to each other from different places, as
// coroutines do. It is jumped to, with rsi = the address at which to go on. With a
// call, mcall's `ret` would return to the call site of the other goroutine, which the
// return predictor can't know. The predictor of indirect jumps learns that address,
// and the one call in here has the same return address for both goroutines.
FUNCTION gosched_mcall_by_jump
        .cfi_def_cfa_offset 0
        .cfi_register %rip, %rsi
        endbr64
        pushq   %rsi
        .cfi_def_cfa_offset 8
        .cfi_offset %rip, -8
        callq   gosched_mcall_fn
        popq    %rcx
        .cfi_def_cfa_offset 0
        .cfi_register %rip, %rcx
        jmpq    *%rcx
END gosched_mcall_by_jump

// void gosched_gogo(G *gp): gosched_gogo_buf for C, which has no type Gobuf.
FUNCTION gosched_gogo
        endbr64
        testq   %rdi, %rdi
        je      gosched_gogo_of_null
        .cfi_undefined %rip
        movq    G_STACKGUARD0(%rdi), %rcx
        addq    $G_SCHED, %rdi
        jmp     gosched_gogo_buf
END gosched_gogo

// void gosched_gogo_buf(Gobuf *buf, ..., guard in rcx): resumes the G whose sched is buf, at
// buf's pc. guard is the G's stackguard0, which the caller has at hand, and becomes the limit.
// This never returns, and is jumped to, never called. rdi = buf is still set when the G goes
// on, which is how goexit finds its G. Go's gogo.
FUNCTION gosched_gogo_buf
        .cfi_undefined %rip                     // there is nothing to return to
        endbr64
        leaq    -G_SCHED(%rdi), %rdx            // buf->g, without a load that the next mcall waits for
        cmpq    $0, G_TP-G_SCHED(%rdi)
        jne     .Lgogo_own_locals
.Lgogo_locals:
        TLS_G   %rax
#if defined(ASAN) || defined(TSAN)
        movq    %fs:(%rax), %r8                 // r8 = g0
        STACK_GIVEN_UP
        STACK_CHANGES %r8, %rdx
        ACTOR_CHANGES %r8, %rdx
#endif
        movq    %rdx, %fs:(%rax)
        SET_STACK_LIMIT %rcx
        movq    GOBUF_SP(%rdi), %rsp
        movq    GOBUF_BP(%rdi), %rbp
        jmpq    *GOBUF_PC(%rdi)
.Lgogo_own_locals:
        movq    G_TP-G_SCHED(%rdi), %r8
        callq   set_locals                      // it returns, on g0's stack
        jmp     .Lgogo_locals
END gosched_gogo_buf

// gosched_gogo_buf for a G that was claimed: this thread already has the G's thread-locals, or
// the M's if the G has none of its own.
FUNCTION gosched_gogo_claimed
        .cfi_undefined %rip
        endbr64
        leaq    -G_SCHED(%rdi), %rdx
        jmp     .Lgogo_locals
END gosched_gogo_claimed

// void gosched_unclaim(uintptr_t tp, G *gp): called on g0 while this thread has the thread-locals
// of gp. Sets the M's thread-locals, at tp, in which g is g0 already. In the thread-locals of gp, g
// becomes gp again, as in all thread-locals that no thread has.
FUNCTION gosched_unclaim
        endbr64
        TLS_G   %rax
        movq    %fs:0, %rdx
        movq    %rdi, %r8
        callq   set_locals
        movq    %rsi, (%rdx,%rax)
        ret
END gosched_unclaim

// Makes the thread-locals at r8 those of this thread, and copies malloc's two words to them.
// This returns as any function does, so the return predictor stays in step. A signal handler
// sees the old thread-locals or the new, and both have a gosched_g. Changes r8, r10 and r11.
        .p2align 4
        .type   set_locals, @function
set_locals:
        .cfi_startproc
        movq    gosched_malloc_words(%rip), %r10
        movq    gosched_malloc_words+8(%rip), %r11
        pushq   %fs:(%r10)
        .cfi_def_cfa_offset 16
        pushq   %fs:(%r11)
        .cfi_def_cfa_offset 24
        cmpb    $0, gosched_set_by_kernel(%rip)
        jne     .Lset_by_kernel
        wrfsbase %r8
.Lset_words:
        popq    %fs:(%r11)
        .cfi_def_cfa_offset 16
        popq    %fs:(%r10)
        .cfi_def_cfa_offset 8
        ret
        // arch_prctl(ARCH_SET_FS, r8), which changes rax, rcx and r11.
.Lset_by_kernel:
        .cfi_def_cfa_offset 24
        pushq   %rax
        .cfi_def_cfa_offset 32
        pushq   %rcx
        .cfi_def_cfa_offset 40
        pushq   %rdi
        .cfi_def_cfa_offset 48
        pushq   %rsi
        .cfi_def_cfa_offset 56
        pushq   %r11
        .cfi_def_cfa_offset 64
        movl    $ARCH_SET_FS, %edi
        movq    %r8, %rsi
        movl    $SYS_ARCH_PRCTL, %eax
        syscall
        popq    %r11
        .cfi_def_cfa_offset 56
        popq    %rsi
        .cfi_def_cfa_offset 48
        popq    %rdi
        .cfi_def_cfa_offset 40
        popq    %rcx
        .cfi_def_cfa_offset 32
        popq    %rax
        .cfi_def_cfa_offset 24
        jmp     .Lset_words
        .cfi_endproc
        .size   set_locals, . - set_locals

// ptrdiff_t gosched_no_word(void): the offset of no_word from the thread pointer.
FUNCTION gosched_no_word
        endbr64
        movq    no_word@GOTTPOFF(%rip), %rax
        ret
END gosched_no_word

// void gosched_with_locals(uintptr_t tp, void (*f)(void *), void *arg): calls f(arg) with these
// thread-locals, and puts this thread's own back.
//
//     | return address    |
//     | rbx               | <- rsp
FUNCTION gosched_with_locals
        endbr64
        pushq   %rbx
        .cfi_def_cfa_offset 16
        .cfi_offset %rbx, -16
        movq    %fs:0, %rbx
        movq    %rdi, %r8
        callq   set_locals
        movq    %rdx, %rdi
        callq   *%rsi
        movq    %rbx, %r8
        callq   set_locals
        popq    %rbx
        .cfi_def_cfa_offset 8
        .cfi_restore %rbx
        ret
END gosched_with_locals

// The base of every G's stack. A new G's sched.pc is here, so gogo starts
// it, on an empty stack, with rdi = &g->sched:
//
//     stack.hi -> |  spare words           |
//     sched.sp -> |                        |  16-byte aligned
//                 |  goexit, past its call |  the return address of fn
//                 |  frames of fn          |
//
// It calls startpc(sched.ctxt). When that returns, the G ends: goexit jumps to
// mcall(goexit0), as Go's goexit1 does. The registers that mcall saves are never
// read, but mcall also resets the control words, which a fesetround may have changed.
// Unwinders stop here: there is no return address, and rbp was null when fn was called.
FUNCTION gosched_goexit
        .cfi_undefined %rip
        endbr64
        cmpq    $0, G_TP-G_SCHED(%rdi)
        jne     .Lgoexit_own_locals
        movq    G_STARTPC-G_SCHED(%rdi), %rax
        movq    GOBUF_CTXT(%rdi), %rdi
        callq   *%rax
        leaq    gosched_goexit0(%rip), %rdi
.Lgoexit_leaves:
        pushq   $0                              // where mcall's caller would be
        jmp     gosched_mcall_fn
        // The same, with the steps of a thread at its start and at its end.
.Lgoexit_own_locals:
        movq    %rdi, %rbx
        callq   gosched_init_libc_thread
        movq    G_STARTPC-G_SCHED(%rbx), %rax
        movq    GOBUF_CTXT(%rbx), %rdi
        callq   *%rax
        callq   gosched_run_tls_destructors
        callq   gosched_claim_at_end            // rax = what is to be called on g0
        movq    %rax, %rdi
        jmp     .Lgoexit_leaves
END gosched_goexit

// void gosched_systemstack(void (*fn)(void *), void *arg): calls fn(arg) on
// g0's stack and returns. On g0, on the signal stack and on a foreign thread it
// just calls. Go's systemstack.
//
//     the G's stack                        the g0 stack
//     | return address           |         | frames of mstart         |
//     | rbp                      |         | ...                      | <- g0.sched.sp
//     | address in systemstack   |         | address in the switch    |
//     | rbp               <- rbp |         | frames of fn             |
//     | g                        |
//
// An unwind of fn goes through both frames: rbp, which fn preserves, leads from
// one stack to the other. The frame that does so is marked as a signal frame,
// because gdb takes a caller whose stack lies below its callee's for a corrupt
// stack, and only a signal frame may do that. Unwinders look up the caller of a
// signal frame at its exact pc, not one byte before. In a Rust caller that pc
// could belong to the next landing pad, so the caller is the outer half of this
// routine, which has no landing pads. Rust's wrapper puts g back after an unwind.
//
// C calls gosched_systemstack, which checks fn for null first. The runtime always
// has a function and calls gosched_systemstack_fn.
FUNCTION gosched_systemstack
        endbr64
        testq   %rdi, %rdi
        jne     gosched_systemstack_fn
        jmp     gosched_systemstack_of_null
        .p2align 4
        .globl  gosched_systemstack_fn
        .hidden gosched_systemstack_fn
        // A label, not a function: it lies in the function above and has no size, so a symbolizer
        // that takes the nearest function would find no name here.
gosched_systemstack_fn:
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        TLS_G   %rax
        movq    %fs:(%rax), %rdx                // rdx = g
        testq   %rdx, %rdx
        je      .Lsystemstack_here
        movq    G_M(%rdx), %rcx
        movq    M_G0(%rcx), %r8                 // r8 = g0
        cmpq    %rdx, %r8
        je      .Lsystemstack_here
        cmpq    %rdx, M_GSIGNAL(%rcx)
        je      .Lsystemstack_here
        cmpq    %rdx, M_CURG(%rcx)
        jne     .Lsystemstack_bad
        callq   systemstack_switch
        nop
        popq    %rbp
        .cfi_remember_state
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
.Lsystemstack_here:
        .cfi_restore_state
        .cfi_remember_state
        movq    %rdi, %rax
        movq    %rsi, %rdi
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        jmpq    *%rax
.Lsystemstack_bad:
        .cfi_restore_state
        callq   gosched_badsystemstack
        ud2
END gosched_systemstack

// The half of systemstack that changes stacks. In: rdi = fn, rsi = arg,
// rax = TLS offset of g, rdx = g, r8 = g0.
        .p2align 4
        .type   systemstack_switch, @function
systemstack_switch:
        .cfi_startproc
        .cfi_signal_frame
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rdx                            // g, for the way back
        // The point at which another thread's traceback of this G starts.
        movq    %rsp, G_SCHED+GOBUF_SP(%rdx)
        movq    %rbp, G_SCHED+GOBUF_BP(%rdx)
        leaq    .Lsystemstack_back(%rip), %rcx
        movq    %rcx, G_SCHED+GOBUF_PC(%rdx)

        movq    %r8, %fs:(%rax)                 // g = g0
        SET_STACK_LIMIT $0
        movq    G_SCHED+GOBUF_SP(%r8), %rsp
        TO_G0   %rdx, %r8
        movq    %rdi, %rcx
        movq    %rsi, %rdi
        callq   *%rcx
.Lsystemstack_back:
        movq    -8(%rbp), %rdx
        TLS_G   %rax
#if defined(ASAN) || defined(TSAN)
        movq    %fs:(%rax), %r8
        FROM_G0 %r8, %rdx
#endif
        movq    %rdx, %fs:(%rax)                // g = the G again
        movq    G_STACKGUARD0(%rdx), %rcx
        SET_STACK_LIMIT %rcx
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   systemstack_switch, . - systemstack_switch

        NOTES
