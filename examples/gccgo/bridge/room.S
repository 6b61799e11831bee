// Entries that make room for foreign code which takes more of a stack than there is below a check.
// Each entry jumps to its function, so it leaves no frame on the stack.

#define ROOM(name, bytes, goal)         \
        .globl  name;                   \
        .type   name, @function;        \
name:   .cfi_startproc;                 \
        lea     -bytes(%rsp), %r10;     \
        cmp     %fs:0x70, %r10;         \
        jae     1f;                     \
        mov     $bytes, %r10d;          \
        call    gosched_morestack;      \
1:      jmp     goal;                   \
        .cfi_endproc

        .text
// libgcc's unwinder, and libbacktrace. The linker redirects calls of them to these entries
// (--wrap).
        ROOM(__wrap__Unwind_RaiseException, 16384, __real__Unwind_RaiseException)
        ROOM(__wrap__Unwind_Resume, 16384, __real__Unwind_Resume)
        ROOM(__wrap__Unwind_Resume_or_Rethrow, 16384, __real__Unwind_Resume_or_Rethrow)
        ROOM(__wrap_runtime_callers, 65536, __real_runtime_callers)
        ROOM(__wrap_runtime_callersRaw, 65536, __real_runtime_callersRaw)
        ROOM(__wrap_runtime.pcInlineCallers, 65536, __real_runtime.pcInlineCallers)
        ROOM(__wrap_runtime.funcfileline, 65536, __real_runtime.funcfileline)
        ROOM(__wrap_runtime.funcentry, 65536, __real_runtime.funcentry)
        ROOM(__wrap_exit, 65536, __real_exit)

// Package syscall calls these before and after a system call that may block. In between, no check
// may fail.
        ROOM(syscall.Entersyscall, 2048, gosched_entersyscall)
        .globl  syscall.Exitsyscall
syscall.Exitsyscall:
        jmp     gosched_exitsyscall

        .section .note.GNU-stack, "", @progbits
        .section .note.GNU-split-stack, "", @progbits
