/*
 * The primes below 100, by a chain of goroutines on copying stacks. Each takes a prime from the
 * goroutine before it, and passes on the numbers that the prime doesn't divide.
 *
 * To build and run it, in the crate's folder:
 *
 *     cargo rustc --release --lib --crate-type staticlib
 *     gcc -O2 -fsplit-stack -ftrivial-auto-var-init=zero -Iinclude examples/c/primes.c \
 *         target/release/libgosched.a -Wl,-z,now -o primes
 *     ./primes
 */
#include <stdio.h>
#include <stdlib.h>

#include "gosched.h"

enum { LIMIT = 100 };

/* Closed by the last goroutine of the chain. */
static struct gosched_chan *done;

static void print(void *prime)
{
    printf("%d\n", *(int *)prime);
}

static void out_of_memory(void *unused)
{
    (void)unused;
    fputs("primes: out of memory\n", stderr);
    exit(EXIT_FAILURE);
}

static struct gosched_chan *make_chan(size_t elem_size)
{
    struct gosched_chan *chan;
    if (gosched_chan_make(elem_size, 0, &chan) != 0)
        gosched_systemstack(out_of_memory, NULL);
    return chan;
}

static void filter(void *from)
{
    int prime, n;
    if (gosched_chan_recv(from, &prime) == GOSCHED_RESULT_CLOSED) {
        gosched_chan_close(done);
        return;
    }
    gosched_systemstack(print, &prime); /* printf has no checks, and needs more than 2 KiB */
    struct gosched_chan *to = make_chan(sizeof n);
    gosched_newproc(filter, to);
    while (gosched_chan_recv(from, &n) == GOSCHED_RESULT_DONE)
        if (n % prime != 0)
            gosched_chan_send(to, &n);
    gosched_chan_close(to);
}

static void *sieve(void *unused)
{
    done = make_chan(0);
    struct gosched_chan *to = make_chan(sizeof(int));
    gosched_newproc(filter, to);
    for (int n = 2; n < LIMIT; n++)
        gosched_chan_send(to, &n);
    gosched_chan_close(to);
    gosched_chan_recv(done, NULL);
    return unused;
}

int main(void)
{
    return gosched_run(sieve, NULL, NULL) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
