// Stopping a goroutine between any two instructions: Go's preempt_arm64.s.
//
// A signal handler has found that the goroutine may be stopped where it is, and has edited the
// interrupted context. The thread goes on here, as if gosched_async_preempt had been called before
// the interrupted instruction. The interrupted code has saved nothing for such a call, so all
// registers are saved here. Registers that may hold an address are saved on the goroutine's own
// stack, where a collector finds them. The vector registers may need more room than that stack has:
// they are saved on g0's stack, and moved from there to a block that hangs on the G
// (src/runtime/preempt/xregs.rs).
//
// Before and after. x30 holds the return address of the call, so the handler pushes the
// value that x30 held before. It also pushes pstate, which contains the flags.
//
//     sp was ---> |  the function's frame    |
//                 |  pstate                  |  264
//                 |  x30                     |  256, <- sp at entry
//                 |  x0-x28                  |  16
//                 |  the interrupted pc      |  8
//     sched.sp,   |                          |
//     sched.bp -> |  x29                     |  a frame record: the chain goes on
//
// These words are ASYNC_PREEMPT_FRAME bytes. gosched_x_reg_restore needs more room on the way back.
// Both together are ASYNC_PREEMPT_STACK bytes (src/runtime/preempt/preemptible.rs). If there is
// less room, the handler lets the goroutine go on.
//
// The way back. No instruction jumps to an address and leaves every register as it is, but the
// kernel does so at the end of each signal handler. So this code makes a signal's frame on g0's
// stack, as if the goroutine had been interrupted in this thread, and rt_sigreturn resumes the
// goroutine from that frame.
//
// To an unwinder each frame here is a signal frame: the unwinder looks up the caller at the
// interrupted instruction, not in front of it, and the caller may be on another stack.

#include "macros.h"
#include "vectors.h"

// The Rust functions that this file calls; see asm.S.
        .hidden gosched_async_preempt2, gosched_x_reg_restore, gosched_sigframe
        .hidden gosched_vector_size, gosched_leave

#define PREEMPT_FRAME 272
// The bytes of that frame that the handler has pushed.
#define PUSHED 16

// struct rt_sigframe (src/runtime/arch/aarch64/sigctxt.rs asserts its size).
#define SIGFRAME 4688
#define SYS_RT_SIGRETURN 139

FUNCTION gosched_async_preempt
        .cfi_signal_frame
        .cfi_return_column RETURN_COLUMN
        .cfi_register RETURN_COLUMN, x30
        .cfi_register PC_COLUMN, x30
        .cfi_def_cfa_offset PUSHED
        .cfi_offset x30, -PUSHED
        BTI_JC                                  // the interrupted instruction may have been a landing pad's
        stp     x29, x30, [sp, #PUSHED-PREEMPT_FRAME]!
        .cfi_def_cfa_offset PREEMPT_FRAME
        .cfi_offset x29, -PREEMPT_FRAME
        .cfi_offset RETURN_COLUMN, 8 - PREEMPT_FRAME
        .cfi_offset PC_COLUMN, 8 - PREEMPT_FRAME
        mov     x29, sp
        .cfi_def_cfa_register x29
        SAVE_PAIR x0, x1, 16, PREEMPT_FRAME
        SAVE_PAIR x2, x3, 32, PREEMPT_FRAME
        SAVE_PAIR x4, x5, 48, PREEMPT_FRAME
        SAVE_PAIR x6, x7, 64, PREEMPT_FRAME
        SAVE_PAIR x8, x9, 80, PREEMPT_FRAME
        SAVE_PAIR x10, x11, 96, PREEMPT_FRAME
        SAVE_PAIR x12, x13, 112, PREEMPT_FRAME
        SAVE_PAIR x14, x15, 128, PREEMPT_FRAME
        SAVE_PAIR x16, x17, 144, PREEMPT_FRAME
        stp     x18, x19, [x29, #160]
        .cfi_offset x19, 168 - PREEMPT_FRAME
        SAVE_PAIR x20, x21, 176, PREEMPT_FRAME
        SAVE_PAIR x22, x23, 192, PREEMPT_FRAME
        SAVE_PAIR x24, x25, 208, PREEMPT_FRAME
        SAVE_PAIR x26, x27, 224, PREEMPT_FRAME
        str     x28, [x29, #240]
        .cfi_offset x28, 240 - PREEMPT_FRAME

        TLS_G   x10, x11
        ldr     x1, [x10]                       // x1 = g, which the handler has looked at
        ldr     x2, [x1, #G_M]
        ldr     x3, [x2, #M_G0]                 // x3 = g0
        str     x29, [x1, #G_SCHED+GOBUF_SP]
        str     x29, [x1, #G_SCHED+GOBUF_BP]
        adr     x4, gosched_async_preempted
        str     x4, [x1, #G_SCHED+GOBUF_PC]
        str     x3, [x10]                       // g = g0
        adrp    x4, gosched_vector_size
        ldr     x4, [x4, :lo12:gosched_vector_size]
        ldr     x5, [x3, #G_SCHED+GOBUF_SP]
        sub     x19, x5, x4
        and     sp, x19, #-16
        mov     x19, sp                         // x19 = the vector registers
        SAVE_VECTORS x19
        msr     fpcr, xzr                       // as at a call
        mov     x0, x19
        bl      gosched_async_preempt2
        cbnz    x0, gosched_leave

        // There is no memory for a block: the goroutine goes on, from the registers that were just
        // saved.
        TLS_G   x9, x10
        ldr     x1, [x9]
        ldr     x1, [x1, #G_M]
        ldr     x1, [x1, #M_CURG]
        str     x1, [x9]                        // g = the goroutine again
        mov     x0, x19
        b       .Lasync_resume

        // gogo jumps here with a goroutine that was preempted, sp and x29 as they
        // were saved.
        .globl  gosched_async_preempted
        .hidden gosched_async_preempted
gosched_async_preempted:
        BTI_J
        bl      gosched_x_reg_restore
        TLS_G   x9, x10
        ldr     x1, [x9]
        ldr     x1, [x1, #G_M]
        ldr     x1, [x1, #M_G0]
        ldr     x1, [x1, #G_SCHED+GOBUF_SP]
        mov     sp, x1
.Lasync_resume:
        sub     sp, sp, #(SIGFRAME & 0xfff)
        sub     sp, sp, #(SIGFRAME & ~0xfff)
        mov     x1, x29                         // x0 = the vector registers, x1 = all others
        mov     x2, sp
        bl      gosched_sigframe
        REGISTERS_ARE_READ
        mov     x8, #SYS_RT_SIGRETURN
        svc     #0
        brk     #1
END gosched_async_preempt

// struct { usize start, end; } gosched_preemptible_section(void): where the functions
// of preemptible! are. The linker defines the two symbols if there is one.
        .weak   __start_gosched_preemptible, __stop_gosched_preemptible
        .hidden __start_gosched_preemptible, __stop_gosched_preemptible
FUNCTION gosched_preemptible_section
        BTI_C
        adrp    x0, :got:__start_gosched_preemptible
        ldr     x0, [x0, :got_lo12:__start_gosched_preemptible]
        adrp    x1, :got:__stop_gosched_preemptible
        ldr     x1, [x1, :got_lo12:__stop_gosched_preemptible]
        ret
END gosched_preemptible_section

        NOTES
