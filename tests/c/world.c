/*
 * A collector in C, without a heap. It makes goroutines that have an object's address, and that are
 * parked, in a system call, running, not begun, or dead. It suspends each, alone or in a stopped
 * world, and finds the address in the memory and registers that a collector must scan. The tests
 * run on a fixed stack, and at many depths of copying stacks. .ci/c builds and runs this program.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "check.h"
#include "gosched.h"

/* An object, one for each goroutine that the collector looks for. */
struct object {
    intptr_t number;
    _Atomic(struct gosched_g *) g;
};

enum { NONE, PARKED, IN_CALL, AT_CHECKS, ANYWHERE, NEW, DEAD, MINE, UNHELD, OBJECTS };

static struct object objects[OBJECTS];

/* Computes an object's address when it is needed, so that there is no other copy of it. */
__attribute__((noinline)) static struct object *object(volatile int number)
{
    objects[number].number = number;
    return &objects[number];
}

static struct gosched_g *g_of(int number)
{
    struct gosched_g *g;
    while ((g = atomic_load(&objects[number].g)) == NULL)
        gosched_yield();
    return g;
}

/* How far the running goroutines have got, and whether they shall end. */
static _Atomic(intptr_t) steps, sure_steps;
static _Atomic(bool) over;
static _Atomic(int) ended;

/* A function with a check, at which its caller can be stopped. */
__attribute__((noinline)) static bool step(void)
{
    atomic_fetch_add(&steps, 1);
    return !atomic_load(&over);
}

static bool publish(struct gosched_g *g, void *object)
{
    atomic_store(&((struct object *)object)->g, g);
    return true;
}

static void hold_parked(void *arg)
{
    struct object *mine = arg;
    gosched_park(publish, mine, GOSCHED_WAIT_REASON_SEMACQUIRE);
    CHECK(mine->number == PARKED);
    atomic_fetch_add(&ended, 1);
}

static int call[2];

static void read_a_byte(void *unused)
{
    char byte;
    (void)unused;
    CHECK(read(call[0], &byte, 1) == 1);
}

static void hold_in_call(void *arg)
{
    struct object *mine = arg;
    atomic_store(&mine->g, gosched_getg());
    gosched_blocking(read_a_byte, NULL);
    CHECK(mine->number == IN_CALL);
    atomic_fetch_add(&ended, 1);
}

static void hold_at_checks(void *arg)
{
    struct object *mine = arg;
    atomic_store(&mine->g, gosched_getg());
    while (step())
        ;
    CHECK(mine->number == AT_CHECKS);
    atomic_fetch_add(&ended, 1);
}

/* Can be stopped between any two instructions. The object's address is only in a register. */
__attribute__((noinline, section("gosched_preemptible"))) static intptr_t spin(struct object *mine)
{
    while (!atomic_load_explicit(&over, memory_order_relaxed))
        atomic_fetch_add_explicit(&sure_steps, 1, memory_order_relaxed);
    return mine->number;
}

static void hold_anywhere(void *arg)
{
    atomic_store(&((struct object *)arg)->g, gosched_getg());
    CHECK(spin(arg) == ANYWHERE);
    atomic_fetch_add(&ended, 1);
}

static void note_and_end(void *arg)
{
    atomic_store(&((struct object *)arg)->g, gosched_getg());
    atomic_fetch_add(&ended, 1);
}

/* The results of a collection: how often it has found each object, and the goroutines' states. */
struct found {
    int times[OBJECTS];
    int states[GOSCHED_GPREEMPTED + 1];
    int goroutines, dead, stopped;
};

static void look(uintptr_t lo, uintptr_t hi, void *found)
{
    CHECK(lo % sizeof(void *) == 0 && lo <= hi);
    for (; lo < hi; lo += sizeof(void *)) {
        size_t offset = *(volatile uintptr_t *)lo - (uintptr_t)objects;
        if (offset < sizeof objects && offset % sizeof *objects == 0)
            ((struct found *)found)->times[offset / sizeof *objects]++;
    }
}

static void scan(struct gosched_g *g, void *arg)
{
    struct found *found = arg;
    struct gosched_suspend_state state;
    gosched_suspend_g(g, &state);
    found->goroutines++;
    found->dead += state.dead;
    found->stopped += state.stopped;
    CHECK(state.dead == (state.g == NULL));
    if (!state.dead) {
        uint32_t status = gosched_readgstatus(g);
        CHECK(state.g == g && status & GOSCHED_GSCAN);
        found->states[status & ~GOSCHED_GSCAN]++;
        gosched_scan_stack(g, look, found);
    }
    gosched_resume_g(&state);
}

/* A collection on the scheduler's stack. The caller waits meanwhile, and is scanned itself. */
struct collection {
    struct gosched_g *self;
    struct gosched_g *one;
    struct found found;
};

static void scan_one_or_all(void *arg)
{
    struct collection *collection = arg;
    gosched_cas_g_to_waiting(collection->self, GOSCHED_GRUNNING, (enum gosched_wait_reason)7);
    CHECK(gosched_readgstatus(collection->self) == GOSCHED_GWAITING);
    if (collection->one != NULL)
        scan(collection->one, &collection->found);
    else
        gosched_for_each_g_race(scan, &collection->found);
    gosched_casgstatus(collection->self, GOSCHED_GWAITING, GOSCHED_GRUNNING);
}

/* Scans g, or all goroutines. */
static struct found collect(struct gosched_g *g)
{
    struct collection collection = {gosched_getg(), g, {{0}, {0}, 0, 0, 0}};
    gosched_systemstack_scannable(scan_one_or_all, &collection);
    return collection.found;
}

static void wait_for(_Atomic(int) *count, int n)
{
    while (atomic_load(count) < n)
        gosched_yield();
}

/* Waits until both running goroutines have gone on. */
static void wait_for_steps(void)
{
    intptr_t before = atomic_load(&steps), sure = atomic_load(&sure_steps);
    while (atomic_load(&steps) == before || atomic_load(&sure_steps) == sure)
        gosched_yield();
}

/* Makes all goroutines except the new one, and waits until each is in its state. */
static void make(void)
{
    atomic_store(&over, false);
    atomic_store(&ended, 0);
    for (int i = 0; i < OBJECTS; i++)
        atomic_store(&objects[i].g, NULL);
    gosched_newproc(note_and_end, object(DEAD));
    wait_for(&ended, 1);
    gosched_newproc(hold_parked, object(PARKED));
    gosched_newproc(hold_in_call, object(IN_CALL));
    gosched_newproc(hold_at_checks, object(AT_CHECKS));
    gosched_newproc(hold_anywhere, object(ANYWHERE));
    g_of(PARKED);
    while (gosched_readgstatus(g_of(PARKED)) != GOSCHED_GWAITING)
        gosched_yield();
    while (gosched_readgstatus(g_of(IN_CALL)) != GOSCHED_GSYSCALL)
        gosched_yield();
    g_of(AT_CHECKS);
    g_of(ANYWHERE);
    wait_for_steps();
}

static void end(void)
{
    atomic_store(&over, true);
    CHECK(write(call[1], "x", 1) == 1);
    gosched_ready(g_of(PARKED));
    wait_for(&ended, 5);
}

/* Suspends one goroutine at a time, while the others run. The scan of one may find other objects,
   too, because a goroutine starts with the values that the registers of its thread have. */
static void one_by_one(void)
{
    struct found found = collect(g_of(PARKED));
    CHECK(found.times[PARKED] > 0 && found.states[GOSCHED_GWAITING] == 1);
    CHECK(!found.stopped);
    found = collect(g_of(IN_CALL));
    CHECK(found.times[IN_CALL] > 0 && found.states[GOSCHED_GSYSCALL] == 1);
    found = collect(g_of(AT_CHECKS));
    CHECK(found.times[AT_CHECKS] > 0 && found.dead == 0);
    found = collect(g_of(ANYWHERE));
    CHECK(found.times[ANYWHERE] > 0 && found.dead == 0);
    wait_for_steps();
}

static void all_at_once(void)
{
    struct found found = collect(NULL);
    CHECK(found.times[PARKED] > 0 && found.times[IN_CALL] > 0);
    CHECK(found.times[AT_CHECKS] > 0 && found.times[ANYWHERE] > 0);
    CHECK(found.times[UNHELD] == 0 && found.goroutines >= 5);
    wait_for_steps();
}

static void pause_a_bit(void *unused)
{
    (void)unused;
    usleep(1000);
}

static void stopped_world(void)
{
    struct gosched_world_stop stop = gosched_stop_the_world(GOSCHED_STW_REASON_GC_SWEEP_TERM);
    intptr_t before = atomic_load(&steps), sure = atomic_load(&sure_steps);
    CHECK(stop.reason == GOSCHED_STW_REASON_GC_SWEEP_TERM && stop.started_stopping > 0);
    gosched_systemstack(pause_a_bit, NULL);
    struct found found = collect(NULL);
    CHECK(atomic_load(&steps) == before && atomic_load(&sure_steps) == sure);
    CHECK(found.times[PARKED] > 0 && found.times[IN_CALL] > 0);
    CHECK(found.times[AT_CHECKS] > 0 && found.times[ANYWHERE] > 0);
    CHECK(found.times[UNHELD] == 0);
    gosched_start_the_world(stop);
    wait_for_steps();
}

/* Scans the collector's own goroutine, and finds an address in a register of the caller. */
static void itself(void)
{
    struct collection collection = {gosched_getg(), gosched_getg(), {{0}, {0}, 0, 0, 0}};
    struct object *mine = object(MINE);
    gosched_systemstack_scannable(scan_one_or_all, &collection);
    CHECK(collection.found.times[MINE] > 0 && collection.found.states[GOSCHED_GWAITING] == 1);
    CHECK(mine->number == MINE);
}

/* A goroutine that is made in a stopped world doesn't begin. */
static void not_begun(void)
{
    struct gosched_world_stop stop = gosched_stop_the_world(GOSCHED_STW_REASON_GC_MARK_TERM);
    gosched_newproc(note_and_end, object(NEW));
    struct found found = collect(NULL);
    CHECK(atomic_load(&objects[NEW].g) == NULL);
    CHECK(found.times[NEW] > 0 && found.states[GOSCHED_GRUNNABLE] > 0);
    gosched_start_the_world(stop);
    while (gosched_readgstatus(g_of(NEW)) != GOSCHED_GDEAD)
        gosched_yield();
    atomic_store(&objects[NEW].g, NULL);
    atomic_fetch_sub(&ended, 1);
}

static void dead(void)
{
    struct found found = collect(g_of(DEAD));
    /* The memory of the dead goroutine may belong to another one by now. */
    CHECK(found.times[DEAD] == 0 && found.goroutines == 1);
}

/* Runs on the scheduler's stack: a goroutine must not move while it has a scan bit set. */
static void change_states(void *parked)
{
    struct gosched_g *g = parked;
    const uint32_t waiting = GOSCHED_GWAITING;
    CHECK(!gosched_castogscanstatus(g, GOSCHED_GRUNNABLE, GOSCHED_GRUNNABLE + GOSCHED_GSCAN));
    CHECK(gosched_castogscanstatus(g, waiting, waiting + GOSCHED_GSCAN));
    CHECK(gosched_readgstatus(g) == waiting + GOSCHED_GSCAN);
    gosched_casfrom_gscanstatus(g, waiting + GOSCHED_GSCAN, waiting);
    CHECK(gosched_casgcopystack(g) == waiting && gosched_readgstatus(g) == GOSCHED_GCOPYSTACK);
    gosched_casgstatus(g, GOSCHED_GCOPYSTACK, waiting);
    CHECK(gosched_readgstatus(g) == waiting);
}

static void states(void)
{
    CHECK(gosched_readgstatus(gosched_getg()) == GOSCHED_GRUNNING);
    gosched_systemstack(change_states, g_of(PARKED));
}

static void count(struct gosched_g *g, void *counts)
{
    int *of = counts;
    of[0]++;
    of[1] += g == atomic_load(&objects[PARKED].g);
}

static void each_goroutine(void)
{
    int locked[2] = {0}, racing[2] = {0};
    gosched_for_each_g(count, locked);
    gosched_for_each_g_race(count, racing);
    CHECK(locked[0] >= 5 && locked[1] == 1);
    CHECK(racing[0] >= 5 && racing[1] == 1);
}

/* How often each P was seen. These are static, because a function that runs for a P must not use
   the caller's stack. */
static _Atomic(int) seen[64], calls;

static void see(struct gosched_p *p, void *counts)
{
    atomic_fetch_add(&((_Atomic(int) *)counts)[gosched_p_id(p)], 1);
    atomic_fetch_add(&calls, 1);
}

static void each_p(void)
{
    int procs = gosched_set_gomaxprocs(0);
    atomic_store(&calls, 0);
    for (int i = 0; i < procs; i++)
        atomic_store(&seen[i], 0);
    gosched_for_each_p((enum gosched_wait_reason)32, see, seen);
    for (int i = 0; i < procs; i++)
        CHECK(atomic_load(&seen[i]) == 1);
    CHECK(atomic_load(&calls) == procs);
}

/* Two goroutines run without end, so at least one can be asked to stop. They go on afterwards. */
static void preempts(void)
{
    while (!gosched_preemptall())
        gosched_yield();
    wait_for_steps();
}

/* A system goroutine stops all other goroutines from running, and goes on itself. */
static void only_system(void *unused)
{
    (void)unused;
    gosched_become_system_goroutine();
    struct gosched_world_stop stop = gosched_stop_the_world(GOSCHED_STW_REASON_UNKNOWN);
    gosched_sched_enable_user(false);
    gosched_start_the_world(stop);
    intptr_t before = atomic_load(&steps), sure = atomic_load(&sure_steps);
    for (int i = 0; i < 3; i++) {
        gosched_yield();
        gosched_systemstack(pause_a_bit, NULL);
    }
    CHECK(atomic_load(&steps) == before && atomic_load(&sure_steps) == sure);
    gosched_sched_enable_user(true);
    wait_for_steps();
    atomic_fetch_add(&ended, 1);
}

static void held_back(void)
{
    int before = atomic_load(&ended);
    gosched_newproc(only_system, NULL);
    wait_for(&ended, before + 1);
    atomic_fetch_sub(&ended, 1);
}

/* On a thread that isn't the runtime's, there is no goroutine to put into a waiting state. */
static void *foreign(void *unused)
{
    struct found found = {{0}, {0}, 0, 0, 0};
    scan(g_of(PARKED), &found);
    CHECK(found.times[PARKED] > 0);
    gosched_for_each_g_race(scan, &found);
    CHECK(found.times[AT_CHECKS] > 0 && found.times[ANYWHERE] > 0 && found.times[IN_CALL] > 0);
    gosched_preemptall();
    return unused;
}

static void on_a_thread(void *unused)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, foreign, unused) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void (*const tests[])(void) = {
    one_by_one, all_at_once,    stopped_world, itself,   not_begun, dead,
    states,     each_goroutine, each_p,        preempts, held_back,
};

enum { TESTS = sizeof tests / sizeof *tests };

static int test, depth;
static _Atomic(int) tested;

static void descend(int more)
{
    volatile char frame[16] = {0};
    if (more > 0)
        descend(more - 1);
    else
        tests[test]();
    frame[0]++;
}

static void test_at_depth(void *unused)
{
    (void)unused;
    descend(depth);
    atomic_fetch_add(&tested, 1);
}

static void *all_tests(void *arg)
{
    CHECK(pipe(call) == 0);
    int before = gosched_set_gomaxprocs(4);
    make();
    for (test = 0; test < TESTS; test++)
        tests[test]();
    for (depth = 0; depth < 40; depth += 5) {
        for (test = 0; test < TESTS; test++) {
            int so_far = atomic_load(&tested);
            gosched_newproc(test_at_depth, NULL);
            wait_for(&tested, so_far + 1);
        }
    }
    gosched_blocking(on_a_thread, NULL);
    end();
    gosched_set_gomaxprocs(before);
    return arg;
}

int main(void)
{
    int arg;
    void *result = NULL;
    CHECK(!gosched_preemptall());
    /* In a stopped world no goroutine goes on without a P. */
    gosched_set_detach(false);
    CHECK(gosched_run(all_tests, &arg, &result) == 0 && result == &arg);
    puts("all is as it should be");
    return EXIT_SUCCESS;
}
