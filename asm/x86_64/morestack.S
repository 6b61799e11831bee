// Growing a stack: Go's morestack, and the entries that compilers and linkers
// call for code that is compiled with -fsplit-stack.
//
// A function's prologue has found that the function's frame doesn't fit. Before it makes the frame,
// it calls one of these:
//
//     __morestack             save every register that may be live or hold an
//                             address of the stack; move the stack; go on in
//                             the function's body
//     __morestack_non_split   likewise, for a function that calls code without
//                             checks; first look whether there isn't room
//     gosched_morestack       likewise, called like any other function
//
// What a prologue looks like (gcc; rsp itself is compared if the frame is small):
//
//         lea     -FRAME(%rsp), %r11
//         cmp     %fs:0x70, %r11
//         jae     body
//         mov     $FRAME, %r10           how much it needs
//         mov     $ARGUMENTS, %r11       how many bytes of arguments are on the stack
//         call    __morestack
//         ret                            one byte, which is skipped
//     body:
//         endbr64                        only with -fcf-protection=branch or =full
//         lea     0x18(%rbp), %r11       only in a function of variable arguments
//
// libgcc's __morestack *calls* the body, on a second stack, and that call returns to the `ret`.
// Ours moves the stack, and nothing has to return to it. So it steps over the `ret`, and everything
// is as if the check had passed. The `lea` finds the arguments on the stack through rbp, which
// points to the frame of libgcc's __morestack. Our frame is gone when the body runs, so our
// __morestack sets r11 itself and steps over the `lea`, too.
//
// Before and after. The words are the same, at another place:
//
//                  |  arguments on the stack  |
//     24(%rbp)  -> |                          |  <- m.morebuf.sp
//                  |  return address          |  into the caller: m.morebuf.pc
//                  |  return address          |  into the prologue
//     sched.bp  -> |  rbp                     |
//                  |  rbx, r12-r15            |  may hold anything of the callers'
//                  |  rdi, rsi, rdx, rcx,     |  the arguments,
//                  |  r8, r9                  |
//     sched.sp  -> |  rax                     |  their number, or the static chain
//
// All these registers are in the stack when it moves, so an address among them is
// adjusted like any other. The vector registers hold arguments too, but no addresses.
// They are saved on g0's stack, whole, because a caller may have passed 32 or 64 bytes
// in each.
//
// A goroutine that is asked to stop is left in this state. g0's stack is given up then, so newstack
// first moves the vector registers to a block that hangs on the G (src/runtime/preempt/xregs.rs).

#include "macros.h"

// The Rust functions that this file calls; see asm.S.
        .hidden gosched_newstack, gosched_badmorestackg0, gosched_badmorestackgsignal
        .hidden gosched_x_reg_restore

// The bytes below the frame that the linker takes for granted when it rewrites a
// call of code without checks.
#define NON_SPLIT_ROOM 0x4000
// Bytes of the page below a stack, where an overflow faults.
#define GUARD_PAGE 4096

// `lea 0x18(%rbp), %r11`, little end first.
#define VARARGS_LEA 0x185d8d4c
// `endbr64`, negated: without the negation, the number would be a landing pad in the middle of an
// instruction.
#define MINUS_ENDBR64 0x05e1f00d
// The maximum room for arguments, in bytes, that a caller of __morestack_allocate_stack_space may
// have at its stack's end.
#define ARGUMENTS_ROOM 1024

// For a function whose prologue has called one of these: moves r10 from the return address
// of that call to the start of the body, and sets r11 as the body expects it. `arguments` is
// the address of the arguments on the stack.
.macro TO_BODY arguments
        movl    1(%r10), %r11d
        addl    $MINUS_ENDBR64, %r11d
        jne     1f
        addq    $4, %r10                        // step over the landing pad
1:      leaq    \arguments, %r11
        cmpl    $VARARGS_LEA, 1(%r10)
        jne     1f
        addq    $4, %r10
1:      incq    %r10
.endm

// The parts of xsave's header that must be zero.
#define XSAVE_HEADER 512

// This crate's own assembly calls __morestack by a name of its own. lld turns a call of
// __morestack into a call of __morestack_non_split if the call follows a jump to code without
// checks. That would ask for 16 KiB where a few hundred bytes suffice.
        .globl  gosched_morestack_prologue
        .hidden gosched_morestack_prologue
        .set    gosched_morestack_prologue, __morestack

FUNCTION __morestack
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        // The walk goes from g0's stack to the goroutine's in this frame: see
        // gosched_systemstack.
        .cfi_signal_frame
        pushq   %rbx
        .cfi_offset %rbx, -24
        pushq   %r12
        .cfi_offset %r12, -32
        pushq   %r13
        .cfi_offset %r13, -40
        pushq   %r14
        .cfi_offset %r14, -48
        pushq   %r15
        .cfi_offset %r15, -56
        pushq   %rdi
        pushq   %rsi
        pushq   %rdx
        pushq   %rcx
        pushq   %r8
        pushq   %r9
        pushq   %rax

        TLS_G   %rax
        movq    %fs:(%rax), %rdx                // rdx = g
        testq   %rdx, %rdx
        je      .Lmorestack_foreign
        movq    G_M(%rdx), %rcx                 // rcx = m
        movq    M_G0(%rcx), %r8                 // r8 = g0
        cmpq    %rdx, %r8
        je      .Lmorestack_g0
        cmpq    %rdx, M_GSIGNAL(%rcx)
        je      .Lmorestack_gsignal
        // If rsp isn't on the goroutine's stack, a signal handler of the program's that interrupted
        // the goroutine runs on the signal stack. The limit that the handler's check used isn't
        // that stack's, so the handler goes on.
        cmpq    G_STACK+STACK_HI(%rdx), %rsp
        jae     .Lmorestack_resume
        movq    G_STACK+STACK_LO(%rdx), %r9
        subq    $GUARD_PAGE, %r9
        cmpq    %r9, %rsp
        jb      .Lmorestack_resume

        movq    %rsp, G_SCHED+GOBUF_SP(%rdx)
        movq    %rbp, G_SCHED+GOBUF_BP(%rdx)
        leaq    gosched_morestack_preempted(%rip), %r9
        movq    %r9, G_SCHED+GOBUF_PC(%rdx)
        movq    16(%rbp), %r9
        movq    %r9, M_MOREBUF+GOBUF_PC(%rcx)
        leaq    24(%rbp), %r9
        movq    %r9, M_MOREBUF+GOBUF_SP(%rcx)
        movq    %rdx, M_MOREBUF+GOBUF_G(%rcx)

        movq    %r8, %fs:(%rax)                 // g = g0
        SET_STACK_LIMIT $0
        movq    G_SCHED+GOBUF_SP(%r8), %rsp
        movq    %r10, %rdi
        subq    gosched_vector_size(%rip), %rsp
        andq    $-64, %rsp
        movq    %rsp, %rbx                      // rbx = the vector registers
        movq    %rsp, %rsi
        movl    gosched_xsave_mask(%rip), %eax
        xorl    %edx, %edx
        testl   %eax, %eax
        je      .Lmorestack_fxsave
        .irp    word, 0, 8, 16, 24, 32, 40, 48, 56
        movq    %rdx, XSAVE_HEADER+\word(%rbx)
        .endr
        xsave64 (%rbx)
        fnstcw  (%rbx)                          // where xsave has it, if it saves the x87 too
        CURG_TO_G0
        callq   gosched_newstack
        testq   %rax, %rax
        jne     gosched_leave
        CURG_FROM_G0
        movl    gosched_xsave_mask(%rip), %eax
        xorl    %edx, %edx
        xrstor64 (%rbx)
.Lmorestack_back:
        TLS_G   %rax
        movq    %fs:(%rax), %rdx
        movq    G_M(%rdx), %rdx
        movq    M_CURG(%rdx), %rdx
        movq    %rdx, %fs:(%rax)                // g = the goroutine again
        movq    G_STACKGUARD0(%rdx), %r9
        SET_STACK_LIMIT %r9
        movq    G_SCHED+GOBUF_SP(%rdx), %rsp    // where the words are now
        movq    G_SCHED+GOBUF_BP(%rdx), %rbp
.Lmorestack_resume:
        movq    8(%rbp), %r10
        TO_BODY 24(%rbp)
        movq    %r10, 8(%rbp)
        popq    %rax
        popq    %r9
        popq    %r8
        popq    %rcx
        popq    %rdx
        popq    %rsi
        popq    %rdi
        popq    %r15
        popq    %r14
        popq    %r13
        popq    %r12
        popq    %rbx
        .cfi_remember_state
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        .cfi_restore %rbx
        .cfi_restore %r12
        .cfi_restore %r13
        .cfi_restore %r14
        .cfi_restore %r15
        // This is a `ret` and not a jump, to take the call that came here off the return
        // predictor's stack, although the predictor guesses the address wrong.
        ret

.Lmorestack_fxsave:
        .cfi_restore_state
        fxsave64 (%rbx)
        CURG_TO_G0
        callq   gosched_newstack
        testq   %rax, %rax
        jne     gosched_leave
        CURG_FROM_G0
        fxrstor64 (%rbx)
        jmp     .Lmorestack_back

        // gogo jumps here with a goroutine that was preempted, rsp and rbp as they were saved.
        // Below rsp is the room that STACK_GUARD leaves.
        .globl  gosched_morestack_preempted
        .hidden gosched_morestack_preempted
gosched_morestack_preempted:
        endbr64
        movq    %rsp, %rbx
        andq    $-16, %rsp
        callq   gosched_x_reg_restore
        movq    %rbx, %rsp
        movq    %rax, %rbx
        fldcw   (%rbx)
        movl    gosched_xsave_mask(%rip), %eax
        xorl    %edx, %edx
        testl   %eax, %eax
        je      .Lmorestack_fxrstor
        xrstor64 (%rbx)
        jmp     .Lmorestack_read
.Lmorestack_fxrstor:
        fxrstor64 (%rbx)
.Lmorestack_read:
        REGISTERS_ARE_READ
        jmp     .Lmorestack_resume

        // These stacks don't grow, and their limit is 0. But the check may have found another
        // limit, that of a goroutine which is asked to stop: either in a signal handler, or before
        // a handler corrected the limit. So only a frame that is on this stack and doesn't fit is
        // an error.
.Lmorestack_g0:
        leaq    gosched_badmorestackg0(%rip), %rsi
        jmp     .Lmorestack_fits
.Lmorestack_gsignal:
        leaq    gosched_badmorestackgsignal(%rip), %rsi
.Lmorestack_fits:
        cmpq    G_STACK+STACK_HI(%rdx), %rsp
        jae     .Lmorestack_foreign
        movq    %rsp, %r9
        subq    G_STACK+STACK_LO(%rdx), %r9     // how much is left
        jb      .Lmorestack_foreign
        cmpq    %r10, %r9
        jae     .Lmorestack_foreign
        andq    $-16, %rsp
        callq   *%rsi
        ud2
.Lmorestack_foreign:
        SET_STACK_LIMIT $0
        jmp     .Lmorestack_resume
END __morestack

// Makes room for r10 bytes below the caller's frame, and returns like any other
// function, with all registers except r10 and r11 as they were. For a check that is
// written by hand, after the prologue. To __morestack, the second `ret` is the body of
// the function that needs room, and the caller is that function's caller.
FUNCTION gosched_morestack
        endbr64
        callq   gosched_morestack_prologue
        ret
        ret
END gosched_morestack

#ifdef SPLIT_STACK

// The linker has found that a function calls code without checks, and has changed the
// function's prologue to call this (for a small frame, in every call). If the frame is
// small, the room that such code may need is added to r10 here. For a large frame the
// linker has added as much. A few KiB too many do no harm.
FUNCTION __morestack_non_split
        endbr64
        addq    $NON_SPLIT_ROOM, %r10
        movq    %rsp, %r11
        subq    %r10, %r11
        jb      __morestack
        cmpq    %fs:0x70, %r11
        jb      __morestack
        movq    (%rsp), %r10
        TO_BODY 16(%rsp)
        movq    %r10, (%rsp)
        ret
END __morestack_non_split

// void *__morestack_allocate_stack_space(size_t size): returns memory for an alloca or an array of
// variable length whose check has failed. If a goroutine's stack has too little room, the stack
// grows. Otherwise the check has failed because the limit is another stack's, or because the
// goroutine is asked to stop. In each case the bytes then come from the stack, as after a check
// that passed. They live until the calling function returns, or until the end of the array's scope.
//
// The calling function finds its frame by rbp and doesn't rely on rsp, so this may change rsp. But
// the function may write arguments of calls to the lowest bytes of its frame (gcc with
// -maccumulate-outgoing-args). How many bytes that are is unknown here, but no more than the frame
// has.
//
//                  |  the caller's frame          |
//     rsp       -> |                              |
//                  |  size bytes                  |
//     rax       -> |                              |
//                  |  as many as that frame has,  |
//     rsp then  -> |  but not over ARGUMENTS_ROOM |
FUNCTION __morestack_allocate_stack_space
        endbr64
        leaq    8(%rsp), %rax
        movq    %rbp, %rdx
        subq    %rax, %rdx
        movl    $ARGUMENTS_ROOM, %eax
        cmpq    %rax, %rdx
        cmovaq  %rax, %rdx
        addq    $15, %rdx
        andq    $-16, %rdx                      // rdx = room for arguments
        leaq    15(%rdx), %rax
        addq    %rax, %rdi
        sbbq    %rax, %rax                      // all ones, which is too much, if the sum is
        orq     %rax, %rdi
        andq    $-16, %rdi                      // rdi = all that is taken
        movq    %rdi, %r10
        callq   gosched_morestack_prologue
        ret
        popq    %r11
        .cfi_def_cfa_offset 0
        .cfi_register %rip, %r11
        subq    %rdi, %rsp
        leaq    (%rsp,%rdx), %rax
        pushq   %r11
        .cfi_def_cfa_offset 8
        .cfi_offset %rip, -8
        ret
END __morestack_allocate_stack_space

#endif

// The size of the saved vector registers, in bytes. src/runtime/arch/x86_64/sigctxt.rs asks the
// processor for it.
        .bss
        .p2align 3
        .globl  gosched_vector_size
        .hidden gosched_vector_size
        .type   gosched_vector_size, @object
        .size   gosched_vector_size, 8
gosched_vector_size:
        .zero   8
// The components that xsave saves at a check; 0 if there is no xsave.
        .globl  gosched_xsave_mask
        .hidden gosched_xsave_mask
        .type   gosched_xsave_mask, @object
        .size   gosched_xsave_mask, 4
gosched_xsave_mask:
        .zero   4

        NOTES
