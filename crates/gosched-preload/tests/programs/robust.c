// A robust mutex tells its next owner that the last one has ended: a thread of this process, and
// one of another process, which was killed.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t *make(int kind, int protocol) {
    pthread_mutex_t *mutex =
        mmap(NULL, sizeof(*mutex), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, kind);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(mutex, &attributes);
    return mutex;
}

enum { MUTEXES = 3 };
static pthread_mutex_t *mutexes[MUTEXES];

// Ends with two of them.
static void *locks(void *arg) {
    for (int i = 0; i < MUTEXES; i++)
        printf("lock %d\n", pthread_mutex_lock(mutexes[i]));
    printf("unlock %d\n", pthread_mutex_unlock(mutexes[1]));
    fflush(stdout);
    if (arg)
        raise(SIGKILL);
    return NULL;
}

static void *repairs(void *arg) {
    for (int i = 0; i < MUTEXES; i++) {
        int error = pthread_mutex_lock(mutexes[i]);
        printf("%s", error == EOWNERDEAD ? "the owner is dead\n" : "");
        if (error == EOWNERDEAD)
            error = pthread_mutex_consistent(mutexes[i]);
        printf("error %d, unlock %d\n", error, pthread_mutex_unlock(mutexes[i]));
    }
    return NULL;
}

static void run(void *(*f)(void *), void *arg) {
    pthread_t thread;
    pthread_create(&thread, NULL, f, arg);
    pthread_join(thread, NULL);
}

int main(void) {
    mutexes[0] = make(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE);
    mutexes[1] = make(PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE);
    mutexes[2] = make(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_INHERIT);
    // The process forks before it has threads.
    pid_t child = fork();
    if (child == 0)
        run(locks, "");
    int status;
    waitpid(child, &status, 0);
    printf("signal %d\n", WTERMSIG(status));
    run(repairs, NULL);
    run(locks, NULL);
    run(repairs, NULL);
    return 0;
}
