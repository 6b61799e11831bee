// Calls functions of which the C library has an older version, too. The older ones take other
// arguments, or make other objects of what they get.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    cpu_set_t processors;
    int error = pthread_getaffinity_np(pthread_self(), sizeof(processors), &processors);
    printf("error %d\n", error);

    static const pthread_cond_t new = PTHREAD_COND_INITIALIZER;
    pthread_cond_t used = PTHREAD_COND_INITIALIZER;
    error = pthread_cond_broadcast(&used);
    printf("error %d, changed %d\n", error, memcmp(&used, &new, sizeof(new)) != 0);
    return 0;
}
