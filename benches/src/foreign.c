// The C parts of the workloads. Rust calls them through foreign.rs, Go through cgo.

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <resolv.h>
#include <signal.h>
#include <time.h>

// Computes forever.
void spin_in_c(void) {
    for (volatile unsigned turns = 0;; turns++) {
    }
}

// Sets the name server for this thread's lookups to a port of this machine. A lookup asks the
// server once, and waits a second for its answer.
void look_up_at(unsigned short port) {
    struct sockaddr_in server = {.sin_family = AF_INET, .sin_port = htons(port)};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    res_init();
    _res.nscount = 1;
    _res.nsaddr_list[0] = server;
    _res.retrans = 1;
    _res.retry = 1;
}

static double now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void compute(int signal) {
    double end = now() + 0.2;
    (void)signal;
    while (now() < end) {
    }
}

// Sets a handler of SIGUSR1 that computes for 200 ms, on the alternate stack.
void handle_by_computing(void) {
    struct sigaction action = {.sa_handler = compute, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
}

// Runs that handler on this thread at once.
void raise_sigusr1(void) {
    raise(SIGUSR1);
}
