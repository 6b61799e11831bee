// Growing a stack: Go's morestack.
//
// Compilers make no checks of the stack in prologues for this architecture. A check that is written
// by hand (src/runtime/arch/aarch64/mod.rs) has found too little room, and calls this. This saves
// every register that may be live or hold an address of the stack, calls the code that moves the
// stack, and returns. All registers then are as they were, except x16, x17 and x30.
//
// Before and after. The words are the same, at another place:
//
//                 |  the caller's frame      |  <- m.morebuf.sp
//                 |  x18                     |  224
//                 |  x0-x15                  |  96: the compiler may keep anything in them
//                 |  x19-x28                 |  16
//                 |  x30                     |  into the caller: m.morebuf.pc
//     sched.sp,   |                          |
//     sched.bp -> |  x29                     |
//
// All these registers are in the stack when it moves, so an address among them is
// adjusted like any other. The vector registers hold no addresses of the stack. They
// are saved on g0's stack, whole.
//
// A goroutine that is asked to stop is left in this state. g0's stack is given up then, so newstack
// first moves the vector registers to a block that hangs on the G (src/runtime/preempt/xregs.rs).

#include "macros.h"
#include "vectors.h"

// The Rust functions that this file calls; see asm.S.
        .hidden gosched_newstack, gosched_badmorestackg0, gosched_badmorestackgsignal
        .hidden gosched_x_reg_restore, gosched_leave

#define MORESTACK_FRAME 240
// Bytes below a stack where an overflow faults: a page, and no page is smaller.
#define GUARD_PAGE 4096

// Makes room for x16 bytes below the caller's frame.
FUNCTION gosched_morestack
        BTI_C
        // The walk goes from g0's stack to the goroutine's in this frame: see
        // gosched_systemstack.
        .cfi_signal_frame
        stp     x29, x30, [sp, #-MORESTACK_FRAME]!
        .cfi_def_cfa_offset MORESTACK_FRAME
        .cfi_offset x29, -MORESTACK_FRAME
        .cfi_offset x30, 8 - MORESTACK_FRAME
        mov     x29, sp
        .cfi_def_cfa_register x29
        SAVE_GENERAL MORESTACK_FRAME
        stp     x0, x1, [x29, #96]
        stp     x2, x3, [x29, #112]
        stp     x4, x5, [x29, #128]
        stp     x6, x7, [x29, #144]
        stp     x8, x9, [x29, #160]
        stp     x10, x11, [x29, #176]
        stp     x12, x13, [x29, #192]
        stp     x14, x15, [x29, #208]
        str     x18, [x29, #224]

        TLS_G   x10, x11
        ldr     x1, [x10]                       // x1 = g
        cbz     x1, .Lmorestack_resume          // a foreign thread
        ldr     x2, [x1, #G_M]                  // x2 = m
        ldr     x3, [x2, #M_G0]                 // x3 = g0
        cmp     x1, x3
        b.eq    .Lmorestack_g0
        ldr     x4, [x2, #M_GSIGNAL]
        cmp     x1, x4
        b.eq    .Lmorestack_gsignal
        // If sp isn't on the goroutine's stack, a signal handler of the program's that interrupted
        // the goroutine runs on the signal stack. The limit that the handler's check used isn't
        // that stack's, so the handler goes on.
        ldr     x4, [x1, #G_STACK+STACK_HI]
        cmp     x29, x4
        b.hs    .Lmorestack_resume
        ldr     x4, [x1, #G_STACK+STACK_LO]
        sub     x4, x4, #GUARD_PAGE
        cmp     x29, x4
        b.lo    .Lmorestack_resume

        str     x29, [x1, #G_SCHED+GOBUF_SP]
        str     x29, [x1, #G_SCHED+GOBUF_BP]
        adr     x4, gosched_morestack_preempted
        str     x4, [x1, #G_SCHED+GOBUF_PC]
        str     x30, [x2, #M_MOREBUF+GOBUF_PC]
        add     x4, x29, #MORESTACK_FRAME
        str     x4, [x2, #M_MOREBUF+GOBUF_SP]
        str     x1, [x2, #M_MOREBUF+GOBUF_G]

        str     x3, [x10]                       // g = g0
        adrp    x4, gosched_vector_size
        ldr     x4, [x4, :lo12:gosched_vector_size]
        ldr     x5, [x3, #G_SCHED+GOBUF_SP]
        sub     x19, x5, x4
        and     sp, x19, #-16
        mov     x19, sp                         // x19 = the vector registers
        SAVE_VECTORS x19
        msr     fpcr, xzr                       // as at a call
        mov     x0, x16
        mov     x1, x19
        bl      gosched_newstack
        cbnz    x0, gosched_leave
        RESTORE_VECTORS x19
        TLS_G   x9, x10
        ldr     x1, [x9]
        ldr     x1, [x1, #G_M]
        ldr     x1, [x1, #M_CURG]
        str     x1, [x9]                        // g = the goroutine again
        ldr     x29, [x1, #G_SCHED+GOBUF_BP]    // where the words are now
        mov     sp, x29
.Lmorestack_resume:
        ldp     x0, x1, [x29, #96]
        ldp     x2, x3, [x29, #112]
        ldp     x4, x5, [x29, #128]
        ldp     x6, x7, [x29, #144]
        ldp     x8, x9, [x29, #160]
        ldp     x10, x11, [x29, #176]
        ldp     x12, x13, [x29, #192]
        ldp     x14, x15, [x29, #208]
        ldr     x18, [x29, #224]
        .cfi_remember_state
        RESTORE_GENERAL
        .irp    reg, x19, x20, x21, x22, x23, x24, x25, x26, x27, x28
        .cfi_restore \reg
        .endr
        .cfi_def_cfa_register sp
        ldp     x29, x30, [sp], #MORESTACK_FRAME
        .cfi_def_cfa_offset 0
        .cfi_restore x29
        .cfi_restore x30
        ret

        // gogo jumps here with a goroutine that was preempted, sp and x29 as they were saved. Below
        // sp is the room that STACK_GUARD leaves.
        .cfi_restore_state
        .globl  gosched_morestack_preempted
        .hidden gosched_morestack_preempted
gosched_morestack_preempted:
        BTI_J
        bl      gosched_x_reg_restore
        RESTORE_VECTORS x0
        REGISTERS_ARE_READ
        b       .Lmorestack_resume

        // These stacks don't grow. The check may have compared with another stack's limit,
        // if a signal handler came in between. So only a frame that is on this stack and
        // doesn't fit is an error.
.Lmorestack_g0:
        adr     x5, .Lmorestack_badg0
        b       .Lmorestack_fits
.Lmorestack_gsignal:
        adr     x5, .Lmorestack_badgsignal
.Lmorestack_fits:
        ldr     x4, [x1, #G_STACK+STACK_HI]
        cmp     x29, x4
        b.hs    .Lmorestack_resume
        ldr     x4, [x1, #G_STACK+STACK_LO]
        subs    x4, x29, x4                     // how much is left
        b.lo    .Lmorestack_resume
        cmp     x4, x16
        b.hs    .Lmorestack_resume
        br      x5
.Lmorestack_badg0:
        BTI_J
        bl      gosched_badmorestackg0
        brk     #1
.Lmorestack_badgsignal:
        BTI_J
        bl      gosched_badmorestackgsignal
        brk     #1
END gosched_morestack

// The size of the saved vector registers, in bytes. src/runtime/arch/aarch64/sigctxt.rs asks the
// system for it.
        .bss
        .p2align 3
        .globl  gosched_vector_size
        .hidden gosched_vector_size
        .type   gosched_vector_size, %object
        .size   gosched_vector_size, 8
gosched_vector_size:
        .zero   8
// The length of an SVE register, 0 if the processor has none, or the system hasn't enabled them.
        .globl  gosched_sve
        .hidden gosched_sve
        .type   gosched_sve, %object
        .size   gosched_sve, 4
gosched_sve:
        .zero   4

        NOTES
