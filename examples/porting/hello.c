/*
 * Step 1: goroutines that wait for each other. It has a first goroutine on a copying stack, as a
 * language's goroutines are; a lock of the scheduler's; and a group of goroutines to wait for,
 * built on the lock.
 */
#include <stdint.h>
#include <stdio.h>

#include "gosched.h"

/* Go's WaitGroup, for one goroutine that waits. */
struct group {
    struct gosched_mutex lock;
    intptr_t left;
    struct gosched_g *waiter;
};

static void group_done(struct group *group)
{
    struct gosched_g *waiter = NULL;
    gosched_lock(&group->lock);
    if (--group->left == 0)
        waiter = group->waiter;
    gosched_unlock(&group->lock);
    if (waiter)
        gosched_ready(waiter);
}

static void group_wait(struct group *group)
{
    gosched_lock(&group->lock);
    if (group->left == 0) {
        gosched_unlock(&group->lock);
        return;
    }
    group->waiter = gosched_getg();
    /* The lock is released once this goroutine is off its stack. From then on, group_done may make
     * the goroutine ready. */
    gosched_parkunlock(&group->lock, GOSCHED_WAIT_REASON_SEMACQUIRE);
}

static struct group group;
static _Atomic(intptr_t) sum;

static void square(void *i)
{
    sum += (intptr_t)i * (intptr_t)i;
    group_done(&group);
}

/* printf needs more stack than a copying stack may have. */
static void print(void *unused)
{
    printf("%jd\n", (intmax_t)sum);
    (void)unused;
}

static void *start(void *n)
{
    group.left = (intptr_t)n;
    for (intptr_t i = 1; i <= (intptr_t)n; i++)
        gosched_newproc(square, (void *)i);
    group_wait(&group);
    gosched_systemstack(print, NULL);
    return NULL;
}

int main(void)
{
    return gosched_run_copying(start, (void *)1000, NULL);
}
