/* A thread inherits its maker's policy, also if the maker got it after it had made others. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static void *says_policy(void *arg) {
    struct sched_param param;
    int policy;
    pthread_getschedparam(pthread_self(), &policy, &param);
    printf("%s\n", policy == SCHED_BATCH ? "batch" : policy == SCHED_OTHER ? "usual" : "another");
    return arg;
}

static void *makes_thread(void *policy) {
    pthread_t thread;
    struct sched_param param = {0};
    pthread_setschedparam(pthread_self(), *(int *)policy, &param);
    pthread_create(&thread, NULL, says_policy, NULL);
    pthread_join(thread, NULL);
    return NULL;
}

int main(void) {
    int policies[] = {SCHED_OTHER, SCHED_BATCH};
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, makes_thread, &policies[i]);
        pthread_join(thread, NULL);
        makes_thread(&policies[i]);
    }
    return 0;
}
