/*
 * Step 3: waits for things other than goroutines: a timer that calls a function of the port's, a
 * descriptor by way of the poller, a call that blocks, and a nil channel.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gosched.h"

/* Go's time.After: a channel with room for one value, which a timer sends to. */
static void send_time(void *chan, uintptr_t seq)
{
    int64_t now = gosched_nanotime();
    (void)seq;
    gosched_chan_try_send(chan, &now);
}

static struct gosched_timer timer;

static struct gosched_chan *after(int64_t ns)
{
    struct gosched_chan *chan;
    gosched_chan_make(sizeof(int64_t), 1, &chan);
    timer.when = gosched_nanotime() + ns;
    timer.f = send_time;
    timer.arg = chan;
    gosched_start_timer(&timer);
    return chan;
}

static int pipe_of[2];

/* Blocks its thread. It runs on the scheduler's stack. */
static void write_late(void *unused)
{
    (void)unused;
    usleep(1000);
    (void)!write(pipe_of[1], "hello", 5);
}

static void writes(void *unused)
{
    gosched_blocking(write_late, unused);
}

static void try_read(void *into)
{
    ssize_t n = read(pipe_of[0], into, 5);
    ((char *)into)[n > 0 ? n : 0] = 0;
}

/* Go's read of a descriptor: it tries, and waits if there is nothing to read. */
static enum gosched_poll_result read_polled(char *into)
{
    struct gosched_poll_desc *pd;
    enum gosched_poll_result result;
    if (gosched_poll_server_init() != 0 || gosched_poll_open(pipe_of[0], &pd) != 0)
        return GOSCHED_POLL_RESULT_NOT_POLLABLE;
    gosched_poll_set_deadline(pd, gosched_nanotime() + 10000000000, 'r');
    for (;;) {
        result = gosched_poll_reset(pd, 'r');
        if (result == GOSCHED_POLL_RESULT_OK)
            gosched_systemstack(try_read, into);
        if (result != GOSCHED_POLL_RESULT_OK || into[0])
            break;
        result = gosched_poll_wait(pd, 'r');
        if (result != GOSCHED_POLL_RESULT_OK)
            break;
    }
    gosched_poll_unblock(pd);
    gosched_poll_close(pd);
    return result;
}

static char text[8];
static bool was_after, nil_is_never_ready;

static void *start(void *unused)
{
    int64_t begin = gosched_nanotime(), fired = 0;
    gosched_chan_recv(after(2000000), &fired);
    was_after = fired - begin >= 2000000;
    nil_is_never_ready = gosched_chan_try_send(NULL, &fired) == GOSCHED_RESULT_WOULD_BLOCK &&
                         gosched_chan_try_recv(NULL, &fired) == GOSCHED_RESULT_WOULD_BLOCK;
    gosched_newproc(writes, NULL);
    if (read_polled(text) != GOSCHED_POLL_RESULT_OK)
        memset(text, 0, sizeof text);
    return unused;
}

int main(void)
{
    if (pipe(pipe_of) != 0 || fcntl(pipe_of[0], F_SETFL, O_NONBLOCK) != 0)
        return 1;
    int error = gosched_run_copying(start, NULL, NULL);
    printf("%s %d %d\n", text, was_after, nil_is_never_ready);
    return error;
}
