//! Virtual threads for Rust: goroutines, by the hundred thousand, that run any code that a thread
//! may run, without `unsafe`.
//!
//! Go's scheduler runs them on all processors, by work stealing. Channels, `select!` and locks park
//! a goroutine and not its thread. C programs can use the scheduler, too.
//!
//! ```
//! use gosched::chan::bounded;
//! use gosched::go;
//!
//! gosched::run(|| {
//!     let (tx, rx) = bounded(0);
//!     for i in 0..10 {
//!         let tx = tx.clone();
//!         go(move || tx.send(i * i).unwrap());
//!     }
//!     drop(tx);
//!     assert_eq!(rx.iter().sum::<u32>(), 285);
//! });
//! ```
//!
//! # What there is
//!
//! | to | use | in Go |
//! | --- | --- | --- |
//! | start | [`run`]; with the feature `macros`, `#[gosched::main]` | `main` |
//! | use std's locks, channels, sleeps and sockets without a thread for each wait | with the feature `std`, `park_std_waits` | |
//! | have threads of std and of C that are goroutines | with the feature `threads`, `make_threads_goroutines` | |
//! | test | [`testing`]; with the feature `macros`, `#[gosched::test]` | `testing` |
//! | find races and deadlocks, in one schedule after the other; test on a clock that jumps | [`explore`](mod@explore), [`synctest`] | `testing/synctest` |
//! | make a goroutine | [`go()`], [`Builder`], [`scope()`] for one that borrows | `go` |
//! | get its result, or its panic | [`JoinHandle::join`] | |
//! | pass values | [`chan`], [`select!`](select!), [`chan::Select`] | `chan`, `select` |
//! | wait for each other | [`sync`]: `Mutex`, `RwLock`, `Condvar`, `WaitGroup`, `Semaphore`, ... | `sync` |
//! | end work from outside, and pass on what belongs to a request | [`context`] | `context` |
//! | sleep, and use timers | [`time`]: `sleep`, `after`, `tick`, `Timer`, `Ticker`; `recv_timeout` and its like | `time` |
//! | read and write without blocking a thread | [`net`]: `TcpListener`, `TcpStream`, `UdpSocket`, `UnixStream`, ..., `Pollable` for whatever can be polled | `net` |
//! | read standard input, write to standard output | [`io`]: `stdin`, `stdout`, `stderr` | `os.Stdin`, `os.Stdout` |
//! | read and write files | [`fs`]: `File`, `read`, `write`, ... | `os` |
//! | start programs, and wait for them | [`process`]: `Command`, `Child` | `os/exec` |
//! | wait for a future | [`block_on`]; with the feature `tokio`, `tokio::block_on` for crates that need tokio | |
//! | make an iterator of code that yields | [`iter::pull`] | `iter.Pull` |
//! | let others run | [`yield_now`] | `runtime.Gosched` |
//! | run code that blocks its thread, without blocking other goroutines | [`blocking`] | a system call |
//! | know the scheduler's state | [`metrics`]; `GODEBUG=schedtrace=1000`; with the feature `tracing`, `tracing::scheduler_events` | `runtime/metrics` |
//! | see all of that in a browser | with the feature `inspect`, `inspect::serve` | `net/http/pprof` |
//! | receive signals | [`signal`]: `notify`, `ignore`, `reset` | `os/signal` |
//! | tell goroutines apart in a trace | [`labels`]; spans of `tracing`, with its feature `tracing::inherit_spans` | `pprof.Do` |
//! | know where time goes, and which goroutines wait for each other | with the feature `pprof`, `pprof`: profiles for `go tool pprof` | `runtime/pprof` |
//! | have a value for each goroutine | [`goroutine_local!`](goroutine_local!), `thread_local!` | |
//! | keep to one thread | [`lock_os_thread`] | `runtime.LockOSThread` |
//! | call it from C | [`capi`], `include/gosched.h` | |
//! | port a runtime, or build on stacks that start at 2 KiB and grow | [`proc`], [`runtime2`], [`chan::hchan`] | `proc.go` |
//!
//! # How goroutines run
//!
//! As many goroutines run at once as there are P's ([`gomaxprocs`]). Each of the others waits in a
//! queue, or is parked.
//!
//! A goroutine that has run for 10 ms is asked to stop, and **stops where it can**: at a
//! [check](fn@check), or anywhere in code that was declared [`preemptible!`](preemptible!).
//! Elsewhere it can't be stopped, because the scheduler doesn't know what it holds there (Go's
//! compiler does). There it [loses its P and keeps its thread](proc::preemption), on which it waits
//! for its turn. A goroutine that blocks its thread (a read from a file, `println!` into a full
//! pipe, `std::sync::Mutex` under contention, `thread::sleep`) loses its P soon, by a signal; in
//! [`blocking`] no signal is needed. `GODEBUG=hogs=1` reports goroutines that keep their P. With
//! the feature `std`, waits in std's code park instead, once the program has called
//! `park_std_waits`.
//!
//! Threads that aren't goroutines' can make goroutines, send and receive, and use locks, once the
//! runtime has started. An operation that has to wait blocks such a thread.
//!
//! Each goroutine has a stack of its own, 256 KiB (in a debug build 1 MiB) unless
//! [`Builder::stack_size`] or [`set_default_stack_size`] sets another size. The stack takes memory
//! as it is used: a goroutine that waits near the base of its stack takes two pages (one, if it
//! shares [thread-locals](#thread-locals)), and half a KiB of page tables. Memory that was unused
//! for a second or two goes back to the system; [`proc::free_os_memory`] returns it at once. Below
//! each stack is a guard page. When a goroutine overflows its stack, the process prints a report
//! with a backtrace, and ends with status 2.
//!
//! # Thread-locals
//!
//! **A goroutine behaves like a thread to the code that it runs.** It has thread-locals of its own,
//! also when it goes on on another thread of the system after a park. So `thread::current`, spans
//! of `tracing`, generators of random numbers, `errno`, panic counts and held locks are its own,
//! and values that are kept across a park stay right. The destructors of its thread-locals run when
//! it ends, before [`join`](JoinHandle::join) returns. A generator ([`iter::pull`]) is a goroutine
//! like any other, so it doesn't share the thread-locals of its caller.
//!
//! Each goroutine has a guard page below its stack; if there can't be one, the goroutine isn't
//! made, which is an error. Linux has guard regions since 6.13. Before that there can be some
//! 24,000 goroutines at once, and more if `vm.max_map_count` is raised.
//!
//! Goroutines' own thread-locals need glibc 2.34 or later, in a program that is linked dynamically.
//! The runtime tries them out when it starts; where they don't work, [`run`] panics with the
//! reason. There, and for goroutines by the million, a program can make goroutines share the
//! thread-locals of their threads, which halves their memory. The program has to promise what that
//! requires: see [`set_default_shared_locals`], or [`Builder::shared_locals`] for single
//! goroutines. Goroutines that the raw layer and C programs make share thread-locals, too.
//!
//! State that the kernel keeps for a thread stays with the thread: its id (`gettid`), processors,
//! priority, signal mask and signal stack. Code that changes such state, or that needs the same
//! state twice, [locks](lock_os_thread) its goroutine to the thread.
//!
//! Goroutines can't use these: `pthread_exit` and `pthread_cancel` (they crash), mutexes with
//! priority inheritance (they wait forever), `pthread_getattr_np` and `pthread_join`. With the
//! feature `threads`, `make_threads_goroutines` makes some of them work. Load a library before the
//! first `run` if its thread-locals are compiled for the initial-exec model or with TLS
//! descriptors. (`docs/guide/thread-locals.md` has a table of the state that stays with the
//! thread.)
//!
//! As on a thread, a signal handler without `SA_ONSTACK` runs on the goroutine's stack. Code that
//! isn't Rust, with a frame larger than the guard page, may jump over the guard page.
//!
//! # Panics
//!
//! A panic ends its goroutine, and nothing else: [`JoinHandle::join`] returns it. If the handle was
//! dropped, only the output of the panic hook remains; with [`set_panic_mode`] or
//! `GODEBUG=dieonpanic=1` the process ends then, as in Go. With `panic = "abort"` the first panic
//! ends the process.
//!
//! In front of std's message a line names the goroutine:
//! `goroutine 7 "worker", created at src/main.rs:3:5 in goroutine 1, panics:`. For that line the
//! runtime puts a hook before std's when it starts, which costs nothing until there is a panic. A
//! program's own hook isn't affected. If the program has set a hook before, the runtime sets none;
//! a hook that is set later replaces the runtime's. In a hook, [`goid`] returns the number of the
//! goroutine that panics.
//!
//! A goroutine that shares thread-locals keeps its thread while it unwinds, because std counts
//! panics by thread. So if it parks in a destructor meanwhile, it takes a thread of its own.
//!
//! # Fatal errors
//!
//! A failure that can't be an error value or a panic (a deadlock, an overflow, a corrupted run
//! queue) ends the process with status 2. Before that, it prints `fatal error: ` and Go's message,
//! and then each goroutine with its state, its stack and its maker. SIGQUIT (`Ctrl-\`) does the
//! same, with equal stacks in one group, unless the program handles it; a program that wants to go
//! on calls [`dump_goroutines_grouped`] or [`dump_goroutines`].
//! The report shows names of functions if the program has symbols, and files and lines if it has
//! debug information. In gdb, `info goroutines` and `goroutine 7 bt` show the same for a process
//! and for a core file; `tools/gosched-gdb.py` says how.
//!
//! # The environment
//!
//! The environment is read once, when the runtime starts. `GOMAXPROCS` sets the number of P's,
//! `GOTRACEBACK` what the report of a fatal error shows, and `GODEBUG` has more settings:
//! `GODEBUG=schedtrace=1000,hogs=1`. [The page on settings][settings], `docs/guide/settings.md`,
//! has all of them, with their values.
//!
//! [settings]: https://docs.rs/crate/gosched/latest/source/docs/guide/settings.md

#![debugger_visualizer(gdb_script_file = "../tools/gosched-gdb.py")]

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("gosched supports x86_64 and aarch64 Linux and no other target");

#[cfg(feature = "macros")]
mod attributes;
pub mod capi;
pub mod chan;
pub mod context;
pub mod explore;
pub mod fs;
mod goroutine;
#[cfg(feature = "inspect")]
pub mod inspect;
pub mod io;
pub mod iter;
pub mod net;
#[cfg(feature = "pprof")]
pub mod pprof;
pub mod process;
mod raw;
mod runtime;
pub mod signal;
pub mod sync;
pub mod synctest;
pub mod testing;
pub mod time;
#[cfg(feature = "tokio")]
pub mod tokio;
pub mod trace;
#[cfg(feature = "tracing")]
pub mod tracing;
#[cfg(doctest)]
#[path = "../tests/variance.rs"]
mod variance;

/// Tests the readme's examples.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Tests the examples of this page.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/coming-from-go.md")]
struct ComingFromGo;

/// Tests the examples of this page.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/coming-from-tokio.md")]
struct ComingFromTokio;

/// Tests the examples of this page.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/testing.md")]
struct Testing;

/// Tests the examples of this page.
#[cfg(doctest)]
#[doc = include_str!("../docs/guide/looking-inside.md")]
struct LookingInside;

/// Tests the examples of this page. One of them uses the crate `tracing`.
#[cfg(all(doctest, feature = "tracing"))]
#[doc = include_str!("../docs/guide/held-across-a-park.md")]
struct HeldAcrossAPark;

/// Tests the examples of this page, which need the feature `inspect`.
#[cfg(all(doctest, feature = "inspect"))]
#[doc = include_str!("../docs/guide/inspect.md")]
struct InspectPage;

/// Tests the examples of this page. One of them needs the feature `std`.
#[cfg(all(doctest, feature = "std"))]
#[doc = include_str!("../docs/guide/any-crate.md")]
struct AnyCrate;

/// Tests the examples of this page, which need the feature `threads`.
#[cfg(all(doctest, feature = "threads"))]
#[doc = include_str!("../docs/guide/threads.md")]
struct Threads;

#[cfg(feature = "macros")]
pub use attributes::{main, test};
pub use context::shield;
pub use goroutine::{
    AbortHandle, AccessError, Builder, GoroutineLocal, JoinError, JoinFuture, JoinHandle, JoinSet,
    OsThreadLock, PanicMode, Scope, ScopedJoinHandle, ScopedValue, block_on, blocking, check, go, goexit,
    goid, gomaxprocs, labels, lock_os_thread, num_goroutine, run, scope, set_default_gomaxprocs,
    set_default_shared_locals, set_default_stack_size, set_gomaxprocs, set_max_detached, set_panic_mode,
    try_goid, try_scope, yield_now,
};
pub use raw::{netpoll, proc, sema, sigqueue};
#[cfg(feature = "threads")]
pub use runtime::make_threads_goroutines;
#[cfg(feature = "std")]
pub use runtime::park_std_waits;
pub use runtime::{
    DeadlockMode, Traceback, dump_goroutines, dump_goroutines_grouped, dump_json, metrics, runtime2,
    set_deadlock_mode, set_traceback,
};
