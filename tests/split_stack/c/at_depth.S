// void at_depth(struct Call *call): a goroutine's function. It calls the driver with rsp
// call->bytes below this frame, and stores the driver's result in call->result.
//
//     | return address |
//     | rbp            | <- rbp
//     | rbx            |
//     | pad            |
//     | bytes, unused  |
//     | return address | <- rsp as the driver finds it
//
// rbx = call, which is an address outside the stack. The store to call->done comes last, because a
// thread that sees it may free the call.

#include "call.h"

#define PRIVATE_SS 0x70

        .text
        .p2align 4
        .globl  at_depth
        .hidden at_depth
        .type   at_depth, @function
at_depth:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        pushq   %rbx
        .cfi_offset %rbx, -24
        pushq   %rbx
        movq    %rdi, %rbx
        subq    CALL_BYTES(%rbx), %rsp
        movq    %rsp, CALL_SP(%rbx)
        movq    %fs:PRIVATE_SS, %rax
        movq    %rax, CALL_GUARD(%rbx)
        callq   *CALL_DRIVER(%rbx)
        movq    %rax, CALL_RESULT(%rbx)
        movl    $1, CALL_DONE(%rbx)
        movq    -8(%rbp), %rbx
        .cfi_restore %rbx
        leave
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
        .cfi_endproc
        .size   at_depth, . - at_depth

        .section .note.GNU-stack, "", @progbits
