/*
 * The poller, signals, metrics, labels, and what the runtime reports about goroutines. The tests
 * run on the main goroutine, on copying stacks, and on a thread that isn't the runtime's. .ci/c
 * builds and runs this program.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "depths.h"
#include "gosched.h"

#define MS 1000000
#define FOREVER ((int64_t)60 * 1000 * MS)

/* A semaphore that is released when a helping goroutine ends. */
static uint32_t helped;

struct ends {
    int in, out;
};

static void make_pipe(void *ends)
{
    int fds[2];
    CHECK(pipe2(fds, O_NONBLOCK | O_CLOEXEC) == 0);
    *(struct ends *)ends = (struct ends){fds[0], fds[1]};
}

static ssize_t read_some(int fd, char *to, size_t size, int *error)
{
    ssize_t n = read(fd, to, size);
    *error = n < 0 ? errno : 0;
    return n;
}

static void write_later(void *fd)
{
    gosched_sleep(2 * MS);
    CHECK(write((int)(intptr_t)fd, "x", 1) == 1);
    gosched_semrelease(&helped);
}

static void unblock_later(void *pd)
{
    gosched_sleep(2 * MS);
    gosched_poll_unblock(pd);
    gosched_semrelease(&helped);
}

static void polls(void)
{
    struct ends ends;
    struct gosched_poll_desc *in, *out, *again = (struct gosched_poll_desc *)&ends;
    char byte = 0;
    int error;
    gosched_systemstack(make_pipe, &ends);
    CHECK(gosched_poll_server_init() == 0);
    CHECK(gosched_poll_open(ends.in, &in) == 0 && gosched_poll_open(ends.out, &out) == 0);
    CHECK(gosched_poll_open(ends.in, &again) == EEXIST && again == NULL);
    CHECK(gosched_poll_open(-1, &again) == EBADF && gosched_poll_open(ends.in, NULL) == EINVAL);
    CHECK(!gosched_is_poll_descriptor(ends.in) && !gosched_is_poll_descriptor(-1));

    /* A deadline passes during a wait; the next wait begins after it has passed. */
    int64_t begin = gosched_nanotime();
    CHECK(gosched_poll_reset(in, 'r') == GOSCHED_POLL_RESULT_OK);
    CHECK(read_some(ends.in, &byte, 1, &error) < 0 && error == EAGAIN);
    gosched_poll_set_deadline(in, 2 * MS, 'r');
    CHECK(gosched_poll_wait(in, 'r') == GOSCHED_POLL_RESULT_TIMEOUT);
    CHECK(gosched_nanotime() - begin >= 2 * MS);
    CHECK(gosched_poll_reset(in, 'r') == GOSCHED_POLL_RESULT_TIMEOUT);
    CHECK(gosched_poll_wait(in, 'r') == GOSCHED_POLL_RESULT_TIMEOUT);
    CHECK(gosched_poll_reset(in, 'w') == GOSCHED_POLL_RESULT_OK);
    gosched_poll_set_deadline(in, -1, 'r' + 'w');
    CHECK(gosched_poll_reset(in, 'w') == GOSCHED_POLL_RESULT_TIMEOUT);

    /* Without a deadline, a wait lasts until there is something to read. */
    gosched_poll_set_deadline(in, 0, 'r' + 'w');
    CHECK(gosched_poll_reset(in, 'r') == GOSCHED_POLL_RESULT_OK);
    gosched_newproc(write_later, (void *)(intptr_t)ends.out);
    while (read_some(ends.in, &byte, 1, &error) < 0) {
        CHECK(error == EAGAIN && gosched_poll_wait(in, 'r') == GOSCHED_POLL_RESULT_OK);
        CHECK(gosched_poll_reset(in, 'r') == GOSCHED_POLL_RESULT_OK);
    }
    CHECK(byte == 'x');
    gosched_semacquire(&helped);

    /* The pipe has had room since it was opened, so this doesn't wait. */
    gosched_poll_set_deadline(out, FOREVER, 'w');
    CHECK(gosched_poll_wait(out, 'w') == GOSCHED_POLL_RESULT_OK);

    gosched_newproc(unblock_later, in);
    CHECK(gosched_poll_wait(in, 'r') == GOSCHED_POLL_RESULT_CLOSING);
    CHECK(gosched_poll_reset(in, 'r') == GOSCHED_POLL_RESULT_CLOSING);
    gosched_semacquire(&helped);
    gosched_poll_unblock(out);
    gosched_poll_close(in);
    gosched_poll_close(out);
    close(ends.in);
    close(ends.out);
}

/* One goroutine receives the signals of all tests, and stores the last one here. */
static _Atomic uint32_t received;
static uint32_t has_received;

static void receive_signals(void *unused)
{
    (void)unused;
    for (;;) {
        atomic_store(&received, gosched_signal_recv());
        gosched_semrelease(&has_received);
    }
}

static void send_to_all(void *sig)
{
    CHECK(kill(getpid(), *(int *)sig) == 0);
}

struct action {
    int sig;
    bool is_ignore, is_default;
};

static void look_at_action(void *action)
{
    struct action *is = action;
    struct sigaction now;
    CHECK(sigaction(is->sig, NULL, &now) == 0);
    is->is_ignore = now.sa_handler == SIG_IGN;
    is->is_default = now.sa_handler == SIG_DFL;
}

static void signals(void)
{
    int sig = SIGUSR1;
    struct action usr1 = {.sig = SIGUSR1}, winch = {.sig = SIGWINCH};
    CHECK(gosched_signal_enable(0) == EINVAL && gosched_signal_enable(SIGKILL) == EINVAL);
    CHECK(gosched_signal_enable(SIGSEGV) == EINVAL && gosched_signal_disable(65) == EINVAL);
    CHECK(gosched_signal_ignore(-1) == EINVAL && !gosched_signal_ignored(-1));
    CHECK(gosched_signal_enable(SIGUSR1) == 0);
    atomic_store(&received, 0);
    gosched_systemstack(send_to_all, &sig);
    gosched_semacquire(&has_received);
    CHECK(atomic_load(&received) == SIGUSR1);
    gosched_systemstack(look_at_action, &usr1);
    CHECK(!usr1.is_ignore && !usr1.is_default);
    CHECK(gosched_signal_disable(SIGUSR1) == 0);
    gosched_systemstack(look_at_action, &usr1);
    CHECK(usr1.is_default);

    /* The default action of SIGWINCH does nothing. So it is harmless if the signal comes when it is
       no longer ignored. */
    atomic_store(&received, 0);
    CHECK(gosched_signal_ignore(SIGWINCH) == 0 && gosched_signal_ignored(SIGWINCH));
    gosched_systemstack(look_at_action, &winch);
    CHECK(winch.is_ignore);
    sig = SIGWINCH;
    gosched_systemstack(send_to_all, &sig);
    CHECK(gosched_signal_disable(SIGWINCH) == 0 && !gosched_signal_ignored(SIGWINCH));
    gosched_systemstack(look_at_action, &winch);
    CHECK(winch.is_default);
    gosched_signal_wait_until_idle();
    CHECK(atomic_load(&received) == 0);
}

static void metrics(void)
{
    struct gosched_metrics now;
    memset(&now, 0xff, sizeof now);
    CHECK(gosched_metrics(NULL) == EINVAL && gosched_metrics(&now) == 0);
    CHECK(now.gomaxprocs == (uint64_t)gosched_set_gomaxprocs(0));
    CHECK(now.goroutines >= 2 && now.goroutines < 10); /* this one, the signals' receiver, some that are ending */
    CHECK(now.idle_seconds >= 0 && now.idle_seconds < 1e6);
    CHECK(now.mutex_wait_seconds >= 0 && now.detached_seconds >= 0 && now.detached <= now.goroutines);
    CHECK(now.stack_home_bytes >= 4096 && now.stack_segment_bytes < (uint64_t)1 << 40);
    CHECK(now.stacks_unguarded < 1000 && now.preemptions < (uint64_t)1 << 40);
    CHECK(now.detachments_blocked < 1000000 && now.detachments_computing < 1000000);
    CHECK(now.stack_growths > 0);
}

/* The goroutine's labels as one text. */
static char all_labels[64];

static void add_label(const char *key, const char *value, void *all)
{
    snprintf((char *)all + strlen(all), sizeof all_labels - strlen(all), "%s=%s ", key, value);
}

static bool labels_are(const char *wanted)
{
    memset(all_labels, 0, sizeof all_labels);
    gosched_labels(add_label, all_labels);
    return strcmp(all_labels, wanted) == 0;
}

static void look_at_inherited(void *unused)
{
    (void)unused;
    CHECK(labels_are("step=read user=ann "));
    CHECK(gosched_set_label("step", NULL) == 0 && labels_are("user=ann "));
    gosched_semrelease(&helped);
}

static void set_on_the_schedulers_stack(void *result)
{
    *(int *)result = gosched_set_label("key", "value");
}

static void labels(void)
{
    int result = 0;
    char key[] = "user";
    CHECK(labels_are(""));
    CHECK(gosched_set_label(key, "bob") == 0 && gosched_set_label("user", "ann") == 0);
    key[0] = '?';
    CHECK(gosched_set_label("step", "read") == 0 && labels_are("step=read user=ann "));
    gosched_newproc(look_at_inherited, NULL);
    gosched_semacquire(&helped);
    CHECK(labels_are("step=read user=ann "));
    CHECK(gosched_set_label(NULL, "value") == EINVAL && gosched_set_label("\xff", "value") == EINVAL);
    gosched_systemstack(set_on_the_schedulers_stack, &result);
    CHECK(result == EPERM);
    CHECK(gosched_set_label("user", NULL) == 0 && gosched_set_label("step", NULL) == 0);
    CHECK(gosched_set_label("there is", NULL) == 0 && labels_are(""));
}

static void write_to(void *out)
{
    gosched_sleep(2 * MS);
    CHECK(write(((struct ends *)out)->out, "x", 1) == 1);
}

static void *foreign(void *unused)
{
    struct ends ends;
    struct gosched_poll_desc *pd;
    make_pipe(&ends);
    CHECK(gosched_poll_open(ends.in, &pd) == 0);
    gosched_poll_set_deadline(pd, MS, 'r');
    CHECK(gosched_poll_wait(pd, 'r') == GOSCHED_POLL_RESULT_TIMEOUT);
    gosched_poll_set_deadline(pd, 0, 'r');
    CHECK(gosched_newproc_fixed(write_to, &ends, 0) == 0);
    CHECK(gosched_poll_wait(pd, 'r') == GOSCHED_POLL_RESULT_OK);
    gosched_poll_unblock(pd);
    gosched_poll_close(pd);
    struct gosched_metrics now;
    CHECK(gosched_metrics(&now) == 0 && now.goroutines > 0);
    CHECK(gosched_set_label("key", "value") == EPERM && labels_are(""));
    CHECK(gosched_getg() == NULL);
    return unused;
}

static pthread_t thread;

static void join_thread(void *unused)
{
    (void)unused;
    CHECK(pthread_join(thread, NULL) == 0);
}

static void (*const tests[])(void) = {polls, signals, labels};

static void *all_tests(void *arg)
{
    gosched_newproc(receive_signals, NULL);
    run_everywhere(tests, sizeof tests / sizeof *tests);
    metrics();
    CHECK(pthread_create(&thread, NULL, foreign, arg) == 0);
    gosched_blocking(join_thread, NULL);
    return arg;
}

int main(void)
{
    struct gosched_metrics before;
    CHECK(gosched_signal_enable(SIGUSR1) == EPERM && gosched_metrics(&before) == 0 && before.goroutines == 0);
    CHECK(gosched_run(all_tests, NULL, NULL) == 0);
    return EXIT_SUCCESS;
}
