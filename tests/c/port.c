/*
 * Calls every function that a port uses for goroutines, locks and system calls. The tests run on
 * the main goroutine of each kind and on copying stacks at many depths. Some also run on a thread
 * that isn't the runtime's. .ci/c builds and runs this program.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "gosched.h"

/* A group of goroutines, built on the runtime's lock. The waiter parks, and the last goroutine of
   the group wakes it. */
static struct {
    struct gosched_mutex lock;
    int left;
    struct gosched_g *waiter;
} group;

static void group_begin(int n)
{
    gosched_lock(&group.lock);
    group.left = n;
    gosched_unlock(&group.lock);
}

static void group_done(void)
{
    struct gosched_g *waiter = NULL;
    gosched_lock(&group.lock);
    if (--group.left == 0) {
        waiter = group.waiter;
        group.waiter = NULL;
    }
    gosched_unlock(&group.lock);
    if (waiter)
        gosched_ready(waiter);
}

static void group_wait(void)
{
    gosched_lock(&group.lock);
    if (group.left == 0) {
        gosched_unlock(&group.lock);
        return;
    }
    group.waiter = gosched_getg();
    gosched_parkunlock(&group.lock, GOSCHED_WAIT_REASON_SEMACQUIRE);
    CHECK(group.left == 0);
}

/* A lock excludes other goroutines, and its owner isn't stopped while it holds the lock. */
static struct gosched_mutex count_lock;
static long count;

static void counts(void *unused)
{
    (void)unused;
    for (int i = 0; i < 1000; i++) {
        gosched_lock(&count_lock);
        long before = count;
        for (volatile int spin = 0; spin < 20; spin++)
            ;
        count = before + 1;
        gosched_unlock(&count_lock);
        if (i % 100 == 0)
            gosched_goyield();
    }
    group_done();
}

static void test_locks(void)
{
    count = 0;
    group_begin(8);
    for (int i = 0; i < 8; i++)
        gosched_newproc(counts, NULL);
    group_wait();
    CHECK(count == 8000);
}

/* The words in each goroutine that belong to the port. */
static void has_words(void *arg)
{
    struct gosched_g *g = gosched_getg();
    uint64_t *slot = gosched_slot(g);
    CHECK((uintptr_t)slot % 16 == 0);
    CHECK(*gosched_defer(g) == NULL && *gosched_panic(g) == NULL);
    memset(slot, 0, GOSCHED_SLOT_SIZE);
    slot[0] = (uintptr_t)arg;
    slot[GOSCHED_SLOT_SIZE / 8 - 1] = gosched_goid(g);
    intptr_t here = (intptr_t)arg;
    *gosched_defer(g) = &here;
    *gosched_panic(g) = arg;
    gosched_yield();
    /* The stack moves, and with it what the word points to. */
    gosched_ensure_stack(64 << 10);
    CHECK(g == gosched_getg() && slot == gosched_slot(g));
    CHECK(*gosched_defer(g) == &here && here == (intptr_t)arg);
    CHECK(*gosched_panic(g) == arg);
    CHECK(slot[0] == (uintptr_t)arg && slot[GOSCHED_SLOT_SIZE / 8 - 1] == gosched_goid(g));
    group_done();
}

static void test_words(void)
{
    group_begin(100);
    for (intptr_t i = 1; i <= 100; i++)
        gosched_newproc(has_words, (void *)i);
    group_wait();
    CHECK(gosched_goid(gosched_getg()) != 0);
}

/* After gosched_ensure_stack, code without checks may use the stack that was requested. */
__attribute__((no_split_stack, noinline)) static int without_checks(void)
{
    volatile char bytes[14 << 10];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)i;
    return bytes[1000] == (char)1000;
}

static void needs_stack(void *unused)
{
    (void)unused;
    gosched_ensure_stack(16 << 10);
    CHECK(without_checks());
    group_done();
}

static void test_ensure_stack(void)
{
    group_begin(20);
    for (int i = 0; i < 20; i++)
        gosched_newproc(needs_stack, NULL);
    group_wait();
    gosched_ensure_stack(1000);
}

/* Coroutines: a generator. */
static intptr_t generated;

static void generate(struct gosched_coro *coro, void *n)
{
    for (intptr_t i = 0; i < (intptr_t)n; i++) {
        generated = i;
        gosched_coroswitch(coro);
    }
    generated = -1;
}

static void test_coroutines(void)
{
    static struct gosched_coro coro;
    for (int round = 0; round < 3; round++) {
        gosched_newcoro(&coro, generate, (void *)10);
        for (intptr_t i = 0; i < 10; i++) {
            gosched_coroswitch(&coro);
            CHECK(generated == i);
        }
        gosched_coroswitch(&coro);
        CHECK(generated == -1);
    }
}

/* mcall and gogo: a goroutine leaves its stack for g0, which goes on with it at once. */
static struct gosched_g *left;

static void resume(struct gosched_g *g)
{
    left = g;
    gosched_gogo(g);
}

static void test_mcall(void)
{
    left = NULL;
    gosched_mcall(resume);
    CHECK(left == gosched_getg());
}

/* Parked goroutines, which one call makes ready. */
static struct gosched_g *parked[16];
static int nparked;

static void parks(void *unused)
{
    (void)unused;
    gosched_lock(&count_lock);
    parked[nparked++] = gosched_getg();
    gosched_parkunlock(&count_lock, GOSCHED_WAIT_REASON_NONE);
    group_done();
}

static void test_injectglist(void)
{
    nparked = 0;
    group_begin(16);
    for (int i = 0; i < 16; i++)
        gosched_newproc(parks, NULL);
    for (int n = 0; n < 16;) {
        gosched_yield();
        gosched_lock(&count_lock);
        n = nparked;
        gosched_unlock(&count_lock);
    }
    CHECK(gosched_gcount() >= 17);
    gosched_injectglist(parked, 0);
    gosched_injectglist(parked, 16);
    group_wait();
}

/* Functions that keep a goroutine on its P or on its thread. */
static void test_pins(void)
{
    int n = gosched_set_gomaxprocs(0);
    int p = gosched_proc_pin();
    CHECK(p >= 0 && p < n);
    CHECK(gosched_proc_pin() == p);
    gosched_yield_guarded();
    gosched_proc_unpin();
    gosched_proc_unpin();
    struct gosched_m *m = gosched_acquirem();
    CHECK(m != NULL);
    CHECK(gosched_acquirem() == m);
    gosched_yield_guarded();
    gosched_releasem(m);
    gosched_releasem(m);
    gosched_yield_guarded();
    gosched_yield_if_busy();
    (void)gosched_poll_work();
}

static void is_locked(void *unused)
{
    (void)unused;
    CHECK(!gosched_locked_os_thread());
    gosched_unlock_os_thread();
    gosched_lock_os_thread();
    pthread_t thread = pthread_self();
    gosched_lock_os_thread();
    gosched_unlock_os_thread();
    for (int i = 0; i < 100; i++) {
        CHECK(gosched_locked_os_thread());
        gosched_yield();
        CHECK(pthread_equal(thread, pthread_self()));
    }
    gosched_unlock_os_thread();
    CHECK(!gosched_locked_os_thread());
    group_done();
}

static void test_os_thread(void)
{
    group_begin(3);
    for (int i = 0; i < 3; i++)
        gosched_newproc(is_locked, NULL);
    group_wait();
}

/* System calls: while this goroutine reads, another one writes, even with one P. */
static int fds[2];

static void writes(void *unused)
{
    (void)unused;
    char byte = 7;
    gosched_ensure_stack(16 << 10);
    gosched_entersyscall();
    ssize_t n = write(fds[1], &byte, 1);
    gosched_exitsyscall();
    CHECK(n == 1);
    group_done();
}

static int reads(void *byte)
{
    return (int)read(fds[0], byte, 1);
}

static void test_syscalls(void)
{
    CHECK(pipe(fds) == 0);
    char byte = 0;
    group_begin(1);
    gosched_newproc(writes, NULL);
    gosched_entersyscallblock();
    int n = gosched_asmcgocall(reads, &byte);
    gosched_exitsyscall();
    CHECK(n == 1 && byte == 7);
    group_wait();
    close(fds[0]);
    close(fds[1]);
}

static void test_counts(void)
{
    CHECK(gosched_mcount() >= 1);
    int max = gosched_set_max_threads(5000);
    CHECK(gosched_set_max_threads(max) == 5000);
    gosched_free_os_memory();
}

/* The goroutine of the next test, which is made as if by a call at another address. */
static void ends(void *unused)
{
    (void)unused;
    group_done();
}

static void test_newproc_at(void)
{
    group_begin(1);
    gosched_newproc_at(ends, NULL, (uintptr_t)test_newproc_at + 1);
    group_wait();
}

/* The first two words of a channel are its length and its capacity. */
static void test_channels_words(void)
{
    struct gosched_chan *chan;
    char byte = 0;
    CHECK(gosched_chan_make(1, 5, &chan) == 0);
    CHECK(gosched_chan_send(chan, &byte) == GOSCHED_RESULT_DONE);
    CHECK(gosched_chan_send(chan, &byte) == GOSCHED_RESULT_DONE);
    CHECK(((size_t *)chan)[0] == 2 && ((size_t *)chan)[1] == 5);
    gosched_chan_free(chan);
}

/* A handler finds the goroutine that it has interrupted. On the signal stack it makes no check. */
static struct gosched_g *interrupted;

__attribute__((no_split_stack)) static void note_interrupted(int sig)
{
    (void)sig;
    interrupted = gosched_getg();
}

static void raise_signal(void *me)
{
    CHECK(gosched_curg() == me && gosched_getg() != me && gosched_goid(gosched_getg()) == 0);
    raise(SIGUSR1);
}

static void test_signals(void)
{
    struct sigaction action = {.sa_handler = note_interrupted, .sa_flags = SA_ONSTACK};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    gosched_ensure_stack(16 << 10);
    raise(SIGUSR1);
    CHECK(interrupted == gosched_getg());
    CHECK(gosched_curg() == gosched_getg());
    gosched_systemstack(raise_signal, gosched_getg());
    CHECK(interrupted != gosched_getg() && gosched_goid(interrupted) == 0);
}

static void all(void)
{
    test_channels_words();
    test_signals();
    test_locks();
    test_words();
    test_ensure_stack();
    test_coroutines();
    test_mcall();
    test_injectglist();
    test_pins();
    test_os_thread();
    test_syscalls();
    test_counts();
    test_newproc_at();
}

/* Runs the tests with less and less of the stack left. */
static void at_depth(int depth)
{
    volatile char frame[96];
    frame[0] = (char)depth;
    if (depth > 0)
        at_depth(depth - 1);
    else
        all();
    CHECK(frame[0] == (char)depth);
}

static void deep(void *depth)
{
    at_depth((int)(intptr_t)depth);
}

static void *main_goroutine(void *arg)
{
    for (intptr_t depth = 0; depth < 24; depth++)
        deep((void *)depth);
    return arg;
}

/* Runs on a thread that isn't the runtime's. Uses locks, and the functions by which a thread learns
   that it isn't the runtime's. */
static void *foreign(void *unused)
{
    CHECK(gosched_acquirem() == NULL && gosched_curg() == NULL);
    gosched_releasem(NULL);
    gosched_lock(&count_lock);
    count++;
    gosched_unlock(&count_lock);
    gosched_ensure_stack(1 << 20);
    gosched_free_os_memory();
    return unused;
}

int main(void)
{
    void *result = NULL;
    CHECK(gosched_run_copying(NULL, NULL, NULL) != 0);
    CHECK(gosched_run_copying(main_goroutine, &result, &result) == 0 && result == &result);
    CHECK(gosched_run(main_goroutine, &count, &result) == 0 && result == &count);
    pthread_t thread;
    count = 0;
    CHECK(pthread_create(&thread, NULL, foreign, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && count == 1);
    return 0;
}
