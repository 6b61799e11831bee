// Programs of signals, which signals.rs runs on goroutines.

#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

static void *returns(void *arg) { return arg; }

static atomic_int signal_, value_;

static void handle(int signal, siginfo_t *info, void *context) {
    (void)context;
    atomic_store(&value_, info->si_pid == getpid() ? info->si_value.sival_int : -1);
    atomic_store(&signal_, signal);
}

static int comes(int signal) {
    while (atomic_load(&signal_) != signal)
        usleep(100);
    atomic_store(&signal_, 0);
    return 1;
}

int signals(void) {
    static atomic_int flag;
    pthread_t thread;
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    NEED(sigaction(SIGUSR1, &action, NULL) == 0 && sigaction(SIGRTMIN, &action, NULL) == 0);
    NEED(pthread_create(&thread, NULL, waits, &flag) == 0);
    NEED(pthread_kill(thread, 0) == 0);
    NEED(pthread_kill(thread, 65) == EINVAL);
    NEED(pthread_kill(thread, SIGUSR1) == 0 && comes(SIGUSR1));
    NEED(pthread_sigqueue(thread, SIGRTMIN, (union sigval){.sival_int = 77}) == 0);
    NEED(comes(SIGRTMIN) && atomic_load(&value_) == 77);
    // One's own signal has come when the call returns.
    NEED(pthread_kill(pthread_self(), SIGUSR1) == 0 && atomic_load(&signal_) == SIGUSR1);
    NEED(raise(SIGRTMIN) == 0 && atomic_load(&signal_) == SIGRTMIN);
    atomic_store(&flag, 1);
    NEED(pthread_join(thread, NULL) == 0);
    // It has ended, and isn't joined yet.
    NEED(pthread_create(&thread, NULL, returns, NULL) == 0);
    for (int i = 0; i < 100; i++)
        NEED(pthread_kill(thread, 0) == 0);
    NEED(pthread_join(thread, NULL) == 0);
    return 0;
}

// The mask of the thread of the system that runs the caller.
static int thread_blocks(int signal) {
    unsigned long mask;
    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &mask, sizeof mask);
    return mask >> (signal - 1) & 1;
}

static int blocks(int signal) {
    sigset_t set;
    pthread_sigmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, signal);
}

static int change(int how, int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    return pthread_sigmask(how, &set, NULL);
}

static void *has_mask(void *number) {
    // It has begun with the mask of its maker.
    OWN_NEED(blocks(SIGUSR2) && thread_blocks(SIGUSR2) && !blocks(SIGUSR1));
    int unblocks = NUMBER(number) % 2;
    if (unblocks)
        change(SIG_UNBLOCK, SIGUSR2);
    for (int i = 0; i < 100; i++) {
        OWN_NEED(blocks(SIGUSR2) == !unblocks && thread_blocks(SIGUSR2) == !unblocks);
        i % 10 ? sched_yield() : usleep(1);
    }
    return NULL;
}

int masks(void) {
    pthread_t threads[20];
    void *line;
    sigset_t all, was;
    NEED(change(SIG_BLOCK, SIGUSR2) == 0);
    for (int i = 0; i < 20; i++)
        NEED(pthread_create(&threads[i], NULL, has_mask, POINTER(i)) == 0);
    for (int i = 0; i < 20; i++)
        NEED(pthread_join(threads[i], &line) == 0 && NUMBER(line) == 0);
    NEED(blocks(SIGUSR2) && change(SIG_UNBLOCK, SIGUSR2) == 0 && !blocks(SIGUSR2));
    NEED(change(77, SIGUSR2) == EINVAL);
    // The program sees what it has set, and the runtime's signals come.
    sigfillset(&all);
    NEED(sigprocmask(SIG_SETMASK, &all, &was) == 0 && !sigismember(&was, SIGUSR2));
    NEED(blocks(SIGURG) && !thread_blocks(SIGURG) && thread_blocks(SIGUSR2));
    NEED(sigprocmask(SIG_SETMASK, &was, NULL) == 0);
    pthread_attr_t attr;
    sigset_t second;
    sigemptyset(&second);
    sigaddset(&second, SIGUSR2);
    pthread_attr_init(&attr);
    NEED(pthread_attr_setsigmask_np(&attr, &second) == 0);
    NEED(pthread_create(&threads[0], &attr, has_mask, POINTER(2)) == 0);
    NEED(pthread_join(threads[0], &line) == 0 && NUMBER(line) == 0);
    return 0;
}

static void *waits_for_signals(void *times) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    for (int i = 0; i < NUMBER(times); i++) {
        int signal;
        OWN_NEED(sigwait(&set, &signal) == 0 && signal == SIGUSR2);
        atomic_fetch_add(&value_, 1);
    }
    return NULL;
}

// By default the signal ends the process. All threads block it, so the one that waits gets it.
int a_signal_that_a_thread_waits_for(void) {
    static atomic_int flag;
    pthread_t waiter, others[10];
    void *line;
    NEED(change(SIG_BLOCK, SIGUSR2) == 0);
    NEED(kill(getpid(), SIGUSR2) == 0);
    NEED(pthread_create(&waiter, NULL, waits_for_signals, POINTER(50)) == 0);
    for (int i = 0; i < 10; i++)
        NEED(pthread_create(&others[i], NULL, waits, &flag) == 0);
    for (int i = 1; i < 50; i++) {
        while (atomic_load(&value_) < i)
            usleep(100);
        NEED(kill(getpid(), SIGUSR2) == 0);
    }
    NEED(pthread_join(waiter, &line) == 0 && NUMBER(line) == 0);
    atomic_store(&flag, 1);
    for (int i = 0; i < 10; i++)
        NEED(pthread_join(others[i], NULL) == 0);
    return 0;
}

static void *lets_signals_come(void *flag) {
    OWN_NEED(change(SIG_UNBLOCK, SIGUSR2) == 0);
    return waits(flag);
}

// All threads but one block the signal. The handler is called, although that thread waits.
int a_signal_that_one_thread_lets_come(void) {
    static atomic_int flag;
    pthread_t thread;
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    NEED(sigaction(SIGUSR2, &action, NULL) == 0);
    NEED(change(SIG_BLOCK, SIGUSR2) == 0);
    NEED(kill(getpid(), SIGUSR2) == 0);
    NEED(atomic_load(&signal_) == 0);
    NEED(pthread_create(&thread, NULL, lets_signals_come, &flag) == 0);
    for (int i = 0; i < 20; i++) {
        NEED(comes(SIGUSR2));
        NEED(blocks(SIGUSR2) && thread_blocks(SIGUSR2));
        if (i < 19)
            NEED(kill(getpid(), SIGUSR2) == 0);
    }
    atomic_store(&flag, 1);
    NEED(pthread_join(thread, NULL) == 0);
    return 0;
}

static sigset_t set_of(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    return set;
}

static int is_pending(int signal) {
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, signal);
}

// How many signals this thread has handled.
static _Thread_local volatile int handled;

static void count(int signal) {
    (void)signal;
    handled++;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *takes_a_signal(void *flag) {
    sigset_t set = set_of(SIGUSR1);
    int signal;
    atomic_store((atomic_int *)flag, 1);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    OWN_NEED(sigwait(&set, &signal) == 0 && signal == SIGUSR1);
    OWN_NEED(!is_pending(SIGUSR1));
    return NULL;
}

// The thread blocks the signal, and another doesn't. By default the signal ends the process.
int a_signal_for_a_thread_that_blocks_it(void) {
    pthread_t thread;
    void *line;
    for (int i = 0; i < 20; i++) {
        atomic_int flag = 0;
        NEED(pthread_mutex_lock(&mutex) == 0);
        NEED(change(SIG_BLOCK, SIGUSR1) == 0);
        NEED(pthread_create(&thread, NULL, takes_a_signal, &flag) == 0);
        NEED(change(SIG_UNBLOCK, SIGUSR1) == 0);
        // It begins, or waits for the mutex.
        if (i % 2)
            waits(&flag);
        NEED(pthread_kill(thread, SIGUSR1) == 0);
        NEED(pthread_mutex_unlock(&mutex) == 0);
        NEED(pthread_join(thread, &line) == 0 && NUMBER(line) == 0);
    }
    return 0;
}

static void *unblocks(void *arg) {
    (void)arg;
    for (int i = 1; i <= 20; i++) {
        change(SIG_BLOCK, SIGUSR1);
        OWN_NEED((i % 2 ? raise(SIGUSR1) : pthread_kill(pthread_self(), SIGUSR1)) == 0);
        i % 4 ? sched_yield() : usleep(1);
        OWN_NEED(handled == i - 1 && is_pending(SIGUSR1));
        change(SIG_UNBLOCK, SIGUSR1);
        OWN_NEED(handled == i && !is_pending(SIGUSR1));
    }
    return NULL;
}

int a_signal_that_is_unblocked(void) {
    pthread_t threads[8];
    void *line;
    struct sigaction action = {.sa_handler = count};
    NEED(sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < 8; i++)
        NEED(pthread_create(&threads[i], NULL, unblocks, NULL) == 0);
    for (int i = 0; i < 8; i++)
        NEED(pthread_join(threads[i], &line) == 0 && NUMBER(line) == 0);
    return 0;
}

enum { TURNS = 50 };

// A thread that waits for one signal in each turn.
struct waiter {
    pthread_t thread;
    atomic_int turn;
};

static void *wait_for_own_signals(struct waiter *waiter) {
    sigset_t set = set_of(SIGUSR1);
    struct timespec no_time = {0}, wrong = {.tv_nsec = -1};
    for (int i = 0; i < TURNS; i++) {
        siginfo_t info = {0};
        OWN_NEED(sigtimedwait(&set, &info, &no_time) == -1 && errno == EAGAIN);
        atomic_store(&waiter->turn, i + 1);
        OWN_NEED(sigwaitinfo(&set, &info) == SIGUSR1);
        OWN_NEED(info.si_signo == SIGUSR1 && info.si_code == SI_USER && info.si_pid == getpid());
    }
    OWN_NEED(sigtimedwait(&set, NULL, &wrong) == -1 && errno == EINVAL);
    return NULL;
}

static void *waits_for_own_signals(void *arg) {
    struct waiter *waiter = arg;
    void *line = wait_for_own_signals(waiter);
    atomic_store(&waiter->turn, TURNS);
    return line;
}

// Each is sent to the thread that waits for it, and to no other that waits for it, too.
int waits_for_signals_of_a_thread(void) {
    static struct waiter waiters[3];
    void *line;
    NEED(change(SIG_BLOCK, SIGUSR1) == 0);
    for (int i = 0; i < 3; i++)
        NEED(pthread_create(&waiters[i].thread, NULL, waits_for_own_signals, &waiters[i]) == 0);
    for (int turn = 1; turn <= TURNS; turn++) {
        for (int i = 0; i < 3; i++) {
            while (atomic_load(&waiters[i].turn) < turn)
                turn % 2 ? sched_yield() : usleep(100);
            NEED(pthread_kill(waiters[i].thread, SIGUSR1) == 0);
        }
    }
    for (int i = 0; i < 3; i++)
        NEED(pthread_join(waiters[i].thread, &line) == 0 && NUMBER(line) == 0);
    NEED(change(SIG_UNBLOCK, SIGUSR1) == 0);
    return 0;
}

static void *suspend(struct waiter *waiter) {
    sigset_t none;
    sigemptyset(&none);
    for (int i = 1; i <= TURNS; i++) {
        atomic_store(&waiter->turn, i);
        // Another signal may end it earlier.
        do {
            OWN_NEED(handled == i - 1);
            OWN_NEED(sigsuspend(&none) == -1 && errno == EINTR);
        } while (handled == i - 1);
        OWN_NEED(handled == i && blocks(SIGUSR1) && thread_blocks(SIGUSR1));
    }
    OWN_NEED(raise(SIGUSR1) == 0 && handled == TURNS);
    OWN_NEED(sigsuspend(&none) == -1 && handled == TURNS + 1);
    return NULL;
}

static void *suspends(void *arg) {
    struct waiter *waiter = arg;
    void *line = suspend(waiter);
    atomic_store(&waiter->turn, TURNS);
    return line;
}

int suspensions(void) {
    static struct waiter waiters[3];
    void *line;
    struct sigaction action = {.sa_handler = count};
    NEED(sigaction(SIGUSR1, &action, NULL) == 0);
    NEED(change(SIG_BLOCK, SIGUSR1) == 0);
    for (int i = 0; i < 3; i++)
        NEED(pthread_create(&waiters[i].thread, NULL, suspends, &waiters[i]) == 0);
    for (int turn = 1; turn <= TURNS; turn++) {
        for (int i = 0; i < 3; i++) {
            while (atomic_load(&waiters[i].turn) < turn)
                turn % 2 ? sched_yield() : usleep(100);
            NEED(pthread_kill(waiters[i].thread, SIGUSR1) == 0);
        }
    }
    for (int i = 0; i < 3; i++)
        NEED(pthread_join(waiters[i].thread, &line) == 0 && NUMBER(line) == 0);
    NEED(change(SIG_UNBLOCK, SIGUSR1) == 0);
    return 0;
}

enum { STACK = 1 << 16 };

static _Thread_local volatile int change_error;

static void changes_its_stack(int signal) {
    stack_t now;
    sigaltstack(NULL, &now);
    change_error = now.ss_flags & SS_ONSTACK && sigaltstack(&now, NULL) == -1 ? errno : 0;
    count(signal);
}

static int has_stack(void *memory) {
    stack_t now;
    return sigaltstack(NULL, &now) == 0 && now.ss_sp == memory && now.ss_size == STACK && now.ss_flags == 0;
}

static void *has_a_signal_stack(void *arg) {
    (void)arg;
    void *memory = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OWN_NEED(memory != MAP_FAILED && !has_stack(memory));
    stack_t stack = {.ss_sp = memory, .ss_size = STACK}, small = {.ss_sp = memory, .ss_size = 100};
    stack_t wrong = {.ss_sp = memory, .ss_size = STACK, .ss_flags = 77}, none = {.ss_flags = SS_DISABLE};
    OWN_NEED(sigaltstack(&stack, NULL) == 0 && has_stack(memory));
    OWN_NEED(sigaltstack(&small, NULL) == -1 && errno == ENOMEM);
    OWN_NEED(sigaltstack(&wrong, NULL) == -1 && errno == EINVAL);
    for (int i = 1; i <= 10; i++) {
        i % 5 ? sched_yield() : usleep(1);
        OWN_NEED(has_stack(memory));
        OWN_NEED(raise(SIGUSR1) == 0 && handled == i && change_error == EPERM);
    }
    OWN_NEED(sigaltstack(&none, &stack) == 0 && stack.ss_sp == memory);
    OWN_NEED(sigaltstack(NULL, &stack) == 0 && stack.ss_flags == SS_DISABLE);
    OWN_NEED(munmap(memory, STACK) == 0);
    return NULL;
}

static void *handles_a_signal(void *arg) {
    (void)arg;
    OWN_NEED(raise(SIGUSR1) == 0 && handled == 1);
    return NULL;
}

// Threads that have a stack for handlers end, and handlers run well in others.
int signal_stacks(void) {
    pthread_t threads[8];
    void *line;
    struct sigaction action = {.sa_handler = changes_its_stack, .sa_flags = SA_ONSTACK};
    NEED(sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < 8; i++)
        NEED(pthread_create(&threads[i], NULL, has_a_signal_stack, NULL) == 0);
    for (int i = 0; i < 8; i++)
        NEED(pthread_join(threads[i], &line) == 0 && NUMBER(line) == 0);
    for (int i = 0; i < 8; i++)
        NEED(pthread_create(&threads[i], NULL, handles_a_signal, NULL) == 0);
    for (int i = 0; i < 8; i++)
        NEED(pthread_join(threads[i], &line) == 0 && NUMBER(line) == 0);
    return 0;
}

static _Thread_local sigjmp_buf before;

static void jumps(int signal) { siglongjmp(before, signal); }

int jumps_out_of_faults(void) {
    return signal(SIGSEGV, jumps) == SIG_ERR ? __LINE__ : 0;
}

static void *faults(void *arg) {
    for (volatile int i = 0; i < 10; i++) {
        errno = i;
        int signal = sigsetjmp(before, 1);
        if (!signal)
            *(volatile char *)arg = 1;
        OWN_NEED(signal == SIGSEGV && errno == i);
        i % 5 ? sched_yield() : usleep(1);
    }
    return NULL;
}

// The handler was installed by jumps_out_of_faults, before there were goroutines.
int faults_that_are_left(void) {
    pthread_t threads[4];
    void *line, *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(page != MAP_FAILED);
    for (int i = 0; i < 4; i++)
        NEED(pthread_create(&threads[i], NULL, faults, page) == 0);
    for (int i = 0; i < 4; i++)
        NEED(pthread_join(threads[i], &line) == 0 && NUMBER(line) == 0);
    return 0;
}

// Waits that a signal ends.

// Nothing comes from the first pair, and nobody reads from the second.
static int fds_[2], full_[2];
static sem_t sem_;
static atomic_int word_, counted_;

static void counts(int signal) {
    (void)signal;
    atomic_fetch_add(&counted_, 1);
}

static int reads(void) {
    char byte;
    return read(fds_[0], &byte, 1);
}

static int receives(void) {
    char byte;
    return recv(fds_[0], &byte, 1, 0);
}

static int writes(void) {
    static char bytes[1 << 20];
    return write(full_[1], bytes, sizeof bytes);
}

static int polls(void) { return poll(&(struct pollfd){.fd = fds_[0], .events = POLLIN}, 1, -1); }

static int polls_two(void) {
    struct pollfd fds[] = {{.fd = fds_[0], .events = POLLIN}, {.fd = fds_[1], .events = POLLIN}};
    return poll(fds, 2, 1000000);
}

static int selects(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(fds_[0], &set);
    return select(fds_[0] + 1, &set, NULL, NULL, NULL);
}

static int epolls(void) {
    struct epoll_event event = {.events = EPOLLIN};
    int fd = epoll_create1(0);
    epoll_ctl(fd, EPOLL_CTL_ADD, fds_[0], &event);
    int ret = epoll_wait(fd, &event, 1, -1), error = errno;
    close(fd);
    errno = error;
    return ret;
}

static int sleeps(void) {
    struct timespec time = {1000, 0}, rest = {0};
    int ret = nanosleep(&time, &rest);
    // The kernel adds its slack to the rest, which may be all then.
    return ret < 0 && (rest.tv_sec < 1 || rest.tv_sec > 1000) ? 1 : ret;
}

static int sleeps_until(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    time.tv_sec += 1000;
    errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
    return errno ? -1 : 0;
}

static int waits_for_posts(void) { return sem_wait(&sem_); }

static int waits_for_posts_until(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_sec += 1000;
    return sem_timedwait(&sem_, &time);
}

static int waits_at_word(void) {
    int ret = syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, NULL);
    // The word may have changed before the wait.
    return ret < 0 && errno == EAGAIN ? 0 : ret;
}

static pid_t child_;

static int waits_for_child(void) { return waitpid(child_, NULL, 0) < 0 ? -1 : 0; }

static int (*const WAITS[])(void) = {
    reads, receives, writes, polls, polls_two, selects, epolls, sleeps,
    sleeps_until, waits_for_posts, waits_for_posts_until, waits_at_word, waits_for_child,
};

enum { ALL = sizeof WAITS / sizeof *WAITS };

static int make_places(void) {
    return socketpair(AF_UNIX, SOCK_STREAM, 0, fds_) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, full_) == 0 &&
           sem_init(&sem_, 0, 0) == 0;
}

// A wait in a thread.
struct wait {
    int (*wait)(void);
    int is_shielded;
    atomic_int begins, ended;
    int ret, error;
    pthread_t thread;
};

static void *runs_wait(void *arg) {
    struct wait *wait = arg;
    int state;
    if (wait->is_shielded)
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    atomic_store(&wait->begins, 1);
    wait->ret = wait->wait();
    wait->error = errno;
    atomic_store(&wait->ended, 1);
    return NULL;
}

// A child that lives until the other side of a pipe is closed.
static int make_child(void) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        return -1;
    child_ = fork();
    if (child_ == 0) {
        close(ends[1]);
        _exit(read(ends[0], &byte, 1));
    }
    close(ends[0]);
    return ends[1];
}

static int begins_wait(struct wait *wait) {
    if (pthread_create(&wait->thread, NULL, runs_wait, wait) != 0)
        return 0;
    waits(&wait->begins);
    return 1;
}

static void act(int signal, void (*handler)(int), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(signal, &action, NULL);
}

static struct wait *target_;

static void sends(int signal) {
    (void)signal;
    pthread_kill(target_->thread, SIGUSR1);
}

int waits_that_a_signal_ends(void) {
    act(SIGUSR1, counts, 0);
    act(SIGUSR2, sends, 0);
    NEED(make_places());
    int end = make_child();
    NEED(end >= 0);
    // In the last round a handler sends the signal.
    for (int i = 0; i < 3 * ALL; i++) {
        static struct wait wait;
        wait = (struct wait){.wait = WAITS[i % ALL], .is_shielded = i / ALL == 1};
        target_ = &wait;
        NEED(begins_wait(&wait));
        // It may not wait yet.
        while (!atomic_load(&wait.ended)) {
            NEED(i / ALL == 2 ? raise(SIGUSR2) == 0 : pthread_kill(wait.thread, SIGUSR1) == 0);
            usleep(100);
        }
        NEED(pthread_join(wait.thread, NULL) == 0);
        if (wait.wait == writes)
            NEED(wait.ret >= 0 || wait.error == EINTR);
        else
            NEED(wait.ret == -1 && wait.error == EINTR);
    }
    NEED(atomic_load(&counted_) >= 3 * ALL);
    NEED(close(end) == 0 && waitpid(child_, NULL, 0) == child_);
    return 0;
}

// Ends a wait as it should end.
static void ends_wait(struct wait *wait, int end) {
    int (*f)(void) = wait->wait;
    if (f == waits_for_posts || f == waits_for_posts_until) {
        sem_post(&sem_);
    } else if (f == waits_at_word) {
        atomic_store(&word_, 1);
        syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1);
    } else if (f == waits_for_child) {
        close(end);
    } else if (f == writes) {
        static char bytes[1 << 16];
        while (!atomic_load(&wait->ended))
            if (recv(full_[0], bytes, sizeof bytes, MSG_DONTWAIT) < 0)
                sched_yield();
    } else {
        char byte = 0;
        send(fds_[1], &byte, 1, 0);
    }
}

static void *sends_often(void *arg) {
    struct wait *wait = arg;
    for (int i = 0; i < 20; i++) {
        pthread_kill(wait->thread, SIGUSR1);
        usleep(100);
    }
    return NULL;
}

// Waits that go on: after a handler with SA_RESTART, and, all of them, if the signal is ignored.
int waits_that_go_on_after_a_signal(void) {
    static int (*const RESTARTED[])(void) = {reads, receives, writes, waits_for_posts, waits_at_word, waits_for_child};
    static int (*const OTHERS[])(void) = {polls, polls_two, selects, epolls, waits_for_posts_until};
    enum { N = sizeof RESTARTED / sizeof *RESTARTED, M = sizeof OTHERS / sizeof *OTHERS };
    NEED(make_places());
    for (int i = 0; i < 2 * N + M; i++) {
        int is_ignored = i >= N;
        static struct wait wait;
        wait = (struct wait){.wait = i < N ? RESTARTED[i] : i < 2 * N ? RESTARTED[i - N] : OTHERS[i - 2 * N]};
        act(SIGUSR1, is_ignored ? SIG_IGN : counts, SA_RESTART);
        atomic_store(&word_, 0);
        int end = make_child();
        NEED(end >= 0 && begins_wait(&wait));
        sends_often(&wait);
        // A handler ends a write that has written a part.
        NEED(wait.wait == writes || !atomic_load(&wait.ended));
        ends_wait(&wait, end);
        NEED(pthread_join(wait.thread, NULL) == 0);
        NEED(wait.ret >= 0);
        if (wait.wait != waits_for_child)
            NEED(close(end) == 0 && waitpid(child_, NULL, 0) == child_);
        char byte;
        while (recv(fds_[0], &byte, 1, MSG_DONTWAIT) > 0) {
        }
    }
    return 0;
}

static sigjmp_buf out_;
static pthread_t leaver_;
static atomic_int lost_;

static void leaves(int signal) {
    (void)signal;
    if (pthread_equal(pthread_self(), leaver_))
        siglongjmp(out_, 1);
    // It wasn't in a wait, so the process has got its signal.
    atomic_store(&lost_, 1);
}

static void *is_left(void *arg) {
    atomic_int *progress = arg;
    leaver_ = pthread_self();
    usleep(1);
    for (volatile int i = 0; i < ALL; i++) {
        if (WAITS[i] == epolls)
            continue; // It would leak a descriptor.
        if (sigsetjmp(out_, 1) == 0) {
            change(SIG_UNBLOCK, SIGUSR1);
            atomic_store(progress, i + 1);
            for (;;)
                WAITS[i]();
        }
    }
    atomic_store(progress, -1);
    return NULL;
}

// A handler leaves the wait of the thread for which its signal is.
int waits_that_a_handler_leaves(void) {
    static atomic_int progress;
    pthread_t thread;
    act(SIGUSR1, leaves, 0);
    NEED(make_places());
    int end = make_child();
    NEED(end >= 0 && change(SIG_BLOCK, SIGUSR1) == 0);
    NEED(pthread_create(&thread, NULL, is_left, &progress) == 0);
    for (int seen = 0; seen >= 0;) {
        int now = atomic_load(&progress);
        if (now > seen || atomic_exchange(&lost_, 0))
            NEED(pthread_kill(thread, SIGUSR1) == 0);
        seen = now;
        usleep(100);
    }
    NEED(pthread_join(thread, NULL) == 0);
    NEED(close(end) == 0 && waitpid(child_, NULL, 0) == child_);
    return 0;
}
