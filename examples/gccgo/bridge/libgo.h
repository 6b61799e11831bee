// gccgo's calls and libgo's structures, as the bridge uses them: those of GCC 12.
#ifndef LIBGO_H
#define LIBGO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gosched.h"

// The symbol that gccgo gives to a function or a variable of Go.
#define GO(name) __asm__(name)

// Marks a function without a check of the stack: it runs where the stack must not move, or on a
// stack other than the goroutine's.
#define NO_CHECK __attribute__((no_split_stack))

// Go's `int`, `string`, `[]T` and `interface{}`.
typedef intptr_t integer;
struct string { const char *text; integer length; };
struct slice { void *values; integer length, capacity; };
struct eface { const void *type; void *data; };

// A value of a function type is the address of a closure, whose first word is the code. gccgo
// passes the closure itself in the register of the static chain.
struct closure { void *code; };
#define CALL(type, closure, ...) \
    __builtin_call_with_static_chain(((type)(closure)->code)(__VA_ARGS__), (closure))

// Only the fields that are used here have names. The struct is as large as libgo's.
struct type { uintptr_t size, ptrdata, rest[6]; };
struct chantype { struct type type; const struct type *elem; };

// A deferred call. It is in the heap or in a frame, and `frame` is always in one.
struct defer {
    struct defer *link;
    bool *frame;
    void *panic_stack, *panic;
    uintptr_t pfn;
    void *arg;
    uintptr_t retaddr;
    bool makefunc_can_recover, heap;
};

// libgo's m. Only code that remains libgo's uses it. Each goroutine has an m of its own.
struct m {
    struct g *g0;
    uint64_t unused0[19];
    struct g *curg;
    uint64_t unused1[8];
    int32_t locks, dying;
    uint64_t unused2[2], fastrand, unused3[8];
};

// libgo's g: the panics, the deferred calls and the exception of a goroutine. gosched has all other
// fields of libgo's g in its own G.
struct g {
    void *panic;
    struct defer *defer;
    struct m *m;
    uintptr_t unused0[3];
    uint32_t atomicstatus;
    int64_t goid;
    uintptr_t unused1[10];
    uint32_t sig;
    uintptr_t unused2[3];
    uintptr_t sigcode0, sigcode1, sigpc;
    uintptr_t unused3[8];
    struct unwinding *exception;
    uintptr_t unused4[138];
};

_Static_assert(offsetof(struct m, curg) == 160 && offsetof(struct m, dying) == 236 &&
               offsetof(struct m, fastrand) == 256, "libgo's m");
_Static_assert(offsetof(struct g, goid) == 56 && offsetof(struct g, sig) == 144 &&
               offsetof(struct g, sigcode0) == 176 && offsetof(struct g, exception) == 264, "libgo's g");

// Returns libgo's g of the caller: of the goroutine, or of the scheduler's stack.
struct g *getg(void) GO("runtime.getg");

// Returns libgo's g of a goroutine, or NULL if the goroutine hasn't begun.
struct g *g_of(struct gosched_g *gp);

// Ends a goroutine whose deferred calls have run.
_Noreturn void goexit(void);

// Returns zeroed memory. A collector, if there were one, would manage it.
void *mallocgc(uintptr_t size, const struct type *type, bool zero) GO("runtime.mallocgc");

// Installs handlers of faults, and the hook that adjusts the records of deferred calls when a stack
// moves.
void prepare_panics(void);

// Panics with a runtime.Error of this text.
_Noreturn void panic_plain(const char *text);

// Ends the program with this text.
_Noreturn void throw(struct string text) GO("runtime.throw");

#endif
