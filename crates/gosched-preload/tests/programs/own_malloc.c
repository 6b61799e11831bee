// A program with a malloc of its own, which takes a mutex. Its first call is before main.
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define BLOCK 256
#define BLOCKS (1 << 18)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(16) char heap[BLOCKS][BLOCK];
static size_t used;
static void *last_freed;

static void *take(size_t blocks) {
    void *block;
    pthread_mutex_lock(&mutex);
    block = last_freed;
    if (blocks == 1 && block != NULL) {
        last_freed = *(void **)block;
    } else {
        block = used + blocks <= BLOCKS ? heap[used] : NULL;
        used += blocks;
    }
    pthread_mutex_unlock(&mutex);
    return block;
}

// The first 16 bytes have the size.
void *malloc(size_t size) {
    char *block = take((size + 16 + BLOCK - 1) / BLOCK);
    if (block == NULL)
        return NULL;
    *(size_t *)block = size;
    return block + 16;
}

void free(void *memory) {
    if (memory == NULL || ((size_t *)memory)[-2] > BLOCK - 16)
        return;
    void *block = (char *)memory - 16;
    pthread_mutex_lock(&mutex);
    *(void **)block = last_freed;
    last_freed = block;
    pthread_mutex_unlock(&mutex);
}

void *calloc(size_t n, size_t size) {
    void *memory = malloc(n * size);
    return memory == NULL ? NULL : memset(memory, 0, n * size);
}

void *realloc(void *memory, size_t size) {
    void *larger = malloc(size);
    if (memory == NULL || larger == NULL)
        return larger;
    size_t before = ((size_t *)memory)[-2];
    memcpy(larger, memory, before < size ? before : size);
    free(memory);
    return larger;
}

static void *allocates(void *number) {
    size_t wrong = 0;
    for (int i = 0; i < 1000; i++) {
        char *memory = malloc(100);
        memset(memory, *(char *)number, 100);
        wrong += memory[99] != *(char *)number;
        free(memory);
    }
    return (void *)wrong;
}

int main(void) {
    static char numbers[20];
    pthread_t threads[20];
    size_t wrong = 0;
    for (int i = 0; i < 20; i++) {
        numbers[i] = (char)i;
        pthread_create(&threads[i], NULL, allocates, &numbers[i]);
    }
    for (int i = 0; i < 20; i++) {
        void *result;
        pthread_join(threads[i], &result);
        wrong += (size_t)result;
    }
    printf("wrong %zu\n", wrong);
    return 0;
}
