/* A thread forks. In the child its function returns, or it calls pthread_exit: the child's only
   thread ends, and so the child does, with status 0. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int status_of(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    return status;
}

static void *forks(void *by_exit) {
    pid_t child = fork();
    if (child != 0)
        printf("%#x\n", status_of(child));
    else if (by_exit)
        pthread_exit(NULL);
    return NULL;
}

int main(void) {
    pthread_t thread;
    for (long by_exit = 0; by_exit < 2; by_exit++) {
        fflush(stdout);
        pthread_create(&thread, NULL, forks, (void *)by_exit);
        pthread_join(thread, NULL);
    }
    return 0;
}
