/*
 * Timers, semaphores, conditions and notes, and the guarantees that a program relies on. The tests
 * run on the main goroutine, on copying stacks, in timers, in a signal handler, and on a thread
 * that isn't the runtime's. .ci/c builds and runs this program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "depths.h"
#include "gosched.h"

#define MS 1000000
#define FOREVER ((int64_t)60 * 1000 * MS)

enum { WORKERS = 8, ROUNDS = 200 };

/* How often a timer has fired, and its last sequence number. */
struct fired {
    _Atomic uint32_t times;
    _Atomic size_t seq;
    uint32_t sema;
};

static void fire(void *arg, size_t seq)
{
    struct fired *fired = arg;
    atomic_store(&fired->seq, seq);
    atomic_fetch_add(&fired->times, 1);
    gosched_semrelease(&fired->sema);
}

/* A timer's memory must stay as long as the timer is in a heap. So each test has a static one. */
static void one_shot(void)
{
    static struct gosched_timer t;
    static struct fired fired;
    memset(&t, 0, sizeof t);
    int64_t begin = gosched_nanotime();
    t.when = begin + 2 * MS;
    t.f = fire;
    t.arg = &fired;
    t.seq = 7;
    uint32_t before = atomic_load(&fired.times);
    gosched_start_timer(&t);
    gosched_semacquire(&fired.sema);
    CHECK(gosched_nanotime() - begin >= 2 * MS);
    CHECK(atomic_load(&fired.times) == before + 1 && atomic_load(&fired.seq) == 7);
    CHECK(!gosched_timer_in_heap(&t));
    CHECK(!gosched_stop_timer(&t));
    /* The timer may be set again. */
    CHECK(!gosched_reset_timer(&t, gosched_nanotime() + 1));
    gosched_semacquire(&fired.sema);
    CHECK(atomic_load(&fired.times) == before + 2);
}

static void stopped(void)
{
    static struct gosched_timer t;
    static struct fired fired;
    uint32_t before = atomic_load(&fired.times);
    CHECK(!gosched_mod_timer(&t, gosched_nanotime() + FOREVER, 0, fire, &fired, 1));
    CHECK(gosched_timer_in_heap(&t));
    CHECK(gosched_reset_timer(&t, gosched_nanotime() + 3 * MS));
    /* On a busy machine, the timer may have fired. */
    uint32_t late = !gosched_stop_timer(&t);
    CHECK(!gosched_stop_timer(&t));
    gosched_sleep(10 * MS);
    CHECK(atomic_load(&fired.times) == before + late);
    /* A stopped timer isn't active, and one that is set to an earlier time fires earlier. */
    CHECK(!gosched_mod_timer(&t, gosched_nanotime() + FOREVER, 0, fire, &fired, 2));
    CHECK(gosched_mod_timer(&t, gosched_nanotime() + 1, 0, fire, &fired, 3));
    for (uint32_t i = 0; i <= late; i++)
        gosched_semacquire(&fired.sema);
    CHECK(atomic_load(&fired.times) == before + late + 1 && atomic_load(&fired.seq) == 3);
}

static void periodic(void)
{
    static struct gosched_timer t;
    static struct fired fired;
    uint32_t before = atomic_load(&fired.times);
    int64_t begin = gosched_nanotime();
    gosched_mod_timer(&t, begin + MS, MS, fire, &fired, 9);
    for (int i = 0; i < 5; i++)
        gosched_semacquire(&fired.sema);
    CHECK(gosched_nanotime() - begin >= 5 * MS);
    CHECK(gosched_stop_timer(&t));
    gosched_sleep(10 * MS); /* if the timer was firing, it has ended by now */
    uint32_t times = atomic_load(&fired.times);
    CHECK(times >= before + 5);
    gosched_sleep(3 * MS);
    CHECK(atomic_load(&fired.times) == times);
    while (atomic_load((_Atomic uint32_t *)&fired.sema) > 0)
        gosched_semacquire(&fired.sema);
}

/* A lock. The state is 0 if it is free, 1 if it is held, and 2 if others may wait for it. */
struct mutex {
    _Atomic uint32_t state, waiters;
    uint32_t sema;
};

static void mutex_lock(struct mutex *m)
{
    for (uint32_t i = 0; gosched_can_spin(i); i++) {
        if (atomic_exchange(&m->state, 1) == 0)
            return;
        gosched_do_spin();
    }
    atomic_fetch_add(&m->waiters, 1);
    while (atomic_exchange(&m->state, 1) != 0)
        gosched_semacquire1(&m->sema, false, GOSCHED_WAIT_REASON_MUTEX_LOCK);
    atomic_fetch_sub(&m->waiters, 1);
}

static void mutex_unlock(struct mutex *m)
{
    atomic_store(&m->state, 0);
    if (atomic_load(&m->waiters) > 0)
        gosched_semrelease1(&m->sema, false);
}

/* A group of workers. At most one goroutine waits for them. */
struct wait_group {
    _Atomic int32_t count;
    uint32_t sema;
};

static void wait_group_done(struct wait_group *wg)
{
    if (atomic_fetch_sub(&wg->count, 1) == 1)
        gosched_semrelease(&wg->sema);
}

static struct mutex mutex;
static struct wait_group workers;
static intptr_t counted;

static void count_up(void *rounds)
{
    for (intptr_t i = 0; i < (intptr_t)rounds; i++) {
        mutex_lock(&mutex);
        intptr_t seen = counted;
        if (i % 16 == 0 && gosched_getg() != NULL)
            gosched_yield();
        counted = seen + 1;
        mutex_unlock(&mutex);
    }
    wait_group_done(&workers);
}

static void *count_up_on_a_thread(void *rounds)
{
    count_up(rounds);
    return NULL;
}

static void start(void (*worker)(void *), void *arg, int32_t n)
{
    atomic_store(&workers.count, n);
    for (int32_t i = 0; i < n; i++)
        gosched_newproc(worker, arg);
}

static void mutexes(void)
{
    counted = 0;
    start(count_up, (void *)ROUNDS, WORKERS);
    gosched_semacquire(&workers.sema);
    CHECK(counted == WORKERS * ROUNDS);
    CHECK(mutex.state == 0 && mutex.waiters == 0);
}

/* A semaphore, its number of waiters, and the order in which they were served. */
static uint32_t turn;
static _Atomic int waiting, served[2];
static _Atomic int order;

static void take_turn(void *first)
{
    atomic_fetch_add(&waiting, 1);
    gosched_semacquire1(&turn, first != NULL, GOSCHED_WAIT_REASON_SEMACQUIRE);
    served[first != NULL] = atomic_fetch_add(&order, 1);
    wait_group_done(&workers);
}

/* With `lifo`, the second waiter is served first; with `handoff`, before the release returns. */
static void hand_over(void)
{
    static int one;
    waiting = order = 0;
    served[0] = served[1] = -1;
    atomic_store(&workers.count, 2);
    /* With one P, a goroutine that has counted itself in `waiting` waits before others run. */
    int before = gosched_set_gomaxprocs(1);
    gosched_newproc(take_turn, NULL);
    while (atomic_load(&waiting) < 1)
        gosched_yield();
    gosched_sleep(MS);
    gosched_newproc(take_turn, &one);
    while (atomic_load(&waiting) < 2)
        gosched_yield();
    gosched_sleep(MS);
    gosched_semrelease1(&turn, true);
    CHECK(atomic_load(&order) == 1);
    gosched_semrelease1(&turn, true);
    CHECK(gosched_set_gomaxprocs(before) == 1);
    gosched_semacquire(&workers.sema);
    CHECK(served[1] == 0 && served[0] == 1);
}

/* A condition like Go's sync.Cond, and the state that goroutines wait for. */
static struct gosched_notify_list cond;
static int tokens;
static _Atomic int taken, drawn;

static void take_a_token(void *unused)
{
    (void)unused;
    mutex_lock(&mutex);
    while (tokens == 0) {
        uint32_t t = gosched_notify_list_add(&cond);
        atomic_fetch_add(&drawn, 1);
        mutex_unlock(&mutex);
        gosched_notify_list_wait(&cond, t);
        mutex_lock(&mutex);
    }
    tokens--;
    mutex_unlock(&mutex);
    atomic_fetch_add(&taken, 1);
    wait_group_done(&workers);
}

static void add_tokens(int n)
{
    mutex_lock(&mutex);
    tokens += n;
    mutex_unlock(&mutex);
}

static void conditions(void)
{
    taken = drawn = 0;
    start(take_a_token, NULL, WORKERS);
    while (atomic_load(&drawn) < WORKERS)
        gosched_yield();
    add_tokens(1);
    gosched_notify_list_notify_one(&cond);
    while (atomic_load(&taken) < 1)
        gosched_yield();
    gosched_sleep(MS);
    CHECK(atomic_load(&drawn) == WORKERS); /* no other worker was woken */
    add_tokens(WORKERS - 1);
    gosched_notify_list_notify_all(&cond);
    gosched_semacquire(&workers.sema);
    CHECK(atomic_load(&taken) == WORKERS && tokens == 0);
    gosched_notify_list_notify_one(&cond);
    /* A wait whose number was notified before returns at once. */
    uint32_t t = gosched_notify_list_add(&cond);
    gosched_notify_list_notify_one(&cond);
    gosched_notify_list_wait(&cond, t);
}

static struct gosched_note note;

static void *wake_the_note(void *unused)
{
    usleep(1000);
    gosched_notewakeup(&note);
    return unused;
}

static pthread_t thread;

static void start_thread(void *main)
{
    CHECK(pthread_create(&thread, NULL, *(void *(**)(void *))main, NULL) == 0);
}

static void join_thread(void *unused)
{
    (void)unused;
    CHECK(pthread_join(thread, NULL) == 0);
}

static void notes(void)
{
    static void *(*const wake)(void *) = wake_the_note;
    gosched_noteclear(&note);
    CHECK(!gosched_notetsleepg(&note, MS));
    gosched_systemstack(start_thread, (void *)&wake);
    CHECK(gosched_notetsleepg(&note, -1));
    CHECK(gosched_notetsleepg(&note, 0)); /* the note stays woken */
    gosched_blocking(join_thread, NULL);
    gosched_noteclear(&note);
    CHECK(!gosched_notetsleepg(&note, 0));
}

/* Runs on the signal stack, and makes no check: it would use the goroutine's limit. */
__attribute__((no_split_stack)) static void wake_in_a_handler(int sig)
{
    (void)sig;
    gosched_notewakeup(&note);
}

static void install(void *unused)
{
    (void)unused;
    struct sigaction action = {.sa_handler = wake_in_a_handler, .sa_flags = SA_ONSTACK};
    CHECK(sigaction(SIGUSR2, &action, NULL) == 0);
}

static void notes_in_a_handler(void)
{
    gosched_systemstack(install, NULL);
    gosched_noteclear(&note);
    /* Sends the signal to this thread. raise would need more stack than there may be. */
    CHECK(syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGUSR2) == 0);
    CHECK(gosched_notetsleepg(&note, FOREVER));
}

/* The semaphores by which a thread that isn't the runtime's asks a goroutine for an answer. */
static uint32_t asked, answered;

static void answer(void *unused)
{
    (void)unused;
    gosched_semacquire(&asked);
    gosched_semrelease(&answered);
}

static void notify_when_drawn(void *before)
{
    while (atomic_load(&drawn) == (int)(intptr_t)before)
        gosched_yield();
    add_tokens(1);
    gosched_notify_list_notify_all(&cond);
}

static void *foreign(void *unused)
{
    static struct gosched_timer t;
    static struct fired fired;
    CHECK(gosched_getg() == NULL && !gosched_can_spin(0));
    gosched_newproc(answer, NULL);
    gosched_semrelease(&asked);
    gosched_semacquire(&answered);
    gosched_mod_timer(&t, gosched_nanotime() + MS, 0, fire, &fired, 5);
    gosched_semacquire1(&fired.sema, true, GOSCHED_WAIT_REASON_SEMACQUIRE);
    CHECK(atomic_load(&fired.seq) == 5 && !gosched_stop_timer(&t));
    count_up((void *)0);
    gosched_newproc(notify_when_drawn, (void *)(intptr_t)atomic_load(&drawn));
    atomic_store(&workers.count, 1);
    take_a_token(NULL);
    gosched_semacquire(&workers.sema);
    CHECK(gosched_getg() == NULL);
    return unused;
}

/* Threads and goroutines count at the same time, under one lock. */
static void threads_and_goroutines(void)
{
    pthread_t threads[2];
    counted = 0;
    atomic_store(&workers.count, WORKERS + 2);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, count_up_on_a_thread, (void *)ROUNDS) == 0);
    for (int i = 0; i < WORKERS; i++)
        gosched_newproc(count_up, (void *)ROUNDS);
    gosched_semacquire(&workers.sema);
    CHECK(counted == (WORKERS + 2) * ROUNDS);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

static void (*const tests[])(void) = {
    one_shot, stopped, periodic, mutexes, hand_over, conditions, notes, notes_in_a_handler,
};

static void *all_tests(void *arg)
{
    run_everywhere(tests, sizeof tests / sizeof *tests);
    threads_and_goroutines();
    CHECK(pthread_create(&thread, NULL, foreign, arg) == 0);
    gosched_blocking(join_thread, NULL);
    return arg;
}

int main(void)
{
    uint32_t sema = 0;
    gosched_semrelease(&sema);
    gosched_semacquire(&sema); /* the semaphore is 1, so this doesn't wait */
    CHECK(sema == 0 && gosched_nanotime() > 0);
    CHECK(gosched_run(all_tests, NULL, NULL) == 0);
    return EXIT_SUCCESS;
}
