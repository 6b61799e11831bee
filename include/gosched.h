/*
 * gosched: goroutines for C programs, by the million, run by Go's scheduler on all processors.
 *
 * This file is generated from src/capi: edit that.
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
 *   gosched_newproc_fixed make others. As many run at once as there are processors, or as
 *   GOMAXPROCS says; the others wait in queues. Goroutines wait for each other at channels, in a
 *   select, at semaphores (gosched_semacquire), or parked, until gosched_ready. Code that parks
 *   with a lock held takes the lock by gosched_lock and releases it by gosched_parkunlock. The
 *   owner of any other lock could be stopped at the entry of gosched_park, and on one processor a
 *   goroutine that spins for that lock would then spin for ever.
 *
 *   A goroutine that has run for 10 ms is asked to stop. It stops in the next function with a check
 *   of its stack (see below), and in a function with
 *   __attribute__((section("gosched_preemptible"))) at any instruction. A goroutine that computes
 *   for long without either should call gosched_yield at times. Call functions that block the
 *   thread (read, sleep, a mutex of pthreads) through gosched_blocking. Otherwise they hold up a
 *   processor.
 *
 *   A thread that isn't the runtime's can make goroutines, and can send and receive, also where it
 *   has to wait.
 *
 * Stacks
 *
 *   A fixed stack is like a thread's: any code may run there. The main goroutine of gosched_run
 *   has one, and so have the goroutines that gosched_newproc_fixed makes. It takes address space
 *   at once, and memory as it is used. It ends in a guard page.
 *
 *   A copying stack, which gosched_newproc makes, begins with 2 KiB. When a function finds that
 *   its frame doesn't fit, the stack is moved to a place of twice the size. Each address of the
 *   stack that is on the stack is then adjusted. A stack may grow to 1 GiB, and one that doesn't
 *   grow stays small. But the code must keep these rules:
 *
 *   1. Compile the code with -fsplit-stack, so that each function begins with a check. Other code
 *      (libc, other libraries) has some 600 bytes of stack: enough for memcpy or strlen, and not
 *      for printf. Call code that needs more through gosched_systemstack. Or link the program by
 *      gold or lld, -fuse-ld=gold. Then the linker makes each function that calls such code ask
 *      for 16 KiB first, unless it calls the code through a pointer. With -fcf-protection=full,
 *      which Ubuntu's gcc sets, the linker can't do that: use -fcf-protection=none there.
 *   2. Keep addresses of the stack only on the stack: not in a static, not in the heap, not with
 *      another goroutine. Addresses in arguments are adjusted, also in arguments of functions of
 *      this file. A channel may send from, and receive to, the stack.
 *   3. On the stack, an address is a plain pointer, and aligned: not in a packed struct, not
 *      hashed, not masked. An integer that happens to look like an address of the stack would be
 *      adjusted as well. So would the half of a word that a short or a string has left of an old
 *      address. So compile with -ftrivial-auto-var-init=zero (gcc 12, clang 16; older clangs take
 *      =pattern, and =zero only with a second flag). The flag doesn't clear these:
 *      - the bytes beside an array or a struct of 2 bytes, or 10, or 11, in its last word: give an
 *        array or a struct that is made of char or short a multiple of 8 bytes;
 *      - an argument of less than a word for which there is no register (a ninth float);
 *      - a long double, which may lose bits: compile with -mlong-double-64, which makes it a
 *        double, and pass none to libc, or avoid it, and long double _Complex.
 *   4. Don't use setjmp and longjmp, C++ exceptions, or the address of a nested function (GNU C).
 *      Pass alloca a multiple of 8 bytes, and fill its memory with zeros first, unless it holds
 *      words only: the flag of rule 3 doesn't reach it (gcc). Compile a function with an array of
 *      variable length with -fno-forward-propagate (gcc). Don't compile functions of variable
 *      arguments by clang: LLVM has no check for them. Arguments on the stack are pushed without a
 *      check, so pass no struct of more than some 400 bytes by value.
 *
 *   docs/guide/copying-stacks.md has more, and says how GODEBUG shows mistakes.
 *   docs/guide/porting.md is for authors of compilers for this header, and says how compiled
 *   code may unwind.
 *
 * Threads
 *
 *   A goroutine that waits may go on on another thread. Across a call that may wait, keep nothing
 *   that belongs to a thread: no lock of pthreads, no address of a thread-local variable. (errno
 *   is such a variable, and compilers keep its address: use it in functions that don't wait.)
 *
 *   A thread that the program made itself is no goroutine. It may use everything here that
 *   doesn't need a goroutine. It can make and ready goroutines, close channels, and send and
 *   receive, also where it has to wait.
 *
 *   Signal handlers that are installed while there are goroutines must use SA_ONSTACK.
 *
 * Errors
 *
 *   Functions that can fail return 0 or an errno value, and leave errno alone. A program error
 *   that is noticed ends the process with status 2 and a report on stderr. So do a deadlock and an
 *   overflow of a stack.
 *
 * Where each function may be called
 *
 *   The column "on a goroutine" is for all goroutines: the first, and those of both kinds of
 *   stack. The scheduler's stack is the one on which gosched_systemstack and gosched_blocking call
 *   their function, and gosched_park its unlockf. The last column is for NULL in place of a
 *   function, of a goroutine, or of the address of a result or a value.
 *
 *                                     before the    on another    on a          on the sched-  with
 *                                     first run     thread        goroutine     uler's stack   NULL
 *     gosched_run                     yes           yes           EDEADLK       EDEADLK        EINVAL
 *     gosched_run_copying             yes           yes           EDEADLK       EDEADLK        EINVAL
 *     gosched_newproc                 ends          yes           yes           yes            ends
 *     gosched_newproc_fixed           EPERM         yes           yes           yes            EINVAL
 *     gosched_yield                   ends          ends          yes           ends           -
 *     gosched_exit                    ends          ends          yes           ends           -
 *     gosched_getg                    NULL          NULL          yes           yes            -
 *     gosched_park                    ends          ends          yes           ends           yes
 *     gosched_ready                   -             yes           yes           yes            ends
 *     gosched_systemstack             yes           yes           yes           yes            ends
 *     gosched_set_max_stack           yes           yes           yes           yes            -
 *     gosched_shrink_stack            ends          ends          yes           ends           -
 *     gosched_blocking                yes           yes           yes           yes            ends
 *     gosched_sleep                   yes           yes           yes           ends           -
 *     gosched_set_gomaxprocs          -1            yes           yes           -1             -
 *     gosched_set_default_gomaxprocs  -1            yes           yes           -1             -
 *     gosched_chan_make               yes           yes           yes           yes            EINVAL
 *     gosched_chan_free               yes           yes           yes           yes            yes
 *     gosched_chan_send               WOULD_BLOCK   yes           yes           WOULD_BLOCK    ends
 *     gosched_chan_try_send           yes           yes           yes           yes            ends
 *     gosched_chan_recv               WOULD_BLOCK   yes           yes           WOULD_BLOCK    yes
 *     gosched_chan_try_recv           yes           yes           yes           yes            yes
 *     gosched_chan_close              yes           yes           yes           yes            ends
 *     gosched_chan_len                yes           yes           yes           yes            yes
 *     gosched_chan_cap                yes           yes           yes           yes            yes
 *     gosched_select                  WOULD_BLOCK   yes           yes           WOULD_BLOCK    ends
 *
 *     ends                    the process ends, with a report that says what is wrong
 *     WOULD_BLOCK             is returned if the function would have to wait; otherwise yes
 *     -                       the function has no such argument, or the case doesn't arise
 *
 *   If the first goroutine calls gosched_exit, its gosched_run never returns.
 *
 *   The other functions are for ports of a runtime. The section on safety of each says where it may
 *   be called. "Anywhere" doesn't include signal handlers: a handler may have interrupted the owner
 *   of a lock, or a goroutine that is just leaving its stack, which a call on the scheduler's stack
 *   would then lose. A handler may call gosched_notewakeup, gosched_getg, and the functions that
 *   read one field of its result (gosched_goid, gosched_readgstatus, gosched_slot, gosched_defer,
 *   gosched_panic).
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
 * The size in bytes of the port's data in each goroutine: see `gosched_slot`.
 */
#define GOSCHED_SLOT_SIZE 1024

/**
 * The G was just allocated, or was given back to the system: it isn't a goroutine. Go's `_Gidle`.
 */
#define GOSCHED_GIDLE 0

/**
 * The goroutine is in a queue, to run; nothing owns its stack. Go's `_Grunnable`.
 */
#define GOSCHED_GRUNNABLE 1

/**
 * The goroutine runs, and owns its stack. Go's `_Grunning`.
 */
#define GOSCHED_GRUNNING 2

/**
 * The goroutine is in a system call and owns its stack. It runs none of the program's code that
 * counts. Go's `_Gsyscall`.
 */
#define GOSCHED_GSYSCALL 3

/**
 * The goroutine is parked, and is recorded where the code that will make it ready finds it. Go's
 * `_Gwaiting`.
 */
#define GOSCHED_GWAITING 4

/**
 * The goroutine isn't in use: it has ended, or is being made. Go's `_Gdead`.
 */
#define GOSCHED_GDEAD 6

/**
 * The stack belongs to the caller that has set this state, and that moves the stack. Go's
 * `_Gcopystack`.
 */
#define GOSCHED_GCOPYSTACK 8

/**
 * The goroutine has stopped for `gosched_suspend_g`, which hasn't noticed it yet. Go's
 * `_Gpreempted`.
 */
#define GOSCHED_GPREEMPTED 9

/**
 * Added to one of the other states: the stack belongs to a scan, and the state can't change before
 * the scan is over. Go's `_Gscan`.
 */
#define GOSCHED_GSCAN 4096

/**
 * Why a goroutine is parked, for reports: Go's `waitReason`. Go's other numbers, up to 36, are
 * accepted as well, and so are those that this crate adds behind them.
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
 * How a wait for a descriptor ended, in Go's numbers: `pollNoError` and so on.
 */
enum gosched_poll_result {
    /**
     * The descriptor has become ready, or may have: try the operation.
     */
    GOSCHED_POLL_RESULT_OK = 0,
    /**
     * `gosched_poll_unblock` was called.
     */
    GOSCHED_POLL_RESULT_CLOSING = 1,
    /**
     * The deadline has passed.
     */
    GOSCHED_POLL_RESULT_TIMEOUT = 2,
    /**
     * The kernel has reported an error and no readiness.
     */
    GOSCHED_POLL_RESULT_NOT_POLLABLE = 3,
};

/**
 * Why the world is stopped, for traces and metrics: Go's `stwReason`.
 */
enum gosched_stw_reason {
    /**
     * "unknown"
     */
    GOSCHED_STW_REASON_UNKNOWN = 0,
    /**
     * "GC mark termination"
     */
    GOSCHED_STW_REASON_GC_MARK_TERM = 1,
    /**
     * "GC sweep termination"
     */
    GOSCHED_STW_REASON_GC_SWEEP_TERM = 2,
    /**
     * "write heap dump"
     */
    GOSCHED_STW_REASON_WRITE_HEAP_DUMP = 3,
    /**
     * "goroutine profile"
     */
    GOSCHED_STW_REASON_GOROUTINE_PROFILE = 4,
    /**
     * "goroutine profile cleanup"
     */
    GOSCHED_STW_REASON_GOROUTINE_PROFILE_CLEANUP = 5,
    /**
     * "all goroutines stack trace"
     */
    GOSCHED_STW_REASON_ALL_GOROUTINES_STACK = 6,
    /**
     * "read mem stats"
     */
    GOSCHED_STW_REASON_READ_MEM_STATS = 7,
    /**
     * "AllThreadsSyscall"
     */
    GOSCHED_STW_REASON_ALL_THREADS_SYSCALL = 8,
    /**
     * "GOMAXPROCS"
     */
    GOSCHED_STW_REASON_GOMAXPROCS = 9,
    /**
     * "start trace"
     */
    GOSCHED_STW_REASON_START_TRACE = 10,
    /**
     * "stop trace"
     */
    GOSCHED_STW_REASON_STOP_TRACE = 11,
};

/**
 * What has happened: Go's events, in `trace2event.go`. Behind each, what of `struct gosched_event`
 * is set.
 */
enum gosched_event_kind {
    /**
     * A goroutine was made; it is runnable. `g`.
     */
    GOSCHED_EVENT_KIND_GO_CREATE = 0,
    /**
     * A coroutine's goroutine was made; it waits, and is unparked by the first switch to it. `g`.
     */
    GOSCHED_EVENT_KIND_GO_CREATE_BLOCKED = 1,
    /**
     * A thread that isn't the runtime's has become a goroutine, in a system call. `g`.
     */
    GOSCHED_EVENT_KIND_GO_CREATE_SYSCALL = 2,
    /**
     * A goroutine begins to run, or goes on. `g`.
     */
    GOSCHED_EVENT_KIND_GO_START = 3,
    /**
     * A goroutine has ended. `g`.
     */
    GOSCHED_EVENT_KIND_GO_END = 4,
    /**
     * A thread that isn't the runtime's, in a system call, is a goroutine no more. `g`.
     */
    GOSCHED_EVENT_KIND_GO_DESTROY_SYSCALL = 5,
    /**
     * A goroutine lets others run; it is runnable. `g`.
     */
    GOSCHED_EVENT_KIND_GO_SCHED = 6,
    /**
     * A goroutine was asked to let others run; it is runnable. `g`.
     */
    GOSCHED_EVENT_KIND_GO_PREEMPT = 7,
    /**
     * A goroutine waits. `g`, and in `number` why: Go's `traceBlockReason`, in `trace2runtime.go`.
     */
    GOSCHED_EVENT_KIND_GO_PARK = 8,
    /**
     * A goroutine that waited is runnable. `g`.
     */
    GOSCHED_EVENT_KIND_GO_UNPARK = 9,
    /**
     * A goroutine enters a system call. `g`.
     */
    GOSCHED_EVENT_KIND_GO_SYS_CALL = 10,
    /**
     * A goroutine has left a system call. `g`; `number` is 1 if it has lost its P meanwhile, and
     * so is runnable, 0 if it runs.
     */
    GOSCHED_EVENT_KIND_GO_SYS_EXIT = 11,
    /**
     * This thread gets a P. `p`.
     */
    GOSCHED_EVENT_KIND_PROC_START = 12,
    /**
     * This thread gives up its P. `p`.
     */
    GOSCHED_EVENT_KIND_PROC_STOP = 13,
    /**
     * A P is taken from a thread that is in a system call. `p`.
     */
    GOSCHED_EVENT_KIND_PROC_STEAL = 14,
    /**
     * A P is taken from a thread whose goroutine goes on without one. `p`.
     */
    GOSCHED_EVENT_KIND_PROC_DETACH = 15,
    /**
     * This thread gives a P to that of another M, whose goroutine has waited for one. `p`, `m`.
     */
    GOSCHED_EVENT_KIND_PROC_TURN = 16,
    /**
     * This thread begins, with this M. `m`.
     */
    GOSCHED_EVENT_KIND_THREAD_START = 17,
    /**
     * This thread ends, and leaves its M. `m`.
     */
    GOSCHED_EVENT_KIND_THREAD_DESTROY = 18,
    /**
     * The running goroutine has got labels, or has none now. `g`.
     */
    GOSCHED_EVENT_KIND_GO_LABEL = 19,
    /**
     * The running goroutine begins to stop the world. `number` is an `enum gosched_stw_reason`,
     * `text` its name.
     */
    GOSCHED_EVENT_KIND_STW_START = 20,
    /**
     * The world, which the running goroutine has stopped, goes on.
     */
    GOSCHED_EVENT_KIND_STW_DONE = 21,
    /**
     * From now on there are `number` P's.
     */
    GOSCHED_EVENT_KIND_GOMAXPROCS = 22,
};

/**
 * A channel of values of one size: Go's `chan`. Any number of goroutines and threads may use one
 * at the same time. It begins as Go's does, with two words: what `gosched_chan_len` says and
 * `gosched_chan_cap`, for code that a compiler has made so.
 */
struct gosched_chan;

/**
 * A goroutine: Go's `g`. Its address stays valid forever: when a goroutine has ended, its memory
 * is used for another goroutine and for nothing else.
 */
struct gosched_g;

/**
 * A thread that runs goroutines: Go's `m`. Its address stays valid forever. When the thread has
 * ended, the address becomes another thread's.
 */
struct gosched_m;

/**
 * A descriptor that the poller knows: Go's `pollDesc`, in `netpoll.go`.
 *
 * It is registered once, for reading and writing, and the kernel reports when it *becomes* ready.
 * So a program calls `gosched_poll_reset`, tries the operation, calls `gosched_poll_wait` if the
 * operation would block (`EAGAIN`), and tries again, until the operation no longer would block.
 */
struct gosched_poll_desc;

/**
 * A processor: Go's `p`. A thread runs goroutines while it has one. Its address stays valid
 * forever.
 */
struct gosched_p;

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
 * A coroutine: like a channel in which one goroutine always waits. Go's `coro`, in `coro.go`. It
 * may be on a fixed stack, in the heap or static.
 */
struct gosched_coro {
    void *private_[2];
};

/**
 * A lock that blocks its thread, for moments: Go's `mutex`, in `runtime2.go`. All zeros is an
 * unlocked one. It isn't on a copying stack.
 */
struct gosched_mutex {
    uint64_t private_;
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

/**
 * A timer: Go's `timer`, in `time.go`. It begins as all zeros, `{0}`. Then its owner sets `when`,
 * `period`, `f`, `arg` and `seq` and passes it to `gosched_start_timer`, or lets
 * `gosched_mod_timer` set them. After that only the functions here change it.
 *
 * A timer isn't on a copying stack. Its memory stays where it is while a heap has the timer: see
 * `gosched_timer_in_heap`.
 */
struct gosched_timer {
    /**
     * Private to the library.
     */
    void *pp;
    /**
     * The time at which it fires, by the clock of `gosched_nanotime`: positive.
     */
    int64_t when;
    /**
     * The nanoseconds from one firing to the next; 0 if it fires once.
     */
    int64_t period;
    /**
     * Called when the timer fires, as `f(arg, seq)`: on the scheduler's stack, on any thread of
     * the runtime's. It may make a goroutine, make one ready (`gosched_ready`,
     * `gosched_semrelease`, `gosched_notify_list_notify_one`), try to send on a channel, close a
     * channel, and set timers. It must not park, block its thread or unwind. It should be short,
     * because goroutines wait for the processor.
     */
    void (*f)(void *arg, size_t seq);
    /**
     * The first argument of `f`.
     */
    void *arg;
    /**
     * The second argument of `f`: as a rule the number of this setting, by which `f` recognizes a
     * call that comes late.
     */
    size_t seq;
    /**
     * Private to the library.
     */
    uint64_t rest[8];
};

/**
 * An event that happens once, and that one goroutine can sleep on: Go's `note`. It begins as all
 * zeros, `{0}`.
 */
struct gosched_note {
    /**
     * Private to the library.
     */
    uint64_t key;
};

/**
 * A condition's list of waiters: Go's `notifyList`, in `sema.go`. It begins as all zeros, `{0}`.
 * It isn't on a copying stack, and stays where it is while a caller waits.
 */
struct gosched_notify_list {
    /**
     * Private to the library.
     */
    uint64_t rest[4];
};

/**
 * The scheduler's metrics: those of Go's `runtime/metrics`, and of this library, that are plain
 * numbers. Each is as it was at a moment of its own.
 */
struct gosched_metrics {
    /**
     * How many goroutines there are: `/sched/goroutines:goroutines`.
     */
    uint64_t goroutines;
    /**
     * How many run at once at most: `/sched/gomaxprocs:threads`.
     */
    uint64_t gomaxprocs;
    /**
     * How long processors had nothing to run, all together: `/cpu/classes/idle:cpu-seconds`.
     */
    double idle_seconds;
    /**
     * How long goroutines waited for mutexes, all together, estimated: those that passed the
     * reason of a mutex to `gosched_semacquire1`. `/sync/mutex/wait/total:seconds`.
     */
    double mutex_wait_seconds;
    /**
     * How often a goroutine was stopped to let others run: `/gosched/preemptions:preemptions`.
     */
    uint64_t preemptions;
    /**
     * How often a copying stack was moved to a larger place: `/gosched/stacks/growths:growths`.
     */
    uint64_t stack_growths;
    /**
     * Bytes of home pages, a goroutine and its first stack in each: `/gosched/stacks/home:bytes`.
     */
    uint64_t stack_home_bytes;
    /**
     * Bytes that stacks have grown into: `/gosched/stacks/segments:bytes`.
     */
    uint64_t stack_segment_bytes;
    /**
     * Stacks that were made without a guard page: `/gosched/stacks/unguarded:stacks`.
     */
    uint64_t stacks_unguarded;
    /**
     * How many goroutines run without a processor of the scheduler's, or wait for their turn to
     * have one: `/gosched/detached:goroutines`.
     */
    uint64_t detached;
    /**
     * How long goroutines did so, all together: `/gosched/detached/total:seconds`.
     */
    double detached_seconds;
    /**
     * How often one lost it because it blocked its thread:
     * `/gosched/detachments/blocked:goroutines`.
     */
    uint64_t detachments_blocked;
    /**
     * How often one lost it because it computed for its time slice, and came to no check:
     * `/gosched/detachments/computing:goroutines`.
     */
    uint64_t detachments_computing;
};

/**
 * A stopped world, to be started again: Go's `worldStop`.
 */
struct gosched_world_stop {
    /**
     * Why it was stopped.
     */
    enum gosched_stw_reason reason;
    /**
     * When stopping it began, in nanoseconds of the monotonic clock.
     */
    int64_t started_stopping;
};

/**
 * The result of `gosched_suspend_g`: Go's `suspendGState`.
 */
struct gosched_suspend_state {
    /**
     * The goroutine that is suspended; NULL if it is dead.
     */
    struct gosched_g *g;
    /**
     * The goroutine had ended. Its address may be another goroutine's by now.
     */
    bool dead;
    /**
     * The goroutine was running, and `gosched_resume_g` makes it ready.
     */
    bool stopped;
};

/**
 * A move of a stack: Go's `adjustinfo`.
 */
struct gosched_adjust_info {
    /**
     * The lowest address of the old stack.
     */
    uintptr_t old_lo;
    /**
     * The end of the old stack.
     */
    uintptr_t old_hi;
    /**
     * What is added to an address of the old stack, wrapping.
     */
    uintptr_t delta;
};

/**
 * Functions of the program's that the scheduler calls, or NULL for each.
 *
 * They run on the scheduler's stack, in the middle of something: they don't park and don't unwind.
 */
struct gosched_hooks {
    /**
     * A P is set up: allocate its `mcache`. Go's `p.init`. The first calls are on the thread that
     * starts the runtime. How many there are may change by itself whenever the world isn't
     * stopped, until `gosched_set_gomaxprocs` is called: a collector that can't have that in a
     * cycle calls it first.
     */
    void (*p_init)(struct gosched_p *p);
    /**
     * A P is given up, in a stopped world: free its `mcache`, flush its buffers. Go's `p.destroy`.
     */
    void (*p_destroy)(struct gosched_p *p);
    /**
     * A thread got a P: what must happen before it allocates. Go's `mcache.prepareForSweep`, in
     * `acquirep`.
     */
    void (*acquirep)(struct gosched_p *p);
    /**
     * A worker of the collector that should run on this P now, and is `GOSCHED_GWAITING`, or NULL;
     * asked before all other work. Go's `findRunnableGCWorker`.
     */
    struct gosched_g *(*find_runnable_gc_worker)(struct gosched_p *p);
    /**
     * A goroutine has ended: drop what the program keeps for it. Go's `gdestroy`.
     */
    void (*gdestroy)(struct gosched_g *g);
    /**
     * The stack of a goroutine has been moved: adjust addresses of it that aren't on it, with
     * `gosched_adjust_pointer`. The old stack is still there. Go's `adjustdefers` and
     * `adjustpanics`, in `copystack`.
     */
    void (*copystack)(struct gosched_g *g, const struct gosched_adjust_info *info);
};

/**
 * A frame of a goroutine that isn't running, or whose stack is about to grow.
 * `docs/guide/copying-stacks.md` draws one.
 */
struct gosched_frame {
    /**
     * Where the function goes on: the address that its call, or its check, returns to.
     */
    uintptr_t pc;
    /**
     * The frame's low end, above that of the function that it called.
     */
    uintptr_t sp;
    /**
     * The function's frame pointer. The words up to `fp + 16` belong to the frame.
     */
    uintptr_t fp;
};

/**
 * The words in the frames of a range of code that hold addresses of the stack: what Go's compiler
 * records as stack maps.
 */
struct gosched_frame_map {
    /**
     * Calls `slot(at, to)` with the address `at` of each word of `frame`, below its `fp`, that may
     * hold an address of the stack. An `at` that is outside of the frame or isn't aligned ends the
     * process. `arg` is the `arg` of this struct.
     *
     * It is called on the scheduler's stack, and doesn't park or unwind.
     */
    void (*slots)(const struct gosched_frame *frame,
                  void (*slot)(uintptr_t at, void *to),
                  void *to,
                  void *arg);
    /**
     * Passed to `slots`.
     */
    void *arg;
};

/**
 * Something that happens to a goroutine, a P, or a thread. Fields that its kind doesn't set are
 * NULL, or 0.
 */
struct gosched_event {
    /**
     * What it is.
     */
    enum gosched_event_kind kind;
    /**
     * A reason, or how many: see `enum gosched_event_kind`.
     */
    int32_t number;
    /**
     * The goroutine that it is about.
     */
    struct gosched_g *g;
    /**
     * The P that it is about.
     */
    struct gosched_p *p;
    /**
     * The M that it is about.
     */
    struct gosched_m *m;
    /**
     * A reason in words. It is never freed.
     */
    const char *text;
};

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Starts the runtime, unless it runs already, and runs `main(arg)` on a goroutine with a fixed
 * stack of 8 MiB. Waits until `main` returns, and stores its result at `result`, unless that
 * is NULL. Go's `main`, in `proc.go`.
 *
 * The calling thread isn't a goroutine, and sleeps meanwhile. When `main` has returned, other
 * goroutines go on. `gosched_run` may be called again, also by several threads at once.
 *
 * If `main` and every other goroutine wait, and no thread is left that could wake one, that is
 * a deadlock: it is reported, and the process ends with status 2. While a thread of the
 * program's own might wake a goroutine, a message on stderr reports the state after two
 * seconds, and the process goes on. `GODEBUG=deadlock=off` switches the message off, and
 * `GODEBUG=deadlock=fatal` ends the process instead.
 *
 * Returns 0, or an errno value:
 * - `EDEADLK`: this is a goroutine already;
 * - `EINVAL`: `main` is NULL;
 * - `ENOMEM`: there is no memory for a stack;
 * - `EAGAIN`: there is no thread to start with;
 * - `ENOTSUP`: the environment asks for guard pages that this kernel can't make, or for stacks
 *   of a size that can't be.
 *
 * # Safety
 * `main` doesn't unwind: no C++ exception leaves it, and no `longjmp`. While there are
 * goroutines, the program keeps the rules at the head of this file.
 */
extern int gosched_run(void *(*main)(void *arg), void *arg, void **result);

/**
 * As `gosched_run`, but the goroutine has a copying stack. If no goroutine was made before,
 * its number is 1, as in Go.
 *
 * # Safety
 * As `gosched_run`; and `main` keeps the rules for copying stacks.
 */
extern int gosched_run_copying(void *(*main)(void *arg), void *arg, void **result);

/**
 * Makes a goroutine on a copying stack that runs `fn(arg)`, and puts it next on this
 * processor. It ends when `fn` returns. Go's `newproc`, in `proc.go`, which is its `go`
 * statement.
 *
 * It ends the process, with a report, if `fn` is NULL, if the runtime hasn't started, or if
 * there is no memory for a goroutine.
 *
 * # Safety
 * `fn` keeps the rules for copying stacks, and doesn't unwind.
 */
extern void gosched_newproc(void (*fn)(void *arg), void *arg);

/**
 * Makes a goroutine as `gosched_newproc` does, but on a fixed stack of at least `stack_size`
 * bytes, up to 1 GiB. 0 stands for the size that `GOSCHED_STACK_SIZE` in the environment sets,
 * or 256 KiB (1 MiB where the library was built without optimisation). Only the part of the
 * stack that is used takes memory.
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
 * Lets other goroutines run. The running goroutine goes to the end of the queue that all
 * processors share. Go's `Gosched`, in `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_yield(void);

/**
 * Ends the running goroutine, as if its function had returned. Go's `goexit1`, in `proc.go`.
 *
 * If it is the main goroutine, the others go on, and its `gosched_run` doesn't return. When no
 * goroutine is left, that is a deadlock.
 *
 * # Safety
 * On a goroutine of C code. C++ destructors don't run.
 */
extern void gosched_exit(void) __attribute__((noreturn));

/**
 * The running goroutine; NULL on a thread that isn't one of the runtime's. In a signal
 * handler, it is the goroutine that was interrupted. Go's `getg`.
 *
 * On the scheduler's stack, in a function that `gosched_systemstack` or `gosched_park` calls,
 * the result is the scheduler's own context, which isn't a goroutine.
 *
 * # Safety
 * It can be called anywhere.
 */
extern struct gosched_g *gosched_getg(void);

/**
 * Parks the running goroutine until another caller passes it to `gosched_ready`. Reports show
 * `reason`. Go's `gopark`, in `proc.go`.
 *
 * Parking has two steps, so that no wake-up is lost in between: when the goroutine is off its
 * stack, `unlockf(g, lock)` is called on the scheduler's stack. There it may publish `g`, or
 * release the lock of the list that `g` is in. If it returns false, the goroutine goes on at
 * once.
 *
 * If `unlockf` is NULL, `g` was published before. The caller that makes `g` ready must be sure
 * that it has parked.
 *
 * # Safety
 * On a goroutine. `unlockf` must not touch the goroutine's stack, park, or unwind. It must not
 * return false if another caller may have made the goroutine ready.
 */
extern void gosched_park(bool (*unlockf)(struct gosched_g *g, void *lock),
                         void *lock,
                         enum gosched_wait_reason reason);

/**
 * Makes a parked goroutine ready: it runs next on this processor. If this thread isn't one of
 * the runtime's, the goroutine goes to the queue that all processors share. Go's `goready`, in
 * `proc.go`.
 *
 * # Safety
 * `g` has parked, or its `unlockf` has been called, and no other caller makes it ready. (A
 * second `gosched_ready` ends the process, if it is noticed.)
 */
extern void gosched_ready(struct gosched_g *g);

/**
 * Calls `fn(arg)` on the scheduler's stack, which has about 200 KiB, and returns when `fn` has
 * returned. It is for code that needs more room than a copying stack has. Called elsewhere
 * than on a goroutine, it calls `fn` directly. Go's `systemstack`, in `asm_amd64.s`.
 *
 * Addresses of the goroutine's stack stay valid meanwhile: `arg` may be one.
 *
 * # Safety
 * `fn` must not park, yield, exit, unwind, or do a channel operation that has to wait.
 */
extern void gosched_systemstack(void (*fn)(void *arg), void *arg);

/**
 * Sets how many bytes a copying stack may have, and returns the previous limit. The default is
 * 1 GiB. A goroutine that needs more ends the process with a report. Go's `debug.SetMaxStack`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern size_t gosched_set_max_stack(size_t bytes);

/**
 * Halves the running goroutine's stack if it is a copying stack and less than a quarter of it
 * is in use. It is for a goroutine that used much stack once and lives long. Go's
 * `shrinkstack`, in `stack.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_shrink_stack(void);

/**
 * Calls `fn(arg)`, which may block its thread (a read, a mutex of pthreads), on the
 * scheduler's stack. Other goroutines get the processor of this one after 10 ms, or sooner if
 * some wait for a processor. Called elsewhere than on a goroutine, it calls `fn` directly.
 * Go's `cgocall`, in `cgocall.go`.
 *
 * # Safety
 * As `gosched_systemstack`.
 */
extern void gosched_blocking(void (*fn)(void *arg), void *arg);

/**
 * Parks the running goroutine for at least `ns` nanoseconds. On a thread that isn't one of the
 * runtime's, the thread sleeps. Go's `time.Sleep`.
 *
 * # Safety
 * Not on the scheduler's stack.
 */
extern void gosched_sleep(int64_t ns);

/**
 * Sets how many goroutines can run at once, from 1 to 16,384, and returns the previous number.
 * With 0, it only returns the number. It waits until every running goroutine has come to a
 * point where it can be stopped. From then on the number stays as it is. Returns -1 and
 * changes nothing if `n` is any other number, if the runtime doesn't run, or on the
 * scheduler's stack, where it can't wait. Go's `GOMAXPROCS`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern int gosched_set_gomaxprocs(int n);

/**
 * Makes the number of goroutines that can run at once follow the system, whatever the
 * environment variable says. It is the number of processors that the process may use, or that
 * its control group has time for, and changes with them. This is the default if nothing sets
 * the number. Returns the previous number. Returns -1 and changes nothing where
 * `gosched_set_gomaxprocs` can't set it. Go's `SetDefaultGOMAXPROCS`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern int gosched_set_default_gomaxprocs(void);

/**
 * Makes a channel with room for `capacity` values of `elem_size` bytes, and stores it at
 * `chan`. Without room, each send waits for its receive. Go's `makechan`, in `chan.go`.
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
 * - `GOSCHED_RESULT_WOULD_BLOCK`: it would have to wait, and can't here: on the scheduler's
 *   stack, or before the runtime runs.
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
 * - `GOSCHED_RESULT_WOULD_BLOCK`: it would have to wait, and can't here, as
 *   `gosched_chan_send`.
 *
 * # Safety
 * `elem` is NULL or a place for a value of the channel's size. The channel isn't freed
 * meanwhile.
 */
extern enum gosched_result gosched_chan_recv(struct gosched_chan *chan, void *elem);

/**
 * Receives a value to `elem` if there is one; otherwise returns `GOSCHED_RESULT_WOULD_BLOCK`,
 * or `GOSCHED_RESULT_CLOSED`. Go's `selectnbrecv`, in `chan.go`.
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
 * How many values are in the channel at this moment, waiting senders' not among them; 0 for
 * NULL. Go's `len`.
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
 * The first `nsends` of the cases send, the other `nrecvs` receive; there may be 65,536 of
 * them.
 *
 * Returns the number of the case, from 0 on, with `GOSCHED_RESULT_DONE` or
 * `GOSCHED_RESULT_CLOSED`. Returns -1 with `GOSCHED_RESULT_WOULD_BLOCK` if it would have to
 * wait and `block` is false, or if it can't wait here, like `gosched_chan_send`.
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
 * As `gosched_newproc`, but reports show `callerpc` as the place where the goroutine was made.
 * It is an address that a call returns to. Go's `newproc1`, in `proc.go`.
 *
 * # Safety
 * As `gosched_newproc`.
 */
extern void gosched_newproc_at(void (*fn)(void *arg), void *arg, uintptr_t callerpc);

/**
 * Makes a goroutine on a copying stack that waits in `coro` until `gosched_coroswitch`, and
 * then runs `fn(coro, arg)`. When `fn` returns, the coroutine has ended, and the goroutine
 * that waits in it goes on. It ends the process if there is no memory. Go's `newcoro`, in
 * `coro.go`.
 *
 * # Safety
 * `coro` isn't a coroutine yet, or has ended. It stays where it is until it has ended. `fn`
 * keeps the rules for copying stacks, and ends by returning.
 */
extern void gosched_newcoro(struct gosched_coro *coro, void (*fn)(struct gosched_coro *coro,
                                                                  void *arg), void *arg);

/**
 * Switches to the goroutine that waits in `coro`, which goes on at once on this thread, while
 * the running goroutine waits there in its place. Returns when another goroutine switches in
 * turn, or when the coroutine ends. Go's `coroswitch`, in `coro.go`.
 *
 * # Safety
 * On a goroutine. `gosched_newcoro` was called with `coro`, which stays until this returns.
 */
extern void gosched_coroswitch(struct gosched_coro *coro);

/**
 * Lets other goroutines run. The running goroutine goes to the end of this processor's queue;
 * `gosched_yield` puts it into the queue that all processors share. Go's `goyield`, in
 * `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_goyield(void);

/**
 * As `gosched_yield`, but only if this goroutine was asked to stop, or if no processor is
 * idle. Go's `goschedIfBusy`, in `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_yield_if_busy(void);

/**
 * As `gosched_yield`, unless the goroutine is kept on its thread: see `gosched_acquirem`. Go's
 * `goschedguarded`, in `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_yield_guarded(void);

/**
 * Whether this processor has other work. Work in the background should yield then. Go's
 * `pollWork`, in `proc.go`.
 *
 * # Safety
 * On a goroutine, or on the scheduler's stack.
 */
extern bool gosched_poll_work(void);

/**
 * Leaves the running goroutine and calls `fn` with it, on the scheduler's stack. The goroutine
 * goes on, as if this had returned, when `gosched_gogo` or the scheduler resumes it. Go's
 * `mcall`, in `asm_amd64.s`.
 *
 * # Safety
 * On a goroutine. `fn` never returns and doesn't unwind. It ensures that the goroutine is
 * resumed.
 */
extern void gosched_mcall(void (*fn)(struct gosched_g *g));

/**
 * Resumes a goroutine where it left off. Go's `gogo`, in `asm_amd64.s`.
 *
 * # Safety
 * In the function that `gosched_mcall` has called, for the goroutine that called
 * `gosched_mcall`.
 */
extern void gosched_gogo(struct gosched_g *g) __attribute__((noreturn));

/**
 * Makes parked goroutines ready, as `gosched_ready` does with one, but all at once. Go's
 * `injectglist`, in `proc.go`.
 *
 * # Safety
 * `gs` holds `n` goroutines. As `gosched_ready`, for each of them.
 */
extern void gosched_injectglist(struct gosched_g *const *gs, size_t n);

/**
 * Ensures that the functions that the caller calls next have `n` bytes of stack: a copying
 * stack that has less grows. The bytes are there until the caller has returned, or parks. Code
 * without stack checks needs this: an unwinder needs 16 KiB. Go's compiler puts such a check
 * into each function, which calls `morestack`, in `asm_amd64.s`.
 *
 * No other stack grows. If less is left of a fixed stack, or of the scheduler's, the process
 * ends. In a signal handler, and on a thread that isn't the runtime's, nothing is checked.
 *
 * # Safety
 * The caller keeps the rules for copying stacks.
 */
extern void gosched_ensure_stack(size_t n);

/**
 * The goroutine that this thread runs, also while the thread is on the scheduler's stack for
 * it; NULL if there is none. Go's `getg().m.curg`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern struct gosched_g *gosched_curg(void);

/**
 * The goroutine's number, which no other goroutine ever has. It is 0 for the scheduler's own
 * context, which `gosched_getg` returns on the scheduler's stack. Go's `goid`.
 *
 * # Safety
 * `g` is a goroutine that hasn't ended, or a result of `gosched_getg`.
 */
extern uint64_t gosched_goid(struct gosched_g *g);

/**
 * The address of `GOSCHED_SLOT_SIZE` bytes that belong to the port, in each goroutine that C
 * has made, main ones included. The port keeps its own data about the goroutine there. The
 * bytes begin at a multiple of 16, and stay where they are. They aren't cleared: a goroutine
 * may find the data of an earlier one that has ended.
 *
 * # Safety
 * `g` is a goroutine that hasn't ended, and was made by C.
 */
extern void *gosched_slot(struct gosched_g *g);

/**
 * The address of a word in each goroutine that belongs to the port: the head of its list of
 * deferred calls. It is NULL when a goroutine begins. If it is an address of the goroutine's
 * stack, it is adjusted when the stack moves. Go's `_defer`, in `g`.
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
 * Keeps the caller on its thread, and the thread on its processor, until `gosched_releasem`:
 * no stack check stops the caller, and it isn't preempted. Calls nest. It is for moments, in
 * which nothing parks. Go's `acquirem`, in `runtime1.go`.
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
 * `m` is the result of `gosched_acquirem`.
 */
extern void gosched_releasem(struct gosched_m *m);

/**
 * Keeps the running goroutine on its processor, without preemption, until
 * `gosched_proc_unpin`. A pinned goroutine doesn't park. Returns the processor's number, from
 * 0 on. Go's `procPin`, in `proc.go`.
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
 * Takes a lock, and blocks the thread until it has the lock. As after `gosched_acquirem`, no
 * stack check stops the owner, so other threads wait for moments only. Go's `lock`, in
 * `lock_futex.go`.
 *
 * A lock of the program's own that is held into `gosched_park` can make others wait in vain,
 * because the stack check at the entry of `gosched_park` may stop the owner. `gosched_lock`
 * with `gosched_parkunlock` is made for that case.
 *
 * # Safety
 * The caller doesn't have the lock. A caller that holds a lock doesn't park or wait, except by
 * `gosched_parkunlock`.
 */
extern void gosched_lock(struct gosched_mutex *lock);

/**
 * Releases a lock. The next owner may free the lock at once: nothing of it is used after the
 * release. Go's `unlock`, in `lock_futex.go`.
 *
 * # Safety
 * This thread, or this goroutine, has taken the lock.
 */
extern void gosched_unlock(struct gosched_mutex *lock);

/**
 * Parks the running goroutine, as `gosched_park` does, and releases the lock once the
 * goroutine is off its stack. So the next owner of the lock finds, in the list that the lock
 * protects, a goroutine that can be made ready. Go's `goparkunlock`, in `proc.go`.
 *
 * # Safety
 * On a goroutine, which has taken the lock and holds no other. The lock stays until the
 * goroutine goes on.
 */
extern void gosched_parkunlock(struct gosched_mutex *lock, enum gosched_wait_reason reason);

/**
 * Locks the running goroutine to its thread: it runs on no other thread, and no other
 * goroutine runs on that thread, until `gosched_unlock_os_thread` was called as often. If the
 * goroutine ends before, the thread ends too. Go's `LockOSThread`, in `proc.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_lock_os_thread(void);

/**
 * Undoes one `gosched_lock_os_thread`. Does nothing if the goroutine isn't locked. Go's
 * `UnlockOSThread`, in `proc.go`.
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
 * Releases the running goroutine's processor before a system call. `gosched_exitsyscall` takes
 * the processor back, unless another thread got it meanwhile. Go's `entersyscall`, in
 * `proc.go`.
 *
 * `gosched_blocking` does the same and runs the call on the scheduler's stack. This function
 * is for callers that run the call on the goroutine's stack. On a copying stack they first ask
 * for the bytes that the call needs, by `gosched_ensure_stack`.
 *
 * # Safety
 * On a goroutine. `gosched_exitsyscall` follows in the same function. In between nothing
 * parks. A stack check that finds too little of a copying stack there ends the process.
 */
extern void gosched_entersyscall(void);

/**
 * As `gosched_entersyscall`, for a call that is known to block: another thread gets the
 * processor at once. Go's `entersyscallblock`, in `proc.go`.
 *
 * # Safety
 * As `gosched_entersyscall`.
 */
extern void gosched_entersyscallblock(void);

/**
 * Ends a system call: returns when the goroutine has a processor. Go's `exitsyscall`, in
 * `proc.go`.
 *
 * # Safety
 * After `gosched_entersyscall` or `gosched_entersyscallblock`.
 */
extern void gosched_exitsyscall(void);

/**
 * Calls `fn(arg)` on the scheduler's stack, as `gosched_systemstack` does, and returns the
 * result of `fn`. Go's `asmcgocall`, in `asm_amd64.s`.
 *
 * # Safety
 * As `gosched_systemstack`. `fn` isn't NULL.
 */
extern int gosched_asmcgocall(int (*fn)(void *arg), void *arg);

/**
 * The number of goroutines; an estimate while others begin and end. Go's `gcount`, in
 * `proc.go`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern int gosched_gcount(void);

/**
 * The number of threads that the scheduler has made. Go's `mcount`, in `proc.go`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern int gosched_mcount(void);

/**
 * Sets how many threads the scheduler may make, and returns the previous limit. The default is
 * 10,000. If more are needed, the process ends. Go's `debug.SetMaxThreads`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern int gosched_set_max_threads(int n);

/**
 * Returns memory to the system that the library keeps for later use: that of goroutines that
 * have ended, of stacks that were larger, and of channels. Go's `debug.FreeOSMemory`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern void gosched_free_os_memory(void);

/**
 * Ends the process for a broken invariant of the port's: the message, a backtrace and every
 * goroutine go to stderr, and the status is 2. Go's `throw`, in `panic.go`.
 *
 * # Safety
 * `message` is a C string, which may be on the caller's stack.
 */
extern void gosched_throw(const char *message) __attribute__((noreturn));

/**
 * Ends the process for an error of the program, as `gosched_throw`, without a backtrace of the
 * scheduler. Go's `fatal`, in `panic.go`.
 *
 * # Safety
 * As `gosched_throw`.
 */
extern void gosched_fatal(const char *message) __attribute__((noreturn));

/**
 * Ends the process because the running goroutine has panicked and nobody recovers: `text`,
 * which begins with "panic: " as a rule, goes to stderr as it is, then the goroutine with its
 * stack, and the status is 2. Go's `fatalpanic`, in `panic.go`.
 *
 * # Safety
 * As `gosched_throw`.
 */
extern void gosched_fatalpanic(const char *text) __attribute__((noreturn));

/**
 * Says who knows names of code: `symbolize` is asked for each address that a report shows, a
 * trace or a profile. It stores up to `n` functions at `places`, the innermost first where
 * calls were inlined, and returns how many; 0 to have the program's own symbols looked up, as
 * for every address without this. `pc` is in an instruction, for a caller in that of the call.
 * The strings stay. Go's `funcline`, in `symtab.go`.
 *
 * Returns 0, or `EBUSY`: there is one already; or `EINVAL`: it is NULL.
 *
 * # Safety
 * `symbolize` takes no lock that a goroutine may hold and doesn't allocate, as the process may
 * be at its end. It is called on the scheduler's stack, on several threads at once, and
 * doesn't unwind.
 */
extern int gosched_set_symbolizer(size_t (*symbolize)(uintptr_t pc,
                                                      struct gosched_code_place *places,
                                                      size_t n));

/**
 * Starts a new timer: `f` is called at `t->when`, and from then on every `t->period` unless
 * that is 0. Go's `startTimer`, in `time.go`.
 *
 * It ends the process if `when` isn't positive, if `period` is negative, or if the timer was
 * started before.
 *
 * # Safety
 * On a goroutine, on another thread once the runtime runs, or in a timer's function; not in a
 * function that `gosched_blocking` calls. No other caller uses `t` meanwhile. `f` may be
 * called with its arguments on any thread.
 */
extern void gosched_start_timer(struct gosched_timer *t);

/**
 * Stops a timer. Returns true if it was active; then it won't fire. Returns false if it has
 * fired or was stopped; then its function may be running. Go's `stopTimer`, in `time.go`.
 *
 * # Safety
 * It can be called anywhere. `t` is a timer that no other caller changes meanwhile.
 */
extern bool gosched_stop_timer(struct gosched_timer *t);

/**
 * Sets a timer to another time, and starts it if it isn't active. Returns whether it was
 * active. Go's `resetTimer`, in `time.go`.
 *
 * # Safety
 * As `gosched_start_timer`, except that the timer may have been started before.
 */
extern bool gosched_reset_timer(struct gosched_timer *t, int64_t when);

/**
 * Sets all fields of a timer, and starts it if it isn't active. Returns whether it was active.
 * Go's `modTimer`, in `time.go`.
 *
 * # Safety
 * As `gosched_reset_timer`.
 */
extern bool gosched_mod_timer(struct gosched_timer *t,
                              int64_t when,
                              int64_t period,
                              void (*f)(void *arg, size_t seq),
                              void *arg,
                              size_t seq);

/**
 * Whether a processor's heap of timers has this timer, whose memory must stay then. A timer
 * that is stopped leaves its heap later, when the processor looks at it, at the latest when it
 * would have fired. So a program that makes many timers should keep the stopped ones and set
 * them again. A timer that fires once has left its heap before its function is called. (In Go
 * the garbage collector frees timers.)
 *
 * # Safety
 * It can be called anywhere. `t` is a timer.
 */
extern bool gosched_timer_in_heap(const struct gosched_timer *t);

/**
 * The monotonic clock, in nanoseconds. The time of a timer is compared with it. Go's
 * `nanotime`, in `time_nofake.go`.
 *
 * # Safety
 * It can be called anywhere but in a signal handler.
 */
extern int64_t gosched_nanotime(void);

/**
 * Makes a note ready to be slept on again. Go's `noteclear`, in `lock_futex.go`.
 *
 * # Safety
 * It can be called anywhere. No goroutine sleeps on the note, and no caller is about to wake
 * it.
 */
extern void gosched_noteclear(struct gosched_note *n);

/**
 * Wakes the goroutine that sleeps on the note, or lets a later sleep return at once. A second
 * wakeup without `gosched_noteclear` in between ends the process. Go's `notewakeup`, in
 * `lock_futex.go`.
 *
 * It uses little stack and doesn't check how much there is, because it may run on a signal's
 * stack. A signal handler mustn't check either: `__attribute__((no_split_stack))`.
 *
 * # Safety
 * It can be called anywhere, also in a signal handler. `n` is a note that isn't on a copying
 * stack.
 */
extern void gosched_notewakeup(struct gosched_note *n);

/**
 * Sleeps on a note until it is woken, at most `ns` nanoseconds unless `ns` is negative.
 * Returns whether the note was woken. The goroutine's thread sleeps, and other goroutines get
 * its processor. It is for wakeups from places that can't make a goroutine ready, such as a
 * signal handler. Go's `notetsleepg`, in `lock_futex.go`.
 *
 * # Safety
 * On a goroutine. At most one goroutine at a time sleeps on a note. The note isn't on a
 * copying stack.
 */
extern bool gosched_notetsleepg(struct gosched_note *n, int64_t ns);

/**
 * Subtracts one from the number at `addr`, a semaphore. While the number is 0, waits for a
 * release. Go's `semacquire`, in `sema.go`.
 *
 * Any `uint32_t` can be a semaphore. Its first value is how often it can be acquired without a
 * release. The library keeps the waiters in a table, by the address. Use it as a pair of sleep
 * and wakeup that can't miss each other: a lock has a word of its own for its state, and a
 * semaphore to wait on.
 *
 * # Safety
 * On a goroutine, or on another thread once the runtime runs, which then waits as a goroutine
 * does. A call that doesn't have to wait can be made anywhere. The number is aligned, isn't on
 * a copying stack, and stays until this returns. It is changed only by these functions or by
 * atomic operations.
 */
extern void gosched_semacquire(uint32_t *addr);

/**
 * As `gosched_semacquire`. With `lifo`, the caller waits before all others. Reports show
 * `reason`. Go's `semacquire1`, in `sema.go`.
 *
 * # Safety
 * As `gosched_semacquire`.
 */
extern void gosched_semacquire1(uint32_t *addr, bool lifo, enum gosched_wait_reason reason);

/**
 * Adds one to the number at `addr`, and wakes one waiter. Go's `semrelease`, in `sema.go`.
 *
 * # Safety
 * It can be called anywhere but in a signal handler. `addr` is as for `gosched_semacquire`.
 * The semaphore may be gone as soon as another caller can know of the release.
 */
extern void gosched_semrelease(uint32_t *addr);

/**
 * As `gosched_semrelease`. With `handoff`, the first waiter gets the added unit, and at once
 * the rest of this goroutine's time slice. Go's `semrelease1`, in `sema.go`.
 *
 * # Safety
 * As `gosched_semrelease`. With `handoff`, a goroutine may park here.
 */
extern void gosched_semrelease1(uint32_t *addr, bool handoff);

/**
 * Draws a number for a wait, with the lock of the condition held. The caller then releases the
 * lock and passes the number to `gosched_notify_list_wait`. Go's `notifyListAdd`, in
 * `sema.go`.
 *
 * # Safety
 * It can be called anywhere. `l` is a list.
 */
extern uint32_t gosched_notify_list_add(struct gosched_notify_list *l);

/**
 * Waits until number `t` is notified. Returns at once if `t` was notified since it was drawn.
 * Go's `notifyListWait`, in `sema.go`.
 *
 * # Safety
 * On a goroutine, or on another thread once the runtime runs. `t` was drawn from this list,
 * and is waited for once.
 */
extern void gosched_notify_list_wait(struct gosched_notify_list *l, uint32_t t);

/**
 * Notifies all numbers that were drawn. Go's `notifyListNotifyAll`, in `sema.go`.
 *
 * # Safety
 * It can be called anywhere but in a signal handler. `l` is a list.
 */
extern void gosched_notify_list_notify_all(struct gosched_notify_list *l);

/**
 * Notifies the lowest number that wasn't notified yet. Does nothing if there is none. Go's
 * `notifyListNotifyOne`, in `sema.go`.
 *
 * # Safety
 * As `gosched_notify_list_notify_all`.
 */
extern void gosched_notify_list_notify_one(struct gosched_notify_list *l);

/**
 * Whether it makes sense to spin for a lock for the `iter`th time, from 0 on: another
 * goroutine runs that may unlock it, and no goroutine waits for this processor. Go's
 * `canSpin`, in `proc.go`.
 *
 * # Safety
 * It can be called anywhere. It returns false on a thread that isn't the runtime's.
 */
extern bool gosched_can_spin(uint32_t iter);

/**
 * Spins, for about 30 pause instructions. Go's `doSpin`, in `proc.go`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern void gosched_do_spin(void);

/**
 * Makes the poller, unless it exists already. `gosched_poll_open` makes it too, if need be.
 * Go's `poll_runtime_pollServerInit`, in `netpoll.go`.
 *
 * Returns 0, or the kernel's errno value if it can't make an epoll instance or an event
 * descriptor.
 *
 * # Safety
 * It can be called anywhere.
 */
extern int gosched_poll_server_init(void);

/**
 * Registers a descriptor, which is in non-blocking mode, and stores the address of its
 * `PollDesc` at `pd`. Go's `poll_runtime_pollOpen`, in `netpoll.go`.
 *
 * Returns 0, or an errno value, with NULL at `pd`:
 * - `EPERM`: the descriptor can't be polled, for example a file's;
 * - `EEXIST`: the descriptor is registered already;
 * - `EBADF`: `fd` isn't an open descriptor;
 * - `ENOMEM`: there is no memory;
 * - `EINVAL`: `pd` is NULL;
 * - as `gosched_poll_server_init`.
 *
 * # Safety
 * It can be called anywhere. `pd` is a place for an address. The descriptor isn't closed
 * before `gosched_poll_close` is called.
 */
extern int gosched_poll_open(int fd, struct gosched_poll_desc **pd);

/**
 * Ends the registration of a descriptor, before the descriptor is closed. It ends the process
 * if `gosched_poll_unblock` wasn't called, or if a caller waits for the descriptor. Go's
 * `poll_runtime_pollClose`, in `netpoll.go`.
 *
 * # Safety
 * It can be called anywhere. `gosched_poll_open` has stored `pd`, which isn't used after this.
 */
extern void gosched_poll_close(struct gosched_poll_desc *pd);

/**
 * Forgets that the descriptor has become ready; it is called before an operation is tried. A
 * result other than `GOSCHED_POLL_RESULT_OK` means that a wait would be of no use. `mode` is
 * `'r'`, for reading, or `'w'`. Go's `poll_runtime_pollReset`, in `netpoll.go`.
 *
 * # Safety
 * It can be called anywhere. `gosched_poll_open` has stored `pd`, and it wasn't closed.
 */
extern enum gosched_poll_result gosched_poll_reset(struct gosched_poll_desc *pd, int mode);

/**
 * Parks the running goroutine until the descriptor has become ready since
 * `gosched_poll_reset`, or until its deadline or `gosched_poll_unblock` ends the wait. `mode`
 * is `'r'`, for reading, or `'w'`. It may also return without a cause. Go's
 * `poll_runtime_pollWait`, in `netpoll.go`.
 *
 * A second caller that waits for the same mode at the same time ends the process.
 *
 * # Safety
 * On a goroutine, or on another thread once the runtime runs, which then waits as a goroutine
 * does. `gosched_poll_open` has stored `pd`, and it isn't closed before this returns.
 */
extern enum gosched_poll_result gosched_poll_wait(struct gosched_poll_desc *pd, int mode);

/**
 * Sets the deadline for reading, `'r'`, for writing, `'w'`, or for both, `'r' + 'w'`: `ns`
 * nanoseconds from now. 0 removes the deadline, and a negative `ns` is a deadline that has
 * passed already. The deadline also applies to waits that have begun. Go's
 * `poll_runtime_pollSetDeadline`, in `netpoll.go`.
 *
 * # Safety
 * Where `gosched_start_timer` may be called. `gosched_poll_open` has stored `pd`, and it
 * wasn't closed.
 */
extern void gosched_poll_set_deadline(struct gosched_poll_desc *pd, int64_t ns, int mode);

/**
 * Marks the descriptor as being closed: all waits for it end, and later waits return at once.
 * A second call ends the process. Go's `poll_runtime_pollUnblock`, in `netpoll.go`.
 *
 * # Safety
 * It can be called anywhere. `gosched_poll_open` has stored `pd`, and it wasn't closed.
 */
extern void gosched_poll_unblock(struct gosched_poll_desc *pd);

/**
 * Whether a descriptor is one of the poller's own, which the program mustn't close. Go's
 * `poll_runtime_isPollServerDescriptor`, in `netpoll.go`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern bool gosched_is_poll_descriptor(int fd);

/**
 * Asks for a signal: from here on it is received, by `gosched_signal_recv`, instead of what it
 * did before. Go's `signal_enable`, in `sigqueue.go`.
 *
 * There is one receiver in a process. If Rust code in the same program has called
 * `gosched::signal::notify`, that is the receiver, and this returns `EBUSY`; once one of the
 * functions here was called, `notify` is an error.
 *
 * A signal that was blocked in the thread that started the runtime is blocked in all of the
 * runtime's, and comes to another thread, which doesn't block it.
 *
 * Returns 0, or an errno value:
 * - `EINVAL`: it is no signal, or one that can't be asked for: the kernel lets nobody catch
 *   it, it says that an instruction has failed, or the C library needs it;
 * - `EPERM`: the runtime hasn't started;
 * - `EBUSY`: Rust code receives signals.
 *
 * # Safety
 * It can be called anywhere but in a signal handler; one at a time for this and the next two.
 */
extern int gosched_signal_enable(int sig);

/**
 * Restores the action that a signal had before it was first enabled or ignored. Go's
 * `signal_disable`, in `sigqueue.go`.
 *
 * Returns 0, `EINVAL` or `EBUSY`, as `gosched_signal_enable`.
 *
 * # Safety
 * As `gosched_signal_enable`.
 */
extern int gosched_signal_disable(int sig);

/**
 * Ignores a signal. Go's `signal_ignore`, in `sigqueue.go`.
 *
 * Returns 0, `EINVAL` or `EBUSY`, as `gosched_signal_enable`.
 *
 * # Safety
 * As `gosched_signal_enable`.
 */
extern int gosched_signal_ignore(int sig);

/**
 * Whether `gosched_signal_ignore`, or Rust's, has had a signal ignored. Go's `signal_ignored`,
 * in `sigqueue.go`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern bool gosched_signal_ignored(int sig);

/**
 * The next signal that has come of those that are enabled; waits for one if there is none. One
 * that comes again before it was received is received once. The goroutine's thread sleeps
 * meanwhile. Go's `signal_recv`, in `sigqueue.go`.
 *
 * It ends the process if Rust code receives signals.
 *
 * # Safety
 * On a goroutine, always the same one.
 */
extern uint32_t gosched_signal_recv(void);

/**
 * Waits until all signals that have come were received, and the receiver waits again: what is
 * disabled doesn't come after this. Go's `signalWaitUntilIdle`, in `sigqueue.go`.
 *
 * # Safety
 * On a goroutine that isn't the receiver, while there is one.
 */
extern void gosched_signal_wait_until_idle(void);

/**
 * Stores the metrics of this moment at `out`. Go's `metrics.Read`.
 *
 * Returns 0, or `EINVAL` if `out` is NULL.
 *
 * # Safety
 * It can be called anywhere but in a signal handler. `out` is a place for the metrics.
 */
extern int gosched_metrics(struct gosched_metrics *out);

/**
 * Gives the running goroutine a label, by which profiles and traces tell it apart, instead of
 * one with the same key; or, if `value` is NULL, takes that away. Both are copied. A new
 * goroutine has the labels that its maker has then. Go's `SetGoroutineLabels`, in
 * `runtime/pprof`.
 *
 * Returns 0, or an errno value:
 * - `EINVAL`: `key` is NULL, or one of them isn't UTF-8;
 * - `EPERM`: this is no goroutine.
 *
 * # Safety
 * It can be called anywhere but in a signal handler. `key` and `value` are strings, or NULL.
 */
extern int gosched_set_label(const char *key, const char *value);

/**
 * Calls `fn(key, value, arg)` with each label of the running goroutine, in the order of the
 * keys: on the scheduler's stack. Does nothing where there is no goroutine. Go's `ForLabels`,
 * in `runtime/pprof`.
 *
 * # Safety
 * It can be called anywhere but in a signal handler. `fn` is as for `gosched_systemstack`, and
 * copies what it keeps.
 */
extern void gosched_labels(void (*fn)(const char *key, const char *value, void *arg), void *arg);

/**
 * The state of `g`, one of `GOSCHED_GIDLE` to `GOSCHED_GPREEMPTED`, perhaps with
 * `GOSCHED_GSCAN`. It may have changed since, unless the caller keeps it from changing. Go's
 * `readgstatus`, in `proc.go`.
 *
 * # Safety
 * `g` is a goroutine's address: it can be called anywhere.
 */
extern uint32_t gosched_readgstatus(struct gosched_g *g);

/**
 * Changes the state of `g` from `oldval` to `newval`. Waits while a scan holds the state. If
 * the state isn't `oldval`, or if `oldval` or `newval` has `GOSCHED_GSCAN`, the process ends.
 * Go's `casgstatus`, in `proc.go`.
 *
 * # Safety
 * The caller owns the change: for example, the caller has parked the goroutine and found it,
 * or has made it waiting.
 */
extern void gosched_casgstatus(struct gosched_g *g, uint32_t oldval, uint32_t newval);

/**
 * Changes the state of `g` from `oldval` to `GOSCHED_GWAITING`, and records `reason` for
 * reports. A running goroutine that does this on the scheduler's stack
 * (`gosched_systemstack_scannable`) can be suspended and scanned, by others and by itself,
 * until `gosched_casgstatus` makes it `GOSCHED_GRUNNING` again. Go's `casGToWaiting`, in
 * `proc.go`.
 *
 * # Safety
 * As `gosched_casgstatus`. A running goroutine stays on the scheduler's stack until its state
 * is `GOSCHED_GRUNNING` again, and nothing makes it ready meanwhile.
 */
extern void gosched_cas_g_to_waiting(struct gosched_g *g,
                                     uint32_t oldval,
                                     enum gosched_wait_reason reason);

/**
 * Takes the stack of a goroutine that waits or is in a queue: its state becomes
 * `GOSCHED_GCOPYSTACK`. Returns the previous state, which the caller sets again with
 * `gosched_casgstatus`. Go's `casgcopystack`, in `proc.go`.
 *
 * # Safety
 * As `gosched_casgstatus`. Nothing runs the goroutine meanwhile: it is in no queue.
 */
extern uint32_t gosched_casgcopystack(struct gosched_g *g);

/**
 * If the state of `g` is `oldval`, adds `GOSCHED_GSCAN` to it and returns true. Then the
 * goroutine can't start to run or stop, and its stack stays where it is. Otherwise returns
 * false. `newval` is `oldval + GOSCHED_GSCAN`. Go's `castogscanstatus`, in `proc.go`.
 *
 * # Safety
 * On the scheduler's stack (`gosched_systemstack`), or on a thread that isn't the runtime's.
 * The caller that sets the bit clears it there, soon, with `gosched_casfrom_gscanstatus`.
 */
extern bool gosched_castogscanstatus(struct gosched_g *g, uint32_t oldval, uint32_t newval);

/**
 * Removes `GOSCHED_GSCAN` from the state of `g`: `oldval` has the bit, `newval` doesn't. Go's
 * `casfrom_Gscanstatus`, in `proc.go`.
 *
 * # Safety
 * The caller has set the bit.
 */
extern void gosched_casfrom_gscanstatus(struct gosched_g *g, uint32_t oldval, uint32_t newval);

/**
 * As `gosched_systemstack`, for a goroutine that makes itself waiting on the scheduler's stack
 * (`gosched_cas_g_to_waiting`) so that its own stack can be scanned, also by `fn`. The
 * caller's registers are saved on the goroutine's stack first. Go's `systemstack`, in
 * `asm_amd64.s`, whose callers keep nothing in registers.
 *
 * # Safety
 * As `gosched_systemstack`.
 */
extern void gosched_systemstack_scannable(void (*fn)(void *arg), void *arg);

/**
 * Calls `fn(g, arg)` for every goroutine, while none can be added. Goroutines that have ended
 * are included, as `GOSCHED_GDEAD`, because their G's will be used again. Go's `forEachG`, in
 * `proc.go`.
 *
 * # Safety
 * It can be called anywhere. `fn` is called on the scheduler's stack with a lock held: it
 * makes no goroutine, suspends none, and doesn't park or unwind.
 */
extern void gosched_for_each_g(void (*fn)(struct gosched_g *g, void *arg), void *arg);

/**
 * As `gosched_for_each_g`, but without the lock: `fn` may suspend goroutines and make some.
 * Goroutines that are made meanwhile may be left out. The memory of a dead goroutine may go
 * back to the system meanwhile; then its state is `GOSCHED_GIDLE`. In a stopped world, no
 * goroutine can add one. Go's `forEachGRace`, in `proc.go`.
 *
 * # Safety
 * It can be called anywhere, and calls `fn` on the caller's stack. If that is a copying stack,
 * `fn` keeps the rules for copying stacks.
 */
extern void gosched_for_each_g_race(void (*fn)(struct gosched_g *g, void *arg), void *arg);

/**
 * Calls `fn(p, arg)` for every P at a point where the P could be stopped: on the thread that
 * has the P, or on the caller's if no thread has it. When this returns, every P has passed
 * such a point. It waits as `gosched_stop_the_world` does; reports show `reason` meanwhile.
 * Go's `forEachP`, in `proc.go`.
 *
 * # Safety
 * On a goroutine, which hasn't stopped the world. `fn` is called on the scheduler's stack, and
 * must not park, unwind, or access the caller's stack. `arg` isn't an address of that stack.
 */
extern void gosched_for_each_p(enum gosched_wait_reason reason, void (*fn)(struct gosched_p *p,
                                                                           void *arg), void *arg);

/**
 * The number of `p`, from 0 on; less than GOMAXPROCS while `p` is in use. Go's `p.id`.
 *
 * # Safety
 * `p` is a P: it can be called anywhere.
 */
extern int32_t gosched_p_id(struct gosched_p *p);

/**
 * The address of a word that each P has for the program, NULL at first, such as an allocator's
 * cache for the P. The library doesn't use it. It may be accessed by code that can't lose the
 * P (between `gosched_proc_pin` and `gosched_proc_unpin`), and by a function that was passed
 * the P (hooks, `gosched_for_each_p`). Go's `p.mcache`.
 *
 * # Safety
 * `p` is a P: it can be called anywhere.
 */
extern void **gosched_p_slot(struct gosched_p *p);

/**
 * The P of a thread; NULL if it has none now. For another thread, the result may be outdated
 * at once. Go's `m.p`.
 * # Safety
 * `m` is an M: it can be called anywhere. A goroutine keeps its own P only while it is pinned,
 * or has acquired its M.
 */
extern struct gosched_p *gosched_m_p(struct gosched_m *m);

/**
 * Asks every running goroutine except the caller to stop at its next safe point and let others
 * run. Returns whether there was one to ask. A goroutine that is just being switched may miss
 * the request, so a caller that relies on the stop asks again. Go's `preemptall`, in
 * `proc.go`.
 *
 * # Safety
 * It can be called anywhere. Before the runtime has started it returns false.
 */
extern bool gosched_preemptall(void);

/**
 * Stops every P but the caller's, and returns when all have stopped. A P stops where its
 * goroutine parks, yields, is preempted or is in a system call. A garbage collection begins
 * with this call. Other callers wait until the world has been started again. Go's
 * `stopTheWorld`, in `proc.go`.
 *
 * A goroutine that is in a system call goes on there. So does a goroutine in code where it
 * can't be stopped; it goes on without a P: see `gosched_set_detach`.
 *
 * # Safety
 * On a goroutine. It passes the result to `gosched_start_the_world`. Until then it doesn't
 * park and doesn't stop the world again: both end the process.
 */
extern struct gosched_world_stop gosched_stop_the_world(enum gosched_stw_reason reason);

/**
 * Lets all P's run again. Go's `startTheWorld`, in `proc.go`.
 *
 * # Safety
 * Once, on the goroutine that has stopped the world.
 */
extern void gosched_start_the_world(struct gosched_world_stop stop);

/**
 * Sets whether a goroutine that keeps its P from others, in code where it can't be stopped,
 * loses the P and goes on without one. The default is true. Such a goroutine goes on in a
 * stopped world, too. So a program that relies on the stopped world alone, such as a collector
 * that doesn't suspend every goroutine, switches this off before its goroutines run. Hooks
 * that need a P switch it off by themselves. `GODEBUG=detach=1` or `0` overrides this
 * function. `docs/guide/preemption.md` tells more.
 *
 * # Safety
 * It can be called anywhere.
 */
extern void gosched_set_detach(bool on);

/**
 * Lets all goroutines run, or only those that have called `gosched_become_system_goroutine`.
 * Goroutines that run when this is called go on until they park; so stop the world, disable,
 * and start the world. Go's `schedEnableUser`, in `proc.go`.
 *
 * # Safety
 * Where the runtime has started. A goroutine or thread that still runs enables the others
 * again.
 */
extern void gosched_sched_enable_user(bool enable);

/**
 * Makes the running goroutine a system goroutine, one of the program's own runtime, until it
 * ends: it isn't counted, and `gosched_sched_enable_user` doesn't stop it. Go recognizes such
 * goroutines by their function: `isSystemGoroutine`, in `traceback.go`.
 *
 * # Safety
 * On a goroutine.
 */
extern void gosched_become_system_goroutine(void);

/**
 * Stops `g` at a safe point, keeps it there until `gosched_resume_g`, and stores the result at
 * `state`. Meanwhile its stack and its registers can be read: see `gosched_scan_stack`. The
 * call waits, without parking, until the goroutine has come to a safe point. A goroutine that
 * has ended is left alone. Go's `suspendG`, in `preempt.go`.
 *
 * # Safety
 * The caller's goroutine doesn't run, because two goroutines that suspend each other would
 * wait forever. So this is called on the scheduler's stack (`gosched_systemstack_scannable`)
 * after `gosched_cas_g_to_waiting`, or on a thread that isn't the runtime's. Anywhere else it
 * ends the process. If the caller holds a resource that the goroutine needs to get to a safe
 * point, such as a lock, the call waits forever. The states of several goroutines may be kept
 * at once.
 */
extern void gosched_suspend_g(struct gosched_g *g, struct gosched_suspend_state *state);

/**
 * Lets a suspended goroutine go on. Go's `resumeG`, in `preempt.go`.
 *
 * # Safety
 * `state` is as `gosched_suspend_g` has stored it, and is used once.
 */
extern void gosched_resume_g(const struct gosched_suspend_state *state);

/**
 * Calls `fn(lo, hi, arg)` for each range of addresses in which `g` may keep a pointer. It is
 * for a collector that doesn't know the goroutine's frames. The ranges are:
 * - the used part of its stack, with its general registers, wherever it was stopped;
 * - its vector registers, if it was preempted;
 * - the records of its wait, and the value that it is woken with;
 * - the argument of a goroutine that hasn't begun.
 *
 * Each range begins at a multiple of 8, and so do pointers in it. Go's `scanstack`, in
 * `mgcmark.go`, does more.
 *
 * The caller itself scans the rest: globals, values in a channel's buffer, the arguments of
 * timers, C code on the scheduler's stack, and threads that aren't the runtime's.
 * `docs/guide/collectors.md` has a list.
 *
 * # Safety
 * The goroutine is suspended, or its state has `GOSCHED_GSCAN` for another reason. In a
 * stopped world it may also be parked, in a queue, or dead. `fn` is called on the caller's
 * stack. A sender may write to the stack of a goroutine that waits for a value.
 */
extern void gosched_scan_stack(struct gosched_g *g,
                               void (*fn)(uintptr_t lo, uintptr_t hi, void *arg),
                               void *arg);

/**
 * Halves the copying stack of `g` if `g` uses less than a quarter of it. Does nothing if `g`
 * uses more, if the stack is fixed, or if it can't be moved now. (`gosched_shrink_stack` does
 * the same for the caller's stack.) Go's `shrinkstack`, in `stack.go`.
 *
 * # Safety
 * `g` isn't running and can't begin to: its state has `GOSCHED_GSCAN`, as that of a suspended
 * one has.
 */
extern void gosched_shrinkstack(struct gosched_g *g);

/**
 * Registers hooks, once, before the runtime starts. `hooks` is copied. `acquirep`,
 * `find_runnable_gc_worker` and `gdestroy`, which need a P, switch detaching off: see
 * `gosched_set_detach`.
 *
 * Returns 0, or an errno value:
 * - `EBUSY`: hooks were registered before, or the runtime has started.
 *
 * # Safety
 * No thread starts the runtime meanwhile. The hooks do as `struct gosched_hooks` says.
 */
extern int gosched_set_hooks(const struct gosched_hooks *hooks);

/**
 * If the word at `place` is an address of the old stack, makes it that of the same thing in
 * the new one. Go's `adjustpointer`, in `stack.go`.
 *
 * # Safety
 * In the hook `copystack`, which was passed `info`. `place` is aligned, and nobody else uses
 * it meanwhile. It is in neither stack: the new one is adjusted by the runtime.
 */
extern void gosched_adjust_pointer(const struct gosched_adjust_info *info, void **place);

/**
 * Registers the map of the frames of the functions whose code is at `lo` to `hi`. When its
 * stack moves, a frame that has a map is adjusted precisely: only the words that the map
 * names, if they are addresses of the stack, and the caller's frame pointer are changed. Go's
 * `getStackMap`, in `stkframe.go`, reads tables that its linker has written.
 *
 * Frames are found by their frame pointers. If a function below a frame keeps no frame
 * pointer, the frame is adjusted as if it had no map. While a map is registered, a parked
 * goroutine's stack is made smaller only if the function that parked it has a map.
 *
 * Returns 0, or an errno value:
 * - `EINVAL`: there is nothing between `lo` and `hi`;
 * - `EEXIST`: some of the code has a map already.
 *
 * It can be called anywhere but where the runtime calls a map. `*map` stays as it is until
 * `gosched_unregister_frame_map`, and names every word of a frame that may hold an address of
 * the stack. Each function of the code begins with `push %rbp; mov %rsp, %rbp`, on aarch64
 * with `stp x29, x30, [sp, #-16]!; mov x29, sp`, and calls nothing before.
 */
extern int gosched_register_frame_map(uintptr_t lo,
                                      uintptr_t hi,
                                      const struct gosched_frame_map *map);

/**
 * Removes the map that was registered for `lo` to `hi`. Returns 0, or `ENOENT` if there is
 * none.
 *
 * # Safety
 * As `gosched_register_frame_map`. No goroutine is in the code.
 */
extern int gosched_unregister_frame_map(uintptr_t lo, uintptr_t hi);

/**
 * Registers the code at `lo` to `hi` as preemptible: a goroutine that is asked to stop while
 * it runs this code stops there, between any two instructions. It is for code that the program
 * generates; compiled functions are put into the section `gosched_preemptible` instead. Go's
 * `isAsyncSafePoint`, in `preempt.go`, reads its compiler's tables.
 *
 * Returns 0, or an errno value:
 * - `EINVAL`: there is nothing between `lo` and `hi`;
 * - `EEXIST`: some of the code is preemptible already.
 *
 * # Safety
 * It can be called anywhere but in a signal handler. Between any two instructions of the code
 * the goroutine may park and continue on another thread. So the code holds nothing that
 * belongs to a thread: no lock of pthreads, no address of a thread-local variable, no signal
 * mask. It uses no more below its stack pointer than the ABI allows: 128 bytes on x86-64,
 * nothing on aarch64. `docs/guide/preemption.md` lists all the rules for such code.
 */
extern int gosched_register_preemptible(uintptr_t lo, uintptr_t hi);

/**
 * Undoes `gosched_register_preemptible`. Returns 0, or `ENOENT` if `lo` to `hi` wasn't
 * registered with it.
 *
 * # Safety
 * It can be called anywhere but in a signal handler. No goroutine is in the code.
 */
extern int gosched_unregister_preemptible(uintptr_t lo, uintptr_t hi);

/**
 * Registers a tracer, once, before the runtime starts or while it runs: `fn` gets each event,
 * on the thread where it happens, at that moment. In the latter case it gets events of
 * goroutines whose beginning it hasn't seen, and some that happen meanwhile may be left out.
 * What Go's `trace2runtime.go` writes.
 *
 * Returns 0, or `EBUSY` if a tracer was registered before.
 *
 * # Safety
 * It can be called anywhere. `fn` is called on the scheduler's stack, or on a thread that
 * isn't the runtime's; on several threads at once; the events of one goroutine come one after
 * the other. It doesn't park or unwind, and calls nothing of this file but `gosched_getg`,
 * `gosched_readgstatus` and what reads one field (`gosched_p_id`): the scheduler may hold
 * locks. It may allocate, and block its thread for a moment. `event` is good until it returns.
 */
extern int gosched_set_tracer(void (*fn)(const struct gosched_event *event));

/**
 * Writes the scheduler's state to stderr: a line as with `GODEBUG=schedtrace=N`, and if
 * `detailed` also one for each P, M and goroutine, as with `scheddetail=1`. Does nothing
 * before the runtime has started. Go's `schedtrace`, in `proc.go`.
 *
 * # Safety
 * It can be called anywhere.
 */
extern void gosched_schedtrace(bool detailed);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* GOSCHED_H */
