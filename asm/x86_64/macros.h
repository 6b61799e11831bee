// Macros and constants that the files of this folder share.

#include "offsets.h"

// The control words that a thread starts with: all exceptions masked, to nearest, and
// on the x87 the full precision.
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

// What the checks that compilers emit compare rsp with: a word of glibc's
// thread descriptor (its __private_ss), 0 in every new thread. While a
// goroutine runs it is g.stackguard0; on every other stack it is 0, which no
// rsp is below. A libc without that word has no such checks (build.rs).
.macro SET_STACK_LIMIT value
#ifdef SPLIT_STACK
        movq    \value, %fs:0x70
#endif
.endm

// To an unwinder, the caller of this frame is whoever has the registers at rbx, a Regs
// (src/runtime/arch/x86_64/sigctxt.rs): every register is found there, the stack pointer too,
// so the walk goes on in another stack. In words of DWARF, each rule is an expression
// `DW_OP_breg3 offset` (0x73: rbx + offset), and the CFA, which is the value of rsp in
// the caller, is what stands there (DW_OP_deref, 0x06). For signal frames: the caller's
// pc is where it goes on, and not behind a call.
.macro CALLER_IN_REGS
        // DW_CFA_def_cfa_expression, 3 bytes: breg3 REGS_SP, deref
        .cfi_escape 0x0f, 3, 0x73, REGS_SP, 0x06
        // DW_CFA_expression, register, 2 bytes: breg3 offset
        .cfi_escape 0x10, 16, 2, 0x73, REGS_PC
        .cfi_escape 0x10, 6, 2, 0x73, REGS_FP
        .cfi_escape 0x10, 3, 2, 0x73, REGS_SAVED
        .cfi_escape 0x10, 12, 2, 0x73, REGS_SAVED+8
        .cfi_escape 0x10, 13, 2, 0x73, REGS_SAVED+16
        .cfi_escape 0x10, 14, 2, 0x73, REGS_SAVED+24
        .cfi_escape 0x10, 15, 2, 0x73, REGS_SAVED+32
.endm

// Each file tells the linker at its end that
//
//   - its stack need not be executable;
//   - its functions see to their stack themselves: one with a check that calls them
//     need not look for the 16 KiB that code without checks may need;
//   - what they call in turn has no checks, and there is no prologue to rewrite;
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
