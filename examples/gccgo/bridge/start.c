// The start of a program, and libgo's own data for a goroutine: Go's rt0_go, main and getg.

#include <stdlib.h>
#include <string.h>

#include "libgo.h"

void runtime_args(int32_t argc, char **argv) GO("runtime.args");
void runtime_osinit(void) GO("runtime.osinit");
void runtime_cpuinit(void);
void runtime_alginit(void) GO("runtime.alginit");
void runtime_goargs(void) GO("runtime.goargs");
void runtime_goenvs(void) GO("runtime.goenvs__unix");
void init_all(void) GO("__go_init_main");
void main_main(void) GO("main.main");


// A goroutine as libgo sees it, and the function that it runs. The slot of gosched's G has its
// address.
struct goroutine {
    struct g g;
    struct m m;
    void (*fn)(void *);
    void *arg;
    struct goroutine *next;
};

// Structs of goroutines that have ended, for the next to use.
static struct goroutine *unused;
static struct gosched_mutex unused_lock;

static struct goroutine **slot(void)
{
    return gosched_slot(gosched_getg());
}

static struct goroutine *new_goroutine(void (*fn)(void *), void *arg)
{
    gosched_lock(&unused_lock);
    struct goroutine *this = unused;
    if (this)
        unused = this->next;
    gosched_unlock(&unused_lock);
    if (!this)
        this = mallocgc(sizeof *this, NULL, true);
    this->g.m = &this->m;
    // The goroutine seems to run always: libgo asks only about goroutines that run.
    this->m.curg = &this->g;
    this->g.atomicstatus = 2;
    this->fn = fn;
    this->arg = arg;
    return this;
}

// Frees the struct in the slot of a goroutine that ends: no panic and no deferred call is left in
// it.
static void free_goroutine(void)
{
    struct goroutine *this = *slot();
    *slot() = NULL;
    gosched_lock(&unused_lock);
    this->next = unused;
    unused = this;
    gosched_unlock(&unused_lock);
}

struct g *g_of(struct gosched_g *gp)
{
    struct goroutine *this = *(struct goroutine **)gosched_slot(gp);
    return this ? &this->g : NULL;
}

// libgo prints on a thread's own stack and on the scheduler's, too. This function makes no check,
// because a signal handler calls it on a stack other than the goroutine's.
NO_CHECK struct g *getg(void)
{
    static __thread struct m m;
    static __thread struct g g;
    struct gosched_g *gp = gosched_getg();
    if (gp && gosched_goid(gp) != 0)
        return &(*(struct goroutine **)gosched_slot(gp))->g;
    g.m = &m;
    return &g;
}

// The first function of each goroutine.
static void kickoff(void *arg)
{
    struct goroutine *this = arg;
    *slot() = this;
    this->g.goid = gosched_goid(gosched_getg());
    this->m.fastrand = this->g.goid * 0x9e3779b97f4a7c15 ^ gosched_nanotime();
    this->fn(this->arg);
    free_goroutine();
}

// The `go` statement.
void go(void (*fn)(void *), void *arg) __asm__("__go_go");
void go(void (*fn)(void *), void *arg)
{
    gosched_newproc_at(kickoff, new_goroutine(fn, arg), (uintptr_t)__builtin_return_address(0));
}

void goexit(void)
{
    free_goroutine();
    gosched_exit();
}

struct arguments { int argc; char **argv; };

static void run_main(void *arg)
{
    struct arguments *arguments = arg;
    runtime_args(arguments->argc, arguments->argv);
    runtime_osinit();
    runtime_cpuinit();
    runtime_alginit();
    runtime_goargs();
    runtime_goenvs();
    init_all();
    main_main();
    exit(0);
}

static void *main_goroutine(void *arguments)
{
    kickoff(new_goroutine(run_main, arguments));
    return NULL;
}

int main(int argc, char **argv)
{
    struct arguments arguments = { argc, argv };
    prepare_panics();
    // The arguments are on this thread's stack, which stays where it is.
    return gosched_run_copying(main_goroutine, &arguments, NULL);
}

// A `go` statement of libgo's own runtime: for its collector, and the like. libgo counts such
// goroutines until they have begun, and NumGoroutine waits for that.
extern uint32_t expected_system_goroutines GO("runtime.expectedSystemGoroutines");

void own_go(void (*fn)(void *), void *arg) GO("runtime.go");
void own_go(void (*fn)(void *), void *arg)
{
    (void)fn, (void)arg;
    expected_system_goroutines = 0;
}

// gccgo emits calls of this function if variables are to be zeroed first. It would clear the
// padding of a struct, which is zero already.
void clear_padding(void) __asm__("__builtin_clear_padding");
NO_CHECK void clear_padding(void) {}
