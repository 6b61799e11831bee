// Timers and time.Sleep: Go's time.go.

#include "libgo.h"

// libgo's runtimeTimer. Its first word, libgo's pointer to the P, is gosched's timer here.
struct timer {
    struct gosched_timer *timer;
    int64_t when, period;
    struct closure *f;
    struct eface arg;
    uintptr_t seq;
    int64_t nextwhen;
    uint32_t status;
};

void Sleep(int64_t ns) GO("time.Sleep");
void Sleep(int64_t ns)
{
    gosched_sleep(ns);
}

// Called on the scheduler's stack when a timer is due. The timer's function is from package time,
// and doesn't wait.
static void fire(void *arg, uintptr_t seq)
{
    (void)seq;
    struct timer *t = arg;
    CALL(void (*)(struct eface, uintptr_t), t->f, t->arg, t->seq);
}

void startTimer(struct timer *t) GO("time.startTimer");
void startTimer(struct timer *t)
{
    t->timer = mallocgc(sizeof *t->timer, NULL, true);
    t->timer->when = t->when;
    t->timer->period = t->period;
    t->timer->f = fire;
    t->timer->arg = t;
    gosched_start_timer(t->timer);
}

bool stopTimer(struct timer *t) GO("time.stopTimer");
bool stopTimer(struct timer *t)
{
    return gosched_stop_timer(t->timer);
}

bool resetTimer(struct timer *t, int64_t when) GO("time.resetTimer");
bool resetTimer(struct timer *t, int64_t when)
{
    return gosched_reset_timer(t->timer, when);
}

void modTimer(struct timer *t, int64_t when, int64_t period, struct closure *f, struct eface arg, uintptr_t seq)
    GO("time.modTimer");
void modTimer(struct timer *t, int64_t when, int64_t period, struct closure *f, struct eface arg, uintptr_t seq)
{
    t->f = f;
    t->arg = arg;
    t->seq = seq;
    gosched_mod_timer(t->timer, when, period, fire, t, 0);
}
