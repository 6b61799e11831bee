/*
 * Reports of a port: each way to end the process, and names of code that only the port knows. The
 * argument names the way. .ci/c builds and runs this program, and compares the reports.
 */
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "gosched.h"

/* A function that has 128 bytes of addresses to itself, so that is_in recognises it. */
#define ALONE __attribute__((noinline, aligned(128)))

static bool is_in(uintptr_t pc, void (*f)(void *))
{
    return pc / 128 == (uintptr_t)f / 128;
}

static void waits(void *unused)
{
    (void)unused;
    gosched_park(NULL, NULL, GOSCHED_WAIT_REASON_COND_WAIT);
}

static void throws(void *unused)
{
    (void)unused;
    gosched_throw("the port is broken");
}

static void fails(void *unused)
{
    (void)unused;
    gosched_fatal("the program is wrong");
}

ALONE static void panics(void *unused)
{
    (void)unused;
    gosched_fatalpanic("panic: boom\n\tpanic: again");
}

/* Calls `panics`, and is itself left out of reports, as a function of the port's. */
ALONE static void inside(void *unused)
{
    panics(unused);
    __asm__ volatile("");
}

/* The port's names. It gives one function two names, as if one were inlined. Another function is
   marked as the port's own, and reports leave it out. */
static size_t symbolize(uintptr_t pc, struct gosched_code_place *places, size_t n)
{
    CHECK(n >= 2);
    if (is_in(pc, panics)) {
        places[0] = (struct gosched_code_place){"main.inlined", "main.go", 12, false};
        places[1] = (struct gosched_code_place){"main.panics", "main.go", 34, false};
        return 2;
    }
    if (is_in(pc, inside)) {
        places[0] = (struct gosched_code_place){"port.inside", NULL, 0, true};
        return 1;
    }
    return 0;
}

static void named(void *unused)
{
    CHECK(gosched_set_symbolizer(NULL) != 0);
    CHECK(gosched_set_symbolizer(symbolize) == 0);
    CHECK(gosched_set_symbolizer(symbolize) != 0);
    inside(unused);
}

static const struct {
    const char *name;
    void (*function)(void *);
} ways[] = {{"throw", throws}, {"fatal", fails}, {"panic", panics}, {"named", named}};

static void *start(void *name)
{
    gosched_newproc(waits, NULL);
    gosched_yield();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, name) == 0)
            gosched_newproc_at(ways[i].function, NULL, (uintptr_t)start + 1);
    gosched_park(NULL, NULL, GOSCHED_WAIT_REASON_NONE);
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    return gosched_run_copying(start, argv[1], NULL);
}
