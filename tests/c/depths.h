/* Runs tests on the main goroutine, and on copying stacks with less and less room left. */
#include <stdint.h>

#include "gosched.h"

static struct {
    void (*run)(void);
    int depth;
    uint32_t done;
} at_depth;

static void descend(int more)
{
    volatile char frame[16] = {0};
    if (more > 0)
        descend(more - 1);
    else
        at_depth.run();
    frame[0]++;
}

static void run_at_depth(void *unused)
{
    (void)unused;
    descend(at_depth.depth);
    gosched_semrelease(&at_depth.done);
}

static void run_everywhere(void (*const tests[])(void), int n)
{
    for (int i = 0; i < n; i++)
        tests[i]();
    for (at_depth.depth = 0; at_depth.depth < 80; at_depth.depth += 7) {
        for (int i = 0; i < n; i++) {
            at_depth.run = tests[i];
            gosched_newproc(run_at_depth, NULL);
            gosched_semacquire(&at_depth.done);
        }
    }
}
