/*
 * Calls every function of gosched.h that waits or wakes, and asserts what a program relies on: on the main
 * goroutine, on copying stacks, in timers, in a signal handler, and on a thread that isn't the runtime's. .ci/c
 * builds and runs it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "gosched.h"

#define MS 1000000
#define FOREVER ((int64_t)60 * 1000 * MS)

enum { WORKERS = 8, ROUNDS = 200 };

/* What a timer has done: how often it fired, and with which number last. */
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

/* As long as a heap has a timer, its memory must stay: so there is one for each test. */
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
    /* It may be set again. */
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
    /* On a machine that has much to do, it may have fired. */
    uint32_t late = !gosched_stop_timer(&t);
    CHECK(!gosched_stop_timer(&t));
    gosched_sleep(10 * MS);
    CHECK(atomic_load(&fired.times) == before + late);
    /* What was stopped isn't active, and what is set earlier fires earlier. */
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
    gosched_sleep(10 * MS); /* a call that had begun has ended */
    uint32_t times = atomic_load(&fired.times);
    CHECK(times >= before + 5);
    gosched_sleep(3 * MS);
    CHECK(atomic_load(&fired.times) == times);
    while (atomic_load((_Atomic uint32_t *)&fired.sema) > 0)
        gosched_semacquire(&fired.sema);
}

/* A lock: 0, or 1 if it is held; 2 if somebody may wait. */
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

/* Waits for workers, of which there may be one who waits. */
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

/* Who waits, in the order of being served. */
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

/* With `lifo`, the second who comes is served first; and with `handoff`, before the release returns. */
static void hand_over(void)
{
    static int one;
    waiting = order = 0;
    served[0] = served[1] = -1;
    atomic_store(&workers.count, 2);
    /* With one processor, who has said that it will wait does so before another runs. */
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

/* A condition: Go's sync.Cond, and what is waited for. */
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
    CHECK(atomic_load(&drawn) == WORKERS); /* nobody else was woken */
    add_tokens(WORKERS - 1);
    gosched_notify_list_notify_all(&cond);
    gosched_semacquire(&workers.sema);
    CHECK(atomic_load(&taken) == WORKERS && tokens == 0);
    gosched_notify_list_notify_one(&cond);
    /* A number that was notified before its wait doesn't wait. */
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
    CHECK(gosched_notetsleepg(&note, 0)); /* it stays woken */
    gosched_blocking(join_thread, NULL);
    gosched_noteclear(&note);
    CHECK(!gosched_notetsleepg(&note, 0));
}

/* It runs on the signal's stack, whose limit a check wouldn't know, while a goroutine is on its own. */
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
    /* To this thread, right now: raise needs more stack than there may be. */
    CHECK(syscall(SYS_tgkill, getpid(), (int)syscall(SYS_gettid), SIGUSR2) == 0);
    CHECK(gosched_notetsleepg(&note, FOREVER));
}

struct ends {
    int in, out;
};

static void make_pipe(void *ends)
{
    int fds[2];
    CHECK(pipe2(fds, O_NONBLOCK | O_CLOEXEC) == 0);
    *(struct ends *)ends = (struct ends){fds[0], fds[1]};
}

static ssize_t read_some(int fd, char *to, size_t size, int *error)
{
    ssize_t n = read(fd, to, size);
    *error = n < 0 ? errno : 0;
    return n;
}

static void write_later(void *fd)
{
    gosched_sleep(2 * MS);
    CHECK(write((int)(intptr_t)fd, "x", 1) == 1);
    wait_group_done(&workers);
}

static void unblock_later(void *pd)
{
    gosched_sleep(2 * MS);
    gosched_poll_unblock(pd);
    wait_group_done(&workers);
}

static void polls(void)
{
    struct ends ends;
    struct gosched_poll_desc *in, *out, *again = (struct gosched_poll_desc *)&ends;
    char byte = 0;
    int error;
    gosched_systemstack(make_pipe, &ends);
    CHECK(gosched_poll_server_init() == 0);
    CHECK(gosched_poll_open(ends.in, &in) == 0 && gosched_poll_open(ends.out, &out) == 0);
    CHECK(gosched_poll_open(ends.in, &again) == EEXIST && again == NULL);
    CHECK(gosched_poll_open(-1, &again) == EBADF && gosched_poll_open(ends.in, NULL) == EINVAL);
    CHECK(!gosched_is_poll_descriptor(ends.in) && !gosched_is_poll_descriptor(-1));

    /* A deadline that passes while one waits, and one that has passed. */
    int64_t begin = gosched_nanotime();
    CHECK(gosched_poll_reset(in, 'r') == GOSCHED_POLL_RESULT_OK);
    CHECK(read_some(ends.in, &byte, 1, &error) < 0 && error == EAGAIN);
    gosched_poll_set_deadline(in, 2 * MS, 'r');
    CHECK(gosched_poll_wait(in, 'r') == GOSCHED_POLL_RESULT_TIMEOUT);
    CHECK(gosched_nanotime() - begin >= 2 * MS);
    CHECK(gosched_poll_reset(in, 'r') == GOSCHED_POLL_RESULT_TIMEOUT);
    CHECK(gosched_poll_wait(in, 'r') == GOSCHED_POLL_RESULT_TIMEOUT);
    CHECK(gosched_poll_reset(in, 'w') == GOSCHED_POLL_RESULT_OK);
    gosched_poll_set_deadline(in, -1, 'r' + 'w');
    CHECK(gosched_poll_reset(in, 'w') == GOSCHED_POLL_RESULT_TIMEOUT);

    /* Without one, until there is something to read. */
    gosched_poll_set_deadline(in, 0, 'r' + 'w');
    CHECK(gosched_poll_reset(in, 'r') == GOSCHED_POLL_RESULT_OK);
    start(write_later, (void *)(intptr_t)ends.out, 1);
    while (read_some(ends.in, &byte, 1, &error) < 0) {
        CHECK(error == EAGAIN && gosched_poll_wait(in, 'r') == GOSCHED_POLL_RESULT_OK);
        CHECK(gosched_poll_reset(in, 'r') == GOSCHED_POLL_RESULT_OK);
    }
    CHECK(byte == 'x');
    gosched_semacquire(&workers.sema);

    /* The pipe has room, and has had since it was opened. */
    gosched_poll_set_deadline(out, FOREVER, 'w');
    CHECK(gosched_poll_wait(out, 'w') == GOSCHED_POLL_RESULT_OK);

    start(unblock_later, in, 1);
    CHECK(gosched_poll_wait(in, 'r') == GOSCHED_POLL_RESULT_CLOSING);
    CHECK(gosched_poll_reset(in, 'r') == GOSCHED_POLL_RESULT_CLOSING);
    gosched_semacquire(&workers.sema);
    gosched_poll_unblock(out);
    gosched_poll_close(in);
    gosched_poll_close(out);
    close(ends.in);
    close(ends.out);
}

/* The receiver, for all tests: it says what has come. */
static _Atomic uint32_t received;
static uint32_t has_received;

static void receive_signals(void *unused)
{
    (void)unused;
    for (;;) {
        atomic_store(&received, gosched_signal_recv());
        gosched_semrelease(&has_received);
    }
}

static void send_to_all(void *sig)
{
    CHECK(kill(getpid(), *(int *)sig) == 0);
}

struct action {
    int sig;
    bool is_ignore, is_default;
};

static void look_at_action(void *action)
{
    struct action *is = action;
    struct sigaction now;
    CHECK(sigaction(is->sig, NULL, &now) == 0);
    is->is_ignore = now.sa_handler == SIG_IGN;
    is->is_default = now.sa_handler == SIG_DFL;
}

static void signals(void)
{
    int sig = SIGUSR1;
    struct action usr1 = {.sig = SIGUSR1}, winch = {.sig = SIGWINCH};
    CHECK(gosched_signal_enable(0) == EINVAL && gosched_signal_enable(SIGKILL) == EINVAL);
    CHECK(gosched_signal_enable(SIGSEGV) == EINVAL && gosched_signal_disable(65) == EINVAL);
    CHECK(gosched_signal_ignore(-1) == EINVAL && !gosched_signal_ignored(-1));
    CHECK(gosched_signal_enable(SIGUSR1) == 0);
    atomic_store(&received, 0);
    gosched_systemstack(send_to_all, &sig);
    gosched_semacquire(&has_received);
    CHECK(atomic_load(&received) == SIGUSR1);
    gosched_systemstack(look_at_action, &usr1);
    CHECK(!usr1.is_ignore && !usr1.is_default);
    CHECK(gosched_signal_disable(SIGUSR1) == 0);
    gosched_systemstack(look_at_action, &usr1);
    CHECK(usr1.is_default);

    /* By default it does nothing, should it come when it is no longer ignored. */
    atomic_store(&received, 0);
    CHECK(gosched_signal_ignore(SIGWINCH) == 0 && gosched_signal_ignored(SIGWINCH));
    gosched_systemstack(look_at_action, &winch);
    CHECK(winch.is_ignore);
    sig = SIGWINCH;
    gosched_systemstack(send_to_all, &sig);
    CHECK(gosched_signal_disable(SIGWINCH) == 0 && !gosched_signal_ignored(SIGWINCH));
    gosched_systemstack(look_at_action, &winch);
    CHECK(winch.is_default);
    gosched_signal_wait_until_idle();
    CHECK(atomic_load(&received) == 0);
}

static void metrics(void)
{
    struct gosched_metrics now;
    memset(&now, 0xff, sizeof now);
    CHECK(gosched_metrics(NULL) == EINVAL && gosched_metrics(&now) == 0);
    CHECK(now.gomaxprocs == (uint64_t)gosched_set_gomaxprocs(0));
    CHECK(now.goroutines >= 2 && now.goroutines < 10); /* this one, the receiver of signals, those that just end */
    CHECK(now.idle_seconds >= 0 && now.idle_seconds < 1e6);
    CHECK(now.mutex_wait_seconds >= 0 && now.detached_seconds >= 0 && now.detached <= now.goroutines);
    CHECK(now.stack_home_bytes >= 4096 && now.stack_segment_bytes < (uint64_t)1 << 40);
    CHECK(now.stacks_unguarded < 1000 && now.preemptions < (uint64_t)1 << 40);
    CHECK(now.detachments_blocked < 1000000 && now.detachments_computing < 1000000);
    CHECK(now.stack_growths > 0);
}

/* The labels, one after the other. */
static char all_labels[64];

static void add_label(const char *key, const char *value, void *all)
{
    snprintf((char *)all + strlen(all), sizeof all_labels - strlen(all), "%s=%s ", key, value);
}

static bool labels_are(const char *wanted)
{
    memset(all_labels, 0, sizeof all_labels);
    gosched_labels(add_label, all_labels);
    return strcmp(all_labels, wanted) == 0;
}

static void look_at_inherited(void *unused)
{
    (void)unused;
    CHECK(labels_are("step=read user=ann "));
    CHECK(gosched_set_label("step", NULL) == 0 && labels_are("user=ann "));
    wait_group_done(&workers);
}

static void set_on_the_schedulers_stack(void *result)
{
    *(int *)result = gosched_set_label("key", "value");
}

static void labels(void)
{
    int result = 0;
    char key[] = "user";
    CHECK(labels_are(""));
    CHECK(gosched_set_label(key, "bob") == 0 && gosched_set_label("user", "ann") == 0);
    key[0] = '?';
    CHECK(gosched_set_label("step", "read") == 0 && labels_are("step=read user=ann "));
    start(look_at_inherited, NULL, 1);
    gosched_semacquire(&workers.sema);
    CHECK(labels_are("step=read user=ann "));
    CHECK(gosched_set_label(NULL, "value") == EINVAL && gosched_set_label("\xff", "value") == EINVAL);
    gosched_systemstack(set_on_the_schedulers_stack, &result);
    CHECK(result == EPERM);
    CHECK(gosched_set_label("user", NULL) == 0 && gosched_set_label("step", NULL) == 0);
    CHECK(gosched_set_label("there is", NULL) == 0 && labels_are(""));
}

/* What a thread may do that isn't the runtime's, and has to wait for. */
static uint32_t asked, answered;

static void answer(void *unused)
{
    (void)unused;
    gosched_semacquire(&asked);
    gosched_semrelease(&answered);
}

static void write_to(void *out)
{
    gosched_sleep(2 * MS);
    CHECK(write(((struct ends *)out)->out, "x", 1) == 1);
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
    struct ends ends;
    struct gosched_poll_desc *pd;
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
    make_pipe(&ends);
    CHECK(gosched_poll_open(ends.in, &pd) == 0);
    gosched_poll_set_deadline(pd, MS, 'r');
    CHECK(gosched_poll_wait(pd, 'r') == GOSCHED_POLL_RESULT_TIMEOUT);
    gosched_poll_set_deadline(pd, 0, 'r');
    CHECK(gosched_newproc_fixed(write_to, &ends, 0) == 0);
    CHECK(gosched_poll_wait(pd, 'r') == GOSCHED_POLL_RESULT_OK);
    gosched_poll_unblock(pd);
    gosched_poll_close(pd);
    struct gosched_metrics now;
    CHECK(gosched_metrics(&now) == 0 && now.goroutines > 0);
    CHECK(gosched_set_label("key", "value") == EPERM && labels_are(""));
    CHECK(gosched_getg() == NULL);
    return unused;
}

/* Threads and goroutines that count at the same time. */
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
    one_shot, stopped, periodic, mutexes, hand_over, conditions, notes, notes_in_a_handler, polls, signals, labels,
};

enum { TESTS = sizeof tests / sizeof *tests };

/* What the helper that tests on a copying stack is to do. */
static int test, depth;
static uint32_t tested;

static void descend(int more)
{
    volatile char frame[16] = {0};
    if (more > 0)
        descend(more - 1);
    else
        tests[test]();
    frame[0]++;
}

static void test_at_depth(void *unused)
{
    (void)unused;
    descend(depth);
    gosched_semrelease(&tested);
}

static void *all_tests(void *arg)
{
    gosched_newproc(receive_signals, NULL);
    for (test = 0; test < TESTS; test++)
        tests[test]();
    for (depth = 0; depth < 80; depth += 7) {
        for (test = 0; test < TESTS; test++) {
            gosched_newproc(test_at_depth, NULL);
            gosched_semacquire(&tested);
        }
    }
    metrics();
    threads_and_goroutines();
    CHECK(pthread_create(&thread, NULL, foreign, arg) == 0);
    gosched_blocking(join_thread, NULL);
    return arg;
}

int main(void)
{
    struct gosched_metrics before;
    uint32_t sema = 0;
    CHECK(gosched_signal_enable(SIGUSR1) == EPERM && gosched_metrics(&before) == 0 && before.goroutines == 0);
    gosched_semrelease(&sema);
    gosched_semacquire(&sema); /* it needn't wait */
    CHECK(sema == 0 && gosched_nanotime() > 0);
    CHECK(gosched_run(all_tests, NULL, NULL) == 0);
    puts("all is as it should be");
    return EXIT_SUCCESS;
}
