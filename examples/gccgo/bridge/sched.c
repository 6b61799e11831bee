// The scheduler's functions that libgo calls: those of Go's proc.go and of package runtime.

#include "libgo.h"

// gccgo inlines small functions of one package in another. So Gosched and NumGoroutine can't be
// replaced, but the functions that they call can.
extern const struct closure gosched_m GO("runtime.gosched__m..f");

// Called where libgo goes to the scheduler's stack and doesn't come back: by Gosched and Goexit.
void mcall(const struct closure *f) GO("runtime.mcall");
void mcall(const struct closure *f)
{
    if (f == &gosched_m)
        gosched_yield();
    else
        goexit();
}

int32_t gcount(void) GO("runtime.gcount");
int32_t gcount(void)
{
    return gosched_gcount();
}

integer GOMAXPROCS(integer n) GO("runtime.GOMAXPROCS");
integer GOMAXPROCS(integer n)
{
    return gosched_set_gomaxprocs(n < 0 ? 0 : n > 16384 ? 16384 : n);
}

integer set_max_stack(integer bytes) GO("runtime_1debug.setMaxStack");
integer set_max_stack(integer bytes)
{
    return gosched_set_max_stack(bytes);
}

integer set_max_threads(integer n) GO("runtime_1debug.setMaxThreads");
integer set_max_threads(integer n)
{
    return gosched_set_max_threads(n);
}

void LockOSThread(void) GO("runtime.LockOSThread");
void LockOSThread(void)
{
    gosched_lock_os_thread();
}

void UnlockOSThread(void) GO("runtime.UnlockOSThread");
void UnlockOSThread(void)
{
    gosched_unlock_os_thread();
}

// libgo's CPU profiler would look at libgo's own goroutines. Here a profile has a head and no
// samples.
void set_cpu_profile_rate(integer hz) GO("runtime.SetCPUProfileRate");
void set_cpu_profile_rate(integer hz)
{
    (void)hz;
}

struct profile { struct slice data, tags; bool eof; };

struct profile read_profile(void) GO("runtime_1pprof.readProfile");
struct profile read_profile(void)
{
    // The head's length, no time, and the samples a second.
    static uint64_t head[] = { 3, 0, 100 };
    static void *no_tag[1];
    return (struct profile){ { head, 3, 3 }, { no_tag, 1, 1 }, true };
}

// Few functions that remain libgo's park, such as a select without cases by reflection. None of
// them has anything to do once the goroutine is off its stack.
void gopark(const struct closure *unlockf, void *lock, uint8_t reason, uint8_t event, integer skip)
    GO("runtime.gopark");
void gopark(const struct closure *unlockf, void *lock, uint8_t reason, uint8_t event, integer skip)
{
    (void)lock, (void)event, (void)skip;
    if (unlockf)
        throw((struct string){ "gopark: libgo's scheduler isn't here", 36 });
    gosched_park(NULL, NULL, (enum gosched_wait_reason)reason);
}

// A goroutine that stops the world is alone until it starts the world again.
static struct gosched_world_stop stop;

void stop_the_world(struct string reason) GO("runtime.stopTheWorld");
void stop_the_world(struct string reason)
{
    (void)reason;
    stop = gosched_stop_the_world(GOSCHED_STW_REASON_UNKNOWN);
}

void start_the_world(void) GO("runtime.startTheWorld");
void start_the_world(void)
{
    gosched_start_the_world(stop);
}

static void call_closure(void *closure)
{
    CALL(void (*)(void), (struct closure *)closure);
}

void systemstack(struct closure *f) GO("runtime.systemstack");
void systemstack(struct closure *f)
{
    gosched_systemstack(call_closure, f);
}

// libgo's `mutex` is one word, like gosched's.
void lock2(struct gosched_mutex *mutex) GO("runtime.lock2");
void lock2(struct gosched_mutex *mutex)
{
    gosched_lock(mutex);
}

void unlock2(struct gosched_mutex *mutex) GO("runtime.unlock2");
void unlock2(struct gosched_mutex *mutex)
{
    gosched_unlock(mutex);
}
