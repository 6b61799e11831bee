/*
 * gosched: goroutines for C programs, by the million, run by Go's scheduler on all processors.
 *
 * This file is made of src/capi/header; edit that.
 *
 *     #include <stdint.h>
 *     #include "gosched.h"
 *
 *     static struct gosched_chan *squares;
 *
 *     static void square(void *i)
 *     {
 *         intptr_t value = (intptr_t)i * (intptr_t)i;
 *         gosched_chan_send(squares, &value);
 *     }
 *
 *     static void *sum_of_squares(void *n)
 *     {
 *         intptr_t sum = 0, value, i;
 *         gosched_chan_make(sizeof value, 0, &squares);
 *         for (i = 0; i < (intptr_t)n; i++)
 *             gosched_newproc(square, (void *)i);
 *         while (i-- > 0) {
 *             gosched_chan_recv(squares, &value);
 *             sum += value;
 *         }
 *         return (void *)sum;
 *     }
 *
 *     int main(void)
 *     {
 *         void *sum;
 *         return gosched_run(sum_of_squares, (void *)10, &sum) != 0 || (intptr_t)sum != 285;
 *     }
 *
 * Goroutines
 *
 *   gosched_run starts the runtime, with a first goroutine; gosched_newproc and
 *   gosched_newproc_fixed make others. As many run at once as there are processors (or
 *   GOMAXPROCS says); the others wait in queues. They wait for each other at channels, in a
 *   select, or parked: gosched_park and gosched_ready are what locks are made of.
 *
 *   A goroutine that has run for 10 ms is asked to stop, and does so in the next function with a
 *   check of its stack (see below), or, in a function with
 *   __attribute__((section("gosched_preemptible"))), at any instruction. One that computes for long
 *   without either should call gosched_yield at times. One that blocks its thread (read, sleep, a
 *   mutex of pthreads) does so through gosched_blocking, or it holds up a processor.
 *
 *   A thread that isn't the runtime's can make goroutines, and send and receive, waiting too.
 *
 * Stacks
 *
 *   A fixed stack is like a thread's: any code may run there. The main goroutine's is fixed,
 *   and those of gosched_newproc_fixed are. It takes address space at once, memory as it is
 *   used, and ends in a guard page.
 *
 *   A copying stack, which gosched_newproc makes, begins with 2 KiB. When a function finds that
 *   its frame doesn't fit, the stack is moved to a place of twice the size, and every address in
 *   it that is one of the stack itself is adjusted. Recursion may be deep, up to 1 GiB, and what
 *   isn't deep is small. But the code must keep these rules:
 *
 *   1. It is compiled with -fsplit-stack, so that each function begins with a check. Code that
 *      isn't (libc, other libraries) finds some 600 bytes: enough for memcpy or strlen, and not
 *      for printf. What needs more is called through gosched_systemstack. Or the program is linked
 *      by gold or lld, -fuse-ld=gold: then the linker has each function that calls such code
 *      make sure of 16 KiB first, unless it calls through a pointer. It can't do that with
 *      -fcf-protection=full, which Ubuntu's gcc sets: use -fcf-protection=none there.
 *   2. No address of the stack is anywhere but on it: not in a static, not in the heap, not with
 *      another goroutine. Those in arguments are right, also of a function of this file; and a
 *      channel may send from, and receive to, the stack.
 *   3. On the stack, an address is a plain pointer, and aligned: not in a packed struct, not
 *      hashed, not masked. An integer that happens to look like an address of the stack would be
 *      adjusted as well. So would the half of a word that a short or a string has left of an old
 *      address: compile with -ftrivial-auto-var-init=zero (gcc 12, clang 16; older clangs take
 *      =pattern, and =zero only with a second flag). That doesn't reach what lies beside an array
 *      or a struct of 2 bytes, or 10, or 11, in its last word: give one that is made of char or
 *      short a multiple of 8 bytes. Nor does it reach an argument of less than a word that there
 *      is no register for (a ninth float), nor a long double, which may lose bits: compile with
 *      -mlong-double-64, which makes it a double, and pass none to libc; or avoid it, and long
 *      double _Complex.
 *   4. No setjmp and longjmp, no C++ exception, and no nested function (GNU C) whose address is
 *      taken. What alloca returns has a multiple of 8 bytes, and unless it holds words only, it is
 *      filled with zeros first: the flag of rule 3 doesn't reach it (gcc). A function with an
 *      array of variable length is compiled with -fno-forward-propagate (gcc). No function of
 *      variable arguments by clang: LLVM has no check for them. Arguments on the stack are pushed
 *      without a check: no struct of more than some 400 bytes by value.
 *
 *   docs/copying-stacks.md tells more, and how GODEBUG makes mistakes show.
 *
 * Threads
 *
 *   A goroutine that waits may go on on another thread. Nothing that belongs to a thread may be
 *   kept across such a call: no lock of pthreads, no address of a thread-local variable. (errno
 *   is one, and compilers keep its address: use it in functions that don't wait.)
 *
 *   A thread that the program made itself is no goroutine. It may use everything here that
 *   doesn't need one: make and ready goroutines, send and receive, waiting too, close channels.
 *
 *   Signal handlers that are installed while there are goroutines use SA_ONSTACK.
 *
 * Errors
 *
 *   Functions that can fail return 0 or an errno value, and leave errno alone. A program error
 *   that is noticed, a deadlock or an overflow of a stack ends the process with status 2, and a
 *   report on stderr.
 *
 * Who may call what
 *
 *   The goroutine is any one: the first, and those of both kinds of stack. The scheduler's stack
 *   is where gosched_systemstack and gosched_blocking call, and gosched_park its unlockf. With
 *   NULL: in place of a function, of a goroutine, of where a result goes or a value comes from.
 *
 *                             before the    on another    on a          on the sched-  with
 *                             first run     thread        goroutine     uler's stack   NULL
 *     gosched_run             yes           yes           EDEADLK       EDEADLK        EINVAL
 *     gosched_run_copying     yes           yes           EDEADLK       EDEADLK        EINVAL
 *     gosched_newproc         ends          yes           yes           yes            ends
 *     gosched_newproc_fixed   EPERM         yes           yes           yes            EINVAL
 *     gosched_yield           ends          ends          yes           ends           -
 *     gosched_exit            ends          ends          yes           ends           -
 *     gosched_getg            NULL          NULL          yes           yes            -
 *     gosched_park            ends          ends          yes           ends           yes
 *     gosched_ready           -             yes           yes           yes            ends
 *     gosched_systemstack     yes           yes           yes           yes            ends
 *     gosched_set_max_stack   yes           yes           yes           yes            -
 *     gosched_shrink_stack    ends          ends          yes           ends           -
 *     gosched_blocking        yes           yes           yes           yes            ends
 *     gosched_sleep           yes           yes           yes           ends           -
 *     gosched_set_gomaxprocs  -1            yes           yes           -1             -
 *     gosched_chan_make       yes           yes           yes           yes            EINVAL
 *     gosched_chan_free       yes           yes           yes           yes            yes
 *     gosched_chan_send       WOULD_BLOCK   yes           yes           WOULD_BLOCK    ends
 *     gosched_chan_try_send   yes           yes           yes           yes            ends
 *     gosched_chan_recv       WOULD_BLOCK   yes           yes           WOULD_BLOCK    yes
 *     gosched_chan_try_recv   yes           yes           yes           yes            yes
 *     gosched_chan_close      yes           yes           yes           yes            ends
 *     gosched_chan_len        yes           yes           yes           yes            yes
 *     gosched_chan_cap        yes           yes           yes           yes            yes
 *     gosched_select          WOULD_BLOCK   yes           yes           WOULD_BLOCK    ends
 *
 *     ends                    the process ends, with a report that says what is wrong
 *     WOULD_BLOCK             is returned if the function would have to wait, and else yes
 *     -                       there is nothing that could be passed
 *
 *   If the first goroutine calls gosched_exit, its gosched_run never returns.
 *
 * Compiling and linking
 *
 *     cargo rustc --release --lib --crate-type staticlib
 *     gcc -O2 -fsplit-stack -ftrivial-auto-var-init=zero -Iinclude program.c \
 *         target/release/libgosched.a -Wl,-z,now
 *
 *   -z now, because to bind a function of libc when it is first called takes more stack than
 *   there may be. The library is named before libgcc, so that its __morestack is the one that
 *   is linked; gcc adds libgcc at the end by itself. Before glibc 2.34, add -lpthread -ldl.
 */

#ifndef GOSCHED_H
#define GOSCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * How many bytes there are in each goroutine for the port: see `gosched_slot`.
 */
#define GOSCHED_SLOT_SIZE 1024

/**
 * Why a goroutine is parked, for reports: Go's `waitReason`. Go's other numbers, up to 36, will do as
 * well.
 */
enum gosched_wait_reason {
    /**
     * No reason: "waiting".
     */
    GOSCHED_WAIT_REASON_NONE = 0,
    /**
     * "IO wait"
     */
    GOSCHED_WAIT_REASON_IO_WAIT = 2,
    /**
     * "semacquire"
     */
    GOSCHED_WAIT_REASON_SEMACQUIRE = 18,
    /**
     * "sleep"
     */
    GOSCHED_WAIT_REASON_SLEEP = 19,
    /**
     * "sync.Cond.Wait"
     */
    GOSCHED_WAIT_REASON_COND_WAIT = 20,
    /**
     * "sync.Mutex.Lock"
     */
    GOSCHED_WAIT_REASON_MUTEX_LOCK = 21,
    /**
     * "sync.RWMutex.RLock"
     */
    GOSCHED_WAIT_REASON_RWMUTEX_RLOCK = 22,
    /**
     * "sync.RWMutex.Lock"
     */
    GOSCHED_WAIT_REASON_RWMUTEX_LOCK = 23,
    /**
     * "coroutine"
     */
    GOSCHED_WAIT_REASON_COROUTINE = 36,
};

/**
 * How a channel operation ended.
 */
enum gosched_result {
    /**
     * The value was sent, or received.
     */
    GOSCHED_RESULT_DONE,
    /**
     * Nothing was done: the operation would have had to wait, but wasn't meant to, or can't here.
     */
    GOSCHED_RESULT_WOULD_BLOCK,
    /**
     * The channel is closed. Nothing was sent; or nothing was left to receive, and the place for a
     * value was filled with zeros.
     */
    GOSCHED_RESULT_CLOSED,
};

/**
 * A channel of values of one size: Go's `chan`. Any number of goroutines and threads may use one at
 * the same time.
 */
struct gosched_chan;

/**
 * A goroutine: Go's `g`. Its address is good forever: the memory of one that has ended becomes
 * another's, and nothing else.
 */
struct gosched_g;

/**
 * A thread of the scheduler's: Go's `m`.
 */
struct gosched_m;

/**
 * What `gosched_select` has done.
 */
struct gosched_selected {
    /**
     * The chosen case, counted from 0; -1 if none was ready.
     */
    ptrdiff_t index;
    /**
     * How that case ended.
     */
    enum gosched_result result;
};

/**
 * A case of `gosched_select`: Go's `scase`.
 */
struct gosched_case {
    /**
     * The channel. One that is NULL is never chosen.
     */
    struct gosched_chan *chan;
    /**
     * The value to send, or the place to receive to, which may be NULL.
     */
    void *elem;
};

/**
 * A coroutine: like a channel in which one goroutine always waits. Go's `coro`, in `coro.go`. It may be
 * on a fixed stack, in the heap or static.
 */
struct gosched_coro {
    void *private_[2];
};

/**
 * A lock that blocks its thread, for moments: Go's `mutex`, in `runtime2.go`. All zeros is one that nobody
 * has. It isn't on a copying stack.
 */
struct gosched_mutex {
    uint64_t private_[4];
};

/**
 * A function at an address, as a port knows it.
 */
struct gosched_code_place {
    /**
     * Its name, in UTF-8; NULL if it isn't known.
     */
    const char *function;
    /**
     * The source file; NULL if it isn't known.
     */
    const char *file;
    /**
     * The line in it, from 1 on; 0 if it isn't known.
     */
    int line;
    /**
     * Whether it is the port's own, which reports leave out as they do the scheduler's, unless
     * `GOTRACEBACK=system` asks for all.
     */
    bool own;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Starts the runtime, unless it runs already; runs `main(arg)` on a goroutine, with a fixed stack
 * of 8 MiB; waits until it returns, and stores its result at `result`, unless that is NULL. Go's
 * `main`, in `proc.go`.
 *
 * The calling thread is no goroutine, and sleeps meanwhile. When `main` has returned, other
 * goroutines go on, and `gosched_run` may be called again, by several threads at once too.
 *
 * If `main` waits and every other goroutine does, and there is no thread left that could wake
 * one, that is a deadlock: it is reported, and the process ends with status 2. While a thread of
 * the program's own might wake one, that is only said on stderr, after two seconds; with
 * `GODEBUG=deadlock=off` it isn't, and `deadlock=fatal` ends the process.
 *
 * Returns 0, or an errno value:
 * - `EDEADLK`: this is a goroutine already;
 * - `EINVAL`: `main` is NULL;
 * - `ENOMEM`: there is no memory for a stack;
 * - `EAGAIN`: there is no thread to start with;
 * - `ENOTSUP`: the environment asks for guard pages that this kernel can't make, or for stacks of
 *   a size that can't be.
 *
 * # Safety
 * `main` doesn't unwind: no C++ exception leaves it, and no `longjmp`. While there are
 * goroutines, the program keeps the rules at the head of this file.
 */
extern int gosched_run(void *(*main)(void *arg), void *arg, void **result);

/**
 * `gosched_run`, with its goroutine on a copying stack. Where no goroutine was made before, it is number 1, as in
 * Go.
 *
 * # Safety
 * As `gosched_run`; and `main` keeps the rules for copying stacks.
 */
extern int gosched_run_copying(void *(*main)(void *arg),
                               void *arg,
                               void **result);

/**
 * Makes a goroutine on a copying stack that runs `fn(arg)`, and puts it next on this processor.
 * It ends when `fn` returns. Go's `newproc`, in `proc.go`, which is its `go` statement.
 *
 * It ends the process, with a report, if `fn` is NULL, if the runtime hasn't started, or if there is no
 * memory for a goroutine.
 *
 * # Safety
 * `fn` keeps the rules for copying stacks, and doesn't unwind.
 */
extern void gosched_newproc(void (*fn)(void *arg),
                            void *arg);

/**
 * Makes a goroutine as `gosched_newproc` does, but on a fixed stack, of at least `stack_size`
 * bytes: up to 1 GiB. 0 stands for what `GOSCHED_STACK_SIZE` in the environment says, or 256 KiB
 * (1 MiB where the library was built without optimisation). Only what is used takes memory.
 *
 * Returns 0, or an errno value:
 * - `EINVAL`: `fn` is NULL, or `stack_size` too large;
 * - `EPERM`: the runtime hasn't started;
 * - `ENOMEM`: there is no memory or address space for a stack, or, where the environment asks
 *   for that, none for its guard page.
 *
 * # Safety
 * `fn` doesn't unwind.
 */
extern int gosched_newproc_fixed(void (*fn)(void *arg), void *arg, size_t stack_size);

/**
 * Lets other goroutines run; this one goes to the end of the queue that all processors share.
 * Go's `Gosched`, in `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_yield(void);

/**
 * Ends the running goroutine, as if its function had returned. Go's `goexit1`, in `proc.go`.
 *
 * If it is the main goroutine, the others go on, and its `gosched_run` doesn't return. When none is
 * left, that is a deadlock.
 *
 * # Safety
 * On a goroutine of C code. C++ destructors don't run.
 */
extern void gosched_exit(void) __attribute__((noreturn));

/**
 * The running goroutine; NULL on a thread that isn't one of the runtime's. Go's `getg`.
 *
 * On the scheduler's stack, in what `gosched_systemstack` and `gosched_park` call, it is what the
 * scheduler itself runs on, and no goroutine.
 *
 * # Safety
 * It can be called anywhere.
 */
extern struct gosched_g *gosched_getg(void);

/**
 * Parks the running goroutine until somebody passes it to `gosched_ready`. Go's `gopark`, in
 * `proc.go`. `reason` is what reports show.
 *
 * Parking has two steps, so that no wake-up is lost in between: when the goroutine is off its
 * stack, `unlockf(g, lock)` is called on the scheduler's stack. There it may publish `g`, or
 * release the lock of the list that `g` is in. If it returns false, the goroutine goes on at once.
 *
 * If `unlockf` is NULL, `g` was published before. Whoever makes it ready must be sure that it has
 * parked.
 *
 * # Safety
 * On a goroutine. `unlockf` must not touch the goroutine's stack, park, or unwind; and it must not
 * return false if somebody may have made the goroutine ready.
 */
extern void gosched_park(bool (*unlockf)(struct gosched_g *g, void *lock),
                         void *lock,
                         enum gosched_wait_reason reason);

/**
 * Makes a parked goroutine ready: it runs next on this processor or, if this thread isn't one of
 * the runtime's, goes to the queue that all share. Go's `goready`, in `proc.go`.
 *
 * # Safety
 * `g` has parked, or its `unlockf` has been called, and nobody else makes it ready. (To do so
 * twice ends the process, if it is noticed.)
 */
extern void gosched_ready(struct gosched_g *g);

/**
 * Calls `fn(arg)` on the scheduler's stack, of which there are some 200 KiB, and returns when it
 * has: for what a copying stack has no room for. Anywhere but on a goroutine it just calls. Go's
 * `systemstack`, in `asm_amd64.s`.
 *
 * Addresses of the goroutine's stack stay good meanwhile: `arg` may be one.
 *
 * # Safety
 * `fn` must not park, yield, exit, or do a channel operation that has to wait; nor unwind.
 */
extern void gosched_systemstack(void (*fn)(void *arg), void *arg);

/**
 * Sets how many bytes a copying stack may have, 1 GiB at first, and returns what it was. A
 * goroutine that needs more ends the process with a report. Go's `debug.SetMaxStack`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern size_t gosched_set_max_stack(size_t bytes);

/**
 * Halves the running goroutine's stack if it is a copying one and less than a quarter of it is in
 * use: for one that was deep once, and lives long. Go's `shrinkstack`, in `stack.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_shrink_stack(void);

/**
 * Calls `fn(arg)`, which may block its thread (a read, a mutex of pthreads), on the scheduler's stack.
 * Other goroutines get this one's processor meanwhile: after 10 ms, or sooner if there are some that
 * wait for one. Anywhere but on a goroutine it just calls. Go's `cgocall`, in `cgocall.go`.
 *
 * # Safety
 * As `gosched_systemstack`.
 */
extern void gosched_blocking(void (*fn)(void *arg),
                             void *arg);

/**
 * Parks the running goroutine for at least `ns` nanoseconds; on a thread that isn't one of the
 * runtime's, sleeps. Go's `time.Sleep`.
 *
 * # Safety
 * Not on the scheduler's stack.
 */
extern void gosched_sleep(int64_t ns);

/**
 * Sets how many goroutines can run at once, from 1 to 16,384, and returns how many could before;
 * with 0, only returns that. It waits until every running goroutine has come to a point where it can be
 * stopped. Returns -1, and does nothing, if `n` is another number, if the runtime doesn't run, or if it
 * can't wait here: on the scheduler's stack. Go's `GOMAXPROCS`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern int gosched_set_gomaxprocs(int n);

/**
 * Makes a channel with room for `capacity` values of `elem_size` bytes, and stores it at `chan`.
 * Without room, each send waits for its receive. Go's `makechan`, in `chan.go`.
 *
 * Values are copied in and out, as bytes.
 *
 * Returns 0, or an errno value, with NULL at `chan`:
 * - `EINVAL`: `elem_size` is 64 KiB or more, or `chan` is NULL;
 * - `ENOMEM`: there is no memory.
 *
 * # Safety
 * `chan` is a place for an address.
 */
extern int gosched_chan_make(size_t elem_size, size_t capacity, struct gosched_chan **chan);

/**
 * Frees a channel, with what is in it; does nothing with NULL.
 *
 * # Safety
 * Nobody uses it any more.
 */
extern void gosched_chan_free(struct gosched_chan *chan);

/**
 * Sends the value at `elem`; waits while the buffer is full or, without one, until somebody
 * receives. A send to the channel NULL waits forever. Go's `chansend1`, in `chan.go`.
 *
 * Returns
 * - `GOSCHED_RESULT_DONE`;
 * - `GOSCHED_RESULT_CLOSED`: the channel is closed, or was meanwhile, where Go panics;
 * - `GOSCHED_RESULT_WOULD_BLOCK`: it would have to wait, and can't here: on the scheduler's stack,
 *   or before the runtime runs.
 *
 * # Safety
 * At `elem` is a value of the channel's size. The channel isn't freed meanwhile.
 */
extern enum gosched_result gosched_chan_send(struct gosched_chan *chan, const void *elem);

/**
 * Sends the value at `elem` if that can be done at once; otherwise returns
 * `GOSCHED_RESULT_WOULD_BLOCK`. Go's `selectnbsend`, in `chan.go`.
 *
 * # Safety
 * As `gosched_chan_send`.
 */
extern enum gosched_result gosched_chan_try_send(struct gosched_chan *chan, const void *elem);

/**
 * Receives a value to `elem`, or drops it if that is NULL; waits until there is one. A receive
 * from the channel NULL waits forever. Go's `chanrecv2`, in `chan.go`.
 *
 * Returns
 * - `GOSCHED_RESULT_DONE`;
 * - `GOSCHED_RESULT_CLOSED`: the channel is closed and empty, and there are zeros at `elem`;
 * - `GOSCHED_RESULT_WOULD_BLOCK`: it would have to wait, and can't here, as `gosched_chan_send`.
 *
 * # Safety
 * `elem` is NULL or a place for a value of the channel's size. The channel isn't freed meanwhile.
 */
extern enum gosched_result gosched_chan_recv(struct gosched_chan *chan, void *elem);

/**
 * Receives a value to `elem` if there is one; otherwise returns `GOSCHED_RESULT_WOULD_BLOCK`, or
 * `GOSCHED_RESULT_CLOSED`. Go's `selectnbrecv`, in `chan.go`.
 *
 * # Safety
 * As `gosched_chan_recv`.
 */
extern enum gosched_result gosched_chan_try_recv(struct gosched_chan *chan, void *elem);

/**
 * Closes a channel, and returns true; returns false if it was closed before, where Go panics.
 * From now on sends end with `GOSCHED_RESULT_CLOSED`, those that wait too; receives do when
 * what is in the channel has been received. Go's `closechan`, in `chan.go`.
 *
 * # Safety
 * `chan` isn't NULL, and the channel isn't freed meanwhile.
 */
extern bool gosched_chan_close(struct gosched_chan *chan);

/**
 * How many values are in the channel at this moment, waiting senders' not among them; 0 for NULL.
 * Go's `len`.
 *
 * # Safety
 * The channel isn't freed meanwhile.
 */
extern size_t gosched_chan_len(struct gosched_chan *chan);

/**
 * How many values the channel has room for; 0 for NULL. Go's `cap`.
 *
 * # Safety
 * The channel isn't freed meanwhile.
 */
extern size_t gosched_chan_cap(struct gosched_chan *chan);

/**
 * Does one of several channel operations, by chance one of those that can be done at once. If
 * there is none, waits until there is, or, with `block` false, returns. Go's `selectgo`, in
 * `select.go`.
 *
 * The first `nsends` of the cases send, the other `nrecvs` receive; there may be 65,536 of them.
 *
 * Returns which it was, from 0 on, with `GOSCHED_RESULT_DONE` or `GOSCHED_RESULT_CLOSED`. Or -1,
 * with `GOSCHED_RESULT_WOULD_BLOCK`: it would have to wait, and `block` is false, or it can't here, as
 * `gosched_chan_send`.
 *
 * # Safety
 * The cases are what `gosched_chan_send` and `gosched_chan_recv` want. No channel is freed
 * meanwhile.
 */
extern struct gosched_selected gosched_select(const struct gosched_case *cases,
                                              size_t nsends,
                                              size_t nrecvs,
                                              bool block);

/**
 * `gosched_newproc`, for a goroutine that was made at `callerpc`, which is what reports show: an address
 * that a call returns to. Go's `newproc1`, in `proc.go`.
 *
 * # Safety
 * As `gosched_newproc`.
 */
extern void gosched_newproc_at(void (*fn)(void *arg),
                               void *arg,
                               size_t callerpc);

/**
 * Makes a goroutine on a copying stack that waits in `coro` to run `fn(coro, arg)`, until
 * `gosched_coroswitch`. When `fn` returns the coroutine has ended, and the goroutine that waits in it then
 * goes on. Go's `newcoro`, in `coro.go`. It ends the process if there is no memory.
 *
 * # Safety
 * `coro` is no coroutine, or one that has ended, and stays where it is until it has ended. `fn` keeps the
 * rules for copying stacks, and ends by returning.
 */
extern void gosched_newcoro(struct gosched_coro *coro,
                            void (*fn)(struct gosched_coro *coro, void *arg),
                            void *arg);

/**
 * Waits in `coro` in place of the goroutine that waits there, which goes on at once, on this thread;
 * returns when another switches in turn, or when the coroutine ends. Go's `coroswitch`, in `coro.go`.
 *
 * # Safety
 * On a goroutine. `gosched_newcoro` was called with `coro`, which stays until this returns.
 */
extern void gosched_coroswitch(struct gosched_coro *coro);

/**
 * Lets other goroutines run; the running one goes to the end of this processor's queue, and not, as by
 * `gosched_yield`, to that of all. Go's `goyield`, in `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_goyield(void);

/**
 * `gosched_yield`, if somebody wants this goroutine to stop, or if no processor is idle. Go's
 * `goschedIfBusy`, in `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_yield_if_busy(void);

/**
 * `gosched_yield`, unless the goroutine is to stay where it is: see `gosched_acquirem`. Go's
 * `goschedguarded`, in `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_yield_guarded(void);

/**
 * Whether this processor has something else to do: for work in the background, which should then let
 * others run. Go's `pollWork`, in `proc.go`.
 *
 * # Safety
 * On a goroutine, or on the scheduler's stack.
 */
extern bool gosched_poll_work(void);

/**
 * Leaves the running goroutine and calls `fn` with it, on the scheduler's stack. The goroutine goes on,
 * as if this had returned, when something resumes it: `gosched_gogo`. Go's `mcall`, in `asm_amd64.s`.
 *
 * # Safety
 * On a goroutine. `fn` never returns, doesn't unwind, and sees to it that the goroutine is resumed.
 */
extern void gosched_mcall(void (*fn)(struct gosched_g *g));

/**
 * Resumes a goroutine where it has left off. Go's `gogo`, in `asm_amd64.s`.
 *
 * # Safety
 * In what `gosched_mcall` has called, for the goroutine that did.
 */
extern void gosched_gogo(struct gosched_g *g) __attribute__((noreturn));

/**
 * Makes goroutines that are parked ready, as `gosched_ready` does with one, but all in one go. Go's
 * `injectglist`, in `proc.go`.
 *
 * # Safety
 * `gs` are `n` goroutines. As `gosched_ready`, for each of them.
 */
extern void gosched_injectglist(struct gosched_g *const *gs, size_t n);

/**
 * Makes sure of `n` bytes of stack, for what the caller calls next: a copying stack that has less grows. They are
 * there until the caller has returned, or parks. Code without checks needs some: an unwinder 16 KiB. Anywhere but on
 * a copying stack it does nothing. Go's compiler puts such a check in each function, and calls `morestack`, in
 * `asm_amd64.s`.
 *
 * # Safety
 * The caller keeps the rules for copying stacks.
 */
extern void gosched_ensure_stack(size_t n);

/**
 * The goroutine's number, which no other ever has; 0 for what isn't one. Go's `goid`.
 *
 * # Safety
 * `g` is a goroutine that hasn't ended.
 */
extern uint64_t gosched_goid(struct gosched_g *g);

/**
 * `GOSCHED_SLOT_SIZE` bytes that are the port's, in each goroutine that C has made, a main one too: for its own idea
 * of a goroutine. They begin at a multiple of 16, and stay where they are. They aren't cleared: what a goroutine
 * that has ended left there, the next one may find.
 *
 * # Safety
 * `g` is a goroutine that hasn't ended, and was made by C.
 */
extern void *gosched_slot(struct gosched_g *g);

/**
 * The place of a word of the port's in each goroutine: the head of its list of deferred calls. NULL when a
 * goroutine begins. If it is an address of the goroutine's stack it is right after a move. Go's `_defer`,
 * in `g`.
 *
 * # Safety
 * `g` is a goroutine that hasn't ended.
 */
extern void **gosched_defer(struct gosched_g *g);

/**
 * As `gosched_defer`, for the innermost panic. Go's `_panic`, in `g`.
 *
 * # Safety
 * `g` is a goroutine that hasn't ended.
 */
extern void **gosched_panic(struct gosched_g *g);

/**
 * Keeps the caller on its thread and that on its processor, until `gosched_releasem`: no check stops it, and nobody
 * preempts it. It nests. For a moment, in which nothing parks. Go's `acquirem`, in `runtime1.go`.
 *
 * Returns the thread, or NULL if it isn't the scheduler's.
 *
 * # Safety
 * It can be called anywhere.
 */
extern struct gosched_m *gosched_acquirem(void);

/**
 * Undoes `gosched_acquirem`. Go's `releasem`, in `runtime1.go`.
 *
 * # Safety
 * `m` is what that has returned.
 */
extern void gosched_releasem(struct gosched_m *m);

/**
 * Keeps the running goroutine on its processor, unpreempted, until `gosched_proc_unpin`; returns the
 * processor's number, from 0 on. What is pinned doesn't park. Go's `procPin`, in `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern int gosched_proc_pin(void);

/**
 * Undoes `gosched_proc_pin`. Go's `procUnpin`, in `proc.go`.
 *
 * # Safety
 * Once for each `gosched_proc_pin`, on the same goroutine.
 */
extern void gosched_proc_unpin(void);

/**
 * Takes a lock; blocks the thread meanwhile. Its owner is not stopped by any check, as after
 * `gosched_acquirem`, so others wait for moments only. Go's `lock`, in `lock_futex.go`.
 *
 * A lock of the program's own, held into `gosched_park`, is one that others may wait for in vain: the check at the
 * entry may stop its owner there. This one is made for that, with `gosched_parkunlock`.
 *
 * # Safety
 * The caller hasn't taken it. Whoever holds one doesn't park or wait, but by `gosched_parkunlock`.
 */
extern void gosched_lock(struct gosched_mutex *lock);

/**
 * Releases a lock. Go's `unlock`, in `lock_futex.go`.
 *
 * # Safety
 * This thread, or this goroutine, has taken it.
 */
extern void gosched_unlock(struct gosched_mutex *lock);

/**
 * Parks the running goroutine, as `gosched_park` does, and releases the lock once that is off its stack: who takes it
 * then finds in the lock's list a goroutine that can be made ready. Go's `goparkunlock`, in `proc.go`.
 *
 * # Safety
 * On a goroutine, which has taken the lock, and holds no other. The lock stays until the goroutine goes on.
 */
extern void gosched_parkunlock(struct gosched_mutex *lock,
                               enum gosched_wait_reason reason);

/**
 * Locks the running goroutine to its thread: it runs on no other, and no other goroutine on that thread, until
 * `gosched_unlock_os_thread` was called as often. If it ends before, the thread does. Go's `LockOSThread`, in
 * `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_lock_os_thread(void);

/**
 * Undoes one `gosched_lock_os_thread`; does nothing if there was none. Go's `UnlockOSThread`, in `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_unlock_os_thread(void);

/**
 * Whether the running goroutine is locked to its thread. Go's `lockedOSThread`, in `proc.go`.
 *
 * # Safety
 * On a goroutine, or on the scheduler's stack.
 */
extern bool gosched_locked_os_thread(void);

/**
 * Lets the running goroutine's processor go, before a system call: `gosched_exitsyscall` takes it back, unless it
 * was given to another meanwhile. Go's `entersyscall`, in `proc.go`.
 *
 * `gosched_blocking` does this, and calls on the scheduler's stack in between. This is for who has the stack that the
 * call needs.
 *
 * # Safety
 * On a goroutine. `gosched_exitsyscall` follows in the same function. In between nothing parks, and nothing asks
 * for more of a copying stack: no function with a check is called.
 */
extern void gosched_entersyscall(void);

/**
 * `gosched_entersyscall`, for a call that is known to block: the processor is given to another at once. Go's
 * `entersyscallblock`, in `proc.go`.
 *
 * # Safety
 * As `gosched_entersyscall`.
 */
extern void gosched_entersyscallblock(void);

/**
 * The system call is over: returns when the goroutine has a processor. Go's `exitsyscall`, in `proc.go`.
 *
 * # Safety
 * After `gosched_entersyscall` or `gosched_entersyscallblock`.
 */
extern void gosched_exitsyscall(void);

/**
 * Calls `fn(arg)` on the scheduler's stack, as `gosched_systemstack` does, and returns what it returns. Go's
 * `asmcgocall`, in `asm_amd64.s`.
 *
 * # Safety
 * As `gosched_systemstack`. `fn` isn't NULL.
 */
extern int gosched_asmcgocall(int (*fn)(void *arg),
                              void *arg);

/**
 * How many goroutines there are; an estimate while others come and go. Go's `gcount`, in `proc.go`.
 *
 * # Safety
 * The runtime runs.
 */
extern int gosched_gcount(void);

/**
 * How many threads the scheduler has made. Go's `mcount`, in `proc.go`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern int gosched_mcount(void);

/**
 * Sets how many threads the scheduler may make, 10,000 at first, and returns what it was. To need more ends the
 * process. Go's `debug.SetMaxThreads`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern int gosched_set_max_threads(int n);

/**
 * Gives memory back to the system that is kept for later: that of goroutines that have ended, of stacks that were
 * larger, of channels. Go's `debug.FreeOSMemory`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern void gosched_free_os_memory(void);

/**
 * Ends the process for a broken invariant of the port's: the message, a backtrace and every goroutine go to
 * stderr, and the status is 2. Go's `throw`, in `panic.go`.
 *
 * # Safety
 * `message` is a C string, which may be on the caller's stack.
 */
extern void gosched_throw(const char *message) __attribute__((noreturn));

/**
 * Ends the process for an error of the program, as `gosched_throw`, without a backtrace of the scheduler. Go's
 * `fatal`, in `panic.go`.
 *
 * # Safety
 * As `gosched_throw`.
 */
extern void gosched_fatal(const char *message) __attribute__((noreturn));

/**
 * Ends the process because the running goroutine has panicked and nobody recovers: `text`, which begins with
 * "panic: " as a rule, goes to stderr as it is, then the goroutine with its stack, and the status is 2. Go's
 * `fatalpanic`, in `panic.go`.
 *
 * # Safety
 * As `gosched_throw`.
 */
extern void gosched_fatalpanic(const char *text) __attribute__((noreturn));

/**
 * Says who knows names of code: `symbolize` is asked for each address that a report shows, a trace or a profile. It
 * stores up to `n` functions at `places`, the innermost first where calls were inlined, and returns how many; 0 to
 * have the program's own symbols looked up, as for every address without this. `pc` is in an instruction, for a
 * caller in that of the call. The strings stay. Go's `funcline`, in `symtab.go`.
 *
 * Returns 0, or `EBUSY`: there is one already; or `EINVAL`: it is NULL.
 *
 * # Safety
 * `symbolize` takes no lock that a goroutine may hold and doesn't allocate, as the process may be at its end. It is
 * called on the scheduler's stack, on several threads at once, and doesn't unwind.
 */
extern int gosched_set_symbolizer(size_t (*symbolize)(size_t pc,
                                                      struct gosched_code_place *places,
                                                      size_t n));

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GOSCHED_H */
