// The context switches of aarch64 Linux: Go's asm_arm64.s.
//
// A goroutine (G) runs on a stack of its own. The scheduler runs on its thread's stack, which also
// belongs to a G: g0. All switches are between those two:
//
//     mcall       G  -> g0   saves the G, calls a function that doesn't return
//     gogo        g0 -> G    resumes a saved G, or starts a new one
//     systemstack G  -> g0   calls a function on g0 and comes back
//
// The switches preserve what a call preserves in the procedure call standard: x19-x29, sp, the
// lower halves of v8-v15 (d8-d15) and fpcr. The caller of mcall has given up everything else by
// calling a C function.
//
// A G that left through mcall looks like this. No part of its state is anywhere else:
//
//                 |  ...                  |
//                 |  fpcr                 |  160
//                 |  d8-d15               |  96
//                 |  x19-x28              |  16
//                 |  x30                  |  into mcall's caller
//     sched.sp,   |                       |
//     sched.bp -> |  x29 of the caller    |  a frame record: the chain goes on
//
// The return predictor. The CPU guesses each `ret` from a stack of the calls
// it has seen. A switch changes the real stack but not the predictor's, so the
// two must agree again afterwards. They do if mcall is called, the code that
// resumes a G ends in mcall's own `ret`, and every call in between returns.
// Hence mcall *jumps* to its function, the scheduler's chain from there to gogo
// is inlined, gogo is jumped to, and goexit jumps to mcall.
// (asm/x86_64/asm.S gives the measured cost of one call too many.)
//
// Return addresses are not signed here: the signature would include sp, which changes
// when the stack moves.

#include "macros.h"

// The Rust functions that this file calls. They are hidden too: otherwise a shared object
// would call its own functions through a table, and a symbol that is bound at its first call
// needs a thread's stack.
        .hidden gosched_badmcall, gosched_badmcall2, gosched_badsystemstack
        .hidden gosched_systemstack_of_null, gosched_mcall_of_null, gosched_gogo_of_null
        .hidden gosched_goexit0, gosched_claim_at_end
        .hidden gosched_init_libc_thread, gosched_run_tls_destructors

#define MCALL_FRAME 176

// The G that this thread runs, null on a foreign thread. It lives here and not in
// a Rust thread_local!, whose address the compiler may keep across a switch, after
// which the G may be on another thread.
        .section .tbss, "awT", %nobits
        .p2align 3
        .globl  gosched_g
        .hidden gosched_g
        .type   gosched_g, %object
        .size   gosched_g, 8
gosched_g:
        .zero   8
// The word that stands in for the words of malloc, if malloc has none.
        .p2align 3
no_word:
        .zero   8

// The offsets from the thread pointer of the two words that malloc keeps for each thread
// (src/runtime/tls finds them).
        .data
        .p2align 3
        .globl  gosched_malloc_words
        .hidden gosched_malloc_words
        .type   gosched_malloc_words, %object
        .size   gosched_malloc_words, 16
gosched_malloc_words:
        .quad   0, 0

// G *gosched_getg(void): the running G, null on a foreign thread.
FUNCTION gosched_getg
        BTI_C
        TLS_G   x0, x1
        ldr     x0, [x0]
        ret
END gosched_getg

// void gosched_setg(G *gp): changes only the result of getg, not the stack.
FUNCTION gosched_setg
        BTI_C
        TLS_G   x1, x2
        str     x0, [x1]
        ret
END gosched_setg

// void gosched_mcall(void (*fn)(G *)): leaves the running G and calls fn(g) on
// g0's stack. fn never returns. The G runs on when gogo(&g->sched) resumes it,
// which looks like the return of its call of mcall. Go's mcall.
//
//     the G's stack, after                the g0 stack, as fn finds it
//     | fpcr, d8-d15, x19-x28 |           | frames of mstart     |
//     | x30, x29              |           | ...                  | <- g0.sched.sp, sp
//
// fpcr is saved in the G's frame. If the G has changed it, mcall puts the default back,
// which is 0, for the scheduler and for the G that runs next, and the G loads its own when
// it goes on. So the common G, which never touched it, pays for a read, a store and a
// compare, and no write of a control register.
//
// C calls gosched_mcall, which checks fn for null first, as in systemstack.
FUNCTION gosched_mcall
        BTI_C
        cbnz    x0, gosched_mcall_fn
        b       gosched_mcall_of_null
        .p2align 4
        .globl  gosched_mcall_fn
        .hidden gosched_mcall_fn
        // A label, for the same reason as gosched_systemstack_fn.
gosched_mcall_fn:
        stp     x29, x30, [sp, #-MCALL_FRAME]!
        .cfi_def_cfa_offset MCALL_FRAME
        .cfi_offset x29, -MCALL_FRAME
        .cfi_offset x30, 8 - MCALL_FRAME
        mov     x29, sp
        .cfi_def_cfa_register x29
        SAVE_CALLEE_SAVED MCALL_FRAME
        mrs     x9, fpcr
        str     x9, [x29, #160]

        TLS_G   x10, x11
        ldr     x1, [x10]                       // x1 = g
        ldr     x11, [x1, #G_M]
        ldr     x11, [x11, #M_G0]               // x11 = g0
        cmp     x1, x11
        b.eq    .Lmcall_on_g0

        str     x29, [x1, #G_SCHED+GOBUF_SP]
        str     x29, [x1, #G_SCHED+GOBUF_BP]
        adr     x12, .Lmcall_resume
        cbnz    x9, .Lmcall_own_fpcr
.Lmcall_switch:
        str     x12, [x1, #G_SCHED+GOBUF_PC]
        ldr     x13, [x1, #G_TP]
        cbnz    x13, .Lmcall_own_locals
.Lmcall_locals:
        str     x11, [x10]                      // g = g0
        ldr     x13, [x11, #G_SCHED+GOBUF_SP]
        mov     sp, x13
        .cfi_remember_state
        // The G may run elsewhere by the time an unwinder walks g0, so the walk must
        // not go on into the G's frames. It ends here, by CFI
        // (no return address) and by frame pointers (x29 is null).
        .cfi_undefined x30
        .cfi_def_cfa sp, 0
        mov     x29, xzr
        adr     x30, .Lmcall_returned           // all is as after a call
        mov     x16, x0
        mov     x0, x1
        br      x16                             // a jump: see "The return predictor"
        nop                                     // so that .Lmcall_returned - 4 is in this row of the CFI
.Lmcall_returned:
        bl      gosched_badmcall2
        brk     #1

.Lmcall_own_fpcr:
        .cfi_restore_state
        .cfi_remember_state
        adr     x12, .Lmcall_resume_own_fpcr
        msr     fpcr, xzr
        b       .Lmcall_switch

        // Sets the M's thread-locals for the code on g0, or those of the goroutine that was
        // claimed. A signal handler finds g0 in either.
.Lmcall_own_locals:
        ldr     x13, [x1, #G_M]
        ldr     x13, [x13, #M_NEXT_TP]
        mrs     x14, tpidr_el0
        sub     x14, x10, x14
        str     x11, [x13, x14]
        SET_LOCALS x13
        TLS_G   x10, x13
        b       .Lmcall_locals

        // gogo jumps here, with sp and x29 as they were saved.
.Lmcall_resume_own_fpcr:
        BTI_J
        ldr     x9, [x29, #160]
        msr     fpcr, x9
.Lmcall_resume:
        BTI_J
        RESTORE_CALLEE_SAVED
        .irp    reg, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28
        .cfi_restore \reg
        .endr
        .irp    reg, d8, d9, d10, d11, d12, d13, d14, d15
        .cfi_restore \reg
        .endr
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #MCALL_FRAME
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret                                     // pairs with the call that entered mcall

.Lmcall_on_g0:
        .cfi_restore_state
        bl      gosched_badmcall
        brk     #1
END gosched_mcall

// The end of an mcall, for morestack and asyncPreempt, which have saved this M's goroutine: leaves
// the goroutine and calls x0 = fn with it. fn never returns. This is jumped to on g0, whose frames
// are given up. fpcr has its default again, and the goroutine's own value is saved with its vector
// registers.
FUNCTION gosched_leave
        .cfi_undefined x30                      // as in mcall
        TLS_G   x9, x10
        ldr     x11, [x9]                       // x11 = g0
        ldr     x12, [x11, #G_M]
        mov     x9, x0                          // SET_LOCALS changes x16
        ldr     x0, [x12, #M_CURG]
        ldr     x13, [x11, #G_SCHED+GOBUF_SP]
        mov     sp, x13
        mov     x29, xzr
        ldr     x13, [x0, #G_TP]
        cbz     x13, .Lleave_locals
        ldr     x13, [x12, #M_TP]
        SET_LOCALS x13                          // the M's; its g is g0 still
        // Sets g to the G again in the G's own thread-locals, which no thread has now. Otherwise
        // the next thread that has them would find this M's g0 there for a moment.
        TLS_G   x10, x14
        sub     x10, x10, x14
        ldr     x14, [x0, #G_TP]
        str     x0, [x14, x10]
.Lleave_locals:
        mov     x16, x9
        adr     x30, .Lleave_returned
        br      x16
        nop                                     // so that .Lleave_returned - 4 is in here
.Lleave_returned:
        bl      gosched_badmcall2
        brk     #1
END gosched_leave

// mcall(fn) for goroutines that switch to each other from different places, as
// coroutines do. It is jumped to, with x1 = the address at which to go on. With a
// call, mcall's `ret` would return to the call site of the other goroutine, which the
// return predictor can't know. The predictor of indirect jumps learns that address,
// and the one call in here has the same return address for both goroutines.
FUNCTION gosched_mcall_by_jump
        .cfi_register x30, x1
        str     x1, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x30, -16
        bl      gosched_mcall_fn
        ldr     x16, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_register x30, x16
        br      x16
END gosched_mcall_by_jump

// void gosched_gogo(G *gp): gosched_gogo_buf for C, which has no type Gobuf.
FUNCTION gosched_gogo
        BTI_C
        cbz     x0, .Lgogo_of_null
        .cfi_undefined x30
        add     x0, x0, #G_SCHED
        b       gosched_gogo_buf
.Lgogo_of_null:
        b       gosched_gogo_of_null
END gosched_gogo

// void gosched_gogo_buf(Gobuf *buf): resumes the G whose sched is buf, at buf's pc. This
// never returns, and is jumped to, never called. x0 = buf is still set when the G goes on,
// which is how goexit finds its G. Go's gogo.
FUNCTION gosched_gogo_buf
        .cfi_undefined x30                      // there is nothing to return to
        sub     x9, x0, #G_SCHED                // buf->g, without a load that the next mcall waits for
        ldr     x13, [x0, #G_TP-G_SCHED]
        cbnz    x13, .Lgogo_own_locals
.Lgogo_locals:
        TLS_G   x10, x11
        str     x9, [x10]
        ldr     x12, [x0, #GOBUF_SP]
        ldr     x29, [x0, #GOBUF_BP]
        ldr     x16, [x0, #GOBUF_PC]
        mov     sp, x12
        br      x16
.Lgogo_own_locals:
        SET_LOCALS x13
        b       .Lgogo_locals
END gosched_gogo_buf

// gosched_gogo_buf for a G that was claimed: this thread already has the G's thread-locals, or
// the M's if the G has none of its own.
FUNCTION gosched_gogo_claimed
        .cfi_undefined x30
        sub     x9, x0, #G_SCHED
        b       .Lgogo_locals
END gosched_gogo_claimed

// void gosched_unclaim(uintptr_t tp, G *gp): called on g0 while this thread has the thread-locals
// of gp. Sets the M's thread-locals, at tp, in which g is g0 already. In the thread-locals of gp, g
// becomes gp again, as in all thread-locals that no thread has.
FUNCTION gosched_unclaim
        BTI_C
        TLS_G   x10, x11
        SET_LOCALS x0
        str     x1, [x10]
        ret
END gosched_unclaim

// ptrdiff_t gosched_no_word(void): the offset of no_word from the thread pointer.
FUNCTION gosched_no_word
        BTI_C
        adrp    x0, :gottprel:no_word
        ldr     x0, [x0, :gottprel_lo12:no_word]
        ret
END gosched_no_word

// void gosched_with_locals(uintptr_t tp, void (*f)(void *), void *arg): calls f(arg) with these
// thread-locals, and puts this thread's own back.
//
//     | x30, x29  |
//     | x19       | <- sp
FUNCTION gosched_with_locals
        BTI_C
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        str     x19, [sp, #16]
        .cfi_offset x19, -16
        mrs     x19, tpidr_el0
        mov     x9, x0
        mov     x0, x2                          // SET_LOCALS changes x2
        SET_LOCALS x9
        blr     x1
        SET_LOCALS x19
        ldr     x19, [sp, #16]
        .cfi_restore x19
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
END gosched_with_locals

// The base of every G's stack. A new G's sched.pc is here, so gogo starts
// it, on an empty stack, with x0 = &g->sched:
//
//     stack.hi -> |  spare words           |
//     sched.sp -> |                        |  16-byte aligned
//                 |  frames of fn          |  fn's return address is goexit's, past its call
//
// It calls startpc(sched.ctxt). When that returns, the G ends: goexit jumps to
// mcall(goexit0), as Go's goexit1 does. The registers that mcall saves are never
// read, but mcall also resets fpcr, which a fesetround may have changed. Unwinders
// stop here: there is no return address, and x29 was null when fn was called.
FUNCTION gosched_goexit
        .cfi_undefined x30
        BTI_J
        ldr     x9, [x0, #G_TP-G_SCHED]
        cbnz    x9, .Lgoexit_own_locals
        ldr     x16, [x0, #G_STARTPC-G_SCHED]
        ldr     x0, [x0, #GOBUF_CTXT]
        blr     x16
        ADDRESS x0, gosched_goexit0
.Lgoexit_leaves:
        mov     x30, xzr                        // where mcall's caller would be
        b       gosched_mcall_fn
        // The same, with the steps of a thread at its start and at its end.
.Lgoexit_own_locals:
        mov     x19, x0
        bl      gosched_init_libc_thread
        ldr     x16, [x19, #G_STARTPC-G_SCHED]
        ldr     x0, [x19, #GOBUF_CTXT]
        blr     x16
        bl      gosched_run_tls_destructors
        bl      gosched_claim_at_end            // x0 = what is to be called on g0
        b       .Lgoexit_leaves
END gosched_goexit

// void gosched_systemstack(void (*fn)(void *), void *arg): calls fn(arg) on
// g0's stack and returns. On g0, on the signal stack and on a foreign thread it
// just calls. Go's systemstack.
//
//     the G's stack                        the g0 stack
//     | x30, x29                 |         | frames of mstart         |
//     | g                        |         | ...                      | <- g0.sched.sp
//     | x30, x29          <- x29 |         | frames of fn             |
//
// An unwind of fn goes through both frames: x29, which fn preserves, leads from
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
        BTI_C
        cbnz    x0, gosched_systemstack_fn
        b       gosched_systemstack_of_null
        .p2align 4
        .globl  gosched_systemstack_fn
        .hidden gosched_systemstack_fn
        // A label, not a function: it lies in the function above and has no size, so a symbolizer
        // that takes the nearest function would find no name here.
gosched_systemstack_fn:
        SIGN_LR
        stp     x29, x30, [sp, #-16]!
        .cfi_def_cfa_offset 16
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x29, sp
        .cfi_def_cfa_register x29
        TLS_G   x9, x10
        ldr     x2, [x9]                        // x2 = g
        cbz     x2, .Lsystemstack_here
        ldr     x3, [x2, #G_M]
        ldr     x4, [x3, #M_G0]                 // x4 = g0
        cmp     x2, x4
        b.eq    .Lsystemstack_here
        ldr     x5, [x3, #M_GSIGNAL]
        cmp     x2, x5
        b.eq    .Lsystemstack_here
        ldr     x5, [x3, #M_CURG]
        cmp     x2, x5
        b.ne    .Lsystemstack_bad
        bl      systemstack_switch
        nop
        .cfi_remember_state
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        AUTHENTICATE_LR
        ret
.Lsystemstack_here:
        .cfi_restore_state
        .cfi_remember_state
        mov     x16, x0
        mov     x0, x1
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #16
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        AUTHENTICATE_LR
        br      x16
.Lsystemstack_bad:
        .cfi_restore_state
        bl      gosched_badsystemstack
        brk     #1
END gosched_systemstack

// The half of systemstack that changes stacks. In: x0 = fn, x1 = arg, x9 = where
// gosched_g is, x2 = g, x4 = g0.
        .p2align 4
        .type   systemstack_switch, %function
systemstack_switch:
        .cfi_startproc
        .cfi_signal_frame
        stp     x29, x30, [sp, #-32]!
        .cfi_def_cfa_offset 32
        .cfi_offset x29, -32
        .cfi_offset x30, -24
        mov     x29, sp
        .cfi_def_cfa_register x29
        str     x2, [x29, #16]                  // g, for the way back
        // The point at which another thread's traceback of this G starts.
        str     x29, [x2, #G_SCHED+GOBUF_SP]
        str     x29, [x2, #G_SCHED+GOBUF_BP]
        adr     x10, .Lsystemstack_back
        str     x10, [x2, #G_SCHED+GOBUF_PC]

        str     x4, [x9]                        // g = g0
        ldr     x10, [x4, #G_SCHED+GOBUF_SP]
        mov     sp, x10
        mov     x16, x0
        mov     x0, x1
        blr     x16
.Lsystemstack_back:
        ldr     x2, [x29, #16]
        TLS_G   x9, x10
        str     x2, [x9]                        // g = the G again
        mov     sp, x29
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #32
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret
        .cfi_endproc
        .size   systemstack_switch, . - systemstack_switch

        NOTES
