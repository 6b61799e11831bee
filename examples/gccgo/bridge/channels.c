// Channels and select: gosched's. Go's chan.go and select.go.
//
// gosched returns the result of an operation. The rule that a send to a closed channel panics is
// Go's. len(c) and cap(c) are no calls: gccgo reads a channel's first two words.

#include <limits.h>

#include "libgo.h"

// Go's waitReasonSelectNoCases.
#define SELECT_NO_CASES ((enum gosched_wait_reason)10)

typedef struct gosched_chan chan;
struct received { bool selected, received; };
struct chosen { integer index; bool received; };

chan *makechan(const struct chantype *type, integer size) GO("runtime.makechan");
chan *makechan(const struct chantype *type, integer size)
{
    chan *c;
    if (size < 0 || gosched_chan_make(type->elem->size, size, &c) != 0)
        panic_plain("makechan: size out of range");
    return c;
}

chan *makechan64(const struct chantype *type, int64_t size) GO("runtime.makechan64");
chan *makechan64(const struct chantype *type, int64_t size)
{
    return makechan(type, size);
}

chan *reflect_makechan(const struct chantype *type, integer size) GO("reflect.makechan");
chan *reflect_makechan(const struct chantype *type, integer size)
{
    return makechan(type, size);
}

// Returns whether a send with this result was done.
static bool sent(enum gosched_result result)
{
    if (result == GOSCHED_RESULT_CLOSED)
        panic_plain("send on closed channel");
    return result == GOSCHED_RESULT_DONE;
}

static struct received received(enum gosched_result result)
{
    return (struct received){ result != GOSCHED_RESULT_WOULD_BLOCK, result == GOSCHED_RESULT_DONE };
}

void chansend1(chan *c, const void *elem) GO("runtime.chansend1");
void chansend1(chan *c, const void *elem)
{
    sent(gosched_chan_send(c, elem));
}

bool selectnbsend(chan *c, const void *elem) GO("runtime.selectnbsend");
bool selectnbsend(chan *c, const void *elem)
{
    return c && sent(gosched_chan_try_send(c, elem));
}

bool reflect_chansend(chan *c, const void *elem, bool nonblocking) GO("reflect.chansend");
bool reflect_chansend(chan *c, const void *elem, bool nonblocking)
{
    return nonblocking ? selectnbsend(c, elem) : sent(gosched_chan_send(c, elem));
}

void chanrecv1(chan *c, void *elem) GO("runtime.chanrecv1");
void chanrecv1(chan *c, void *elem)
{
    gosched_chan_recv(c, elem);
}

bool chanrecv2(chan *c, void *elem) GO("runtime.chanrecv2");
bool chanrecv2(chan *c, void *elem)
{
    return gosched_chan_recv(c, elem) == GOSCHED_RESULT_DONE;
}

struct received selectnbrecv(void *elem, chan *c) GO("runtime.selectnbrecv");
struct received selectnbrecv(void *elem, chan *c)
{
    return received(gosched_chan_try_recv(c, elem));
}

struct received reflect_chanrecv(chan *c, bool nonblocking, void *elem) GO("reflect.chanrecv");
struct received reflect_chanrecv(chan *c, bool nonblocking, void *elem)
{
    return received(nonblocking ? gosched_chan_try_recv(c, elem) : gosched_chan_recv(c, elem));
}

void closechan(chan *c) GO("runtime.closechan");
void closechan(chan *c)
{
    if (!c)
        panic_plain("close of nil channel");
    if (!gosched_chan_close(c))
        panic_plain("close of closed channel");
}

void reflect_chanclose(chan *c) GO("reflect.chanclose");
void reflect_chanclose(chan *c)
{
    closechan(c);
}

// libgo passes scratch memory as `order`; gosched has its own.
struct chosen selectgo(const struct gosched_case *cases, uint16_t *order, integer nsends, integer nrecvs,
                       bool block) GO("runtime.selectgo");
struct chosen selectgo(const struct gosched_case *cases, uint16_t *order, integer nsends, integer nrecvs,
                       bool block)
{
    (void)order;
    struct gosched_selected selected = gosched_select(cases, nsends, nrecvs, block);
    bool done = selected.result == GOSCHED_RESULT_DONE;
    if (selected.index >= 0 && selected.index < nsends)
        sent(selected.result);
    return (struct chosen){ selected.index, done && selected.index >= nsends };
}

// `select {}`.
_Noreturn void block(void) GO("runtime.block");
void block(void)
{
    for (;;)
        gosched_park(NULL, NULL, SELECT_NO_CASES);
}
