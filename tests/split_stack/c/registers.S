// word hold_registers(word (*f)(word), word arg, word *moved): calls f(arg) while every register
// that a call preserves holds an address in this frame. For each register it then stores in moved
// the difference from the expected value: 0 if the address has moved with the stack.
//
//     rbp -> | caller's rbp  |
//            | rbx, r12-r15  |
//            | moved         |  -48
//            | five words    |  -88 ... -56: what the registers point to
//
// rbp itself is one of these registers. `moved` is an address in the caller's frame, and is saved
// in this frame.

        .text
        .p2align 4
        .globl  hold_registers
        .hidden hold_registers
        .type   hold_registers, @function
hold_registers:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
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
        pushq   %rdx
        subq    $48, %rsp
        leaq    8(%rsp), %rbx
        leaq    16(%rsp), %r12
        leaq    24(%rsp), %r13
        leaq    32(%rsp), %r14
        leaq    40(%rsp), %r15
        movq    %rdi, %rax
        movq    %rsi, %rdi
        callq   *%rax
        movq    48(%rsp), %rdx                  // moved
        subq    %rsp, %rbx
        subq    $8, %rbx
        movq    %rbx, (%rdx)
        subq    %rsp, %r12
        subq    $16, %r12
        movq    %r12, 8(%rdx)
        subq    %rsp, %r13
        subq    $24, %r13
        movq    %r13, 16(%rdx)
        subq    %rsp, %r14
        subq    $32, %r14
        movq    %r14, 24(%rdx)
        subq    %rsp, %r15
        subq    $40, %r15
        movq    %r15, 32(%rdx)
        movq    %rbp, %rcx
        subq    %rsp, %rcx
        subq    $96, %rcx
        movq    %rcx, 40(%rdx)
        movq    -8(%rbp), %rbx
        .cfi_restore %rbx
        movq    -16(%rbp), %r12
        .cfi_restore %r12
        movq    -24(%rbp), %r13
        .cfi_restore %r13
        movq    -32(%rbp), %r14
        .cfi_restore %r14
        movq    -40(%rbp), %r15
        .cfi_restore %r15
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   hold_registers, . - hold_registers

        // Marks the file for the linker: split-stack code calls this, and it makes no check, as it
        // needs little stack.
        .section .note.GNU-split-stack, "", @progbits
        .section .note.GNU-stack, "", @progbits
