/* A thread that begins handles a signal for it. A thread that waits for a lock does so, too, and
   waits on. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static sem_t sem;
static pthread_t target;
static atomic_int begun, handled, by_target;

static void handle(int sig) {
    int error = errno;
    atomic_store(&by_target, pthread_equal(pthread_self(), target) != 0);
    atomic_fetch_add(&handled, 1);
    errno = error;
}

static void locks(void) { pthread_mutex_lock(&mutex); }
static void unlocks(void) { pthread_mutex_unlock(&mutex); }
static void reads(void) { pthread_rwlock_rdlock(&rwlock); }
static void writes(void) { pthread_rwlock_wrlock(&rwlock); }
static void leaves(void) { pthread_rwlock_unlock(&rwlock); }
static void enters(void) { pthread_barrier_wait(&barrier); }
static void waits(void) {
    while (sem_wait(&sem) != 0)
        ;
}
static void posts(void) { sem_post(&sem); }
static void nothing(void) {}

static const struct {
    const char *name;
    void (*before)(void), (*wait)(void), (*end)(void), (*after)(void);
} lock[] = {
    {"mutex", locks, locks, unlocks, unlocks},
    {"read lock", writes, reads, leaves, leaves},
    {"write lock", reads, writes, leaves, leaves},
    {"barrier", nothing, enters, enters, nothing},
    {"semaphore", nothing, waits, posts, nothing},
};

static void *waits_for(void *number) {
    target = pthread_self();
    atomic_store(&begun, 1);
    lock[*(int *)number].wait();
    lock[*(int *)number].after();
    return NULL;
}

static void *runs_until_handled(void *before) {
    while (atomic_load(&handled) == *(int *)before)
        ;
    return NULL;
}

int main(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    pthread_t thread;
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < 100; i++) {
        int before = atomic_load(&handled);
        pthread_create(&target, NULL, runs_until_handled, &before);
        pthread_kill(target, SIGUSR1);
        pthread_join(target, NULL);
        if (!atomic_load(&by_target))
            printf("signal %d: handled by another thread\n", i);
    }
    pthread_barrier_init(&barrier, NULL, 2);
    sem_init(&sem, 0, 0);
    for (int i = 0; i < 5; i++) {
        atomic_store(&begun, 0);
        lock[i].before();
        pthread_create(&thread, NULL, waits_for, &i);
        while (atomic_load(&begun) == 0)
            usleep(100);
        /* The first signals may come before the wait, and one may come as the thread is about to
           leave its thread of the system. */
        for (int right = 0; right < 20;) {
            int before = atomic_load(&handled);
            pthread_kill(thread, SIGUSR1);
            while (atomic_load(&handled) == before)
                usleep(100);
            right += atomic_load(&by_target);
        }
        lock[i].end();
        pthread_join(thread, NULL);
        printf("%s\n", lock[i].name);
    }
    return 0;
}
