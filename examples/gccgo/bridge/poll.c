// The network poller, as package internal/poll calls it: Go's netpoll.go. gosched's results have
// Go's numbers.

#include "libgo.h"

typedef struct gosched_poll_desc desc;
struct opened { desc *pd; integer error; };

void poll_server_init(void) GO("internal_1poll.runtime__pollServerInit");
void poll_server_init(void) {}

struct opened poll_open(uintptr_t fd) GO("internal_1poll.runtime__pollOpen");
struct opened poll_open(uintptr_t fd)
{
    struct opened opened;
    opened.error = gosched_poll_open(fd, &opened.pd);
    return opened;
}

void poll_close(desc *pd) GO("internal_1poll.runtime__pollClose");
void poll_close(desc *pd)
{
    gosched_poll_close(pd);
}

integer poll_reset(desc *pd, integer mode) GO("internal_1poll.runtime__pollReset");
integer poll_reset(desc *pd, integer mode)
{
    return gosched_poll_reset(pd, mode);
}

integer poll_wait(desc *pd, integer mode) GO("internal_1poll.runtime__pollWait");
integer poll_wait(desc *pd, integer mode)
{
    return gosched_poll_wait(pd, mode);
}

void poll_set_deadline(desc *pd, int64_t ns, integer mode) GO("internal_1poll.runtime__pollSetDeadline");
void poll_set_deadline(desc *pd, int64_t ns, integer mode)
{
    gosched_poll_set_deadline(pd, ns, mode);
}

void poll_unblock(desc *pd) GO("internal_1poll.runtime__pollUnblock");
void poll_unblock(desc *pd)
{
    gosched_poll_unblock(pd);
}

bool is_poll_descriptor(uintptr_t fd) GO("internal_1poll.runtime__isPollServerDescriptor");
bool is_poll_descriptor(uintptr_t fd)
{
    return gosched_is_poll_descriptor(fd);
}
