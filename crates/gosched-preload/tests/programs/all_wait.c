/* All threads of a process wait for each other until another process ends it, or for ever if there
   is an argument. */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *waits(void *arg) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    for (;;)
        pthread_cond_wait(&cond, &mutex);
    return arg;
}

/* Whether several threads of the process are left, and all of them sleep. */
static int all_sleep(pid_t pid) {
    char path[64], text[512];
    int threads = 0, sleeping = 0;
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *tasks = opendir(path);
    for (struct dirent *task; tasks && (task = readdir(tasks)) != NULL;) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/stat", pid, task->d_name);
        FILE *stat = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (!stat)
            continue;
        threads++;
        if (fgets(text, sizeof text, stat) && strrchr(text, ')'))
            sleeping += strrchr(text, ')')[2] == 'S';
        fclose(stat);
    }
    if (tasks)
        closedir(tasks);
    return threads > 1 && sleeping == threads;
}

int main(int argc, char **argv) {
    pid_t child = fork();
    if (child == 0) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], NULL, waits, NULL);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], NULL);
        return 1;
    }
    int status = 0;
    for (int asleep = 0; argc == 1 && asleep < 100 && waitpid(child, &status, WNOHANG) == 0; usleep(1000))
        asleep = all_sleep(child) ? asleep + 1 : 0;
    if (argc == 1)
        kill(child, SIGTERM);
    waitpid(child, &status, 0);
    printf("%s\n", WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? "was ended" : "has ended itself");
    return 0;
}
