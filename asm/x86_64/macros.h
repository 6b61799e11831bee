// Macros and constants that the files of this folder share.

#include "offsets.h"

// The control words that a thread starts with: all exceptions masked, rounding to nearest,
// and full precision on the x87.
#define DEFAULT_MXCSR 0x1f80
#define DEFAULT_FCW 0x037f

.macro FUNCTION name
        .text
        .p2align 4
        .globl  \name
        .hidden \name
        .type   \name, @function
\name:
        .cfi_startproc
.endm

.macro END name
        .cfi_endproc
        .size   \name, . - \name
.endm

// The offset of gosched_g from the thread pointer. Initial-exec: valid in an
// executable, a static library and a shared object loaded at start, and one
// load (the linker turns it into a constant where it can).
.macro TLS_G reg
        movq    gosched_g@GOTTPOFF(%rip), \reg
.endm

// Used when the registers of the running goroutine have been read from its block. From here on a
// signal handler may take its P. Clobbers rax and rdx.
.macro REGISTERS_ARE_READ
        TLS_G   %rax
        movq    %fs:(%rax), %rdx
        movq    $0, G_X_REGS(%rdx)
.endm

// The word with which compilers' checks compare rsp: __private_ss of glibc's thread descriptor, 0
// in every new thread. While a goroutine runs, the word is g.stackguard0. On every other stack it
// is 0, and no rsp is below 0. For a libc without that word, no such checks are compiled
// (build.rs).
.macro SET_STACK_LIMIT value
#ifdef SPLIT_STACK
        movq    \value, %fs:0x70
#endif
.endm

// AddressSanitizer must know of each change of stacks. ThreadSanitizer must know of each
// change from one G to another, and where a goroutine works on g0's stack, which the M's
// other goroutines use too (sanitizers.S). `from` and `to` are registers that hold G's; rsp is
// on the stack of `to` or on g0's. These macros change r10, r11, flags and vector registers,
// and expand to nothing in a build without the sanitizer.
.macro STACK_CHANGES from, to
#ifdef ASAN
        leaq    G_SANITIZER(\from), %r10
        movq    \to, %r11
        callq   gosched_stack_changes
#endif
.endm
.macro ACTOR_CHANGES from, to
#ifdef TSAN
        movq    \from, %r10
        movq    \to, %r11
        callq   gosched_actor_changes
#endif
.endm
.macro TO_G0 from, g0
        STACK_CHANGES \from, \g0
#ifdef TSAN
        callq   gosched_unseen
#endif
.endm
.macro FROM_G0 g0, to
        STACK_CHANGES \g0, \to
        SEEN
.endm
.macro SEEN
#ifdef TSAN
        callq   gosched_seen
#endif
.endm

// Called on g0, when its frames are given up.
.macro STACK_GIVEN_UP
#ifdef ASAN
        callq   gosched_stack_given_up
#endif
.endm

// TO_G0 and FROM_G0 of this M's goroutine.
.macro CURG_TO_G0
#if defined(ASAN) || defined(TSAN)
        TLS_G   %r11
        movq    %fs:(%r11), %r11                // r11 = g0
        movq    G_M(%r11), %r10
        movq    M_CURG(%r10), %r10
        TO_G0   %r10, %r11
#endif
.endm
.macro CURG_FROM_G0
#if defined(ASAN) || defined(TSAN)
        TLS_G   %r11
        movq    %fs:(%r11), %r10                // r10 = g0
        movq    G_M(%r10), %r11
        movq    M_CURG(%r11), %r11
        FROM_G0 %r10, %r11
#endif
.endm

// To an unwinder, the caller of this frame is the code whose registers are at rbx, in a Regs
// (src/runtime/arch/x86_64/sigctxt.rs). The unwinder finds every register there, the stack
// pointer too, so the walk goes on in another stack. In DWARF, each rule is an expression
// `DW_OP_breg3 offset` (0x73: rbx + offset). The CFA, which is the value of rsp in the
// caller, is loaded from its slot (DW_OP_deref, 0x06). For signal frames only: the caller's
// pc is the instruction at which it goes on, not one behind a call.
.macro CALLER_IN_REGS
        // DW_CFA_def_cfa_expression, 3 bytes: breg3 REGS_SP, deref
        .cfi_escape 0x0f, 3, 0x73, REGS_SP, 0x06
        FOUND   16, REGS_PC                     // rip
        FOUND   6, REGS_FP
        FOUND   3, REGS_SAVED                   // rbx
        FOUND   12, REGS_SAVED+8
        FOUND   13, REGS_SAVED+16
        FOUND   14, REGS_SAVED+24
        FOUND   15, REGS_SAVED+32
        FOUND   0, REGS_SAVED+40                // rax
        FOUND   1, REGS_SAVED+48                // rdx
        FOUND   2, REGS_SAVED+56                // rcx
        FOUND   4, REGS_SAVED+64                // rsi
        FOUND   5, REGS_SAVED+72                // rdi
        FOUND   8, REGS_SAVED+80
        FOUND   9, REGS_SAVED+88
        FOUND   10, REGS_SAVED+96
        FOUND   11, REGS_SAVED+104
.endm
// DW_CFA_expression, register, 3 bytes: breg3 and an offset of two bytes
.macro FOUND reg, at
        .cfi_escape 0x10, \reg, 3, 0x73, 0x80 | ((\at) & 0x7f), (\at) >> 7
.endm

// Each file tells the linker at its end that
//
//   - its stack need not be executable;
//   - its functions check their stack themselves: a function with a check that calls them
//     need not look for the 16 KiB that code without checks may need;
//   - the functions they call have no checks, and there is no prologue to rewrite;
//   - every indirect branch target is a landing pad (endbr64), or the linker drops
//     indirect-branch tracking for the whole program.
.macro NOTES
        .section .note.GNU-stack, "", @progbits
        .section .note.GNU-split-stack, "", @progbits
        .section .note.GNU-no-split-stack, "", @progbits
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4                               // length of "GNU\0"
        .long   16                              // length of the property
        .long   5                               // NT_GNU_PROPERTY_TYPE_0
        .asciz  "GNU"
        .long   0xc0000002                      // GNU_PROPERTY_X86_FEATURE_1_AND
        .long   4
        .long   1                               // IBT
        .long   0
.endm
