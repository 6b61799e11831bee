/* The library of dlopen.c. */
#include <pthread.h>
#include <semaphore.h>

static sem_t begun;
/* As OpenMP's library has them. */
static __thread int value __attribute__((tls_model("initial-exec"))) = 3;
static __thread int dynamic __attribute__((tls_model("global-dynamic"))) = 40;

static void *begins(void *arg) {
    sem_post(&begun);
    return arg;
}

__attribute__((constructor)) static void make_thread(void) {
    pthread_t thread;
    sem_init(&begun, 0, 0);
    pthread_create(&thread, NULL, begins, NULL);
    sem_wait(&begun);
    pthread_join(thread, NULL);
}

/* Each thread asks once. */
int value_of_thread(void) { return value++ + dynamic++; }
