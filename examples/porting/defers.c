/*
 * Step 2: data that a language keeps with a goroutine. Deferred calls are a list, whose head is a
 * word in the goroutine. Its records are in the heap, and each points to a frame on the stack. When
 * the stack moves, the port adjusts these pointers, because the scheduler doesn't know them. A
 * panic that nobody recovers ends the process in Go's words.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "gosched.h"

/* A deferred call. This record is in the heap, and its frame on the stack. */
struct defer {
    struct defer *next;
    void (*call)(intptr_t *frame);
    intptr_t *frame;
};

static void defer(void (*call)(intptr_t *), intptr_t *frame)
{
    struct defer **head = (struct defer **)gosched_defer(gosched_getg());
    struct defer *record;
    /* malloc needs more stack than a copying stack may have. */
    gosched_ensure_stack(16 << 10);
    record = malloc(sizeof *record);
    /* The stack may just have moved, and `frame` with it. From here until the record is in the
     * list, the stack mustn't move, so nothing is called. */
    *record = (struct defer){*head, call, frame};
    *head = record;
}

static void run_deferred(void)
{
    struct gosched_g *g = gosched_getg();
    struct defer *record;
    while ((record = *gosched_defer(g)) != NULL) {
        *gosched_defer(g) = record->next;
        record->call(record->frame);
        gosched_ensure_stack(16 << 10);
        free(record);
    }
}

/* The hook: adjusts the records in the heap, which point to where the stack was. */
static void moved(struct gosched_g *g, const struct gosched_adjust_info *info)
{
    for (struct defer *record = *gosched_defer(g); record; record = record->next)
        gosched_adjust_pointer(info, (void **)&record->frame);
}

static _Atomic(intptr_t) sum;
static struct gosched_chan *ended;

static void add(intptr_t *frame)
{
    sum += *frame;
}

static intptr_t deep(int depth)
{
    volatile intptr_t words[20] = {depth};
    return depth == 0 ? 0 : deep(depth - 1) + (words[0] == depth);
}

static void defers(void *value)
{
    intptr_t mine = 0;
    char byte = 1;
    defer(add, &mine);
    /* The stack grows, and moves. */
    if (deep(200) == 200)
        mine = (intptr_t)value;
    run_deferred();
    gosched_chan_send(ended, &byte);
}

static void panics(void *unused)
{
    (void)unused;
    gosched_fatalpanic("panic: nobody recovers this");
}

static void *start(void *mode)
{
    char byte;
    gosched_chan_make(1, 0, &ended);
    for (intptr_t i = 1; i <= 100; i++)
        gosched_newproc(defers, (void *)i);
    for (int i = 0; i < 100; i++)
        gosched_chan_recv(ended, &byte);
    if (mode) {
        gosched_newproc(panics, NULL);
        gosched_chan_recv(ended, &byte);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static const struct gosched_hooks hooks = {.copystack = moved};
    int error = gosched_set_hooks(&hooks);
    (void)argv;
    if (error == 0)
        error = gosched_run_copying(start, argc > 1 ? &sum : NULL, NULL);
    printf("%jd\n", (intmax_t)sum);
    return error;
}
