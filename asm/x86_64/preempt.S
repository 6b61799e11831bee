// Stopping a goroutine between any two instructions: Go's preempt_amd64.s.
//
// A signal handler has found that the goroutine may be stopped where it is, and has edited the
// interrupted context. The thread goes on here, as if gosched_async_preempt had been called before
// the interrupted instruction. The interrupted code has saved nothing for such a call, so all
// registers are saved here. Registers that may hold an address are saved on the goroutine's own
// stack, where a collector finds them. The vector registers may need more room than that stack has:
// they are saved on g0's stack, and moved from there to a block that hangs on the G
// (src/runtime/preempt/xregs.rs).
//
// Before and after. The code may use the 128 bytes below rsp without moving rsp (the ABI's red
// zone), so the call is made below them. It comes back by `ret 128`.
//
//                  |  the function's frame    |
//     rsp was ---> |                          |
//                  |  red zone, 128 bytes     |
//        8(%rbp)   |  the interrupted pc      |  <- rsp at entry
//     sched.bp  -> |  rbp                     |  so the frame-pointer chain goes on
//                  |  flags                   |
//                  |  rax, rcx, rdx, rbx,     |
//                  |  rsi, rdi, r8-r14        |
//     sched.sp  -> |  r15                     |
//
// These words and the room that gosched_x_reg_restore needs on the way back are ASYNC_PREEMPT_STACK
// bytes (src/runtime/preempt/preemptible.rs). If there is less room, the handler lets the goroutine
// go on.
//
// To an unwinder each frame here is a signal frame: the unwinder looks up the caller at the
// interrupted instruction, not in front of it, and the caller may be on another stack.

#include "macros.h"

// The Rust functions that this file calls; see asm.S.
        .hidden gosched_async_preempt2, gosched_x_reg_restore
        .hidden gosched_vector_size, gosched_leave

// The bytes that the ABI lets a function use below rsp.
#define RED_ZONE 128

// The parts of xsave's header that must be zero.
#define XSAVE_HEADER 512
// The bit of xsave's mask that says that the processor has ymm registers.
#define XSAVE_AVX 4

// Save a register, or restore it. `at` is its distance from the CFA.
.macro SAVE reg, at
        pushq   \reg
        .cfi_offset \reg, -(RED_ZONE + \at)
.endm
.macro RESTORE reg
        popq    \reg
        .cfi_restore \reg
.endm

FUNCTION gosched_async_preempt
        .cfi_signal_frame
        .cfi_def_cfa %rsp, RED_ZONE + 8
        .cfi_offset %rip, -(RED_ZONE + 8)
        endbr64
        // No instruction up to pushfq changes a flag.
        pushq   %rbp
        .cfi_def_cfa_offset RED_ZONE + 16
        .cfi_offset %rbp, -(RED_ZONE + 16)
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushfq
        cld                                     // as the ABI has it at a call
        SAVE    %rax, 32
        SAVE    %rcx, 40
        SAVE    %rdx, 48
        SAVE    %rbx, 56
        SAVE    %rsi, 64
        SAVE    %rdi, 72
        SAVE    %r8, 80
        SAVE    %r9, 88
        SAVE    %r10, 96
        SAVE    %r11, 104
        SAVE    %r12, 112
        SAVE    %r13, 120
        SAVE    %r14, 128
        SAVE    %r15, 136

        TLS_G   %rax
        movq    %fs:(%rax), %rdx                // rdx = g, which the handler has looked at
        movq    G_M(%rdx), %rcx
        movq    M_G0(%rcx), %r8                 // r8 = g0
        movq    %rsp, G_SCHED+GOBUF_SP(%rdx)
        movq    %rbp, G_SCHED+GOBUF_BP(%rdx)
        leaq    gosched_async_preempted(%rip), %r9
        movq    %r9, G_SCHED+GOBUF_PC(%rdx)
        movq    %r8, %fs:(%rax)                 // g = g0
        SET_STACK_LIMIT $0
        movq    G_SCHED+GOBUF_SP(%r8), %rsp
        subq    gosched_vector_size(%rip), %rsp
        andq    $-64, %rsp
        movq    %rsp, %rbx                      // rbx = the vector registers
        movq    %rsp, %rdi
        movl    gosched_preempt_mask(%rip), %eax
        movl    4+gosched_preempt_mask(%rip), %edx
        testl   %eax, %eax
        je      .Lasync_fxsave
        xorl    %ecx, %ecx
        .irp    word, 0, 8, 16, 24, 32, 40, 48, 56
        movq    %rcx, XSAVE_HEADER+\word(%rbx)
        .endr
        xsave64 (%rbx)
        testl   $XSAVE_AVX, %eax
        je      .Lasync_saved
        // If upper halves were in use, each instruction of the scheduler that writes a lower half
        // would wait for the upper half.
        vzeroupper
.Lasync_saved:
        fninit                                  // an x87 stack as at a call: empty
        CURG_TO_G0
        callq   gosched_async_preempt2
        testq   %rax, %rax
        jne     gosched_leave

        // There is no memory for a block: the goroutine goes on.
        CURG_FROM_G0
        TLS_G   %rax
        movq    %fs:(%rax), %rdx
        movq    G_M(%rdx), %rdx
        movq    M_CURG(%rdx), %rdx
        movq    %rdx, %fs:(%rax)                // g = the goroutine again
        movq    G_STACKGUARD0(%rdx), %rcx
        SET_STACK_LIMIT %rcx
        movq    G_SCHED+GOBUF_SP(%rdx), %rsp
        jmp     .Lasync_restore

        // gogo jumps here with a goroutine that was preempted, rsp and rbp as they
        // were saved.
        .globl  gosched_async_preempted
        .hidden gosched_async_preempted
gosched_async_preempted:
        endbr64
        movq    %rsp, %rbx
        andq    $-16, %rsp
        callq   gosched_x_reg_restore
        movq    %rbx, %rsp
        movq    %rax, %rbx
.Lasync_restore:
        movl    gosched_preempt_mask(%rip), %eax
        movl    4+gosched_preempt_mask(%rip), %edx
        testl   %eax, %eax
        je      .Lasync_fxrstor
        xrstor64 (%rbx)
.Lasync_restored:
        REGISTERS_ARE_READ
        .cfi_remember_state
        RESTORE %r15
        RESTORE %r14
        RESTORE %r13
        RESTORE %r12
        RESTORE %r11
        RESTORE %r10
        RESTORE %r9
        RESTORE %r8
        RESTORE %rdi
        RESTORE %rsi
        RESTORE %rbx
        RESTORE %rdx
        RESTORE %rcx
        RESTORE %rax
        popfq
        // No flag may change from here on.
        popq    %rbp
        .cfi_def_cfa %rsp, RED_ZONE + 8
        .cfi_restore %rbp
        ret     $RED_ZONE

.Lasync_fxsave:
        .cfi_restore_state
        fxsave64 (%rbx)
        jmp     .Lasync_saved
.Lasync_fxrstor:
        fxrstor64 (%rbx)
        jmp     .Lasync_restored
END gosched_async_preempt

// struct { usize start, end; } gosched_preemptible_section(void): where the functions
// of preemptible! are. The linker defines the two symbols if there is one.
        .weak   __start_gosched_preemptible, __stop_gosched_preemptible
        .hidden __start_gosched_preemptible, __stop_gosched_preemptible
FUNCTION gosched_preemptible_section
        endbr64
        movq    __start_gosched_preemptible@GOTPCREL(%rip), %rax
        movq    __stop_gosched_preemptible@GOTPCREL(%rip), %rdx
        ret
END gosched_preemptible_section

// The components that xsave saves; 0 if there is no xsave. src/runtime/arch/x86_64/sigctxt.rs asks
// the processor for them.
        .bss
        .p2align 3
        .globl  gosched_preempt_mask
        .hidden gosched_preempt_mask
        .type   gosched_preempt_mask, @object
        .size   gosched_preempt_mask, 8
gosched_preempt_mask:
        .zero   8

        NOTES
