/* CHECK(condition): ends the program with a message, unless the condition holds. */
#include <stdio.h>
#include <stdlib.h>

#include "gosched.h"

struct failure {
    const char *what, *file;
    int line;
};

static void fail(void *arg)
{
    const struct failure *failure = arg;
    fprintf(stderr, "%s:%d: not so: %s\n", failure->file, failure->line, failure->what);
    exit(EXIT_FAILURE);
}

/* The message is printed on the system stack, as printing needs more than a copying stack has. */
#define CHECK(condition)                                               \
    do {                                                               \
        if (!(condition)) {                                            \
            struct failure failure = {#condition, __FILE__, __LINE__}; \
            gosched_systemstack(fail, &failure);                       \
        }                                                              \
    } while (0)
