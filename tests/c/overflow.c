/*
 * Recurses without end, on a stack that may grow to 1 MiB. .ci/c builds this program, and checks
 * that it ends with a report.
 */
#include <limits.h>
#include <stdlib.h>

#include "gosched.h"

static int recurse(int depth)
{
    volatile int next = depth + 1;
    return next == INT_MAX ? 0 : recurse(next) + next;
}

static void overflow(void *unused)
{
    (void)unused;
    exit(recurse(0));
}

static void *wait_forever(void *unused)
{
    gosched_set_max_stack(1 << 20);
    gosched_newproc(overflow, NULL);
    gosched_chan_recv(NULL, NULL);
    return unused;
}

int main(void)
{
    return gosched_run(wait_forever, NULL, NULL);
}
