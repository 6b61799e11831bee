// Programs of C's locks, which locks/programs.rs runs on goroutines. Each returns 0, or the number
// of the line that found an error.

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <threads.h>
#include <time.h>

#define NEED(condition)      \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)

enum { THREADS = 8, ROUNDS = 500 };

// Calls f on as many threads, and returns the first error.
static int on_threads(void *(*f)(void *)) {
    pthread_t threads[THREADS];
    void *result, *error = NULL;
    for (int i = 0; i < THREADS; i++)
        NEED(pthread_create(&threads[i], NULL, f, (void *)(long)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        NEED(pthread_join(threads[i], &result) == 0);
        if (!error)
            error = result;
    }
    return (int)(long)error;
}

#define NEED_IN_THREAD(condition)            \
    do {                                     \
        if (!(condition))                    \
            return (void *)(long)__LINE__;   \
    } while (0)

static pthread_mutex_t mutexes[] = {
    PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
    PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP,
    PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP,
};
static int counts[4];

static void *counts_with_mutexes(void *arg) {
    for (int round = 0; round < ROUNDS; round++) {
        int i = (round + (int)(long)arg) % 4;
        NEED_IN_THREAD(pthread_mutex_lock(&mutexes[i]) == 0);
        int before = counts[i];
        if (round % 5 == 0)
            sched_yield();
        int again = pthread_mutex_trylock(&mutexes[i]);
        NEED_IN_THREAD(again == (i == 1 ? 0 : EBUSY));
        if (again == 0)
            NEED_IN_THREAD(pthread_mutex_unlock(&mutexes[i]) == 0);
        if (i == 2)
            NEED_IN_THREAD(pthread_mutex_lock(&mutexes[i]) == EDEADLK);
        counts[i] = before + 1;
        NEED_IN_THREAD(pthread_mutex_unlock(&mutexes[i]) == 0);
        if (i == 1 || i == 2)
            NEED_IN_THREAD(pthread_mutex_unlock(&mutexes[i]) == EPERM);
    }
    return NULL;
}

int static_mutexes(void) {
    int error = on_threads(counts_with_mutexes);
    NEED(counts[0] + counts[1] + counts[2] + counts[3] == THREADS * ROUNDS);
    return error;
}

static pthread_rwlock_t rwlocks[] = {
    PTHREAD_RWLOCK_INITIALIZER,
    PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP,
};
static int pairs[2][2];

static void *reads_and_writes(void *arg) {
    for (int round = 0; round < ROUNDS; round++) {
        int i = round % 2;
        if ((round + (int)(long)arg) % 3 == 0) {
            NEED_IN_THREAD(pthread_rwlock_wrlock(&rwlocks[i]) == 0);
            NEED_IN_THREAD(pthread_rwlock_rdlock(&rwlocks[i]) == EDEADLK);
            pairs[i][0]++;
            sched_yield();
            pairs[i][1]++;
        } else {
            NEED_IN_THREAD(pthread_rwlock_rdlock(&rwlocks[i]) == 0);
            NEED_IN_THREAD(pairs[i][0] == pairs[i][1]);
            if (round % 5 == 0)
                sched_yield();
            NEED_IN_THREAD(pairs[i][0] == pairs[i][1]);
        }
        NEED_IN_THREAD(pthread_rwlock_unlock(&rwlocks[i]) == 0);
    }
    return NULL;
}

int static_rwlocks(void) {
    return on_threads(reads_and_writes);
}

static pthread_barrier_t barrier;
static sem_t sem;
static mtx_t mtx;
static cnd_t cnd;
static once_flag flag = ONCE_FLAG_INIT;
static int made, come, last;

static void make(void) {
    sched_yield();
    made++;
}

static void *meets(void *arg) {
    (void)arg;
    for (int round = 1; round <= ROUNDS / 5; round++) {
        call_once(&flag, make);
        NEED_IN_THREAD(made == 1);
        NEED_IN_THREAD(mtx_lock(&mtx) == thrd_success);
        if (++come == round * THREADS)
            NEED_IN_THREAD(cnd_broadcast(&cnd) == thrd_success);
        while (come < round * THREADS)
            NEED_IN_THREAD(cnd_wait(&cnd, &mtx) == thrd_success);
        NEED_IN_THREAD(mtx_unlock(&mtx) == thrd_success);
        int error = pthread_barrier_wait(&barrier);
        NEED_IN_THREAD(error == 0 || error == PTHREAD_BARRIER_SERIAL_THREAD);
        if (error != 0)
            last++;
        NEED_IN_THREAD(sem_wait(&sem) == 0);
        sched_yield();
        NEED_IN_THREAD(sem_post(&sem) == 0);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int barriers_and_more(void) {
    NEED(pthread_barrier_init(&barrier, NULL, THREADS) == 0);
    NEED(sem_init(&sem, 0, 2) == 0);
    NEED(mtx_init(&mtx, mtx_plain) == thrd_success && cnd_init(&cnd) == thrd_success);
    int error = on_threads(meets);
    NEED(last == ROUNDS / 5);
    NEED(pthread_barrier_destroy(&barrier) == 0);
    NEED(sem_destroy(&sem) == 0);
    mtx_destroy(&mtx);
    cnd_destroy(&cnd);
    return error;
}

static pthread_mutex_t of_waits = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int waiting, told;

static void unlock(void *mutex) {
    pthread_mutex_unlock(mutex);
}

// Waits until it is told.
static void *waits_for_condition(void *arg) {
    (void)arg;
    pthread_mutex_lock(&of_waits);
    pthread_cleanup_push(unlock, &of_waits);
    waiting++;
    while (told == 0)
        pthread_cond_wait(&changed, &of_waits);
    told--;
    pthread_cleanup_pop(1);
    return NULL;
}

static void *waits_for_semaphore(void *arg) {
    sem_wait(arg);
    return NULL;
}

// A canceled wait has the mutex again, and takes no signal from another wait.
int canceled_waits(void) {
    pthread_t threads[2], thread;
    void *result;
    for (int i = 0; i < 2; i++)
        NEED(pthread_create(&threads[i], NULL, waits_for_condition, NULL) == 0);
    for (int all = 0; !all; sched_yield()) {
        NEED(pthread_mutex_lock(&of_waits) == 0);
        all = waiting == 2;
        NEED(pthread_mutex_unlock(&of_waits) == 0);
    }
    NEED(pthread_cancel(threads[0]) == 0);
    NEED(pthread_join(threads[0], &result) == 0 && result == PTHREAD_CANCELED);
    NEED(pthread_mutex_lock(&of_waits) == 0);
    told = 1;
    NEED(pthread_cond_signal(&changed) == 0);
    NEED(pthread_mutex_unlock(&of_waits) == 0);
    NEED(pthread_join(threads[1], &result) == 0 && result == NULL);

    sem_t tokens;
    int value;
    NEED(sem_init(&tokens, 0, 0) == 0);
    NEED(pthread_create(&thread, NULL, waits_for_semaphore, &tokens) == 0);
    sched_yield();
    NEED(pthread_cancel(thread) == 0);
    NEED(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    NEED(sem_post(&tokens) == 0 && sem_getvalue(&tokens, &value) == 0 && value == 1);
    NEED(sem_wait(&tokens) == 0);
    return 0;
}

static void *waits_undisturbed(void *arg) {
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    waits_for_condition(arg);
    pthread_setcancelstate(old, NULL);
    pthread_testcancel();
    return NULL;
}

int waits_that_arent_canceled(void) {
    pthread_t thread;
    void *result;
    waiting = 0;
    NEED(pthread_create(&thread, NULL, waits_undisturbed, NULL) == 0);
    for (int all = 0; !all; sched_yield()) {
        NEED(pthread_mutex_lock(&of_waits) == 0);
        all = waiting == 1;
        NEED(pthread_mutex_unlock(&of_waits) == 0);
    }
    NEED(pthread_cancel(thread) == 0);
    NEED(pthread_mutex_lock(&of_waits) == 0);
    told = 1;
    NEED(pthread_cond_broadcast(&changed) == 0);
    NEED(pthread_mutex_unlock(&of_waits) == 0);
    NEED(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    NEED(told == 0);
    return 0;
}
