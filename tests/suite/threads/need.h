// What the programs of threads have in common. Each returns 0, or the number of the line that found
// an error.

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#define NEED(condition)      \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)
// The same in a thread's function.
#define OWN_NEED(condition)                    \
    do {                                       \
        if (!(condition))                      \
            return (void *)(intptr_t)__LINE__; \
    } while (0)
#define NUMBER(pointer) ((int)(intptr_t)(pointer))
#define POINTER(number) ((void *)(intptr_t)(number))

// Whether the caller is on a goroutine: set by the test.
int (*is_goroutine)(void);

// Waits until the flag is set.
static void *waits(void *flag) {
    while (!atomic_load((atomic_int *)flag))
        usleep(100);
    return flag;
}
