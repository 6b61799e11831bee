// What the files of this folder share.

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
