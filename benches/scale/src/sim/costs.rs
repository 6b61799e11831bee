//! The costs of operations, in picoseconds of virtual time.

/// A nanosecond.
pub const NS: u64 = 1000;

/// The cost of each step. `docs/lab/scale.md` says how each cost was measured, or where it comes
/// from.
#[derive(Clone, Debug)]
pub struct Costs {
    /// A load that hits, or a store, which goes to the store buffer.
    pub hit: u64,
    /// A read-modify-write of a line that only this core has.
    pub rmw: u64,
    /// Fetching a line from a core of the same group, which shares a last-level cache.
    pub near: u64,
    /// Fetching a line from another group of the same socket.
    pub far: u64,
    /// Fetching a line from another socket.
    pub remote: u64,
    /// The number of cores that share a last-level cache.
    pub group: usize,
    /// The number of cores of a socket.
    pub socket: usize,
    /// A pause instruction.
    pub pause: u64,
    /// A system call that does nothing, such as `sched_yield`.
    pub syscall: u64,
    /// Reading the clock.
    pub clock: u64,
    /// The part of a futex wake that the waker pays.
    pub futex_wake: u64,
    /// The time from a wake until the woken thread runs.
    pub wake_latency: u64,
    /// The work of the sleeper's core to enter and leave a futex's sleep.
    pub futex_sleep: u64,
    /// What the kernel adds to a sleep that ends by itself: a thread's timer slack.
    pub slack: u64,
    /// `usleep(3)`, with what the kernel adds.
    pub usleep: u64,
    /// The part of `membarrier` that the caller pays, for each other core that runs the process.
    pub barrier_call: u64,
    /// The part of `membarrier` that its interrupt takes from each of those cores.
    pub barrier_interrupt: u64,
    /// Making a thread.
    pub clone: u64,
    /// Polling epoll without waiting.
    pub epoll: u64,
    /// A switch of goroutines, without its atomics.
    pub switch: u64,
    /// Making and ending a goroutine, without the atomics.
    pub make: u64,
    /// An operation on a channel, without the atomics.
    pub channel: u64,
    /// Setting or running a timer, without the atomics.
    pub timer: u64,
}

impl Costs {
    /// Returns the costs on the measured machine: a virtual one with two processors, whose wakes
    /// and interrupts are slow.
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

    /// Returns the costs on a server without a hypervisor, with 64 cores a socket in groups of
    /// eight. No server was measured: these are usual figures. The costs of computing in the core
    /// are as above.
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
