/* A process forks before it makes threads, as a daemon does, and the child makes threads. A child
   of that, made by a thread, makes threads, too. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER;
static int waiting;

static void *waits(void *arg) {
    pthread_mutex_lock(&lock);
    waiting++;
    pthread_cond_broadcast(&all);
    while (waiting < 50)
        pthread_cond_wait(&all, &lock);
    pthread_mutex_unlock(&lock);
    return arg;
}

static int with_threads(void) {
    pthread_t threads[50];
    waiting = 0;
    for (int i = 0; i < 50; i++)
        if (pthread_create(&threads[i], NULL, waits, NULL))
            return 1;
    for (int i = 0; i < 50; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int in_child(int (*f)(void)) {
    int status;
    pid_t child = fork();
    if (child == 0)
        exit(f() + 10);
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *forks(void *arg) {
    *(int *)arg = in_child(with_threads);
    return arg;
}

static int daemon_(void) {
    pthread_t thread;
    int first = with_threads(), status;
    pthread_create(&thread, NULL, forks, &status);
    pthread_join(thread, NULL);
    return first ? 1 : status;
}

int main(void) {
    printf("%d\n", in_child(daemon_));
    return 0;
}
