// A program that was linked with the first C library for x86-64, in 2002: functions of conditions
// have an older version there, for another object.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef __x86_64__
__asm__(".symver pthread_cond_init, pthread_cond_init@GLIBC_2.2.5");
__asm__(".symver pthread_cond_destroy, pthread_cond_destroy@GLIBC_2.2.5");
__asm__(".symver pthread_cond_wait, pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver pthread_cond_broadcast, pthread_cond_broadcast@GLIBC_2.2.5");
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond;
static int turn;

static void *take_turns(void *other) {
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < 100; i++) {
        while (turn == (other != NULL))
            pthread_cond_wait(&cond, &mutex);
        turn = !turn;
        pthread_cond_broadcast(&cond);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

int main(void) {
    // As memory that was used before.
    memset(&cond, 0xff, sizeof(cond));
    int error = pthread_cond_init(&cond, NULL);
    pthread_t other;
    pthread_create(&other, NULL, take_turns, "");
    take_turns(NULL);
    pthread_join(other, NULL);
    printf("errors %d, %d\n", error, pthread_cond_destroy(&cond));
    return 0;
}
