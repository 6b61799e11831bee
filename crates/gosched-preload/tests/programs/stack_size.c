/* Prints the size of the stack of a thread whose maker says nothing. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>

static void *says_size(void *arg) {
    pthread_attr_t attributes;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &size);
    printf("%zu\n", size);
    return arg;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, says_size, NULL);
    pthread_join(thread, NULL);
    return 0;
}
