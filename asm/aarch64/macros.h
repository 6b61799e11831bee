// Macros and constants that the files of this folder share.
//
// Registers with a role of their own:
//
//     x29      the frame pointer: it points to a frame record, the caller's x29 and the return address
//     x30, lr  the return address
//     x16, x17 may change at any call; a branch through one of them may land where a call may (bti c)
//     x18      the platform's: never used here, and kept where a goroutine is left in the middle of its code

#include "offsets.h"

.macro FUNCTION name
        .text
        .p2align 4
        .globl  \name
        .hidden \name
        .type   \name, %function
\name:
        .cfi_startproc
.endm

.macro END name
        .cfi_endproc
        .size   \name, . - \name
.endm

// The address of symbol, of this program.
.macro ADDRESS reg, symbol
        adrp    \reg, \symbol
        add     \reg, \reg, :lo12:\symbol
.endm

// Where this thread's gosched_g is. Initial-exec: valid in an executable, a static
// library and a shared object loaded at start, and one load (the linker turns it into
// a constant where it can).
.macro TLS_G reg, scratch
        adrp    \reg, :gottprel:gosched_g
        ldr     \reg, [\reg, :gottprel_lo12:gosched_g]
        mrs     \scratch, tpidr_el0
        add     \reg, \reg, \scratch
.endm

// Makes the thread-locals at tp those of this thread, and copies malloc's two words to them. A
// signal handler sees the old thread-locals or the new, and both have a gosched_g. Changes x14
// to x17 and x2 to x4, which are free wherever this is used.
.macro SET_LOCALS tp
        ADDRESS x16, gosched_malloc_words
        ldp     x14, x15, [x16]
        mrs     x17, tpidr_el0
        ldr     x2, [x17, x14]
        ldr     x3, [x17, x15]
        msr     tpidr_el0, \tp
        str     x2, [\tp, x14]
        str     x3, [\tp, x15]
.endm

// Used when the registers of the running goroutine have been read from its block. From here on a
// signal handler may take its P. Clobbers x9 and x10.
.macro REGISTERS_ARE_READ
        TLS_G   x9, x10
        ldr     x9, [x9]
        str     xzr, [x9, #G_X_REGS]
.endm

// A pair of registers at an offset from x29, which is `cfa` below the CFA.
.macro SAVE_PAIR a, b, at, cfa
        stp     \a, \b, [x29, #\at]
        .cfi_offset \a, \at - \cfa
        .cfi_offset \b, \at + 8 - \cfa
.endm
.macro RESTORE_PAIR a, b, at
        ldp     \a, \b, [x29, #\at]
.endm

// All registers that a call preserves, except x29 and x30, which are at x29. GENERAL leaves out the
// vector registers.
.macro SAVE_GENERAL cfa
        SAVE_PAIR x19, x20, 16, \cfa
        SAVE_PAIR x21, x22, 32, \cfa
        SAVE_PAIR x23, x24, 48, \cfa
        SAVE_PAIR x25, x26, 64, \cfa
        SAVE_PAIR x27, x28, 80, \cfa
.endm
.macro SAVE_CALLEE_SAVED cfa
        SAVE_GENERAL \cfa
        SAVE_PAIR d8, d9, 96, \cfa
        SAVE_PAIR d10, d11, 112, \cfa
        SAVE_PAIR d12, d13, 128, \cfa
        SAVE_PAIR d14, d15, 144, \cfa
.endm
.macro RESTORE_GENERAL
        RESTORE_PAIR x19, x20, 16
        RESTORE_PAIR x21, x22, 32
        RESTORE_PAIR x23, x24, 48
        RESTORE_PAIR x25, x26, 64
        RESTORE_PAIR x27, x28, 80
.endm
.macro RESTORE_CALLEE_SAVED
        RESTORE_GENERAL
        RESTORE_PAIR d8, d9, 96
        RESTORE_PAIR d10, d11, 112
        RESTORE_PAIR d12, d13, 128
        RESTORE_PAIR d14, d15, 144
.endm

// Pointer authentication, if the build asks for it (-mbranch-protection): the return address is
// signed with sp at the function's head. Used only in frames that stay where they are: a function
// whose frame was moved with its stack could never return.
.macro SIGN_LR
#ifdef __ARM_FEATURE_PAC_DEFAULT
        paciasp
        .cfi_negate_ra_state
#else
        hint    #34                             // bti c, which paciasp is, too
#endif
.endm
.macro AUTHENTICATE_LR
#ifdef __ARM_FEATURE_PAC_DEFAULT
        autiasp
        .cfi_negate_ra_state
#endif
.endm

// Landing pads of indirect branches: for calls, for jumps, and for both. They are spelled so that
// every assembler knows them.
.macro BTI_C
        hint    #34
.endm
.macro BTI_J
        hint    #36
.endm
.macro BTI_JC
        hint    #38
.endm

// The columns of CFI for the pc of interrupted code, whose x30 is a register like any other. gdb
// looks in the column of the pc. But libgcc's unwinder has no register there, and ends the process
// if that is the return column. So the return column is x18's, which no other CFI uses.
#define PC_COLUMN 32
#define RETURN_COLUMN 18

// To an unwinder, the caller of this frame is the code whose registers are at x19, in a Regs
// (src/runtime/arch/aarch64/sigctxt.rs). The unwinder finds every register there, the stack
// pointer too, so the walk goes on in another stack. In DWARF, each rule is an expression
// `DW_OP_breg19 offset` (0x83: x19 + offset). The CFA, which is the value of sp in the caller,
// is loaded from its slot (DW_OP_deref, 0x06). For signal frames whose return column is
// RETURN_COLUMN only: the caller goes on at its pc, not at the address in its x30.
.macro CALLER_IN_REGS
        // DW_CFA_def_cfa_expression, 3 bytes: breg19 REGS_SP, deref
        .cfi_escape 0x0f, 3, 0x83, REGS_SP, 0x06
        FOUND   RETURN_COLUMN, REGS_PC
        FOUND   PC_COLUMN, REGS_PC
        FOUND   29, REGS_FP
        FOUND   30, REGS_SAVED
        FOUND   19, REGS_SAVED+8
        FOUND   20, REGS_SAVED+16
        FOUND   21, REGS_SAVED+24
        FOUND   22, REGS_SAVED+32
        FOUND   23, REGS_SAVED+40
        FOUND   24, REGS_SAVED+48
        FOUND   25, REGS_SAVED+56
        FOUND   26, REGS_SAVED+64
        FOUND   27, REGS_SAVED+72
        FOUND   28, REGS_SAVED+80
        FOUND   0, REGS_SAVED+88
        FOUND   1, REGS_SAVED+96
        FOUND   2, REGS_SAVED+104
        FOUND   3, REGS_SAVED+112
        FOUND   4, REGS_SAVED+120
        FOUND   5, REGS_SAVED+128
        FOUND   6, REGS_SAVED+136
        FOUND   7, REGS_SAVED+144
        FOUND   8, REGS_SAVED+152
        FOUND   9, REGS_SAVED+160
        FOUND   10, REGS_SAVED+168
        FOUND   11, REGS_SAVED+176
        FOUND   12, REGS_SAVED+184
        FOUND   13, REGS_SAVED+192
        FOUND   14, REGS_SAVED+200
        FOUND   15, REGS_SAVED+208
        FOUND   16, REGS_SAVED+216
        FOUND   17, REGS_SAVED+224
.endm
// DW_CFA_expression, register, 3 bytes: breg19 and an offset of two bytes
.macro FOUND reg, at
        .cfi_escape 0x10, \reg, 3, 0x83, 0x80 | ((\at) & 0x7f), (\at) >> 7
.endm

// Each file tells the linker at its end that its stack need not be executable, and that
// every target of an indirect branch is a landing pad, or the linker drops their checks
// for the whole program.
.macro NOTES
        .section .note.GNU-stack, "", %progbits
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4                               // length of "GNU\0"
        .long   16                              // length of the property
        .long   5                               // NT_GNU_PROPERTY_TYPE_0
        .asciz  "GNU"
        .long   0xc0000000                      // GNU_PROPERTY_AARCH64_FEATURE_1_AND
        .long   4
        .long   1                               // BTI
        .long   0
.endm
