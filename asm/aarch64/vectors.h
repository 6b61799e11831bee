// Saving the whole vector registers, for morestack and asyncPreempt. The layout is that of the
// kernel's signal frame, from which a preempted goroutine goes on (preempt.S).
//
//       0  fpsimd_context:  a head of 8 bytes, which is filled in later,
//       8                   fpsr, fpcr,
//      16                   v0-v31;
//     528  sve_context, if the processor has SVE:  a head of 16 bytes, likewise,
//     544                   z0-z31, p0-p15 and ffr, as long as they are

#define FPSR 8
#define V0 16
#define Z0 544

        .arch_extension sve

.macro EACH_V insn, base
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        \insn   q\n, [\base, #V0+16*\n]
        .endr
.endm
.macro EACH_Z insn, base
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        \insn   z\n, [\base, #\n, mul vl]
        .endr
.endm
.macro EACH_P insn, base
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        \insn   p\n, [\base, #\n, mul vl]
        .endr
.endm

// x9 = the address of the z's, x10 = the address of the p's, if there are any; otherwise a jump to
// 9f. The distance is 32 z's, and an instruction adds 31 at most.
.macro SVE_PLACES base
        adrp    x9, gosched_sve
        ldr     w9, [x9, :lo12:gosched_sve]
        cbz     w9, 9f
        add     x9, \base, #Z0
        addvl   x10, x9, #31
        addvl   x10, x10, #1
.endm

// These macros change x9 and x10, so `base` is neither. The first one also changes p0, after saving
// it.
.macro SAVE_VECTORS base
        mrs     x9, fpsr
        mrs     x10, fpcr
        stp     w9, w10, [\base, #FPSR]
        EACH_V  str, \base
        SVE_PLACES \base
        EACH_Z  str, x9
        EACH_P  str, x10
        rdffr   p0.b
        str     p0, [x10, #16, mul vl]
9:
.endm
.macro RESTORE_VECTORS base
        ldp     w9, w10, [\base, #FPSR]
        msr     fpsr, x9
        msr     fpcr, x10
        EACH_V  ldr, \base
        SVE_PLACES \base
        ldr     p0, [x10, #16, mul vl]
        wrffr   p0.b
        EACH_Z  ldr, x9
        EACH_P  ldr, x10
9:
.endm
