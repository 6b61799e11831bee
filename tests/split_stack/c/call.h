/* What Rust passes to a case, and what the case returns. The same struct is in src/call.rs, and
   at_depth.S uses the offsets. */

#define CALL_BYTES 0
#define CALL_DRIVER 8
#define CALL_SP 16
#define CALL_GUARD 24
#define CALL_RESULT 32
#define CALL_DONE 40

#ifndef __ASSEMBLER__

#include <stddef.h>
#include <stdint.h>

typedef uint64_t word;

struct Call;

/* Rust functions that split-stack code calls. It calls them through pointers, so that no linker
   knows that they make no checks. The room below the guard must be enough for them. */
struct Bridge {
    void (*send)(void *partner, const word *value);
    void (*receive)(void *partner, word *place);
    void (*yield)(void);
    /* Calls f(local, n), where local is the callee's. */
    word (*back)(word (*f)(word *local, word n), word n);
    /* Multiplies the word at place by n, on another stack. */
    void (*scale)(word *place, word n);
};

struct Call {
    /* For at_depth: how far it lowers rsp, and the function that it calls there. */
    word bytes;
    word (*driver)(struct Call *);
    /* From at_depth: rsp when it calls the driver, and the guard that prologues compared with. */
    word sp;
    word guard;
    word result;
    uint32_t done;
    /* For the case: the seed of its values, and the number of levels of a recursion. */
    word seed;
    word levels;
    word deep_levels;
    const struct Bridge *bridge;
    void *partner;
    /* From the case: rsp as the first function under test is entered, and how many prologues with a
       check have run, at least. */
    word entry;
    word checks;
};

_Static_assert(offsetof(struct Call, bytes) == CALL_BYTES, "");
_Static_assert(offsetof(struct Call, driver) == CALL_DRIVER, "");
_Static_assert(offsetof(struct Call, sp) == CALL_SP, "");
_Static_assert(offsetof(struct Call, guard) == CALL_GUARD, "");
_Static_assert(offsetof(struct Call, result) == CALL_RESULT, "");
_Static_assert(offsetof(struct Call, done) == CALL_DONE, "");

struct Case {
    const char *name;
    word (*driver)(struct Call *);
};

/* A list of cases ends with one that has no name. */
#define CASE(f) { #f, f }
#define END { NULL, NULL }

/* Cases of one kind, compiled in one way. */
struct Table {
    const char *flavour;
    const char *kind;
    const struct Case *cases;
};

/* Puts a list where src/cases.rs looks for it. */
#define TABLE(kind, cases)                                                                        \
    static const struct Table table = { FLAVOUR, kind, cases };                                   \
    static const struct Table *const entry                                                        \
        __attribute__((used, retain, section("split_stack_tables"))) = &table

/* A function that is compiled as written: not inlined, not cloned, with all arguments where the ABI
   has them. A goroutine may be stopped between any two of its instructions. */
#ifdef __clang__
#define NOT_INLINED __attribute__((noinline, used))
#else
#define NOT_INLINED __attribute__((noipa))
#endif
#define UNDER_TEST static NOT_INLINED __attribute__((section("gosched_preemptible")))

/* A function that calls a function under test. It makes no check itself, so the function under test
   has the first prologue that compares rsp with the guard. */
#define DRIVER static NOT_INLINED __attribute__((no_split_stack))

/* For a driver: notes rsp as it is when the next function is entered, with `arguments` bytes of
   arguments on the stack. */
#define ABOUT_TO_CALL(call, arguments)                                                            \
    do {                                                                                          \
        word rsp;                                                                                 \
        __asm__ volatile("movq %%rsp, %0" : "=r"(rsp));                                           \
        (call)->entry = rsp - (arguments)-8;                                                      \
    } while (0)

static inline __attribute__((always_inline)) word mix(word sum, word value) {
    word mixed = (sum ^ value) * 0x9e3779b97f4a7c15;
    return mixed ^ mixed >> 29;
}

/* How many KiB the stack grows during a case: more than any stack that a G starts with. */
#define MORE 13

/* Takes n KiB more of stack, frame by frame. */
UNDER_TEST word grow(word n) {
    volatile word frame[120];
    frame[n] = n;
    word below = n > 0 ? grow(n - 1) : 1;
    return mix(below, frame[n]);
}

#endif
