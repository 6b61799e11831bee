/* A library's constructor makes the program's first thread, and waits for it, while the dynamic
   linker holds its lock. Each thread has the library's thread-locals. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static int (*value_of_thread)(void);

static void *asks(void *arg) {
    *(int *)arg = value_of_thread();
    return NULL;
}

int main(int argc, char **argv) {
    char path[4096];
    int values[20], sum = 0;
    pthread_t threads[20];
    snprintf(path, sizeof path, "%s_dso.so", argv[0]);
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    value_of_thread = (int (*)(void))dlsym(library, "value_of_thread");
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 20; i++)
            pthread_create(&threads[i], NULL, asks, &values[i]);
        for (int i = 0; i < 20; i++) {
            pthread_join(threads[i], NULL);
            sum += values[i];
        }
    }
    printf("%d\n", sum);
    return 0;
}
