// A thread is looked for, and joined, while it waits for a mutex that the kernel knows.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t mutex;
static atomic_int has_begun;

static void *locks(void *arg) {
    has_begun = 1;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    return arg;
}

int main(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&mutex, &attributes);
    pthread_mutex_lock(&mutex);
    pthread_t thread;
    pthread_create(&thread, NULL, locks, "the end");
    // The word is 2 when the thread is about to sleep.
    while (!has_begun || *(volatile int *)&mutex != 2)
        usleep(100);
    printf("is there %d\n", pthread_kill(thread, 0) == 0);
    printf("still there %d\n", pthread_tryjoin_np(thread, NULL) == EBUSY);
    char name[16] = "";
    printf("name %d\n", pthread_setname_np(thread, "waits"));
    printf("name %d %s\n", pthread_getname_np(thread, name, sizeof(name)), name);
    // The join begins while the thread waits, as a rule.
    pthread_mutex_unlock(&mutex);
    void *result = "";
    printf("join %d", pthread_join(thread, &result));
    printf(" %s\n", (char *)result);
    return 0;
}
