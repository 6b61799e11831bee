/* A thread ends the process by _exit, without exit handlers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void at_exit(void) { puts("at exit"); }

static void *exits(void *arg) {
    _exit(44);
    return arg;
}

int main(void) {
    pthread_t thread;
    atexit(at_exit);
    pthread_create(&thread, NULL, exits, NULL);
    pthread_join(thread, NULL);
    return 1;
}
