// Programs of threads, which c_threads.rs runs on goroutines. Each returns 0, or the number of the
// line that found an error.

#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

static void *returns(void *arg) { return arg; }

static void *says_what_it_is(void *arg) {
    (void)arg;
    return POINTER(is_goroutine());
}

int a_result(void) {
    pthread_t thread;
    void *result;
    NEED(pthread_create(&thread, NULL, returns, POINTER(5)) == 0);
    NEED(pthread_join(thread, &result) == 0 && NUMBER(result) == 5);
    NEED(pthread_create(&thread, NULL, says_what_it_is, NULL) == 0);
    NEED(pthread_join(thread, &result) == 0 && result != NULL);
    NEED(pthread_create(&thread, NULL, returns, NULL) == 0);
    NEED(pthread_join(thread, NULL) == 0);
    return 0;
}

static void *is_itself(void *made) {
    pthread_t thread = pthread_self();
    return POINTER(pthread_equal(thread, *(pthread_t *)made));
}

int an_identity(void) {
    static pthread_t thread;
    void *same;
    NEED(pthread_create(&thread, NULL, is_itself, &thread) == 0);
    NEED(!pthread_equal(thread, pthread_self()));
    NEED(pthread_join(thread, &same) == 0 && same != NULL);
    return 0;
}

static int log_[16], logged;

static void note(void *number) { log_[logged++] = NUMBER(number); }
static void note_variable(int *number) { note(POINTER(*number)); }

static void exits_at_depth(int depth) {
    pthread_cleanup_push(note, POINTER(depth));
    if (depth == 0)
        pthread_exit(POINTER(42));
    exits_at_depth(depth - 1);
    pthread_cleanup_pop(0);
}

static void *exits(void *arg) {
    int variable __attribute__((cleanup(note_variable))) = 100;
    exits_at_depth(3);
    return arg;
}

static void *pops(void *arg) {
    pthread_cleanup_push(note, POINTER(1));
    pthread_cleanup_push(note, POINTER(2));
    pthread_cleanup_pop(1);
    pthread_cleanup_pop(0);
    return arg;
}

int an_exit(void) {
    pthread_t thread;
    void *result;
    logged = 0;
    NEED(pthread_create(&thread, NULL, exits, NULL) == 0);
    NEED(pthread_join(thread, &result) == 0 && NUMBER(result) == 42);
    NEED(logged >= 4);
    for (int i = 0; i < 4; i++)
        NEED(log_[i] == i);
    logged = 0;
    NEED(pthread_create(&thread, NULL, pops, POINTER(9)) == 0);
    NEED(pthread_join(thread, &result) == 0 && NUMBER(result) == 9);
    NEED(logged == 1 && log_[0] == 2);
    return 0;
}

static pthread_key_t key, second_key;

// Sets another value, whose destructor runs, too.
static void destroy(void *number) {
    note(number);
    if (NUMBER(number) == 1)
        pthread_setspecific(second_key, POINTER(2));
}

static void *has_values(void *exits) {
    pthread_setspecific(key, POINTER(1));
    if (exits)
        pthread_exit(exits);
    return NULL;
}

int values_of_keys(void) {
    pthread_t thread;
    NEED(pthread_key_create(&key, destroy) == 0 && pthread_key_create(&second_key, destroy) == 0);
    for (int exits = 0; exits < 2; exits++) {
        logged = 0;
        NEED(pthread_create(&thread, NULL, has_values, POINTER(exits)) == 0);
        NEED(pthread_join(thread, NULL) == 0);
        NEED(logged == 2 && log_[0] == 1 && log_[1] == 2);
    }
    return 0;
}

static int returns_int(void *arg) { return -NUMBER(arg); }

static int exits_with_int(void *arg) {
    thrd_exit(-NUMBER(arg) - 1);
}

static int detached(void *flag) {
    thrd_sleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    thrd_yield();
    atomic_store((atomic_int *)flag, is_goroutine() ? 1 : 2);
    return 0;
}

int threads_of_c11(void) {
    static atomic_int flag;
    thrd_t thread;
    int result;
    NEED(thrd_create(&thread, returns_int, POINTER(3)) == thrd_success);
    NEED(thrd_join(thread, &result) == thrd_success && result == -3);
    NEED(thrd_create(&thread, exits_with_int, POINTER(3)) == thrd_success);
    NEED(thrd_join(thread, &result) == thrd_success && result == -4);
    NEED(thrd_create(&thread, detached, &flag) == thrd_success);
    NEED(thrd_detach(thread) == thrd_success);
    while (atomic_load(&flag) == 0)
        thrd_yield();
    NEED(atomic_load(&flag) == 1);
    return 0;
}

int joins_with_a_limit(void) {
    static atomic_int flag;
    pthread_t thread;
    void *result;
    struct timespec now;
    NEED(pthread_create(&thread, NULL, waits, &flag) == 0);
    NEED(pthread_tryjoin_np(thread, &result) == EBUSY);
    clock_gettime(CLOCK_REALTIME, &now);
    NEED(pthread_timedjoin_np(thread, &result, &now) == ETIMEDOUT);
    clock_gettime(CLOCK_MONOTONIC, &now);
    now.tv_nsec += 1000;
    if (now.tv_nsec < 1000000000)
        NEED(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &now) == ETIMEDOUT);
    atomic_store(&flag, 1);
    now.tv_sec += 3600;
    NEED(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &now) == 0 && result == &flag);
    NEED(pthread_create(&thread, NULL, returns, POINTER(7)) == 0);
    int joined;
    while ((joined = pthread_tryjoin_np(thread, &result)) == EBUSY)
        sched_yield();
    NEED(joined == 0 && NUMBER(result) == 7);
    return 0;
}

static void *joins_itself(void *arg) {
    (void)arg;
    return POINTER(pthread_join(pthread_self(), NULL));
}

static void *joins(void *thread) { return POINTER(pthread_join(*(pthread_t *)thread, NULL)); }

int misuse(void) {
    static atomic_int flag;
    pthread_t thread, other, third;
    void *result;
    NEED(pthread_create(&thread, NULL, joins_itself, NULL) == 0);
    NEED(pthread_join(thread, &result) == 0 && NUMBER(result) == EDEADLK);
    NEED(pthread_create(&thread, NULL, waits, &flag) == 0);
    NEED(pthread_detach(thread) == 0);
    NEED(pthread_detach(thread) == EINVAL);
    NEED(pthread_join(thread, NULL) == EINVAL);
    // It has ended, and was joined.
    NEED(pthread_create(&other, NULL, returns, NULL) == 0);
    NEED(pthread_join(other, NULL) == 0);
    NEED(pthread_join(other, NULL) == ESRCH);
    NEED(pthread_detach(other) == ESRCH);
    // Of two that join a thread, one gets an error.
    static pthread_t joined;
    NEED(pthread_create(&joined, NULL, waits, &flag) == 0);
    NEED(pthread_create(&other, NULL, joins, &joined) == 0);
    NEED(pthread_create(&third, NULL, joins, &joined) == 0);
    int first;
    while ((first = pthread_tryjoin_np(other, &result)) == EBUSY && pthread_tryjoin_np(third, &result) == EBUSY)
        sched_yield();
    NEED(NUMBER(result) == EINVAL);
    atomic_store(&flag, 1);
    NEED(pthread_join(first == 0 ? third : other, &result) == 0 && NUMBER(result) == 0);
    return 0;
}

static void *has_stack(void *size) {
    pthread_attr_t attr;
    void *lo;
    size_t has, guard;
    OWN_NEED(pthread_getattr_np(pthread_self(), &attr) == 0);
    OWN_NEED(pthread_attr_getstack(&attr, &lo, &has) == 0);
    OWN_NEED(pthread_attr_getguardsize(&attr, &guard) == 0 && guard > 0);
    OWN_NEED((char *)&attr >= (char *)lo && (char *)&attr < (char *)lo + has);
    OWN_NEED(has >= (size_t)(intptr_t)size);
    pthread_attr_destroy(&attr);
    return NULL;
}

int attributes(void) {
    pthread_attr_t attr;
    pthread_t thread;
    void *line;
    int state;
    size_t usual;
    pthread_attr_init(&attr);
    pthread_attr_getstacksize(&attr, &usual);
    NEED(pthread_create(&thread, NULL, has_stack, POINTER(usual)) == 0);
    NEED(pthread_join(thread, &line) == 0 && NUMBER(line) == 0);
    NEED(pthread_attr_setstacksize(&attr, 16 << 20) == 0);
    NEED(pthread_create(&thread, &attr, has_stack, POINTER(16 << 20)) == 0);
    NEED(pthread_join(thread, &line) == 0 && NUMBER(line) == 0);
    static atomic_int flag;
    NEED(pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0);
    NEED(pthread_create(&thread, &attr, waits, &flag) == 0);
    NEED(pthread_join(thread, NULL) == EINVAL);
    pthread_attr_t its;
    NEED(pthread_getattr_np(thread, &its) == 0);
    NEED(pthread_attr_getdetachstate(&its, &state) == 0 && state == PTHREAD_CREATE_DETACHED);
    atomic_store(&flag, 1);
    return 0;
}

int attributes_of_a_thread_of_the_system(void) {
    static char stack[256 << 10] __attribute__((aligned(4096)));
    pthread_attr_t attr;
    pthread_t thread;
    void *is_one;
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    pthread_attr_init(&attr);
    NEED(pthread_attr_setaffinity_np(&attr, sizeof set, &set) == 0);
    NEED(pthread_create(&thread, &attr, says_what_it_is, NULL) == 0);
    NEED(pthread_join(thread, &is_one) == 0 && is_one == NULL);
    pthread_attr_init(&attr);
    NEED(pthread_attr_setstack(&attr, stack, sizeof stack) == 0);
    NEED(pthread_create(&thread, &attr, says_what_it_is, NULL) == 0);
    NEED(pthread_join(thread, &is_one) == 0 && is_one == NULL);
    pthread_attr_init(&attr);
    NEED(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED) == 0);
    NEED(pthread_attr_setschedpolicy(&attr, SCHED_FIFO) == 0);
    NEED(pthread_attr_setschedparam(&attr, &(struct sched_param){.sched_priority = 1}) == 0);
    int created = pthread_create(&thread, &attr, says_what_it_is, NULL);
    NEED(created == EPERM || created == 0);
    if (created == 0)
        NEED(pthread_join(thread, &is_one) == 0 && is_one == NULL);
    return 0;
}

static void *has_name(void *other) {
    char name[16];
    OWN_NEED(pthread_setname_np(pthread_self(), "0123456789abcde") == 0);
    OWN_NEED(pthread_getname_np(pthread_self(), name, sizeof name) == 0);
    OWN_NEED(strcmp(name, "0123456789abcde") == 0);
    OWN_NEED(pthread_setname_np(pthread_self(), "0123456789abcdef") == ERANGE);
    OWN_NEED(pthread_getname_np(pthread_self(), name, 15) == ERANGE);
    OWN_NEED(pthread_setname_np(*(pthread_t *)other, "named") == 0);
    return NULL;
}

int names(void) {
    static atomic_int flag;
    static pthread_t thread;
    pthread_t namer;
    void *line;
    char name[16], of_process[16];
    NEED(pthread_create(&thread, NULL, waits, &flag) == 0);
    NEED(pthread_getname_np(thread, name, sizeof name) == 0 && name[0] != 0);
    NEED(pthread_create(&namer, NULL, has_name, &thread) == 0);
    NEED(pthread_join(namer, &line) == 0 && NUMBER(line) == 0);
    NEED(pthread_getname_np(thread, of_process, sizeof of_process) == 0);
    NEED(strcmp(of_process, "named") == 0);
    atomic_store(&flag, 1);
    NEED(pthread_join(thread, NULL) == 0);
    return 0;
}

static void *has_processors(void *arg) {
    cpu_set_t set, now;
    int cpu = 0, policy;
    struct sched_param param;
    (void)arg;
    OWN_NEED(pthread_getaffinity_np(pthread_self(), sizeof now, &now) == 0);
    while (!CPU_ISSET(cpu, &now))
        cpu++;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    OWN_NEED(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0);
    pid_t tid = gettid();
    for (int i = 0; i < 100; i++) {
        usleep(1);
        OWN_NEED(gettid() == tid);
    }
    OWN_NEED(sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &set));
    // Others may change the policy of any thread for a while, as .ci/steady does.
    do {
        OWN_NEED(pthread_getschedparam(pthread_self(), &policy, &param) == 0);
    } while (policy != SCHED_OTHER);
    do {
        OWN_NEED(pthread_setschedparam(pthread_self(), SCHED_BATCH, &param) == 0);
        OWN_NEED(pthread_getschedparam(pthread_self(), &policy, &param) == 0);
    } while (policy != SCHED_BATCH);
    return NULL;
}

int scheduling(void) {
    static atomic_int flag;
    pthread_t thread;
    void *line;
    cpu_set_t before, now;
    int policy;
    struct sched_param param;
    clockid_t clock;
    NEED(sched_getaffinity(0, sizeof before, &before) == 0);
    NEED(pthread_create(&thread, NULL, has_processors, NULL) == 0);
    NEED(pthread_join(thread, &line) == 0 && NUMBER(line) == 0);
    // Its thread has ended with it, so no other goroutine has its processors.
    NEED(sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &before));
    NEED(pthread_create(&thread, NULL, waits, &flag) == 0);
    NEED(pthread_getschedparam(thread, &policy, &param) == 0 && policy == SCHED_OTHER);
    NEED(pthread_setschedparam(thread, SCHED_OTHER, &param) == 0);
    NEED(pthread_setschedparam(thread, SCHED_BATCH, &param) == ENOTSUP);
    NEED(pthread_setaffinity_np(thread, sizeof before, &before) == ENOTSUP);
    NEED(pthread_getcpuclockid(pthread_self(), &clock) == 0);
    NEED(clock_gettime(clock, &(struct timespec){0}) == 0);
    atomic_store(&flag, 1);
    NEED(pthread_join(thread, NULL) == 0);
    return 0;
}

static int pipe_[2];
static pthread_t long_lived;
static pid_t child;

static void sleeps(void) { usleep(1000000000); }
static void reads(void) { read(pipe_[0], &(char){0}, 1); }
static void polls(void) { poll(&(struct pollfd){.fd = pipe_[0], .events = POLLIN}, 1, -1); }
static void joins_long(void) { pthread_join(long_lived, NULL); }
static void waits_for_child(void) { waitpid(child, NULL, 0); }
static void tests(void) {
    for (;;) {
        pthread_testcancel();
        sched_yield();
    }
}

static void locks_again(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_mutex_lock(&mutex);
    pthread_mutex_lock(&mutex);
}

static void (*const canceled_in[])(void) = {sleeps, reads, polls, joins_long, waits_for_child, tests, locks_again};
static atomic_int begun;

static void *is_canceled(void *wait) {
    pthread_cleanup_push(note, POINTER(7));
    atomic_fetch_add(&begun, 1);
    (*(void (*const *)(void))wait)();
    pthread_cleanup_pop(0);
    return NULL;
}

int cancellation(void) {
    static atomic_int flag;
    pthread_t thread;
    void *result;
    NEED(pipe(pipe_) == 0);
    child = fork();
    if (child == 0)
        for (;;)
            pause();
    NEED(pthread_create(&long_lived, NULL, waits, &flag) == 0);
    for (unsigned i = 0; i < sizeof canceled_in / sizeof *canceled_in; i++) {
        // At once, as a rule before it waits, and later.
        for (int late = 0; late < 2; late++) {
            logged = 0;
            atomic_store(&begun, 0);
            NEED(pthread_create(&thread, NULL, is_canceled, (void *)&canceled_in[i]) == 0);
            while (atomic_load(&begun) == 0)
                sched_yield();
            if (late)
                usleep(1000);
            NEED(pthread_cancel(thread) == 0);
            NEED(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
            NEED(logged == 1 && log_[0] == 7);
        }
    }
    NEED(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    // A join that was canceled leaves the thread to others.
    atomic_store(&flag, 1);
    NEED(pthread_join(long_lived, NULL) == 0);
    // It has ended, and can still be canceled.
    NEED(pthread_create(&thread, NULL, returns, POINTER(5)) == 0);
    usleep(1000);
    NEED(pthread_cancel(thread) == 0);
    NEED(pthread_join(thread, &result) == 0);
    return 0;
}

static void *disables(void *flag) {
    int old;
    OWN_NEED(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old) == 0 && old == PTHREAD_CANCEL_ENABLE);
    OWN_NEED(pthread_setcancelstate(77, &old) == EINVAL);
    atomic_store(&begun, 1);
    waits(flag);
    pthread_testcancel();
    logged = 0;
    OWN_NEED(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old) == 0 && old == PTHREAD_CANCEL_DISABLE);
    note(POINTER(1));
    usleep(1000000000);
    note(POINTER(2));
    return NULL;
}

static void *cancels_itself(void *arg) {
    (void)arg;
    OWN_NEED(pthread_cancel(pthread_self()) == 0);
    note(POINTER(1));
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    note(POINTER(2));
    return NULL;
}

static void waits_at_its_end(void *number) {
    usleep(1);
    pthread_testcancel();
    note(number);
}

static void *exits_while_canceled(void *arg) {
    pthread_cleanup_push(waits_at_its_end, POINTER(3));
    pthread_cancel(pthread_self());
    pthread_exit(arg);
    pthread_cleanup_pop(0);
    return NULL;
}

int cancellation_is_held_back(void) {
    static atomic_int flag;
    pthread_t thread;
    void *result;
    atomic_store(&begun, 0);
    NEED(pthread_create(&thread, NULL, disables, &flag) == 0);
    while (atomic_load(&begun) == 0)
        usleep(1);
    NEED(pthread_cancel(thread) == 0);
    NEED(pthread_tryjoin_np(thread, &result) == EBUSY);
    atomic_store(&flag, 1);
    NEED(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    NEED(logged == 1 && log_[0] == 1);
    logged = 0;
    NEED(pthread_create(&thread, NULL, cancels_itself, NULL) == 0);
    NEED(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    NEED(logged == 1 && log_[0] == 1);
    logged = 0;
    NEED(pthread_create(&thread, NULL, exits_while_canceled, POINTER(5)) == 0);
    NEED(pthread_join(thread, &result) == 0 && NUMBER(result) == 5);
    NEED(logged == 1 && log_[0] == 3);
    return 0;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int made;

static void make(void) {
    usleep(100);
    atomic_fetch_add(&made, 1);
}

static void *makes(void *arg) {
    pthread_once(&once, make);
    return arg;
}

int what_is_made_once(void) {
    pthread_t threads[20];
    for (int i = 0; i < 20; i++)
        NEED(pthread_create(&threads[i], NULL, makes, NULL) == 0);
    for (int i = 0; i < 20; i++)
        NEED(pthread_join(threads[i], NULL) == 0);
    NEED(atomic_load(&made) == 1);
    return 0;
}
