// The measurements of the workloads of wakes, and the thread that writes to a pipe. Rust's programs
// call this through wakes.rs, Go's through cgo.

#define _GNU_SOURCE
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

// The cost of threads: nanoseconds of processor time, and how often they went to sleep.
struct cost {
    double cpu;
    double switches;
};

static int64_t now(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static struct cost cost_of(clockid_t clock, int who) {
    struct rusage usage;
    getrusage(who, &usage);
    return (struct cost){.cpu = (double)now(clock), .switches = (double)usage.ru_nvcsw};
}

// Returns the cost of this process, ended threads included.
struct cost cost_of_process(void) {
    return cost_of(CLOCK_PROCESS_CPUTIME_ID, RUSAGE_SELF);
}

// Returns the cost of this thread.
struct cost cost_of_thread(void) {
    return cost_of(CLOCK_THREAD_CPUTIME_ID, RUSAGE_THREAD);
}

// Returns how many nanoseconds to sleep before wake i: 50 to 200 µs, in an order that no scheduler
// could learn. The step is the golden ratio's part of the span, which spreads the pauses evenly.
uint64_t pause_before(uint64_t i) {
    return 50000 + i * 92717 % 150000;
}

// For `duration` ns, writes the time, in ns since 1970, to a pipe and sleeps, in turns. Returns the
// thread's cost of this.
struct cost trickle_into(int pipe, int64_t duration) {
    struct cost before = cost_of_thread();
    int64_t end = now(CLOCK_MONOTONIC) + duration;
    for (uint64_t i = 0; now(CLOCK_MONOTONIC) < end; i++) {
        struct timespec pause = {.tv_nsec = (long)pause_before(i)};
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        int64_t written = now(CLOCK_REALTIME);
        if (write(pipe, &written, sizeof written) != sizeof written) {
            break;
        }
    }
    struct cost after = cost_of_thread();
    return (struct cost){.cpu = after.cpu - before.cpu, .switches = after.switches - before.switches};
}
