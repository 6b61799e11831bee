/*
 * Calls every function of gosched.h in three places: on the main goroutine, whose stack is fixed;
 * on copying stacks, at many depths; and on a thread that isn't the runtime's. At some depths a
 * function of this file finds too little room, and at others one of the library. .ci/c builds and
 * runs this program.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "gosched.h"

#define DONE GOSCHED_RESULT_DONE
#define WOULD_BLOCK GOSCHED_RESULT_WOULD_BLOCK
#define CLOSED GOSCHED_RESULT_CLOSED

static struct gosched_chan *make_chan(size_t elem_size, size_t capacity)
{
    struct gosched_chan *chan;
    CHECK(gosched_chan_make(elem_size, capacity, &chan) == 0);
    return chan;
}

/* The channel to which a helper sends at its end. */
static struct gosched_chan *ended;

static void end(void *unused)
{
    (void)unused;
    char word = 1;
    CHECK(gosched_chan_send(ended, &word) == DONE);
}

static void wait_for_end(void)
{
    char word = 0;
    CHECK(gosched_chan_recv(ended, &word) == DONE && word == 1);
}

/* Tests run one after the other, and share these with their helpers. */
static struct gosched_chan *request, *reply;

struct value {
    intptr_t words[5];
};

static void echo(void *unused)
{
    struct value value;
    while (gosched_chan_recv(request, &value) == DONE) {
        for (int i = 0; i < 5; i++)
            value.words[i]++;
        CHECK(gosched_chan_send(reply, &value) == DONE);
    }
    end(unused);
}

static void start_echo(void)
{
    request = make_chan(sizeof(struct value), 0);
    reply = make_chan(sizeof(struct value), 0);
    gosched_newproc(echo, NULL);
}

static void end_echo(void)
{
    CHECK(gosched_chan_close(request));
    wait_for_end();
    gosched_chan_free(request);
    gosched_chan_free(reply);
}

static void unbuffered(void)
{
    struct value value = {{1, 2, 3, 4, 5}};
    start_echo();
    for (int i = 0; i < 3; i++) {
        CHECK(gosched_chan_send(request, &value) == DONE);
        CHECK(gosched_chan_recv(reply, &value) == DONE);
    }
    CHECK(value.words[0] == 4 && value.words[4] == 8);
    CHECK(gosched_chan_len(request) == 0 && gosched_chan_cap(request) == 0);
    CHECK(gosched_chan_try_recv(reply, &value) == WOULD_BLOCK);
    end_echo();
}

static void buffered(void)
{
    struct gosched_chan *chan = make_chan(sizeof(intptr_t), 3);
    /* A whole word, as half a word beside half of an old address could look like an address. */
    intptr_t value = 1;
    for (; gosched_chan_try_send(chan, &value) == DONE; value++)
        CHECK(gosched_chan_len(chan) == (size_t)value);
    CHECK(value == 4 && gosched_chan_cap(chan) == 3);
    CHECK(gosched_chan_recv(chan, &value) == DONE && value == 1);
    CHECK(gosched_chan_try_recv(chan, NULL) == DONE);
    CHECK(gosched_chan_close(chan));
    CHECK(!gosched_chan_close(chan));
    CHECK(gosched_chan_send(chan, &value) == CLOSED && gosched_chan_try_send(chan, &value) == CLOSED);
    CHECK(gosched_chan_recv(chan, &value) == DONE && value == 3);
    CHECK(gosched_chan_recv(chan, &value) == CLOSED && value == 0);
    CHECK(gosched_chan_try_recv(chan, NULL) == CLOSED);
    gosched_chan_free(chan);
}

static bool chosen(struct gosched_selected selected, ptrdiff_t index, enum gosched_result result)
{
    return selected.index == index && selected.result == result;
}

static void selects(void)
{
    struct value out = {{1, 2, 3, 4, 5}}, in;
    struct gosched_case cases[2] = {{NULL, &out}, {NULL, &in}};
    CHECK(chosen(gosched_select(cases, 1, 1, false), -1, WOULD_BLOCK));
    CHECK(chosen(gosched_select(NULL, 0, 0, false), -1, WOULD_BLOCK));
    start_echo();
    cases[0].chan = request;
    cases[1].chan = reply;
    for (int i = 0; i < 3; i++) {
        CHECK(chosen(gosched_select(cases, 1, 1, true), 0, DONE));
        CHECK(chosen(gosched_select(cases + 1, 0, 1, true), 0, DONE));
        CHECK(in.words[0] == 2 && in.words[4] == 6);
    }
    end_echo();
}

/* More cases than the select sorts on the stack. */
static void select_of_many(void)
{
    enum { CASES = 20 };
    struct gosched_case cases[CASES] = {{0}};
    struct gosched_chan *chan = make_chan(sizeof(intptr_t), 1);
    intptr_t value = 7;
    cases[CASES - 1] = (struct gosched_case){chan, &value};
    CHECK(chosen(gosched_select(cases, 0, CASES, false), -1, WOULD_BLOCK));
    CHECK(chosen(gosched_select(cases, CASES, 0, true), CASES - 1, DONE));
    value = 0;
    CHECK(chosen(gosched_select(cases, 5, CASES - 5, true), CASES - 1, DONE) && value == 7);
    gosched_chan_close(chan);
    CHECK(chosen(gosched_select(cases, 0, CASES, true), CASES - 1, CLOSED) && value == 0);
    CHECK(chosen(gosched_select(cases, CASES, 0, true), CASES - 1, CLOSED));
    gosched_chan_free(chan);
}

/* A parked goroutine. The goroutine that takes it from here makes it ready. */
static _Atomic(struct gosched_g *) parked;

static bool publish(struct gosched_g *g, void *place)
{
    atomic_store((_Atomic(struct gosched_g *) *)place, g);
    return true;
}

static bool go_on(struct gosched_g *g, void *lock)
{
    return g == NULL || lock != &parked;
}

static void ready_the_parked(void *unused)
{
    struct gosched_g *g;
    while ((g = atomic_exchange(&parked, NULL)) == NULL)
        gosched_yield();
    gosched_ready(g);
    end(unused);
}

static void park_and_end(void *unused)
{
    gosched_park(publish, &parked, GOSCHED_WAIT_REASON_COND_WAIT);
    end(unused);
}

static void parks(void)
{
    gosched_newproc(ready_the_parked, NULL);
    gosched_park(publish, &parked, GOSCHED_WAIT_REASON_SEMACQUIRE);
    wait_for_end();
    gosched_newproc(park_and_end, NULL);
    gosched_newproc(ready_the_parked, NULL);
    wait_for_end();
    wait_for_end();
    gosched_park(go_on, &parked, GOSCHED_WAIT_REASON_SLEEP);
}

/* Uses half a MiB of stack, without a check. */
__attribute__((no_split_stack)) static void use_much(void *unused)
{
    volatile char bytes[512 << 10];
    char text[32];
    for (size_t i = 0; i < sizeof bytes; i += 1024)
        bytes[i] = 1;
    snprintf(text, sizeof text, "%d %.2f", bytes[1024], 0.5);
    CHECK(strcmp(text, "1 0.50") == 0);
    end(unused);
}

static void fixed_stacks(void)
{
    CHECK(gosched_newproc_fixed(use_much, NULL, 1 << 20) == 0);
    wait_for_end();
    CHECK(gosched_newproc_fixed(end, NULL, 0) == 0);
    wait_for_end();
}

/* A list whose nodes are in the frames of a recursion. */
struct node {
    const struct node *next;
    intptr_t value;
};

static intptr_t recurse(int depth, const struct node *next)
{
    struct node node = {next, depth};
    intptr_t sum = 0;
    if (depth > 0)
        return recurse(depth - 1, &node) + node.value - depth;
    for (const struct node *at = &node; at != NULL; at = at->next)
        sum += at->value;
    return sum;
}

static void deep_recursion(void *unused)
{
    const struct node last = {NULL, 1};
    CHECK(recurse(10000, &last) == 50005001);
    for (int i = 0; i < 4; i++)
        gosched_shrink_stack();
    CHECK(last.value == 1 && recurse(100, &last) == 5051);
    end(unused);
}

static void recursion(void)
{
    const struct node last = {NULL, 1};
    CHECK(recurse(100, &last) == 5051);
    gosched_shrink_stack();
    CHECK(last.value == 1 && recurse(10, &last) == 56);
}

static void leave(void *unused)
{
    end(unused);
    gosched_exit();
}

static void leave_from_within(void *unused)
{
    leave(unused);
    CHECK(!"it goes on after gosched_exit");
}

static void exits(void)
{
    gosched_newproc(leave_from_within, NULL);
    wait_for_end();
}

/* What a function on the scheduler's stack finds out. */
struct seen {
    struct gosched_g *g;
    char text[16];
};

static void look(void *seen)
{
    ((struct seen *)seen)->g = gosched_getg();
    strcpy(((struct seen *)seen)->text, "from there");
}

static void system_stack(void)
{
    struct gosched_g *g = gosched_getg();
    struct seen seen;
    gosched_systemstack(look, &seen);
    CHECK(g != NULL && gosched_getg() == g);
    CHECK(seen.g != NULL && seen.g != g && strcmp(seen.text, "from there") == 0);
}

static void read_a_byte(void *pipe)
{
    char byte;
    CHECK(read(*(int *)pipe, &byte, 1) == 1 && byte == 'x');
}

static void write_a_byte(void *pipe)
{
    gosched_sleep(1000000);
    CHECK(write(*(int *)pipe, "x", 1) == 1);
    end(pipe);
}

/* This would wait forever if no other goroutine could write during the blocking call. */
static void blocking(void)
{
    static int ends[2];
    CHECK(pipe(ends) == 0);
    int before = gosched_set_gomaxprocs(1);
    CHECK(before >= 1 && gosched_set_gomaxprocs(0) == 1);
    gosched_newproc(write_a_byte, &ends[1]);
    gosched_blocking(read_a_byte, &ends[0]);
    wait_for_end();
    CHECK(gosched_set_default_gomaxprocs() == 1 && gosched_set_gomaxprocs(before) >= 1);
    CHECK(gosched_set_gomaxprocs(20000) == -1);
    close(ends[0]);
    close(ends[1]);
}

static void *send_from_a_thread(void *chan)
{
    for (intptr_t i = 0; i < 100; i++)
        CHECK(gosched_chan_send(chan, &i) == DONE);
    intptr_t last;
    struct gosched_case receive = {chan, &last};
    struct gosched_selected selected = gosched_select(&receive, 0, 1, true);
    CHECK(selected.index == 0 && selected.result == DONE && last == -1);
    return NULL;
}

static pthread_t sender;

static void start(void *chan)
{
    CHECK(pthread_create(&sender, NULL, send_from_a_thread, chan) == 0);
}

static void join(void *unused)
{
    (void)unused;
    CHECK(pthread_join(sender, NULL) == 0);
}

static void threads(void)
{
    struct gosched_chan *chan = make_chan(sizeof(intptr_t), 0);
    intptr_t value, last = -1;
    gosched_systemstack(start, chan);
    for (intptr_t i = 0; i < 100; i++)
        CHECK(gosched_chan_recv(chan, &value) == DONE && value == i);
    CHECK(gosched_chan_send(chan, &last) == DONE);
    gosched_blocking(join, NULL);
    gosched_chan_free(chan);
}

static void *give_back(void *arg)
{
    return arg;
}

static void errors(void)
{
    struct gosched_chan *chan = (struct gosched_chan *)&chan;
    CHECK(gosched_run(give_back, NULL, NULL) == EDEADLK);
    CHECK(gosched_newproc_fixed(NULL, NULL, 0) == EINVAL);
    CHECK(gosched_newproc_fixed(end, NULL, ((size_t)1 << 30) + 4096) == EINVAL);
    CHECK(gosched_chan_make(1 << 16, 0, &chan) == EINVAL && chan == NULL);
    chan = (struct gosched_chan *)&chan;
    CHECK(gosched_chan_make(1 << 10, (size_t)1 << 50, &chan) == ENOMEM && chan == NULL);
    CHECK(gosched_chan_len(NULL) == 0 && gosched_chan_cap(NULL) == 0);
    CHECK(gosched_chan_try_send(NULL, &chan) == WOULD_BLOCK);
    CHECK(gosched_chan_try_recv(NULL, &chan) == WOULD_BLOCK);
    gosched_chan_free(NULL);
    size_t limit = gosched_set_max_stack((size_t)1 << 40);
    CHECK(gosched_set_max_stack(limit) == (size_t)1 << 40);
}

static void (*const tests[])(void) = {
    unbuffered, buffered, selects, select_of_many, parks, fixed_stacks, recursion, exits, system_stack, blocking, threads,
    errors,
};

enum { TESTS = sizeof tests / sizeof *tests };

/* The test that the helper on a copying stack runs, its depth, and the channel that it sends to
   when it is done. */
static int test, depth;
static struct gosched_chan *tested;

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
    char word = 1;
    descend(depth);
    CHECK(gosched_chan_send(tested, &word) == DONE);
}

/* Runs on a thread that isn't the runtime's, and calls the functions that are allowed there. */
static void *foreign(void *arg)
{
    CHECK(gosched_getg() == NULL);
    struct gosched_chan *chan = make_chan(1, 1);
    char word = 1;
    struct gosched_case receive = {chan, &word};
    CHECK(gosched_chan_send(chan, &word) == DONE);
    CHECK(gosched_chan_try_send(chan, &word) == WOULD_BLOCK);
    CHECK(chosen(gosched_select(&receive, 0, 1, true), 0, DONE));
    CHECK(chosen(gosched_select(&receive, 0, 1, false), -1, WOULD_BLOCK));
    CHECK(gosched_chan_close(chan));
    gosched_chan_free(chan);
    gosched_newproc(park_and_end, NULL);
    CHECK(gosched_newproc_fixed(end, NULL, 0) == 0);
    struct gosched_g *g;
    while ((g = atomic_exchange(&parked, NULL)) == NULL)
        sched_yield();
    gosched_ready(g);
    void *result;
    CHECK(gosched_run(give_back, arg, &result) == 0 && result == arg);
    gosched_newproc(end, NULL);
    return arg;
}

static void *all_tests(void *arg)
{
    ended = make_chan(1, 0);
    tested = make_chan(1, 0);
    for (test = 0; test < TESTS; test++)
        tests[test]();
    for (depth = 0; depth < 80; depth++) {
        for (test = 0; test < TESTS; test++) {
            gosched_newproc(test_at_depth, NULL);
            CHECK(gosched_chan_recv(tested, NULL) == DONE);
        }
    }
    gosched_newproc(deep_recursion, NULL);
    wait_for_end();
    pthread_t thread;
    void *result;
    CHECK(pthread_create(&thread, NULL, foreign, arg) == 0);
    for (int i = 0; i < 3; i++)
        wait_for_end();
    CHECK(pthread_join(thread, &result) == 0 && result == arg);
    return arg;
}

int main(void)
{
    int arg;
    void *result = NULL;
    CHECK(gosched_getg() == NULL);
    CHECK(gosched_newproc_fixed(end, NULL, 0) == EPERM);
    CHECK(gosched_run(NULL, NULL, NULL) == EINVAL);
    CHECK(gosched_run(all_tests, &arg, &result) == 0 && result == &arg);
    puts("all is as it should be");
    return EXIT_SUCCESS;
}
