// Signals that a program asks for, by package os/signal: Go's sigqueue.go.

#include "libgo.h"

void signal_enable(uint32_t sig) GO("os_1signal.signal__enable");
void signal_enable(uint32_t sig)
{
    gosched_signal_enable(sig);
}

void signal_disable(uint32_t sig) GO("os_1signal.signal__disable");
void signal_disable(uint32_t sig)
{
    gosched_signal_disable(sig);
}

void signal_ignore(uint32_t sig) GO("os_1signal.signal__ignore");
void signal_ignore(uint32_t sig)
{
    gosched_signal_ignore(sig);
}

bool signal_ignored(uint32_t sig) GO("os_1signal.signal__ignored");
bool signal_ignored(uint32_t sig)
{
    return gosched_signal_ignored(sig);
}

uint32_t signal_recv(void) GO("os_1signal.signal__recv");
uint32_t signal_recv(void)
{
    return gosched_signal_recv();
}

void signal_wait_until_idle(void) GO("os_1signal.signalWaitUntilIdle");
void signal_wait_until_idle(void)
{
    gosched_signal_wait_until_idle();
}
