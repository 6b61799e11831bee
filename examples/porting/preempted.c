/*
 * Step 4: loops without checks. Code in the section gosched_preemptible may be stopped between any
 * two of its instructions. In objects that a compiler has made already, objcopy can rename the
 * section:
 *
 *     objcopy --rename-section .text=gosched_preemptible loop.o
 */
#include <stdbool.h>
#include <stdio.h>

#include "gosched.h"

static _Atomic(bool) over;
static long rounds;

__attribute__((noinline, section("gosched_preemptible"))) static void spin(void)
{
    while (!over)
        rounds++;
}

static void end_it(void *unused)
{
    over = true;
    (void)unused;
}

/* With one processor, the other goroutine runs only if this one is stopped. */
static void *start(void *unused)
{
    gosched_set_gomaxprocs(1);
    gosched_newproc(end_it, NULL);
    spin();
    return unused;
}

int main(void)
{
    int error = gosched_run_copying(start, NULL, NULL);
    printf("%s\n", rounds > 0 ? "preempted" : "never ran");
    return error;
}
