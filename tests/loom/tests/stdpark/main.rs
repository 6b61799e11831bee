//! Models of waits at futexes: no wake is lost, and the wakes count each woken wait once. A wake
//! that is left to sysmon is done. `stdpark/futex_table.rs`, `time/fire.rs`, and
//! `p/sysmon_sleep.rs` are the files that ship. (loom fails if all threads are blocked, and a
//! waiter whose wake is lost is blocked.)
//!
//! There are models of waits for descriptors, too: each wait ends once, by an event, by its time or
//! by a close, and no event is lost. `stdpark/descriptors.rs` and `entry.rs`, and
//! `netpoll/marked.rs` are the files that ship.
//!
//! Everything else is stand-ins, with the paths and names that these files use. A goroutine is a
//! thread, and a time comes when a model says so. The table of futexes has two buckets, and sysmon
//! has room for one wake. The kernel has two numbers, and an epoll instance.

#![cfg(loom)]
#![allow(dead_code, reason = "the shipped files have more than is modelled")]

mod runtime;
