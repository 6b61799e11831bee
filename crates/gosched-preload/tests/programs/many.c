/* A thousand threads at one condition, each with values of its own. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define N 1000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t go = PTHREAD_COND_INITIALIZER, ready = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static int waiting, going, destroyed;
static __thread long mine;

static void destroy(void *value) {
    (void)value;
    __atomic_add_fetch(&destroyed, 1, __ATOMIC_SEQ_CST);
}

static void *run(void *number) {
    mine = (long)number;
    pthread_setspecific(key, &mine);
    pthread_mutex_lock(&lock);
    waiting++;
    pthread_cond_signal(&ready);
    while (!going)
        pthread_cond_wait(&go, &lock);
    pthread_mutex_unlock(&lock);
    usleep(1000);
    return (void *)(*(long *)pthread_getspecific(key) + (mine == (long)number));
}

int main(void) {
    pthread_t threads[N];
    long sum = 0;
    pthread_key_create(&key, destroy);
    for (long i = 0; i < N; i++)
        if (pthread_create(&threads[i], NULL, run, (void *)i))
            return 1;
    pthread_mutex_lock(&lock);
    while (waiting < N)
        pthread_cond_wait(&ready, &lock);
    going = 1;
    pthread_cond_broadcast(&go);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < N; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    printf("%ld %d\n", sum, destroyed);
    return 0;
}
