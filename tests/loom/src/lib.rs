//! The protocol code of gosched under loom: the files that ship, with small stand-ins around them.
//!
//! | from the crate | checked |
//! | --- | --- |
//! | `lock/key.rs` | mutual exclusion, no sleeper is forgotten |
//! | `p/runq.rs`, `data/gqueue.rs` | every G is taken once, and whole |
//! | `p/owner.rs`, `preempt/ask.rs` | a thread that finds the M of a P, and has no signal on its way to it, knows the M's thread |
//! | `preempt/ask.rs` | a repeated request is noticed, and a request from before a P was given doesn't apply to that P |
//! | `sched/detach.rs`, `sched/entersyscall.rs`, `p/stop.rs`, `world/stw.rs` | a P that a goroutine loses has one owner: sysmon, its M again, or the stopped world, which counts it once |
//! | `m/turn.rs`, `data/turns.rs`, `sched/entersyscall.rs` | no M waits for its turn while a P is idle; an M that was let go on gets none |
//! | `p/procs.rs` | a thread that reads the number of P's finds all of them, and whole |
//! | `p/sysmon_sleep.rs` | sysmon is woken once for each sleep, and no wake is lost |
//! | `sched/wake.rs`, `p/owner.rs`, `p/procs.rs` | work and an idle P never miss each other |
//! | `sched/abort.rs`, `g/aborted.rs` | an abort and a park never miss each other, and the goroutine is made ready once |
//! | `sema/parker.rs` | no wake is lost, and no goroutine is made ready that doesn't wait |
//! | `sched/poll.rs`, `sched/wake.rs` | a new timer and an M that goes to sleep never miss each other |
//! | `p/timer.rs`, `p/timer_heap.rs`, `data/timer.rs`, `time/modify.rs` | a timer fires each time that it was set, unless it was stopped; its heap is never late for it |
//! | `signal/sigqueue.rs`, `lock/note.rs` | no signal is lost between its handler and its receiver |
//! | `sync/raw_mutex.rs` | one goroutine at a time has it, all get it, and one that gives up leaves it as if it hadn't come |
//! | `sync/raw_rwlock.rs` | writers are alone, and one that gives up leaves it as if it hadn't come |
//! | `sync/wait_group.rs` | a goroutine that has waited sees what was done, and one that was aborted leaves it as if it hadn't come |
//! | `chan/future.rs` | a future's last waker wakes it, it sees its value, and it is freed once |
//! | `chan/observe.rs` | each observer of a channel sees what it waits for, and none is left behind |
//! | `net/ready_list.rs` | no node is left while a goroutine waits, also if one that was woken unwinds, and a close ends all waits |
//! | `netpoll/poll_desc.rs`, `netpoll/ready.rs`, `pollwait.rs`, `net/registration.rs` | a wait ends when the descriptor is ready, is closed, or reaches its deadline; a late event does nothing to the next descriptor |
//! | `stdpark/futex_table.rs`, `time/fire.rs` | no wake is lost, or counted twice; a wake that is left to sysmon is done |
//! | `stdpark/queued.rs` | a wake that comes after the wait was queued ends it, and is counted once |
//! | `threads/locks/word.rs` | one at a time has the mutex, and no waiter is forgotten |
//! | `threads/locks/unseen.rs` | goroutines get a mutex that glibc releases, where only threads are woken |
//! | `threads/locks/rwlock.rs` | no waiter is forgotten, and one that gives up forgets nobody |
//! | `stdpark/descriptors.rs`, `stdpark/entry.rs`, `netpoll/marked.rs` | each wait ends once, by an event, by its time or by a close, and no event is lost |
//!
//! The rooms are the crate's. The models of a room's files are in that room, where they see its
//! private items. A stand-in is at the path of the file that it replaces. It has the names that the
//! shipped files use, and as little behind them as possible: a lock that loom knows, for example.
//!
//! The room `data` is the crate's, with all of its structs. It takes its atomics and its cells from
//! two files here, in place of its own: see `runtime/data/atomic.rs`. An atomic that the crate
//! takes from `std` is none of loom's. So it orders nothing in a model, and loom doesn't try what
//! other threads may find in it. Models make the structs of zeroed memory: see `runtime/made.rs`.
//!
//! There are two kinds of models. In most, a thread is an M, and no goroutine runs. Where a model
//! is about waits, a goroutine is a thread, no thread has an M, and a time comes when the model
//! says so: see `goroutines_are_threads`.

#![cfg(all(loom, test))]
#![allow(dead_code, unused_imports, reason = "the shipped files have more than is modelled")]
#![allow(clippy::upper_case_acronyms, reason = "Go's `mOS`")]
#![allow(clippy::reversed_empty_ranges, reason = "the mutex doesn't spin under loom")]

mod context;
mod net;
mod runtime;
mod sync;
