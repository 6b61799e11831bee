/*
 * What a port in C installs: every hook, of which one adjusts a chain of addresses when a stack
 * moves, and a tracer, which counts events. .ci/c builds and runs this program.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "gosched.h"

enum { MOST_PS = 64 };

static _Atomic(int) ended;

static void wait_for(_Atomic(int) *count, int n)
{
    while (atomic_load(count) < n)
        gosched_yield();
}

/* The value that each P has in its slot. */
struct cache {
    struct gosched_p *p;
    int32_t id;
};

static struct cache caches[MOST_PS];

static _Atomic(int) inits, destroyed, acquired, destroyed_gs, moves, handed, worked;

static void p_init(struct gosched_p *p)
{
    int32_t id = gosched_p_id(p);
    CHECK(id >= 0 && id < MOST_PS && *gosched_p_slot(p) == NULL);
    caches[id] = (struct cache){p, id};
    *gosched_p_slot(p) = &caches[id];
    atomic_fetch_add(&inits, 1);
}

static void p_destroy(struct gosched_p *p)
{
    CHECK(*gosched_p_slot(p) == &caches[gosched_p_id(p)]);
    *gosched_p_slot(p) = NULL;
    atomic_fetch_add(&destroyed, 1);
}

static void acquirep(struct gosched_p *p)
{
    CHECK(((struct cache *)*gosched_p_slot(p))->p == p);
    atomic_fetch_add(&acquired, 1);
}

/* The collector's worker while it is parked. Only the hook makes it go on. */
static _Atomic(struct gosched_g *) worker;

static struct gosched_g *find_worker(struct gosched_p *p)
{
    struct gosched_g *g = atomic_exchange(&worker, NULL);
    CHECK(p != NULL);
    if (g != NULL)
        atomic_fetch_add(&handed, 1);
    return g;
}

static void gdestroy(struct gosched_g *g)
{
    CHECK(g != NULL);
    atomic_fetch_add(&destroyed_gs, 1);
}

/* Addresses of a goroutine's stack that are stored elsewhere. */
struct link {
    void *at;
    struct link *next;
};

static _Atomic(struct gosched_g *) chained;
static struct link *chain;

static void copystack(struct gosched_g *g, const struct gosched_adjust_info *info)
{
    CHECK(info->old_lo < info->old_hi && info->delta != 0);
    if (g != atomic_load(&chained))
        return;
    atomic_fetch_add(&moves, 1);
    for (struct link *link = chain; link != NULL; link = link->next) {
        uintptr_t at = (uintptr_t)link->at;
        gosched_adjust_pointer(info, &link->at);
        if (at - info->old_lo < info->old_hi - info->old_lo)
            CHECK((uintptr_t)link->at == at + info->delta);
        else
            CHECK((uintptr_t)link->at == at);
    }
}

/* Each call adds an address of its frame to the chain. The last call checks all addresses, and each
   call checks its own at its end. */
static void chain_up(int more)
{
    static struct link links[1000];
    volatile int here = more;
    links[more] = (struct link){(void *)&here, chain};
    chain = &links[more];
    if (more > 0) {
        chain_up(more - 1);
    } else {
        int expected = 0;
        for (struct link *link = chain; link->at != &ended; link = link->next)
            CHECK(*(int *)link->at == expected++);
        CHECK(expected == 1000);
    }
    CHECK(here == more && chain->at == &here);
    chain = chain->next;
}

static bool publish(struct gosched_g *g, void *place)
{
    atomic_store((_Atomic(struct gosched_g *) *)place, g);
    return true;
}

static _Atomic(struct gosched_g *) parked;

static void build_a_chain(void *unused)
{
    (void)unused;
    /* The hook must not change an address that isn't of this stack. */
    static struct link last = {&ended, NULL};
    chain = &last;
    atomic_store(&chained, gosched_getg());
    chain_up(999);
    CHECK(chain == &last);
    gosched_park(publish, &parked, GOSCHED_WAIT_REASON_COND_WAIT);
    atomic_store(&chained, NULL);
    atomic_fetch_add(&ended, 1);
}

/* Suspends a parked goroutine, and shrinks its stack while it is suspended. */
static void shrink(void *g)
{
    struct gosched_suspend_state state;
    struct gosched_g *self = ((struct gosched_g **)g)[1];
    gosched_cas_g_to_waiting(self, GOSCHED_GRUNNING, GOSCHED_WAIT_REASON_NONE);
    gosched_suspend_g(*(struct gosched_g **)g, &state);
    CHECK(!state.dead);
    gosched_shrinkstack(*(struct gosched_g **)g);
    gosched_resume_g(&state);
    gosched_casgstatus(self, GOSCHED_GWAITING, GOSCHED_GRUNNING);
}

static void moving_stack(void)
{
    struct gosched_g *goroutines[2];
    int before = atomic_load(&ended), moved = atomic_load(&moves);
    gosched_newproc(build_a_chain, NULL);
    while ((goroutines[0] = atomic_load(&parked)) == NULL)
        gosched_yield();
    CHECK(atomic_load(&moves) > moved);
    moved = atomic_load(&moves);
    goroutines[1] = gosched_getg();
    gosched_systemstack_scannable(shrink, goroutines);
    CHECK(atomic_load(&moves) == moved + 1);
    atomic_store(&parked, NULL);
    gosched_ready(goroutines[0]);
    wait_for(&ended, before + 1);
}

enum { ROUNDS = 100 };

static void work(void *unused)
{
    (void)unused;
    gosched_become_system_goroutine();
    for (int i = 0; i < ROUNDS; i++) {
        gosched_park(publish, &worker, (enum gosched_wait_reason)26);
        atomic_fetch_add(&worked, 1);
    }
}

static void gc_worker(void)
{
    gosched_newproc(work, NULL);
    wait_for(&worked, ROUNDS);
    CHECK(atomic_load(&handed) == ROUNDS);
}

static void do_nothing(void *unused)
{
    (void)unused;
    atomic_fetch_add(&ended, 1);
}

static void ends(void)
{
    int before = atomic_load(&ended), destroyed_before = atomic_load(&destroyed_gs);
    for (int i = 0; i < 10; i++)
        gosched_newproc(do_nothing, NULL);
    wait_for(&ended, before + 10);
    wait_for(&destroyed_gs, destroyed_before + 10);
}

static void processors(void)
{
    int procs = gosched_set_gomaxprocs(7), first = atomic_load(&inits), gone = atomic_load(&destroyed);
    CHECK(first >= 7 && caches[6].id == 6);
    CHECK(gosched_set_gomaxprocs(2) == 7 && atomic_load(&destroyed) == gone + 5);
    CHECK(gosched_set_gomaxprocs(procs) == 2);
    CHECK(atomic_load(&acquired) > 0);
}

/* What the tracer has seen: the number of events of each kind, and some of their fields. */
static _Atomic(int) events[GOSCHED_EVENT_KIND_GOMAXPROCS + 1], last_procs, heap_dumps;
static _Atomic(struct gosched_m *) thread;

static void trace(const struct gosched_event *event)
{
    enum gosched_event_kind kind = event->kind;
    CHECK(kind <= GOSCHED_EVENT_KIND_GOMAXPROCS);
    bool of_g = kind <= GOSCHED_EVENT_KIND_GO_SYS_EXIT || kind == GOSCHED_EVENT_KIND_GO_LABEL;
    bool of_p = kind >= GOSCHED_EVENT_KIND_PROC_START && kind <= GOSCHED_EVENT_KIND_PROC_TURN;
    bool of_m = kind >= GOSCHED_EVENT_KIND_PROC_TURN && kind <= GOSCHED_EVENT_KIND_THREAD_DESTROY;
    CHECK((event->g != NULL) == of_g && (event->p != NULL) == of_p && (event->m != NULL) == of_m);
    CHECK((event->text != NULL) == (kind == GOSCHED_EVENT_KIND_STW_START));
    if (of_p)
        CHECK(gosched_p_id(event->p) >= 0 && gosched_p_id(event->p) < MOST_PS);
    if (kind == GOSCHED_EVENT_KIND_THREAD_START)
        atomic_store(&thread, event->m);
    if (kind == GOSCHED_EVENT_KIND_GOMAXPROCS)
        atomic_store(&last_procs, event->number);
    if (event->text != NULL && event->number == GOSCHED_STW_REASON_WRITE_HEAP_DUMP)
        atomic_fetch_add(&heap_dumps, strcmp(event->text, "write heap dump") == 0);
    atomic_fetch_add(&events[kind], 1);
}

static int seen(enum gosched_event_kind kind)
{
    return atomic_load(&events[kind]);
}

static void nothing(void *unused)
{
    (void)unused;
}

static bool go_on(struct gosched_g *g, void *unused)
{
    (void)unused;
    return g == NULL;
}

static void tracer(void)
{
    int made = seen(GOSCHED_EVENT_KIND_GO_CREATE), gone = seen(GOSCHED_EVENT_KIND_GO_END);
    int in = seen(GOSCHED_EVENT_KIND_GO_SYS_CALL), out = seen(GOSCHED_EVENT_KIND_GO_SYS_EXIT);
    int parks = seen(GOSCHED_EVENT_KIND_GO_PARK), yields = seen(GOSCHED_EVENT_KIND_GO_SCHED);
    int before = atomic_load(&ended), stops = seen(GOSCHED_EVENT_KIND_STW_START);
    int begun = seen(GOSCHED_EVENT_KIND_STW_DONE), dumps = atomic_load(&heap_dumps);
    gosched_newproc(do_nothing, NULL);
    gosched_newproc(do_nothing, NULL);
    gosched_yield();
    wait_for(&ended, before + 2);
    wait_for(&events[GOSCHED_EVENT_KIND_GO_END], gone + 2);
    CHECK(seen(GOSCHED_EVENT_KIND_GO_CREATE) == made + 2 && seen(GOSCHED_EVENT_KIND_GO_SCHED) > yields);
    gosched_blocking(nothing, NULL);
    CHECK(seen(GOSCHED_EVENT_KIND_GO_SYS_CALL) == in + 1 && seen(GOSCHED_EVENT_KIND_GO_SYS_EXIT) == out + 1);
    gosched_park(go_on, NULL, GOSCHED_WAIT_REASON_SLEEP);
    CHECK(seen(GOSCHED_EVENT_KIND_GO_PARK) > parks);
    gosched_start_the_world(gosched_stop_the_world(GOSCHED_STW_REASON_WRITE_HEAP_DUMP));
    CHECK(seen(GOSCHED_EVENT_KIND_STW_START) > stops && seen(GOSCHED_EVENT_KIND_STW_DONE) > begun);
    CHECK(atomic_load(&heap_dumps) == dumps + 1);
    int procs = gosched_set_gomaxprocs(5);
    CHECK(atomic_load(&last_procs) == 5 && gosched_set_gomaxprocs(procs) == 5);
    CHECK(seen(GOSCHED_EVENT_KIND_PROC_START) > 0 && atomic_load(&thread) != NULL);
    struct gosched_p *p = gosched_m_p(atomic_load(&thread));
    CHECK(p == NULL || (gosched_p_id(p) >= 0 && gosched_p_id(p) < MOST_PS));
}

/* Reads reports from a file that replaces stderr. */
static void schedtrace(void *unused)
{
    char name[] = "/tmp/gosched-schedtrace-XXXXXX", text[16 << 10] = {0};
    int file = mkstemp(name), stderr_was = dup(STDERR_FILENO);
    CHECK(file >= 0 && stderr_was >= 0 && unlink(name) == 0 && dup2(file, STDERR_FILENO) >= 0);
    gosched_schedtrace(false);
    off_t line = lseek(file, 0, SEEK_CUR);
    gosched_schedtrace(true);
    CHECK(dup2(stderr_was, STDERR_FILENO) >= 0 && pread(file, text, sizeof text - 1, 0) > line);
    close(stderr_was);
    close(file);
    CHECK(strncmp(text, "SCHED ", 6) == 0 && strchr(text, '\n') + 1 == text + line);
    CHECK(strstr(text + line, "\n  P0: ") != NULL && strstr(text + line, "\n  G1: ") != NULL);
    (void)unused;
}

static void reports(void)
{
    gosched_systemstack(schedtrace, NULL);
}

static const struct gosched_hooks hooks = {p_init, p_destroy, acquirep, find_worker, gdestroy, copystack};

static void (*const tests[])(void) = {processors, moving_stack, ends, tracer, reports};

enum { TESTS = sizeof tests / sizeof *tests };

static void test_on_a_copying_stack(void *unused)
{
    (void)unused;
    for (int test = 0; test < TESTS; test++)
        tests[test]();
    CHECK(gosched_set_hooks(&hooks) == EBUSY && gosched_set_tracer(trace) == EBUSY);
    atomic_fetch_add(&ended, 1);
}

static void *all_tests(void *arg)
{
    CHECK(atomic_load(&inits) >= gosched_set_gomaxprocs(4));
    for (int test = 0; test < TESTS; test++)
        tests[test]();
    gc_worker();
    int before = atomic_load(&ended);
    gosched_newproc(test_on_a_copying_stack, NULL);
    while (seen(GOSCHED_EVENT_KIND_GO_END) == 0 || atomic_load(&ended) < before + 1)
        gosched_yield();
    return arg;
}

int main(void)
{
    int arg;
    void *result = NULL;
    gosched_schedtrace(true);
    CHECK(gosched_set_hooks(&hooks) == 0 && gosched_set_hooks(&hooks) == EBUSY);
    CHECK(gosched_set_tracer(trace) == 0 && gosched_set_tracer(trace) == EBUSY);
    CHECK(gosched_run(all_tests, &arg, &result) == 0 && result == &arg);
    CHECK(gosched_set_hooks(&hooks) == EBUSY);
    puts("all is as it should be");
    return EXIT_SUCCESS;
}
