// What sanitizers are told of the switches. Without them there is nothing here.
//
// Each routine is called on the stack of a thread or on the one that is switched to,
// never on a goroutine's that is left: what it calls needs room. It keeps every register
// that isn't a vector register but for r10 and r11, so that it can be called anywhere.
//
//     | return address                       |
//     | rbp                           <- rbp |
//     | rax, rcx, rdx, rsi, rdi, r8, r9, r11 |
//     | perhaps 8 free bytes          <- rsp |

#include "macros.h"

// Calls of the sanitizers, with rdi = r10 and r11 as in the caller, and back.
.macro TELLS
        endbr64
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        .irp    reg, %rax, %rcx, %rdx, %rsi, %rdi, %r8, %r9, %r11
        pushq   \reg
        .endr
        andq    $-16, %rsp
        movq    %r10, %rdi
.endm
.macro TOLD
        leaq    -64(%rbp), %rsp
        .irp    reg, %r11, %r9, %r8, %rdi, %rsi, %rdx, %rcx, %rax
        popq    \reg
        .endr
        popq    %rbp
        .cfi_def_cfa %rsp, 8
        .cfi_restore %rbp
        ret
.endm
#define TO -64(%rbp)

#ifdef ASAN

// r10 = where the fake stack of the stack that is left is kept, null if nothing goes on
// there; r11 = the G whose stack is next. AddressSanitizer knows the bounds of the stack
// then, and takes the frames that it keeps elsewhere, to find uses after a return, from
// that G's fake stack.
FUNCTION gosched_stack_changes
        TELLS
        leaq    G_SANITIZER(%r11), %rax
        cmpq    %rax, %rdi
        je      .Lstack_stays                   // g0 begins anew
        movq    G_STACK+STACK_LO(%r11), %rsi
        movq    G_STACK+STACK_HI(%r11), %rdx
        subq    %rsi, %rdx
        callq   __sanitizer_start_switch_fiber@PLT
        movq    TO, %rax
        movq    G_SANITIZER(%rax), %rdi
        xorl    %esi, %esi
        xorl    %edx, %edx
        callq   __sanitizer_finish_switch_fiber@PLT
.Lstack_stays:
        TOLD
END gosched_stack_changes

// The frames of this stack will be overwritten, and never return: what AddressSanitizer knows
// of them holds no longer.
FUNCTION gosched_stack_given_up
        TELLS
        callq   __asan_handle_no_return@PLT
        TOLD
END gosched_stack_given_up

#endif
#ifdef TSAN

// Without an order between what acts before and after: only what the program does
// orders two goroutines.
#define NO_SYNC 1

// A fiber notes who calls whom. What is called on g0 as a rule doesn't return, so the
// notes of its fiber grow; after so many turns it is made anew.
#define TURNS 1000

.macro SWITCH_TO_FIBER fiber
        movq    \fiber, %rdi
        movl    $NO_SYNC, %esi
        callq   __tsan_switch_to_fiber@PLT
.endm

// From here on, or from here on no longer, what the fiber does isn't seen, and orders nothing.
.macro IGNORE which
        ANNOTATE AnnotateIgnoreReads\which
        ANNOTATE AnnotateIgnoreWrites\which
        ANNOTATE AnnotateIgnoreSync\which
.endm
.macro ANNOTATE what
        xorl    %edi, %edi
        xorl    %esi, %esi
        callq   \what@PLT
.endm

// Makes a fiber for g0, TO, and acts as that.
.macro MAKE_G0_FIBER
        xorl    %edi, %edi
        callq   __tsan_create_fiber@PLT
        movq    TO, %r11
        movq    %rax, G_SANITIZER(%r11)
        movq    G_M(%r11), %rdx
        movl    $TURNS, M_FIBER_TURNS(%rdx)
        SWITCH_TO_FIBER %rax
        IGNORE  Begin
.endm

// Destroys the fiber of g0, TO, which mustn't ignore anything then, and acts as the thread
// itself.
.macro DESTROY_G0_FIBER
        movq    TO, %r11
        SWITCH_TO_FIBER G_SANITIZER(%r11)
        IGNORE  End
        movq    TO, %r11
        movq    G_M(%r11), %rax
        SWITCH_TO_FIBER M_THREAD_FIBER(%rax)
        movq    TO, %r11
        movq    G_SANITIZER(%r11), %rdi
        callq   __tsan_destroy_fiber@PLT
.endm

// r10 = the G that acted, r11 = the G that acts next.
//
// What g0 does is nobody's: its fiber sees no access, and orders nothing. Whoever makes a
// goroutine runnable has released what it did at the address of its G
// (src/runtime/arch/sanitizer.rs), which the goroutine acquires here. So does one that
// leaves, for the next one that has this G, and its stack.
FUNCTION gosched_actor_changes
        TELLS
        cmpq    %r11, %r10
        je      .Lactor_stays
        movq    G_M(%r11), %rax
        cmpq    %r11, M_G0(%rax)
        je      .Lactor_is_g0                   // rdi = the G that acted, still
        SWITCH_TO_FIBER G_SANITIZER(%r11)
        movq    TO, %rdi
        callq   __tsan_acquire@PLT
        movq    TO, %r11
        movq    G_M(%r11), %rdi                 // what the thread did at its begin comes first
        callq   __tsan_acquire@PLT
.Lactor_stays:
        .cfi_remember_state
        TOLD
        .cfi_restore_state
.Lactor_is_g0:
        callq   __tsan_release@PLT
        movq    TO, %rdi                        // the thread's end comes after all that it has run
        callq   __tsan_release@PLT
        movq    TO, %r11
        movq    G_M(%r11), %rax
        decl    M_FIBER_TURNS(%rax)
        jge     .Lactor_has_fiber
        cmpq    $0, G_SANITIZER(%r11)           // that of a thread which isn't ours has none at first
        je      .Lactor_had_none
        DESTROY_G0_FIBER
.Lactor_had_none:
        MAKE_G0_FIBER
        jmp     .Lactor_stays
.Lactor_has_fiber:
        SWITCH_TO_FIBER G_SANITIZER(%r11)
        jmp     .Lactor_stays
END gosched_actor_changes

// Between the two, what the goroutine reads and writes isn't seen: it is on g0's stack,
// which is another goroutine's in a moment. What it orders is.
FUNCTION gosched_unseen
        TELLS
        ANNOTATE AnnotateIgnoreReadsBegin
        ANNOTATE AnnotateIgnoreWritesBegin
        TOLD
END gosched_unseen
FUNCTION gosched_seen
        TELLS
        ANNOTATE AnnotateIgnoreWritesEnd
        ANNOTATE AnnotateIgnoreReadsEnd
        TOLD
END gosched_seen

// r11 = the g0 of a thread, which begins: it acts as that from here on.
FUNCTION gosched_enter_fiber
        TELLS
        callq   __tsan_get_current_fiber@PLT
        movq    TO, %r11
        movq    G_M(%r11), %rdi
        movq    %rax, M_THREAD_FIBER(%rdi)
        callq   __tsan_release@PLT
        MAKE_G0_FIBER
        TOLD
END gosched_enter_fiber

// The same thread ends, and acts as itself again.
FUNCTION gosched_leave_fiber
        TELLS
        DESTROY_G0_FIBER
        movq    TO, %rdi
        callq   __tsan_acquire@PLT
        TOLD
END gosched_leave_fiber

#endif

        NOTES
