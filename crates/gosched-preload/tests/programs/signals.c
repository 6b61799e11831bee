/* A thread waits for signals that all threads block; the process gets one, and a thread another. A
   handler without a signal stack of its own posts a semaphore. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static sem_t posted;
static pthread_t target;
static volatile int is_target;

static void handle(int sig) {
    is_target = pthread_equal(pthread_self(), target);
    sem_post(&posted);
}

static void *waits_for_signals(void *set) {
    int sig;
    for (int i = 0; i < 2; i++) {
        sigwait(set, &sig);
        printf("%s\n", sig == SIGTERM ? "SIGTERM" : sig == SIGQUIT ? "SIGQUIT" : "another");
        sem_post(&posted);
    }
    return NULL;
}

static void *gets_signal(void *arg) {
    while (sem_wait(&posted) != 0)
        ;
    return arg;
}

int main(void) {
    sigset_t set;
    pthread_t waiter, other;
    struct sigaction action = {.sa_handler = handle};
    sem_init(&posted, 0, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    sigaction(SIGUSR1, &action, NULL);
    pthread_create(&waiter, NULL, waits_for_signals, &set);
    kill(getpid(), SIGTERM);
    sem_wait(&posted);
    kill(getpid(), SIGQUIT);
    sem_wait(&posted);
    pthread_join(waiter, NULL);
    pthread_create(&other, NULL, gets_signal, NULL);
    target = other;
    pthread_kill(other, SIGUSR1);
    pthread_join(other, NULL);
    printf("handled\n");
    return 0;
}
