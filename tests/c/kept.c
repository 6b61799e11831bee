/*
 * Promises that hold whatever other threads do. The room that a check or gosched_ensure_stack has
 * made stays while a collector stops the goroutine and shrinks its stack. And once a park has
 * released a lock, it doesn't touch the lock any more, because another thread may free it. .ci/c
 * builds and runs this program.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "check.h"
#include "gosched.h"

enum { ROUNDS = 2000, ROOM = 12 << 10 };

static _Atomic(struct gosched_g *) goroutine;
static atomic_int stopped;
static uint32_t done;

__attribute__((no_split_stack, noinline)) static void use(volatile char *room)
{
    for (unsigned i = 0; i < ROOM; i += 64)
        room[i] = 1;
}

/* Code without a check, like that of a C library. */
__attribute__((no_split_stack, noinline)) static void unchecked(void)
{
    volatile char room[ROOM];
    use(room);
}

__attribute__((noinline)) static void checked(void)
{
    volatile char room[ROOM];
    use(room);
}

__attribute__((noinline)) static void call_unchecked(void)
{
    gosched_ensure_stack(16 << 10);
    unchecked();
}

/* gosched_entersyscall is a check, too, so the goroutine may be stopped there. */
__attribute__((noinline)) static void call_in_a_system_call(void)
{
    gosched_ensure_stack(16 << 10);
    gosched_entersyscall();
    unchecked();
    gosched_exitsyscall();
}

static void needs_room(void *unused)
{
    (void)unused;
    atomic_store(&goroutine, gosched_getg());
    for (int i = 0; i < ROUNDS || atomic_load(&stopped) < ROUNDS; i++) {
        checked();
        call_unchecked();
        call_in_a_system_call();
    }
    atomic_store(&goroutine, NULL);
    gosched_semrelease(&done);
}

static void *shrinks(void *unused)
{
    struct gosched_g *g;
    while ((g = atomic_load(&goroutine)) != NULL) {
        struct gosched_suspend_state state;
        gosched_suspend_g(g, &state);
        if (!state.dead)
            gosched_shrinkstack(state.g);
        gosched_resume_g(&state);
        atomic_fetch_add(&stopped, 1);
    }
    return unused;
}

static void test_room(void)
{
    pthread_t thread;
    gosched_newproc(needs_room, NULL);
    while (atomic_load(&goroutine) == NULL)
        gosched_yield();
    CHECK(pthread_create(&thread, NULL, shrinks, NULL) == 0);
    gosched_semacquire(&done);
    CHECK(pthread_join(thread, NULL) == 0);
}

#ifdef __x86_64__

/* A goroutine and its lock, in a page of their own. */
struct waiter {
    struct gosched_mutex lock;
    struct gosched_g *g;
};

static _Atomic(struct waiter *) waiter, watched;

/* A handler that runs after each instruction of the thread on which a goroutine parks. Once the
   thread has released the lock, the handler holds it up until the page of the lock is gone. */
static void stepped(int sig, siginfo_t *info, void *context)
{
    struct waiter *w = atomic_load(&watched);
    (void)sig, (void)info;
    if (w == NULL || *(volatile uint64_t *)&w->lock.private_ != 0)
        return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~0x100L;
    atomic_store(&waiter, w);
    /* Waits until the page is gone, or for at most 100 ms. */
    for (int i = 0; i < 100 && atomic_load(&watched) != NULL; i++) {
        struct timespec ms = {0, 1000000};
        nanosleep(&ms, NULL);
    }
}

static void *wakes(void *unused)
{
    struct waiter *w;
    while ((w = atomic_load(&waiter)) == NULL)
        usleep(1000);
    gosched_lock(&w->lock);
    struct gosched_g *g = w->g;
    gosched_unlock(&w->lock);
    gosched_ready(g);
    return unused;
}

static void test_lock(void)
{
    struct sigaction action = {.sa_sigaction = stepped, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    pthread_t thread;
    CHECK(sigaction(SIGTRAP, &action, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, wakes, NULL) == 0);
    struct waiter *w = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(w != MAP_FAILED);
    w->g = gosched_getg();
    gosched_lock(&w->lock);
    atomic_store(&watched, w);
    /* Sets the trap flag. The subtraction keeps the red zone below the stack pointer. */
    __asm__ volatile("sub $128, %%rsp; pushf; orl $0x100, (%%rsp); popf; add $128, %%rsp" ::: "memory", "cc");
    gosched_parkunlock(&w->lock, GOSCHED_WAIT_REASON_NONE);
    CHECK(munmap(w, 4096) == 0);
    atomic_store(&watched, NULL);
    /* The thread that was held up goes on now. */
    gosched_sleep(10000000);
    CHECK(pthread_join(thread, NULL) == 0);
}

#else

static void test_lock(void)
{
}

#endif

static void *main_goroutine(void *unused)
{
    test_room();
    test_lock();
    return unused;
}

int main(void)
{
    CHECK(gosched_run(main_goroutine, NULL, NULL) == 0);
    return 0;
}
