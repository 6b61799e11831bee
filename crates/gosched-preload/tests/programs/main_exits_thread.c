/* main ends by pthread_exit, after its cleanup handler. The process lives until its last thread has
   ended, and ends with status 0 and its exit handlers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int pipe_[2];

static void at_exit(void) { puts("at exit"); }

static void cleanup(void *text) {
    puts(text);
    write(pipe_[1], "x", 1);
}

static void *last(void *arg) {
    char byte;
    read(pipe_[0], &byte, 1);
    puts("last thread");
    return arg;
}

int main(void) {
    pthread_t thread;
    setvbuf(stdout, NULL, _IOLBF, 0);
    atexit(at_exit);
    pipe(pipe_);
    pthread_create(&thread, NULL, last, NULL);
    pthread_cleanup_push(cleanup, "cleanup of main");
    pthread_exit(NULL);
    pthread_cleanup_pop(0);
    return 1;
}
