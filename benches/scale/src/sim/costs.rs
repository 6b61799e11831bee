//! What things cost, in picoseconds of virtual time.

/// A nanosecond.
pub const NS: u64 = 1000;

/// What each step costs. `docs/scale.md` says how each cost was measured, or where it comes from.
#[derive(Clone, Debug)]
pub struct Costs {
    /// A load that hits, and a store, which goes to the store buffer.
    pub hit: u64,
    /// A read-modify-write of a line that this core has alone.
    pub rmw: u64,
    /// A line from a core of the same group, which shares a last level of cache.
    pub near: u64,
    /// A line from another group of the same socket.
    pub far: u64,
    /// A line from another socket.
    pub remote: u64,
    /// How many cores share a last level of cache.
    pub group: usize,
    /// How many cores a socket has.
    pub socket: usize,
    /// A pause instruction.
    pub pause: u64,
    /// A system call that does nothing, `sched_yield`, for example.
    pub syscall: u64,
    /// The clock is read.
    pub clock: u64,
    /// The part of a futex wake that the waker pays.
    pub futex_wake: u64,
    /// The time from a wake until the woken thread runs.
    pub wake_latency: u64,
    /// Into a futex's sleep, and out of it: what the sleeper's core does.
    pub futex_sleep: u64,
    /// What the kernel adds to a sleep that ends by itself: a thread's timer slack.
    pub slack: u64,
    /// `usleep(3)`, with what the kernel adds.
    pub usleep: u64,
    /// The part of `membarrier` that the caller pays, for each other core on which the process
    /// runs.
    pub barrier_call: u64,
    /// The part that its interrupt takes from each of those cores.
    pub barrier_interrupt: u64,
    /// A thread is made.
    pub clone: u64,
    /// A look at epoll that doesn't wait.
    pub epoll: u64,
    /// A switch of goroutines, without its atomics.
    pub switch: u64,
    /// A goroutine made, and gone again, without the atomics.
    pub make: u64,
    /// An operation on a channel, without the atomics.
    pub channel: u64,
    /// A timer set, or run, without the atomics.
    pub timer: u64,
}

impl Costs {
    /// The machine that was measured: a virtual one with two processors, whose wakes and interrupts
    /// are slow.
    pub fn measured() -> Self {
        Costs {
            hit: NS / 2,
            rmw: 3 * NS,
            near: 23 * NS,
            far: 23 * NS,
            remote: 23 * NS,
            group: 8,
            socket: 64,
            pause: 29 * NS,
            syscall: 680 * NS,
            clock: 28 * NS,
            futex_wake: 13_400 * NS,
            wake_latency: 39_000 * NS,
            futex_sleep: 1500 * NS,
            slack: 50_000 * NS,
            usleep: 100_000 * NS,
            barrier_call: 11_700 * NS,
            barrier_interrupt: 3900 * NS,
            clone: 24_000 * NS,
            epoll: 220 * NS,
            switch: 13 * NS,
            make: 18 * NS,
            channel: 2 * NS,
            timer: 60 * NS,
        }
    }

    /// A server without a hypervisor, with 64 cores a socket in groups of eight. None was measured:
    /// these are usual figures. The costs of computing in the core are as above.
    pub fn server() -> Self {
        Costs {
            near: 25 * NS,
            far: 100 * NS,
            remote: 200 * NS,
            pause: 15 * NS,
            syscall: 150 * NS,
            futex_wake: 1500 * NS,
            wake_latency: 5000 * NS,
            usleep: 56_000 * NS,
            barrier_call: 500 * NS,
            barrier_interrupt: 700 * NS,
            clone: 12_000 * NS,
            ..Costs::measured()
        }
    }
}
