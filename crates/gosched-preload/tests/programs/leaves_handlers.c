// Handlers that don't return: one ends its thread, and one jumps out. The kernel blocks the signal
// meanwhile, and not for later threads.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static __thread jmp_buf place;
static volatile int jumps;

static void ends_thread(int sig) { pthread_exit((void *)(long)sig); }

static void jumps_out(int sig) {
    (void)sig;
    longjmp(place, 1);
}

static void *signals_itself(void *arg) {
    pthread_kill(pthread_self(), SIGUSR1);
    return arg;
}

static void *jumps_and_unblocks(void *arg) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    for (volatile int i = 0; i < 5; i++) {
        if (setjmp(place) == 0)
            pthread_kill(pthread_self(), SIGUSR2);
        else
            jumps++;
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    }
    return arg;
}

int main(void) {
    pthread_t thread;
    int ended = 0;
    signal(SIGUSR1, ends_thread);
    signal(SIGUSR2, jumps_out);
    for (int i = 0; i < 20; i++) {
        void *result = NULL;
        pthread_create(&thread, NULL, signals_itself, NULL);
        pthread_join(thread, &result);
        ended += result == (void *)(long)SIGUSR1;
    }
    pthread_create(&thread, NULL, jumps_and_unblocks, NULL);
    pthread_join(thread, NULL);
    printf("ended %d, jumps %d\n", ended, jumps);
    return 0;
}
