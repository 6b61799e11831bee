/* Threads start programs by system, popen, posix_spawn and exec while others wait and compute. */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile int stop;

static void *computes(void *arg) {
    while (!stop)
        ;
    return arg;
}

static void *starts(void *arg) {
    int status;
    pid_t child;
    char line[16] = "";
    char *arguments[] = {"sh", "-c", "exit 6", NULL};
    if (WEXITSTATUS(system("exit 5")) != 5)
        return "system";
    FILE *output = popen("echo text", "r");
    fgets(line, sizeof line, output);
    if (pclose(output) != 0 || line[0] != 't')
        return "popen";
    if (posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ) != 0)
        return "posix_spawn";
    waitpid(child, &status, 0);
    if (WEXITSTATUS(status) != 6)
        return "status";
    return NULL;
}

static void *execs(void *arg) {
    execl("/bin/sh", "sh", "-c", "echo executed; exit 9", NULL);
    return arg;
}

int main(void) {
    pthread_t other, threads[10];
    pthread_create(&other, NULL, computes, NULL);
    for (int i = 0; i < 10; i++)
        pthread_create(&threads[i], NULL, starts, NULL);
    for (int i = 0; i < 10; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        if (failed)
            puts(failed);
    }
    puts("all started");
    fflush(stdout);
    pthread_create(&other, NULL, execs, NULL);
    pthread_join(other, NULL);
    return 1;
}
