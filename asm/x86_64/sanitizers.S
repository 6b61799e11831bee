// Routines that report switches to the sanitizers. A build without a sanitizer has none.
//
// Each routine runs on the stack of a thread or on the stack that is switched to, never
// on the stack of the goroutine that is left, because the functions it calls need room. It
// keeps every register except r10, r11 and the vector registers, so it can be called
// anywhere.
//
//     | return address                       |
//     | rbp                           <- rbp |
//     | rax, rcx, rdx, rsi, rdi, r8, r9, r11 |
//     | perhaps 8 free bytes          <- rsp |

#include "macros.h"

// The head and the tail of a routine that calls the sanitizers. After TELLS, rdi = r10, and
// r11 is as in the caller.
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

// r10 = the place for the fake stack of the stack that is left, or null if that stack is given up;
// r11 = the G whose stack is next. Afterwards AddressSanitizer knows the bounds of that G's stack.
// It also uses that G's fake stack, for the frames that it keeps elsewhere to find uses after a
// return.
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

// The frames of this stack will be overwritten and never return, so AddressSanitizer forgets
// them.
FUNCTION gosched_stack_given_up
        TELLS
        callq   __asan_handle_no_return@PLT
        TOLD
END gosched_stack_given_up

#endif
#ifdef TSAN

// A switch of fibers orders nothing: only actions of the program order two goroutines.
#define NO_SYNC 1

// A fiber records the calls it makes. Most calls on g0 don't return, so the record of g0's
// fiber grows. After this number of turns the fiber is replaced by a new one.
#define TURNS 1000

.macro SWITCH_TO_FIBER fiber
        movq    \fiber, %rdi
        movl    $NO_SYNC, %esi
        callq   __tsan_switch_to_fiber@PLT
.endm

// `which` is Begin or End. Between the two, ThreadSanitizer ignores the fiber's accesses, and they
// order nothing.
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

// Makes a fiber for the g0 in TO, and switches to it.
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

// Destroys the fiber of the g0 in TO, and switches to the thread's own fiber. A fiber must
// ignore nothing when it is destroyed.
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
// g0's fiber ignores all accesses and orders nothing. The code that makes a goroutine
// runnable has released at the address of its G (src/runtime/arch/tsan.rs), and the
// goroutine acquires at that address here. A goroutine that leaves releases there too, for
// the next goroutine that has this G and its stack.
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

// Between gosched_unseen and gosched_seen, ThreadSanitizer ignores the goroutine's reads and
// writes: they are on g0's stack, which another goroutine may use next. Synchronization still
// counts.
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

// r11 = the g0 of a thread that begins: the thread switches to g0's fiber.
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

// r11 = the g0 of a thread that ends: the thread switches back to its own fiber.
FUNCTION gosched_leave_fiber
        TELLS
        DESTROY_G0_FIBER
        movq    TO, %rdi
        callq   __tsan_acquire@PLT
        TOLD
END gosched_leave_fiber

#endif

        NOTES
