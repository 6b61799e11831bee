/* A thread calls exit: the exit handlers run on that thread, and its status is the process's. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static __thread int mine;
static pthread_t exiting;

static void at_exit(void) { printf("at exit: %d %d\n", mine, pthread_equal(pthread_self(), exiting) != 0); }

static void *exits(void *arg) {
    mine = 7;
    exiting = pthread_self();
    exit(43);
    return arg;
}

int main(void) {
    pthread_t thread;
    atexit(at_exit);
    pthread_create(&thread, NULL, exits, NULL);
    pthread_join(thread, NULL);
    return 1;
}
