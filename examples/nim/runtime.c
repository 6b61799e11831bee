/* Nim's runtime on goroutines. */
#include "runtime.h"

#include <stdint.h>

#include "gosched.h"

intptr_t NimThreadVarsSize(void);
int nim_main(int argc, char **argv, char **env);

/*
 * Nim's thread variables: the exception that is being handled, and whether one is being raised.
 * They belong to the goroutine, not to the thread: a Nim proc keeps their address from its first
 * line to its last, and may change threads in between.
 */

/* The variables of a thread that isn't the scheduler's. */
static __thread void *vars_of_thread;

void *nim_vars(void)
{
    return vars_of_thread ? vars_of_thread : gosched_slot(gosched_curg());
}

/* Nim calls this at the start of each of its own threads, and of the main goroutine. */
int nim_set_vars(void *vars)
{
    if (!gosched_getg())
        vars_of_thread = vars;
    return 0;
}

/* With --stackTrace:on, one variable points to the innermost frame of a list on the stack. */
static void adjust_vars(struct gosched_g *g, const struct gosched_adjust_info *info)
{
    void **vars = gosched_slot(g);
    for (size_t i = 0; i < NimThreadVarsSize() / sizeof *vars; i++)
        gosched_adjust_pointer(info, &vars[i]);
}

/* Pointers to functions that need little stack. If a function called them by name, gold would make
 * the caller ask for 16 KiB. */
void *(*nim_memcpy)(void *to, const void *from, size_t n) = memcpy;
void *(*nim_memset)(void *p, int c, size_t n) = memset;
int (*nim_memcmp)(const void *a, const void *b, size_t n) = memcmp;
size_t (*nim_strlen)(const char *s) = strlen;

static void clear_vars(void)
{
    nim_memset(gosched_slot(gosched_getg()), 0, GOSCHED_SLOT_SIZE);
}

/* malloc may need more stack than there is. It is called too often for each goroutine to grow a
 * stack for it, so it runs on the scheduler's stack. */

struct request {
    void *p;
    size_t n, size;
};

static void call_realloc(void *arg)
{
    struct request *r = arg;
    r->p = realloc(r->p, r->size);
}

static void call_calloc(void *arg)
{
    struct request *r = arg;
    r->p = calloc(r->n, r->size);
}

static void call_free(void *p)
{
    free(p);
}

void *nim_realloc(void *p, size_t size)
{
    struct request r = {.p = p, .size = size};
    gosched_systemstack(call_realloc, &r);
    return r.p;
}

void *nim_malloc(size_t size)
{
    return nim_realloc(NULL, size);
}

void *nim_calloc(size_t n, size_t size)
{
    struct request r = {.n = n, .size = size};
    gosched_systemstack(call_calloc, &r);
    return r.p;
}

void nim_free(void *p)
{
    gosched_systemstack(call_free, p);
}

/* echo locks the file for more than one call. The lock belongs to the thread, so the goroutine
 * stays on that thread until it unlocks the file. */

void nim_lock_file(FILE *file)
{
    gosched_acquirem();
    flockfile(file);
}

void nim_unlock_file(FILE *file)
{
    struct gosched_m *m = gosched_acquirem();
    funlockfile(file);
    gosched_releasem(m);
    gosched_releasem(m);
}

/* A goroutine begins without an exception, so this clears the variables first. */
void nim_begin(void *task)
{
    clear_vars();
    ((struct nim_task *)task)->perform(task);
}

/* Nim's top-level code runs on the main goroutine. */

struct program {
    int argc;
    char **argv, **env;
};

static void *run_nim(void *arg)
{
    struct program *p = arg;
    clear_vars();
    return (void *)(intptr_t)nim_main(p->argc, p->argv, p->env);
}

int main(int argc, char **argv, char **env)
{
    static const struct gosched_hooks hooks = {.copystack = adjust_vars};
    struct program program = {argc, argv, env};
    void *status;
    if (gosched_set_hooks(&hooks) != 0 || gosched_run(run_nim, &program, &status) != 0)
        abort();
    return (int)(intptr_t)status;
}
