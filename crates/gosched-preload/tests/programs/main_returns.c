/* main returns while threads wait and compute: the process ends, with main's status. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int stop, begun;

static void at_exit(void) { puts("at exit"); }

static void *waits(void *arg) {
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    pause();
    return arg;
}

static void *computes(void *arg) {
    __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);
    while (!stop)
        ;
    return arg;
}

int main(void) {
    pthread_t thread;
    atexit(at_exit);
    for (int i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, waits, NULL);
        pthread_create(&thread, NULL, computes, NULL);
    }
    while (begun < 4)
        usleep(100);
    return 42;
}
